"""https://github.com/litestar-org/litestar/issues/3601: a plugin throws another's lifespan out."""

from contextlib import asynccontextmanager

from litestar import Litestar
from litestar.channels import ChannelsPlugin
from litestar.channels.backends.memory import MemoryChannelsBackend
from litestar.plugins import InitPluginProtocol


@asynccontextmanager
async def cache(app):
    yield


class Cache(InitPluginProtocol):
    def on_app_init(self, app_config):
        app_config.lifespan = [cache]
        return app_config


channels = ChannelsPlugin(backend=MemoryChannelsBackend(), channels=["orders"])
app = Litestar(plugins=[channels, Cache()])
