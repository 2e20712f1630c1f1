"""Typed questions to a cachelog server: ``Client(URL).ask(Why(base=..., head=...))``."""

from cachelog_client.client import AskError, AsyncClient, Client, Question

__all__ = ["AskError", "AsyncClient", "Client", "Question"]
