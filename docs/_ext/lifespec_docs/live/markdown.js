// The result of a run as Markdown, for an issue: program, server, events, what came of it, versions.

/** Return a text between fences that are longer than any in it. */
function fenced(text, language) {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`;
}

/** Return what the report shows as blocks of Markdown; `link` leads to the same program. */
export function markdown(report, {program, server}, link, labels) {
  const [head, ...others] = [...report.querySelectorAll(":scope > *, :scope > .play-recorded > *")]
    .filter((each) => !each.matches(".play-recorded")).map((each) => block(each)).filter(Boolean);
  const conduct = Object.keys(server).length ? [`${labels.server}: \`${JSON.stringify(server)}\``] : [];
  return [`[${labels.playground}](${link})`, fenced(program, "python"), ...conduct, head, ...others].join("\n\n");
}

/** Return one part of the report. */
function block(part) {
  if (part.matches("section")) return [...part.children].map(block).filter(Boolean).join("\n\n");
  if (part.matches("pre")) return fenced(part.textContent, "text");
  if (part.matches("h3")) return `**${part.textContent}**`;
  if (part.matches(".play-ending")) return [...part.children].map((each) => each.textContent).join(" · ");
  if (part.matches("details, ul")) return listed(part);
  if (part.matches(".play-bad")) return [...part.children].map(block).filter(Boolean).join("\n\n");
  return part.textContent.trim();
}

function listed(part) {
  const mark = part.querySelector("ol") ? "1." : "-";
  return [...part.querySelectorAll("li")].map((each) => `${mark} ${each.textContent.trim()}`).join("\n");
}
