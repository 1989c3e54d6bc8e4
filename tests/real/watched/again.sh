# A supervisor: it starts the server again and again.
while :; do uvicorn troubles:app --port "$1"; done
