"""What the page of a search shows beside its answer: what a text may be, and where it ends."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from server.pages.views.spec_tables import telling_apart

MOST_TAGS = 60
"""How many tags can be chosen from; others are written."""

# The last part has one way to match alone: with more, a long text would take long to be refused.
_HASH = re.compile(r"/?([a-z2-7]{32})|/([a-z2-7]{1,31})|([a-z]*[2-7][a-z2-7]*)")
_SHORTEST = 6


class Reading(NamedTuple):
    """How much of a query could be read: what stands before the place, there, and behind it.

    ``reason`` says what is wrong with it there, or could stand there.
    """

    before: str
    there: str
    behind: str
    reason: str


def search_view(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what tells the specs apart, the tags to choose from, and how texts are read."""
    found = (data.get("found") or {}).get("specs")
    return {
        "hash_in": hash_in,
        "reading_of": reading_of,
        "tag_names": [tag["name"] for tag in data["tags"][:MOST_TAGS]],
        **telling_apart(found["nodes"] if found else ()),
    }


def hash_in(text: str) -> str | None:
    """Return the hash, or how one begins, that a text is; None where it seems to be none.

    A name may be written with the letters of hashes: only a slash, a digit or the length tell.
    """
    match = _HASH.fullmatch(text.strip().lower())
    if match is None:
        return None
    found = next(filter(None, match.groups()))
    return found if match[3] is None or len(found) >= _SHORTEST else None


def reading_of(query: str, error: Mapping[str, Any]) -> Reading | None:
    """Return where a query could not be read further; None where the error has no place."""
    position = error.get("extensions", {}).get("position")
    if position is None:
        return None
    reason = error["message"].split(" at character ")[0]
    return Reading(query[:position], query[position : position + 1], query[position + 1 :], reason)
