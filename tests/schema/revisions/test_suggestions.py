"""Suggestions for the beginning of a text, with their pages."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.schema.questions import SUGGEST
from tests.schema.worlds import World, opened, published
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of

HASH = hash_of("3")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return two revisions of develop, and a release with another package."""
    specs = [
        a_spec("1", name="hdf5", version="1.12.1", stacks=("e4s",), target="zen4"),
        a_spec("2", name="hdf5", version="1.14.3", stacks=("e4s",), variants=("+mpi",)),
        a_spec("3", name="hdf", version="4.2", compiler="gcc@13.2.0"),
    ]
    older = [
        a_spec("4", name="hdfview", version="3", stacks=("old-stack",)),
        a_spec("5", name="hdf5", version="9", stacks=("old-stack",)),
    ]
    return published(
        tmp_path_factory.mktemp("catalog"),
        a_snapshot(specs[:2], "develop", taken_at=day(1)),
        a_snapshot(specs, "develop", taken_at=day(2)),
        a_snapshot(older, "develop-2025-01-01", taken_at=day(3)),
    )


def suggested(world: World, text: str, **variables: Any) -> list[tuple[str, str, str, str]]:
    """Return kind, value, detail and page of each suggestion."""
    answer = world.data(SUGGEST, text=text, **variables)["suggest"]
    return [tuple(suggestion.values()) for suggestion in answer]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "hdf",
            [
                ("PACKAGE", "hdf", "4.2, 1 spec", "/packages/hdf"),
                ("PACKAGE", "hdf5", "1.14.3, 2 specs", "/packages/hdf5"),
                ("PACKAGE", "hdfview", "3, 1 spec", "/packages/hdfview"),
            ],
        ),
        ("e4", [("STACK", "e4s", "3 specs", "/r/develop/stacks/e4s")]),
        (
            "devel",
            [
                ("SERIES", "develop", "2 revisions", "/series/develop"),
                ("SERIES", "develop-DATE", "1 revision", "/series/develop-DATE"),
                ("TAG", "develop-2025-01-01", "2 specs, of 2025-01-08", "/r/develop-2025-01-01"),
            ],
        ),
        (
            "hdf5@1.14",
            [("VERSION", "hdf5@1.14.3", "1 spec", "/r/develop/packages/hdf5?versions=1.14.3")],
        ),
        ("%gcc@13", [("COMPILER", "gcc@13.2.0", "3 specs", "/r/develop?compilers=gcc%4013.2.0")]),
        ("zen", [("TARGET", "zen4", "1 spec", "/r/develop?targets=zen4")]),
        ("+mpi", [("VARIANT", "+mpi", "3 specs", "/search?q=%2Bmpi&in=develop")]),
        (f"/{HASH[:9]}", [("HASH", HASH, "hdf@4.2", f"/hash/{HASH}")]),
        (HASH[:2], []),
        ("", []),
        ("hdfview", [("PACKAGE", "hdfview", "3, 1 spec", "/packages/hdfview")]),
        ("old-s", [("STACK", "old-stack", "2 specs", "/r/develop-2025-01-01/stacks/old-stack")]),
        (
            "hdfview@3",
            [
                (
                    "VERSION",
                    "hdfview@3",
                    "1 spec",
                    "/r/develop-2025-01-01/packages/hdfview?versions=3",
                )
            ],
        ),
        (hash_of("4")[:9], [("HASH", hash_of("4"), "hdfview@3", f"/hash/{hash_of('4')}")]),
    ],
)
def test_suggestions(world: World, text: str, expected: list[Any]) -> None:
    """Of the newest revision of each series, first of develop: each kind with a detail and page."""
    assert suggested(world, text) == expected


def test_suggestions_of_another_revision(world: World) -> None:
    """Names are those of the given revision, and pages are in it."""
    assert [suggestion[1:] for suggestion in suggested(world, "hdf", ref="develop~1")] == [
        ("hdf5", "1.14.3, 2 specs", "/r/develop~1/packages/hdf5")
    ]
    (of_ref,) = suggested(world, HASH[:9], ref="develop")
    assert of_ref[3] == f"/r/develop/specs/{HASH}"
    (view,) = suggested(world, "hdfvie", ref="develop-2025-01-01")
    assert view[1:3] == ("hdfview", "3, 1 spec")


def test_kinds_and_number_of_suggestions(world: World) -> None:
    """Only of the given kinds and number."""
    assert suggested(world, "hdf", kinds=["STACK", "TARGET"]) == []
    assert [suggestion[1] for suggestion in suggested(world, "hdf", first=1)] == ["hdf"]
    assert suggested(world, "hdf", first=0) == []


def test_hashes_of_all_series(tmp_path: Path) -> None:
    """Some of those that start with the text, also if only older revisions have them."""
    hashes = [f"abcd{letter * 28}" for letter in "abc"]
    specs = [replace(a_spec(text), hash=text) for text in hashes]
    world = published(
        tmp_path,
        a_snapshot(specs[:1], "develop", taken_at=day(1)),
        a_snapshot(specs[1:2], "develop", taken_at=day(2)),
        a_snapshot(specs[2:], "v1.0.0", taken_at=day(3)),
    )
    shown = suggested(world, "ABCD")
    assert [(kind, text) for kind, text, _, _ in shown] == [("HASH", text) for text in hashes]
    assert len(suggested(world, "abcd", first=2)) == 2


def test_unreadable_content_is_left_out(world: World, tmp_path: Path) -> None:
    """The names of the others are suggested; it is an error for the revision alone."""
    folder = shutil.copytree(world.catalog.location, tmp_path / "copy")
    (newest,) = world.catalog.history.of_tag("develop-2025-01-01")
    shutil.rmtree(folder / "specs" / f"digest={newest.digest}")
    broken = opened(folder)
    assert [value for _, value, _, _ in suggested(broken, "hdf")] == ["hdf", "hdf5"]
    error = broken.error(SUGGEST, text="hdf", ref="develop-2025-01-01")
    assert error["extensions"]["code"] == "CATALOG_UNAVAILABLE"


def test_suggestions_without_a_revision(world: World, tmp_path: Path) -> None:
    """An error, as for the field revision."""
    for of_world, ref in ((opened(tmp_path), None), (world, "nope")):
        error = of_world.error(SUGGEST, text="a", ref=ref)
        assert error["extensions"]["code"] == "REVISION_NOT_FOUND"
