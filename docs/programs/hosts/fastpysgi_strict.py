"""fastpysgi, which ends if startup fails: python fastpysgi_strict.py PORT."""

import sys

import fastpysgi
from shop import app

fastpysgi.server.lifespan_fose = 1
fastpysgi.run(app, "127.0.0.1", int(sys.argv[1]))
