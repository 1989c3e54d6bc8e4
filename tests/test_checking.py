"""The commands `lifespec check app`, `check middleware` and `cases`: options, output, status."""
