"""https://github.com/FlexMeasures/flexmeasures-client/issues/85: a session is made at import."""

import aiohttp
from fastapi import FastAPI

session = aiohttp.ClientSession()
app = FastAPI()
