"""Azure Functions, AsgiFunctionApp: the worker calls its function for each request."""

import contextlib
from types import SimpleNamespace

import azure.functions as func
from shop import app

functions = func.AsgiFunctionApp(app, func.AuthLevel.ANONYMOUS)


@contextlib.asynccontextmanager
async def host():
    """Call the function as the worker does: all calls in one event loop."""
    (function,) = functions.get_functions()
    call = function.get_user_function()
    context = SimpleNamespace(
        function_directory="",
        function_name="shop",
        invocation_id="1",
        thread_local_storage=None,
        trace_context=None,
        retry_context=None,
    )

    async def get():
        request = func.HttpRequest("GET", "https://shop.example/", body=b"")
        return (await call(request, context)).status_code

    yield get
