"""Puts middlewares around an application, and records what gets through: `make middleware`.

    python tests/measure/middleware.py PYTHON FILE [SUBJECT...]

PYTHON has the middlewares of `.ci/middleware.txt`.  FILE is where the record is kept.  Where
subjects are named, only they are observed, and the record of the others stays, with what it says of
the state of the code that it was made with.  As they wait most of the time, eight run at once.
"""

import datetime as dt
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from kept import versions

from lifespec_docs.facts.recorded import made_with

__all__ = ["SUBJECTS", "Subject", "main", "program", "row"]

BETWEEN = Path(__file__).with_name("between.py")
SOURCES = Path(__file__).parents[2] / "src"
LIMIT = 120  # seconds for a subject
AT_ONCE = 8
UNTOLD = "pass", "skip"  # which are only counted
ADDRESS = re.compile(r"\b0x[0-9a-f]+")


class Subject(NamedTuple):
    """The packages whose versions count, what it needs, and how it is put around `app`."""

    packages: str
    needs: str
    code: str


SUBJECTS = {
    "Starlette GZipMiddleware": Subject(
        "starlette", "from starlette.middleware.gzip import GZipMiddleware", "GZipMiddleware(app)"
    ),
    "Starlette CORSMiddleware": Subject(
        "starlette",
        "from starlette.middleware.cors import CORSMiddleware",
        'CORSMiddleware(app, allow_origins=["*"])',
    ),
    "Starlette SessionMiddleware": Subject(
        "starlette itsdangerous",
        "from starlette.middleware.sessions import SessionMiddleware",
        'SessionMiddleware(app, secret_key="secret")',
    ),
    "Starlette TrustedHostMiddleware": Subject(
        "starlette",
        "from starlette.middleware.trustedhost import TrustedHostMiddleware",
        'TrustedHostMiddleware(app, allowed_hosts=["*"])',
    ),
    "Starlette HTTPSRedirectMiddleware": Subject(
        "starlette",
        "from starlette.middleware.httpsredirect import HTTPSRedirectMiddleware",
        "HTTPSRedirectMiddleware(app)",
    ),
    "Starlette BaseHTTPMiddleware": Subject(
        "starlette",
        "from starlette.middleware.base import BaseHTTPMiddleware\n"
        "async def through(request, call_next):\n"
        "    return await call_next(request)",
        "BaseHTTPMiddleware(app, dispatch=through)",
    ),
    "Starlette ServerErrorMiddleware": Subject(
        "starlette",
        "from starlette.middleware.errors import ServerErrorMiddleware",
        "ServerErrorMiddleware(app)",
    ),
    "Starlette ExceptionMiddleware": Subject(
        "starlette",
        "from starlette.middleware.exceptions import ExceptionMiddleware",
        "ExceptionMiddleware(app)",
    ),
    "Starlette AuthenticationMiddleware": Subject(
        "starlette",
        "from starlette.authentication import AuthenticationBackend\n"
        "from starlette.middleware.authentication import AuthenticationMiddleware\n"
        "class Anyone(AuthenticationBackend):\n"
        "    async def authenticate(self, conn):\n"
        "        return None",
        "AuthenticationMiddleware(app, backend=Anyone())",
    ),
    "Starlette Mount": Subject(
        "starlette",
        "from starlette.applications import Starlette\nfrom starlette.routing import Mount",
        'Starlette(routes=[Mount("/", app)])',
    ),
    "uvicorn ProxyHeadersMiddleware": Subject(
        "uvicorn",
        "from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware",
        "ProxyHeadersMiddleware(app)",
    ),
    "hypercorn ProxyFixMiddleware": Subject(
        "hypercorn",
        "from hypercorn.middleware import ProxyFixMiddleware",
        "ProxyFixMiddleware(app)",
    ),
    "hypercorn HTTPToHTTPSRedirectMiddleware": Subject(
        "hypercorn",
        "from hypercorn.middleware import HTTPToHTTPSRedirectMiddleware",
        'HTTPToHTTPSRedirectMiddleware(app, host="shop")',
    ),
    "hypercorn DispatcherMiddleware": Subject(
        "hypercorn",
        "from hypercorn.middleware import DispatcherMiddleware",
        'DispatcherMiddleware({"/": app})',
    ),
    "python-socketio": Subject(
        "python-socketio python-engineio",
        'import socketio\nserver = socketio.AsyncServer(async_mode="asgi")',
        "socketio.ASGIApp(server, app)",
    ),
    "python-socketio, on_startup": Subject(
        "python-socketio python-engineio",
        'import socketio\nserver = socketio.AsyncServer(async_mode="asgi")',
        "socketio.ASGIApp(server, app, on_startup=open_own, on_shutdown=close_own)",
    ),
    "asgi-lifespan-middleware": Subject(
        "asgi-lifespan-middleware",
        "from asgi_lifespan_middleware import LifespanMiddleware",
        "LifespanMiddleware(app, lifespan=own)",
    ),
    "asgi-tools LifespanMiddleware": Subject(
        "asgi-tools",
        "from asgi_tools.middleware import LifespanMiddleware",
        "LifespanMiddleware(app, on_startup=open_own, on_shutdown=close_own)",
    ),
    "asgi-tools RequestMiddleware": Subject(
        "asgi-tools", "from asgi_tools import RequestMiddleware", "RequestMiddleware(app)"
    ),
    "asgi-correlation-id": Subject(
        "asgi-correlation-id",
        "from asgi_correlation_id import CorrelationIdMiddleware",
        "CorrelationIdMiddleware(app)",
    ),
    "asgi-request-id": Subject(
        "asgi-request-id",
        "from asgi_request_id import RequestIdMiddleware",
        "RequestIdMiddleware(app)",
    ),
    "sentry-sdk": Subject(
        "sentry-sdk",
        "from sentry_sdk.integrations.asgi import SentryAsgiMiddleware",
        "SentryAsgiMiddleware(app)",
    ),
    "OpenTelemetry": Subject(
        "opentelemetry-instrumentation-asgi",
        "from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware",
        "OpenTelemetryMiddleware(app)",
    ),
    "Elastic APM": Subject(
        "elastic-apm starlette",
        "from elasticapm.contrib.starlette import ElasticAPM, make_apm_client\n"
        'client = make_apm_client({"ENABLED": False})',
        "ElasticAPM(app, client=client)",
    ),
    "ddtrace": Subject(
        "ddtrace", "from ddtrace.contrib.asgi import TraceMiddleware", "TraceMiddleware(app)"
    ),
    "New Relic": Subject(
        "newrelic",
        "from newrelic.agent import ASGIApplicationWrapper",
        "ASGIApplicationWrapper(app)",
    ),
    "Rollbar": Subject(
        "rollbar", "from rollbar.contrib.asgi import ReporterMiddleware", "ReporterMiddleware(app)"
    ),
    "Scout APM": Subject(
        "scout-apm starlette",
        "from scout_apm.async_.starlette import ScoutMiddleware",
        "ScoutMiddleware(app)",
    ),
    "starlette-exporter": Subject(
        "starlette-exporter",
        "from starlette_exporter import PrometheusMiddleware",
        "PrometheusMiddleware(app)",
    ),
    "prometheus-fastapi-instrumentator": Subject(
        "prometheus-fastapi-instrumentator",
        "from prometheus_fastapi_instrumentator.middleware import "
        "PrometheusInstrumentatorMiddleware as Instrumentator\n"
        "from prometheus_client import CollectorRegistry",
        "Instrumentator(app, registry=CollectorRegistry())",
    ),
    "starlette-prometheus": Subject(
        "starlette-prometheus",
        "from starlette_prometheus import PrometheusMiddleware",
        "PrometheusMiddleware(app)",
    ),
    "aioprometheus": Subject(
        "aioprometheus",
        "from aioprometheus import REGISTRY, MetricsMiddleware",
        "REGISTRY.clear() or MetricsMiddleware(app)",
    ),
    "brotli-asgi": Subject(
        "brotli-asgi", "from brotli_asgi import BrotliMiddleware", "BrotliMiddleware(app)"
    ),
    "zstd-asgi": Subject(
        "zstd-asgi", "from zstd_asgi import ZstdMiddleware", "ZstdMiddleware(app)"
    ),
    "starlette-compress": Subject(
        "starlette-compress",
        "from starlette_compress import CompressMiddleware",
        "CompressMiddleware(app)",
    ),
    "asgi-gzip": Subject(
        "asgi-gzip", "from asgi_gzip import GZipMiddleware", "GZipMiddleware(app)"
    ),
    "asgi-cors": Subject(
        "asgi-cors", "from asgi_cors import asgi_cors", "asgi_cors(app, allow_all=True)"
    ),
    "asgi-csrf": Subject(
        "asgi-csrf", "from asgi_csrf import asgi_csrf", 'asgi_csrf(app, signing_secret="secret")'
    ),
    "starlette-csrf": Subject(
        "starlette-csrf",
        "from starlette_csrf import CSRFMiddleware",
        'CSRFMiddleware(app, secret="secret")',
    ),
    "starsessions": Subject(
        "starsessions",
        "from starsessions import InMemoryStore, SessionMiddleware",
        "SessionMiddleware(app, store=InMemoryStore())",
    ),
    "asgi-sessions": Subject(
        "asgi-sessions asgi-tools",
        "from asgi_sessions import SessionMiddleware",
        'SessionMiddleware(app, secret_key="secret")',
    ),
    "ServeStatic": Subject(
        "servestatic", "from servestatic import ServeStaticASGI", "ServeStaticASGI(app)"
    ),
    "asgi-ratelimit": Subject(
        "asgi-ratelimit",
        "from ratelimit import RateLimitMiddleware\n"
        "from ratelimit.backends.simple import MemoryBackend\n"
        "async def one(scope):\n"
        '    return "one", "default"',
        "RateLimitMiddleware(app, authenticate=one, backend=MemoryBackend(), config={})",
    ),
    "slowapi": Subject(
        "slowapi",
        "from slowapi.middleware import SlowAPIASGIMiddleware\n"
        "from starlette.applications import Starlette",
        "SlowAPIASGIMiddleware(app)",
    ),
    "starlette-context": Subject(
        "starlette-context",
        "from starlette_context.middleware import RawContextMiddleware",
        "RawContextMiddleware(app)",
    ),
    "secure": Subject(
        "secure",
        "from secure import Secure\nfrom secure.middleware import SecureASGIMiddleware",
        "SecureASGIMiddleware(app, secure=Secure.with_default_headers())",
    ),
    "a2wsgi, to WSGI and back": Subject(
        "a2wsgi",
        "from a2wsgi import ASGIMiddleware, WSGIMiddleware",
        "WSGIMiddleware(ASGIMiddleware(app))",
    ),
    "msgpack-asgi": Subject(
        "msgpack-asgi",
        "from msgpack_asgi import MessagePackMiddleware",
        "MessagePackMiddleware(app)",
    ),
    "timing-asgi": Subject(
        "timing-asgi",
        "from timing_asgi import TimingClient, TimingMiddleware\n"
        "class Quiet(TimingClient):\n"
        "    def timing(self, *_, **__):\n"
        "        pass",
        "TimingMiddleware(app, client=Quiet())",
    ),
    "asgi-logger": Subject(
        "asgi-logger",
        "from asgi_logger import AccessLoggerMiddleware",
        "AccessLoggerMiddleware(app)",
    ),
    "fastapi-events": Subject(
        "fastapi-events",
        "from fastapi_events.middleware import EventHandlerASGIMiddleware",
        "EventHandlerASGIMiddleware(app, handlers=[])",
    ),
    "Channels ProtocolTypeRouter": Subject(
        "channels django",
        "from channels.routing import ProtocolTypeRouter",
        'ProtocolTypeRouter({"http": app})',
    ),
    "Channels ProtocolTypeRouter, lifespan": Subject(
        "channels django",
        "from channels.routing import ProtocolTypeRouter",
        'ProtocolTypeRouter({"http": app, "lifespan": app})',
    ),
}


