"""``cachelog tags``, ``packages`` and ``stacks``: one line each, as the records have them."""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.models import Spec, revision_facts
from snapshots.refs import series
from snapshots.spack.names import ROOT_STACK
from snapshots.spack.versions import version_key
from tests.schema.worlds import World, known_world
from tests.server.commands import Done, cachelog


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a small catalog whose records are known."""
    return known_world(tmp_path_factory.mktemp("catalog"))


def good(catalog: object, *arguments: object, terminal: int | None = None) -> Done:
    """Run a command that must succeed without a word beside its result."""
    done = cachelog(*arguments, catalog=catalog, terminal=terminal)
    assert (done.code, done.err) == (0, "")
    return done


def by_package(specs: Iterable[Spec], stack: str | None = None) -> dict[str, list[Spec]]:
    """Return the specs of each package, of one stack if it is named."""
    found: defaultdict[str, list[Spec]] = defaultdict(list)
    for spec in specs:
        if stack is None or stack in spec.stacks:
            found[spec.name].append(spec)
    return dict(sorted(found.items()))


def size_of(specs: list[Spec]) -> int | None:
    """Return the sum of the known sizes; None where none is known."""
    sizes = [spec.size for spec in specs if spec.size is not None]
    return sum(sizes) if sizes else None


def test_tags(world: World) -> None:
    """In the catalog's order, each with its series, its revisions and the newest of them."""
    history = Catalog(world.catalog.location).require_history()
    done = good(world.catalog.location, "tags", "--json").json
    assert done == [
        {
            "tag": tag,
            "series": series(tag),
            "num_revisions": len(history.of_tag(tag)),
            "latest": revision_facts(history.of_tag(tag)[0]),
        }
        for tag in history.tags
    ]
    heads, *rows = good(world.catalog.location, "tags").lines
    assert re.split("  +", heads)[:5] == ["tag", "series", "revisions", "digest", "taken at"]
    assert [row.split()[0] for row in rows] == history.tags


@pytest.mark.parametrize("stack", [None, "e4s", ROOT_STACK])
def test_packages(world: World, stack: str | None) -> None:
    """By name; with a stack all numbers are those of the stack."""
    for state in world.states:
        asked = ("packages", state.info.digest, *(("--stack", stack) if stack else ()))
        expected = by_package(state.specs, stack)
        if not any(stack is None or stack in spec.stacks for spec in state.specs):
            continue
        found = good(world.catalog.location, *asked, "--json").json
        assert found["revision"] == revision_facts(
            Catalog(world.catalog.location).require_history().resolve(state.info.digest)
        )
        assert (found["stack"], found["search"]) == (stack, None)
        assert found["packages"] == [
            {
                "name": name,
                "versions": sorted(
                    {it.version for it in specs}, key=lambda it: (version_key(it), it), reverse=True
                ),
                "num_specs": len(specs),
                "num_stacks": len({it for spec in specs for it in spec.stacks} - {ROOT_STACK}),
                "total_size": size_of(specs),
            }
            for name, specs in expected.items()
        ]
        heads, *rows = good(world.catalog.location, *asked).lines
        assert re.split("  +", heads) == [
            "package",
            "newest",
            "versions",
            "specs",
            "stacks",
            "size",
        ]
        assert [row.split()[0] for row in rows] == list(expected)


def test_stacks(world: World) -> None:
    """By name, root among them."""
    for state in world.states:
        names = sorted({it for spec in state.specs for it in spec.stacks})
        inside = {name: [it for it in state.specs if name in it.stacks] for name in names}
        found = good(world.catalog.location, "stacks", state.info.digest, "--json").json
        assert found["stacks"] == [
            {
                "name": name,
                "num_packages": len(by_package(specs)),
                "num_specs": len(specs),
                "total_size": size_of(specs),
            }
            for name, specs in inside.items()
        ]


def test_search(demo_catalog: Path) -> None:
    """Packages with the text in their name, in any case; that none fits is told beside it."""
    every, some = (
        good(demo_catalog, "packages", *asked, "--json").json["packages"]
        for asked in ((), ("--search", "LIB"))
    )
    assert some == [it for it in every if "lib" in it["name"]]
    assert 0 < len(some) < len(every)
    nothing = cachelog("packages", "--search", "no such", catalog=demo_catalog)
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err.startswith("No package of develop of ")


@pytest.mark.parametrize("command", ["packages", "stacks"])
def test_faults_name_what_is_nearest(command: str, demo_catalog: Path) -> None:
    """A revision, a stack or a catalog that is not there is told in one line."""
    done = cachelog(command, "develpo", catalog=demo_catalog)
    assert done.code == 1
    assert done.err.startswith("cachelog: no revision 'develpo': there is no tag develpo; nearest:")
    gone = cachelog(command, catalog=demo_catalog / "none")
    assert (gone.code, "there is no catalog at" in gone.err) == (1, True)


def test_an_unknown_stack(demo_catalog: Path) -> None:
    """It is a fault, with the nearest."""
    done = cachelog("packages", "--stack", "e4", catalog=demo_catalog)
    assert (done.code, done.out) == (1, "")
    assert "--stack: the revision does not have 'e4'" in done.err


@pytest.mark.parametrize("command", ["tags", "packages", "stacks"])
def test_narrow_terminals_show_fewer_columns(command: str, demo_catalog: Path) -> None:
    """Names always stay."""
    narrow, wide = (good(demo_catalog, command, terminal=it).lines for it in (30, 200))
    assert len(narrow) == len(wide)
    assert max(map(len, narrow)) < max(map(len, wide))
