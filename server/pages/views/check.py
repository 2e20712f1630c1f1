"""What the page of a checked lock file shows beside the answer: totals, and facts that differ."""

from collections.abc import Iterator, Mapping
from typing import Any

from server.pages.views.differences import difference
from snapshots.wording import percent


def check_view(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the totals, and for each missing spec its groups and what differs in the nearest."""
    found = data["revision"]["lookup"]
    groups = data.get("groups", ())
    return {
        "writer": data.get("writer"),
        "groups_of": {
            it["hash"]: [group.name for group in groups if it["hash"] in group.roots]
            for it in found["missing"]
        },
        "totals": list(_totals(found)),
        "num_missing": found["numWanted"] - found["numFound"],
        "differences": {
            it["hash"]: list(map(difference, it["differences"])) for it in found["missing"]
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
