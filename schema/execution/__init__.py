"""The execution of requests within a budget, with lists that are rendered directly as JSON."""
