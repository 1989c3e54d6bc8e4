"""Check applications and middleware: the suite plays a server to them."""