def program(subject: Subject) -> str:
    """Return the program that `between.py` runs."""
    return f"{subject.needs}\ndef wrap(app):\n    return {subject.code}\n"


def row(python: str, name: str) -> dict[str, Any]:
    """Observe a subject; return its row of the record."""
    subject = SUBJECTS[name]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:  # some write files where they run
        run = subprocess.run(
            [python, str(BETWEEN)],
            input=program(subject),
            env={**os.environ, "PYTHONPATH": str(SOURCES)},
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            timeout=LIMIT,
            check=False,
        )
    if run.returncode:
        raise RuntimeError(f"{name}: {run.stderr}")
    found = json.loads(ADDRESS.sub("0x…", run.stdout))
    keys = "case", "rule", "verdict", "actual"
    told = [each for each in found["findings"] if each[2] not in UNTOLD]
    return {
        "name": name,
        "needs": subject.needs,
        "code": subject.code,
        "versions": versions(python, subject.packages.split()),
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "seconds": round(time.monotonic() - began),
        "passed": found["passed"],
        "counts": dict(sorted(Counter(each[2] for each in found["findings"]).items())),
        "findings": [dict(zip(keys, each, strict=True)) for each in told],
    }


def written(record: dict[str, Any]) -> str:
    """Return a record as it is kept: a line for each run and each finding."""
    text = json.dumps(record | {"subjects": []}, indent=1).removesuffix("[]\n}")
    rows = []
    for each in record["subjects"]:
        head = json.dumps({k: v for k, v in each.items() if k not in ("passed", "findings")})
        runs = (
            f"   {json.dumps(fault)}: {json.dumps(said)}" for fault, said in each["passed"].items()
        )
        found = (f"\n   {json.dumps(finding)}" for finding in each["findings"])
        rows.append(
            f'  {head[:-1]},\n  "passed": {{\n' + ",\n".join(runs)
            + '\n  },\n  "findings": [' + ",".join(found) + "]}"
        )  # fmt: skip
    return f"{text}[\n" + ",\n".join(rows) + "\n ]\n}\n"


def main(arguments: Sequence[str]) -> int:
    """Observe the subjects, some at once."""
    python, file, *names = arguments
    path = Path(file)
    before = json.loads(path.read_text("utf-8")) if path.exists() else {"subjects": []}
    rows = {each["name"]: each for each in before["subjects"]}
    # where some are left out, the record says of all what is true of those
    digests = before.get("made_with", {}) if names else made_with("middleware")
    asked = [(name, str(Path(python).absolute())) for name in names or SUBJECTS]
    failed = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        waits = {name: pool.submit(row, where, name) for name, where in asked}
        for name, each in waits.items():
            try:
                rows[name] = each.result()
            except (RuntimeError, subprocess.SubprocessError) as error:
                failed.append(f"{name}: {error}")
                continue
            print(f"{name}: {rows[name]['seconds']} s", flush=True)
    record = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.system(),
        "text": "asgi 2.0",
        "made_with": digests,
        "subjects": [rows[each] for each in SUBJECTS if each in rows],
    }
    path.write_text(written(record), "utf-8")
    print(*failed, sep="\n", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
