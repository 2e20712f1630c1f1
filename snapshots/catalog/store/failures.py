"""Errors of the store in one sentence: the cause without noise, the same text each time."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from deltalake.exceptions import DeltaError

from snapshots.errors import CatalogError

_LENGTH = 400
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_BACKTRACE = re.compile(r"\n\s*0: .*", re.DOTALL)
# What differs from one time to the next: how long it took, how often it was tried, who answered.
_PASSING = re.compile(
    r" in [\d.]+(?:ns|µs|ms|s)\b|, after \d+ retr\w+|, max_retries\W+\d+|, retry_timeout\W+\d+\w*"
    r"|\?list-type=\S*"
)
_XML_ERROR = re.compile(r"(?:<\?xml.*?\?>\s*)?<Error>.*?</Error>", re.DOTALL)
_XML_PART = re.compile(r"<(Code|Message)>(.*?)</\1>", re.DOTALL)
_SYSTEM_ERROR = re.compile(r":?\s*Error: Os \{ code: \d+, kind: \w+, message: \"(.*?)\" \}")
# What the libraries of the store say where a variable is missing, and which one.
_ADVICE = {
    "loading credentials: failed to load IMDS": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "builder error: URL scheme is not allowed": "set AWS_ALLOW_HTTP=true for an http:// endpoint",
}
_PREFIXES = re.compile(r"^(?:Kernel error(?: ->|:) |Generic (?:LocalFileSystem )?error: )+")


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Turn whatever a store raises into a CatalogError of that location."""
    try:
        yield
    except (DeltaError, pa.ArrowException, OSError) as error:
        raise CatalogError(location, reason_of(error)) from error


def reason_of(error: Exception) -> str:
    """Return what an error of a store says: one line, without what changes between two tries."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{error.filename}: {error.strerror}"
    text = _BACKTRACE.sub("", _ESCAPES.sub("", text))
    text = _XML_ERROR.sub(_code_and_message, text)
    text = _SYSTEM_ERROR.sub(r": \1", text)
    text = _PASSING.sub("", text.replace("\n", " "))
    text = re.sub(r"\s*↳\s*", ": ", text)
    text = _PREFIXES.sub("", " ".join(text.split())).strip(" :")
    if len(text) > _LENGTH:
        # The cause stands at the end.
        text = f"{text[: _LENGTH // 3]} ... {text[-_LENGTH * 2 // 3 :]}"
    for sign, advice in _ADVICE.items():
        if sign in text:
            return f"{text.rstrip('.')}; {advice}"
    return text or type(error).__name__


def _code_and_message(found: re.Match[str]) -> str:
    parts = dict(_XML_PART.findall(found[0]))
    return ", ".join(part for part in (parts.get("Code"), parts.get("Message")) if part)
