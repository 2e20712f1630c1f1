"""Settings: from CACHELOG_* variables, overruled by options of the command line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from snapshots.catalog.library import COMPARISON_BYTES, FRAME_BYTES
from snapshots.errors import InvalidArgument
from snapshots.sources.buildcache import ReadSettings

PREFIX = "CACHELOG_"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What an operator can set; each field is read from CACHELOG_ and its name in capitals."""

    catalog: str = "catalog"
    """Where the catalog is: a folder, or a URL of object storage."""

    response_cache: int = 256 << 20
    """How many bytes of responses are kept; 0 keeps none."""

    frame_cache: int = FRAME_BYTES
    """How many bytes of revisions are kept in memory; as many again of their dependencies."""

    comparison_cache: int = COMPARISON_BYTES
    """How many bytes of comparisons are kept in memory."""

    refresh: float = 1.0
    """How many seconds pass between two looks for new revisions."""

    max_body: int = 1 << 20
    """How many bytes a request's body may have."""

    cors_origins: tuple[str, ...] = ()
    """Which other origins' pages may ask, separated by commas; ``*`` for all."""

    access_log: bool = True
    """Whether each request is logged."""

    cache_dir: str = "~/.cache/cachelog"
    """Where an import keeps what it need not fetch again; empty to keep nothing."""

    cache_bytes: int = 4 << 30
    """How many bytes an import keeps there."""

    max_index_bytes: int = 2 << 30
    """How many bytes an index may have when it is unpacked."""

    http_timeout: float = 60.0
    """How many seconds an import waits for a silent server."""

    s3_prefixes: tuple[str, ...] = ()
    """Where buckets are served over HTTPS: BUCKET=URL, separated by commas."""

    def reading(self) -> ReadSettings:
        """Return the settings of an import; raises InvalidArgument for a malformed prefix."""
        prefixes = {}
        for text in self.s3_prefixes:
            bucket, separator, url = text.partition("=")
            if not (bucket and separator and url.startswith("https://")):
                raise InvalidArgument(f"{PREFIX}S3_PREFIXES", f"{text!r} is not BUCKET=https://...")
            prefixes[bucket] = url
        return ReadSettings(
            cache_dir=Path(self.cache_dir).expanduser() if self.cache_dir else None,
            cache_bytes=self.cache_bytes,
            max_index_bytes=self.max_index_bytes,
            timeout=self.http_timeout,
            s3_prefixes=prefixes,
        )


def _number(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < 3600:
        raise ValueError
    return seconds


def _truth(text: str) -> bool:
    return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[
        text.lower()
    ]


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


_READERS: dict[Any, tuple[Callable[[str], Any], str]] = {
    str: (str, "a text"),
    int: (_number, "a whole number from 0"),
    float: (_seconds, "a number of seconds"),
    bool: (_truth, "true or false"),
    tuple[str, ...]: (_names, "names separated by commas"),
}


def settings_from(environ: Mapping[str, str]) -> Settings:
    """Read the settings; raises InvalidArgument with the variable and its value."""
    values: dict[str, Any] = {}
    for field in fields(Settings):
        variable = PREFIX + field.name.upper()
        if (text := environ.get(variable)) is None:
            continue
        read, expected = _READERS[field.type]
        try:
            values[field.name] = read(text)
        except (ValueError, KeyError):
            raise InvalidArgument(variable, f"{text!r} is not {expected}") from None
    return Settings(**values)


def environ_of(settings: Settings) -> dict[str, str]:
    """Return the variables that ``settings_from`` reads these settings from."""
    variables = {}
    for field in fields(Settings):
        value = getattr(settings, field.name)
        text = ",".join(value) if isinstance(value, tuple) else str(value)
        variables[PREFIX + field.name.upper()] = text
    return variables
