"""HTTP, the command line and web pages: parse, delegate, translate errors."""
