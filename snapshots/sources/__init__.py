"""Readers of build-cache descriptions, one module a format; all I/O of reading is here."""
