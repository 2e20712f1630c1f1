"""Formatting of numbers, digests, names and texts from outside for readers."""

import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Sequence
from datetime import datetime
from difflib import get_close_matches
from hashlib import sha256
from inspect import getdoc
from itertools import takewhile
from urllib.parse import SplitResult, urlsplit

_SHORT_HASH = 7
_COMMIT = re.compile(r"(git\.[0-9a-f]{7})[0-9a-f]{33}")
_SPECIAL_NAMES = {"facts": "other facts"}
"""The reason of a hash that persists; the word alone would mean all facts of a spec."""

_UNPROVEN = {
    "converted": "converted from an older format",
    "spliced": "spliced",
    "external": "external",
    "format_unknown": "of an unknown format",
    "rewritten": "rewritten by another Spack",
}

_UNITS = ("KiB", "MiB", "GiB", "TiB")


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: 1 spec, 2,000 specs, 3 hashes, 2 binaries."""
    if count == 1:
        return f"{count:,} {noun}"
    if noun.endswith("ry"):
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}{'es' if noun.endswith('sh') else 's'}"


def few(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """Return the first ``most`` names in one line, and the number of the others."""
    more = len(names) - most
    return separator.join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def size(num_bytes: int | None) -> str:
    """Return a size in the largest unit of which it has at least one."""
    if num_bytes is None:
        return "unknown"
    if num_bytes < 1024:
        return f"{num_bytes} B"
    amount = num_bytes / 1024
    for unit in _UNITS[:-1]:
        if round(amount, 1) < 1024:
            return f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:,.1f} {_UNITS[-1]}"


def percent(part: int, whole: int) -> str:
    """Return a percentage, rounded down, so that only the whole is 100 %; 0 of 0 is also 100 %."""
    return f"{(1_000 * part // whole if whole else 1_000) / 10:.1f} %"


def shares(counts: Sequence[int]) -> list[str]:
    """Return the percentages of the counts in their sum, rounded: equal counts have equal ones.

    A count that is not zero is shown as at least "<0.1 %", and as 100 % only if it is the sum.
    """
    whole = sum(counts)
    tenths = [round(1_000 * count / whole) if whole else 0 for count in counts]
    return [
        "<0.1 %"
        if count and not tenth
        else f"{min(tenth, 999 if count < whole else tenth) / 10:.1f} %"
        for count, tenth in zip(counts, tenths, strict=True)
    ]


def proven(num_proven: int | None, unproven: Iterable[tuple[str, int]]) -> str:
    """Return the numbers of proven and unproven hashes of a revision: 221 proven, 2 spliced.

    ``num_proven`` is None if no import recomputed them. ``unproven`` has the reasons why some could
    not be recomputed, as values of ``UnprovenReason``, with the number of specs for each.
    """
    if num_proven is None:
        return "not checked"
    others = [f"{count:,} {_UNPROVEN[reason]}" for reason, count in unproven]
    return ", ".join([f"{num_proven:,} proven", *others])


def day(moment: datetime) -> str:
    """Return a date in the form 2025-01-20."""
    return f"{moment:%Y-%m-%d}"


def minute(moment: datetime) -> str:
    """Return a date and time, to the minute, in the form 2025-01-20 12:30."""
    return f"{moment:%Y-%m-%d %H:%M}"


def distinct_times(base: datetime, head: datetime) -> tuple[str, str]:
    """Return the days of two times, or if these are equal, the times as exactly as necessary."""
    for written in (day, minute):
        if written(base) != written(head):
            return written(base), written(head)
    return f"{base:%Y-%m-%d %H:%M:%S.%f}", f"{head:%Y-%m-%d %H:%M:%S.%f}"


def single_value(fact: object) -> str:
    """Return a single value of a fact as text; yes or no for a bool."""
    return ("no", "yes")[fact] if isinstance(fact, bool) else str(fact)


def short_hash(whole: str) -> str:
    """Return a hash truncated for readers, to the same length as in Spack."""
    return whole[:_SHORT_HASH]


def in_words(name: str) -> str:
    """Return the name of a fact, kind or reason in words: new package, version gone."""
    return _SPECIAL_NAMES.get(name) or name.replace("_", " ")


def short_version(whole: str) -> str:
    """Return a version with its commit truncated: git.2b4cfcd…=1.14.3."""
    return _COMMIT.sub(r"\1…", whole)


def versioned(name: str, version: str | None) -> str:
    """Return NAME@VERSION, or NAME without a version."""
    return name if version is None else f"{name}@{version}"


def described_parts(declared: object) -> tuple[str, dict[str, str]]:
    """Return the text of a docstring, and the texts by name of its list items ``- NAME: text``."""
    about, *parts = re.split(r"^- (\w+): ", getdoc(declared) or "", flags=re.M)
    texts = [" ".join(part.split()) for part in parts]
    return " ".join(about.split()), dict(zip(texts[::2], texts[1::2], strict=True))


# -- digests


_SHORT = 12
_DISTINCT = 4


def short_digest(digest: str) -> str:
    """Truncate a digest to the length that readers need to distinguish it from others."""
    return digest[:_SHORT]


def short_key(text: str) -> str:
    """Return 72 bits of the SHA-256 of a text, in 12 characters that need no escaping in URLs."""
    return urlsafe_b64encode(sha256(text.encode()).digest()[:9]).decode()


def distinct_prefixes(digests: Sequence[str]) -> list[str]:
    """Truncate digests or hashes of equal length to distinct prefixes and some more characters."""
    ends = zip(min(digests), max(digests), strict=True)
    num_alike = sum(1 for _ in takewhile(lambda both: both[0] == both[1], ends))
    length = max(_SHORT, num_alike + _DISTINCT)
    return [digest[:length] for digest in digests]


# -- texts from outside: visible, on one line, and short


_LONGEST_QUOTE = 80

# Printable for Python, but blank: Hangul fillers, the braille blank, variation selectors ...
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)


def is_plain(text: str) -> bool:
    """Return whether all characters of a text are visible and on one line.

    Such a text has no control characters, line breaks, characters that change the direction of
    writing, or zero-width characters.
    """
    return text.isprintable() and (text.isascii() or _BLANK.search(text) is None)


def visible(text: str) -> str:
    r"""Return the text with invisible characters escaped: ``\x1b``, ``\u202e``."""
    if is_plain(text):
        return text
    return "".join(char if is_plain(char) else _escaped(char) for char in text)


def shortened(text: str, longest: int) -> str:
    """Return the text, without its middle if it is longer than ``longest`` characters."""
    if len(text) <= longest:
        return text
    half = (longest - 3) // 2
    return f"{text[:half]}...{text[len(text) - half :]}"


def legible(text: str, longest: int) -> str:
    """Escape invisible characters, and remove the middle beyond ``longest`` characters.

    The running time does not depend on the length of the text.
    """
    return shortened(visible(shortened(text, longest)), longest)


def quoted(text: str) -> str:
    """Return the text in quotes, with invisible characters escaped, shortened for a message."""
    return legible(repr(shortened(text, _LONGEST_QUOTE)), _LONGEST_QUOTE)


def _escaped(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


# -- names that resemble an unknown name


_NUM_NEAREST = 3
_NUM_FIRST = 5
_LIKENESS = 0.6
_CONTAINED_MIN = 3
_LONGEST_NAME = 200


def nearest_names(name: str, names: Iterable[str], *, most: int = _NUM_NEAREST) -> list[str]:
    """Return up to ``most`` of ``names`` that resemble a name or contain it, ignoring case.

    Those that resemble it come first, best first. Only the beginning of a long name is compared.
    """
    sought = name[:_LONGEST_NAME].lower()
    spellings: dict[str, list[str]] = {}
    for other in {*names}:
        spellings.setdefault(other.lower(), []).append(other)
    alike = get_close_matches(sought, spellings, most, _LIKENESS)
    if len(alike) < most and len(sought) >= _CONTAINED_MIN:
        containing = {other for other in spellings if sought in other}.difference(alike)
        alike += sorted(containing, key=lambda other: (len(other), other))
    return [other for lower in alike for other in sorted(spellings[lower])][:most]


def nearest_hint(nearest: Sequence[str]) -> str:
    """Return the end of a message that suggests names; empty if there are none."""
    return f"; nearest: {', '.join(nearest)}" if nearest else ""


def names_hint(name: str, names: Sequence[str]) -> str:
    """Return the end of a message that suggests names for a name of a kind with few, as stacks.

    They are the names that resemble it, or, if none does, the first; empty if there are none.
    """
    others = f"; there are: {few(names, _NUM_FIRST)}" if names else ""
    return nearest_hint(nearest_names(name, names)) or others


def absent_name(name: str, hint: str, num_revisions: int = 1) -> str:
    """Return the reason why a name is refused that one or two revisions do not have."""
    who = "the revision does not have" if num_revisions == 1 else "neither revision has"
    return f"{who} {quoted(name)}{hint}"


def http_url(text: str) -> SplitResult | None:
    """Return the parts of an http(s) URL that has a host; None for any other text."""
    try:
        parts = urlsplit(text)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # for example, its port is not a number
        return None
    return parts if is_valid and text.isprintable() else None
