"""Readers of build-cache descriptions, one module or package per format, and all of their I/O."""
