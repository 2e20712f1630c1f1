"""How templates show numbers, sizes, moments and names: the filters that they have."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from markupsafe import Markup

from snapshots import wording
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.notes.package_kinds import HAPPENED
from snapshots.wording import short_digest

UNKNOWN = wording.size(None)
MINUS = "\N{MINUS SIGN}"


def number(value: int | None) -> str:
    """Return a number with its thousands apart."""
    return UNKNOWN if value is None else f"{value:,}"


def size(value: str | int | None) -> str:
    """Return a size in its largest unit."""
    return wording.size(None if value is None else int(value))


def size_delta(value: str | int | None) -> str:
    """Return a difference of sizes with its sign."""
    if value is None:
        return UNKNOWN
    return _with_sign(int(value), wording.size(abs(int(value))))


def _with_sign(value: int, amount: str) -> str:
    """Return an amount behind the sign of its value; the minus is as wide as the plus."""
    return f"{'+' if value > 0 else MINUS if value < 0 else ''}{amount}"


def moment(text: str) -> Markup:
    """Return a moment as its day; a script adds how long ago that was."""
    at = datetime.fromisoformat(text)
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(
        text, wording.minute(at), wording.day(at)
    )


def words(name: str) -> str:
    """Return the name of an enum's value in words: NEW_PACKAGE, new package."""
    return wording.in_words(name.lower())


def proven(revision: Mapping[str, Any]) -> str:
    """Return what the hashes of a revision were found to be, of its numProven and unproven."""
    unproven = [
        (counts["reason"].lower(), counts["numSpecs"]) for counts in revision["unproven"] or ()
    ]
    return wording.proven(revision["numProven"], unproven)


def package_kind(name: str) -> str:
    """Return what happened to a package in words: VERSIONS_CHANGED, other versions."""
    return HAPPENED[PackageChangeKind[name]]


def capitalize_first(text: str) -> str:
    """Return a message as a sentence begins, the rest of it as it stands."""
    return text[:1].upper() + text[1:]


FILTERS = {
    "number": number,
    "size": size,
    "size_delta": size_delta,
    "moment": moment,
    "words": words,
    "proven": proven,
    "package_kind": package_kind,
    "capitalize_first": capitalize_first,
    "counted": wording.counted,
    "percent": wording.percent,
    "versioned": wording.versioned,
    "short_hash": wording.short_hash,
    "short_digest": short_digest,
    "short_version": wording.short_version,
}
