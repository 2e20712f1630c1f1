"""The program that reads the data: the name and version that a revision's source records."""

from functools import cache


@cache
def cachelog_version() -> str:
    """Return cachelog's own version; ``0`` if it runs without being installed."""
    from importlib.metadata import PackageNotFoundError, version  # which imports the email package

    try:
        return version("cachelog")
    except PackageNotFoundError:
        return "0"


@cache
def importer_name() -> str:
    """Return ``cachelog VERSION``."""
    return f"cachelog {cachelog_version()}"
