#!/usr/bin/env bash
# Calls `lifespec check` with the inputs of the action, which are in the environment.
set -euo pipefail

options=(--spec "$LIFESPEC_SPEC")
case $LIFESPEC_STRICT in
true) options+=(--strict) ;;
false) ;;
*)
    echo "strict is '$LIFESPEC_STRICT': give true or false." >&2
    exit 2
    ;;
esac
read -r -a rules <<<"$LIFESPEC_IGNORE"
for rule in "${rules[@]}"; do options+=(--ignore "$rule"); done
[ -z "$LIFESPEC_JUNIT" ] || options+=(--junit "$LIFESPEC_JUNIT")

if [ -z "$LIFESPEC_TARGET$LIFESPEC_COMMAND" ] || { [ -n "$LIFESPEC_TARGET" ] && [ -n "$LIFESPEC_COMMAND" ]; }; then
    echo "give a target or a command, and not both." >&2
    exit 2
fi
case $LIFESPEC_SUBJECT in
app | middleware) target=("$LIFESPEC_TARGET") ;;
server)
    read -r -a command <<<"$LIFESPEC_TARGET"
    target=(-- "${command[@]}")
    ;;
*)
    echo "subject is '$LIFESPEC_SUBJECT': give app, middleware or server." >&2
    exit 2
    ;;
esac
if [ -n "$LIFESPEC_COMMAND" ]; then
    if [ "$LIFESPEC_SUBJECT" != app ]; then
        echo "command is for an application: with subject server, give its command as the target." >&2
        exit 2
    fi
    read -r -a command <<<"$LIFESPEC_COMMAND"
    target=(-- "${command[@]}")
fi
status=0
report=$("$LIFESPEC_PYTHON" -m lifespec check "$LIFESPEC_SUBJECT" "${options[@]}" "${target[@]}") || status=$?
[ -z "$report" ] || printf '%s\n' "$report"
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || printf '```text\n%s\n```\n' "$report" >>"$GITHUB_STEP_SUMMARY"
exit "$status"
