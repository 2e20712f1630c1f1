"""Readers of build-cache descriptions, one module or package a format; all I/O of reading."""
