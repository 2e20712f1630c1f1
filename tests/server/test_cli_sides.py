"""What ``diff`` prints of real files as sides, against sets and dictionaries of their raw JSON."""

import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.expensive import IS_QUICK
from tests.model import real
from tests.server.commands import cachelog

Raw = dict[str, dict[str, Any]]
"""The nodes in a file by their hashes, as Spack wrote them."""

FILES = [
    f"{date}/{stack}/{name}"
    for date in real.dates()[-2:]
    for stack in real.STACKS
    for name in ("index.json", "spack.lock")
]
SOME = [
    (base, head)
    for number, (base, head) in enumerate(product(FILES, FILES))
    if number % (61 if IS_QUICK else 2) == 0
]
"""Three of all pairs: each two forms, and a file and itself; at night, half of all pairs."""


@cache
def nodes(file: str) -> Raw:
    """Return the specs of a file that are no external ones."""
    document = json.loads((real.history() / file).read_bytes())
    if "database" in document:
        installs = document["database"]["installs"].items()
        return {key: it["spec"] for key, it in installs if it["in_buildcache"]}
    specs = document["concrete_specs"].items()
    return {key: it for key, it in specs if "external" not in it}


def versions(raw: Raw) -> dict[str, set[str]]:
    """Return the versions of each package."""
    by_package: defaultdict[str, set[str]] = defaultdict(set)
    for node in raw.values():
        by_package[node["name"]].add(node["version"])
    return dict(by_package)


def cells(raw: Raw) -> set[tuple[str, str]]:
    """Return which packages there are for which targets."""
    return {(it["name"], target(it)) for it in raw.values()}


def target(node: dict[str, Any]) -> str:
    """Return the target of a node, which is an object where Spack knows more of it."""
    value = node["arch"]["target"]
    return str(value["name"] if isinstance(value, dict) else value)


def expected(base: Raw, head: Raw) -> dict[str, Any]:
    """Return what follows from the raw specs."""
    before, after = versions(base), versions(head)
    return {
        "added": head.keys() - base.keys(),
        "removed": base.keys() - head.keys(),
        "changed": set(),
        "packages_added": len(after.keys() - before.keys()),
        "packages_removed": len(before.keys() - after.keys()),
        "num_specs": (len(base), len(head)),
        "lost": cells(base) - cells(head),
        "gained": cells(head) - cells(base),
    }


def printed(base: Path, head: Path) -> Iterator[tuple[str, Any]]:
    """Yield what ``diff`` prints of the same."""
    document = cachelog("diff", base, head, "--json").json
    for kind, specs in document["specs"].items():
        yield kind, {it["hash"] for it in specs}
    for kind in ("packages_added", "packages_removed"):
        yield kind, document["summary"][kind]
    yield "num_specs", tuple(document[side]["num_specs"] for side in ("base", "head"))
    coverage = cachelog("diff", f"{base}..{head}", "--coverage", "target", "--json").json
    for kind in ("lost", "gained"):
        yield (
            kind,
            {(it["package"], *it["values"]) for it in coverage["coverage"] if it["kind"] == kind},
        )


def pairs_are_sound(base: Path, head: Path, before: Raw, after: Raw) -> None:
    """Fail where counterparts are not one to one, of one package, or causes do not add up."""
    document = cachelog("why", base, head, "--json").json
    added = [it for it in document["specs"] if it["hash"] in after.keys() - before.keys()]
    paired = {it["hash"]: it["counterpart"] for it in added if it["counterpart"]}
    assert len({*paired.values()}) == len(paired)
    for new, old in paired.items():
        assert before[old]["name"] == after[new]["name"]
    of_package: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for side, other, number in ((before, after, 0), (after, before, 1)):
        for key in side.keys() - other.keys():
            of_package[side[key]["name"]][number] += 1
    # All of them are for one architecture, or none is.
    assert len(paired) == sum(min(counts) for counts in of_package.values())
    assert sum(it["num_specs"] for it in document["causes"]) == len(paired)


@pytest.mark.parametrize(("base", "head"), SOME)
def test_what_differs_between_two_files(base: str, head: str) -> None:
    """Hashes, packages, coverage and counterparts, whichever forms the two files have."""
    paths = real.history() / base, real.history() / head
    assert dict(printed(*paths)) == expected(nodes(base), nodes(head))
    pairs_are_sound(*paths, nodes(base), nodes(head))
