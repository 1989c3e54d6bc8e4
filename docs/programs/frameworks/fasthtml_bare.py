"""FastHTML without hooks, with an application mounted in it."""

from fasthtml.common import FastHTML
from resources import inner

app = FastHTML(secret_key="change me")
app.mount("/inner", inner)
