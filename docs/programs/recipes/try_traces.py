import signal
import socket
import subprocess
import sys

import httpx

with socket.create_server(("127.0.0.1", 0)) as listening:
    port = str(listening.getsockname()[1])
options = ["--port", port, "--no-access-log"]
command = [sys.executable, "-m", "uvicorn", "traces:app", *options]
server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
for line in server.stderr:
    if "Press CTRL+C" in line:
        break
print(httpx.get(f"http://127.0.0.1:{port}/").text, flush=True)
server.terminate()  # SIGTERM, as docker stop sends it
server.communicate(timeout=30)
print("ended by", signal.Signals(-server.returncode).name)
