"""What the page of a checked lock file shows beside the answer: totals, and facts that differ."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from snapshots.spack.names import natural_key
from snapshots.wording import in_words, percent


def check_view(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the totals, and for each missing spec what differs in the nearest."""
    found = data["revision"]["lookup"]
    return {
        "totals": list(_totals(found)),
        "num_missing": found["numWanted"] - found["numFound"],
        "differences": {
            it["hash"]: list(map(_difference, it["differences"])) for it in found["missing"]
        },
    }


def _totals(found: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    wanted, roots = found["numWanted"], found["numRootsWanted"]
    there, roots_there = found["numFound"], found["numRootsFound"]
    for name, part, whole in (
        ("Roots", roots_there, roots),
        ("Dependencies", there - roots_there, wanted - roots),
        ("All", there, wanted),
    ):
        yield {"name": name, "part": part, "whole": whole, "share": percent(part, whole)}


def _difference(change: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a fact that differs, as people read it: of a list, what came and what is not there."""
    before, after, path = change["before"], change["after"], change["path"]
    if path == "package_hash":
        return {"fact": "another recipe"}
    if isinstance(before, list) and isinstance(after, list):
        added, removed = _only_in(after, before), _only_in(before, after)
        return {"fact": in_words(path), "added": added, "removed": removed}
    return {"fact": in_words(path), "before": before, "after": after}


def _only_in(items: Sequence[str], others: Sequence[str]) -> list[str]:
    return sorted({*items} - {*others}, key=natural_key)
