"""Spans are collected in the background, and the last ones are sent at shutdown."""

import atexit
import contextlib

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse
from starlette.routing import Route


@contextlib.asynccontextmanager
async def lifespan(app):
    exporter = ConsoleSpanExporter(formatter=lambda span: f"sent: {span.name}\n")
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    try:
        yield {"tracer": provider.get_tracer("shop")}
    finally:
        await run_in_threadpool(provider.shutdown)


async def home(request):
    with request.state.tracer.start_as_current_span("home"):
        return PlainTextResponse("hello")


app = Starlette(lifespan=lifespan, routes=[Route("/", home)])
atexit.register(print, "atexit: too late")
