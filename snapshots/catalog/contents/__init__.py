"""Contents in the table ``specs``: what is written of one, and how it is read."""
