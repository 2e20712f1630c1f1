"""Indexes and build caches that are given as the stacks of one revision."""

from pathlib import Path
from typing import Any

import pytest

from snapshots.contents import Snapshot
from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.sources.buildcache.reader import StackIndex, labelled
from snapshots.sources.reports import Report
from tests.snapshots.sources.buildcache.folders import (
    put,
    put_installation,
    put_layout_2,
    put_specs,
    text,
)
from tests.snapshots.sources.buildcache.indexes import (
    LIBELF,
    RUNTIME,
    WRAPPER,
    database,
    installation,
    node,
    small_database,
)
from tests.snapshots.sources.buildcache.misbehaving import Server, document
from tests.snapshots.sources.buildcache.readings import QUICK, by_hash, snapshots, stacks_of
from tests.snapshots.sources.readings import read_locations


def together(*locations: str, tag: str | None = "develop", **more: Any) -> list[Snapshot]:
    """Read locations in one import."""
    tags = [tag] if tag else []
    return list(read_locations(locations, tags=tags, settings=QUICK, report=Report(), **more))


def small_caches(folder: Path) -> tuple[str, str]:
    """Write two build caches, and return their folders."""
    put_layout_2(folder / "one", text(small_database()))
    put_specs(folder / "other", database(node("compiler-wrapper", WRAPPER)))
    return str(folder / "one"), str(folder / "other")


def test_stacks_of_one_revision(tmp_path: Path) -> None:
    """Each spec knows the stacks that have it, and root, the union of all."""
    one, other = small_caches(tmp_path)
    (snapshot,) = together(f"ml={other}", f"e4s={one}", tag="develop-2026-06-27")
    assert snapshot.tag == "develop-2026-06-27"
    assert stacks_of(snapshot) == {
        LIBELF: ("e4s", "root"),
        RUNTIME: ("e4s", "root"),
        WRAPPER: ("e4s", "ml", "root"),
    }
    assert snapshot.source.location == f"e4s={one} ml={other}"


def test_a_package_that_one_stack_tells(tmp_path: Path) -> None:
    """A cache without an index tells sizes, also of specs that a stack before it has."""
    put_layout_2(tmp_path / "indexed", text(small_database()))
    put_specs(tmp_path / "listed", small_database())
    (alone,) = snapshots(tmp_path / "listed", "develop")
    (both,) = together(f"a={tmp_path / 'indexed'}", f"b={tmp_path / 'listed'}")
    packages = {spec.hash: (spec.size, spec.tarball) for spec in alone.content.specs()}
    assert {spec.hash: (spec.size, spec.tarball) for spec in both.content.specs()} == packages


def test_they_are_what_a_list_of_them_is(tmp_path: Path) -> None:
    """Content and version are those of the public list that names the same, with its root."""
    one, other = small_caches(tmp_path)
    stacks = {"e4s": one, "ml": other, "root": one}
    listed = [{"label": label, "url": url} for label, url in stacks.items()]
    (expected,) = snapshots(put(tmp_path / "list.json", text({"develop": listed})))
    (named,) = together(*(f"{label}={url}" for label, url in stacks.items()))
    assert named.content.digest == expected.content.digest
    assert named.source.version == expected.source.version
    (made,) = together(f"e4s={one}", f"ml={other}")
    assert made.content.digest == expected.content.digest


def test_two_installations(tmp_path: Path) -> None:
    """What both have is explicit where one of them says so, and there since the earlier moment."""
    facts = {
        "one": {"explicit": True, "installation_time": 1_743_336_000.0},
        "other": {"explicit": False, "installation_time": 1_700_000_000.0},
    }
    for place, told in facts.items():
        put_installation(tmp_path / place, installation({LIBELF: told}))
    both = [f"a={tmp_path / 'one'}", f"b={tmp_path / 'other'}"]
    for order in (both, both[::-1]):
        (snapshot,) = together(*order)
        libelf = by_hash(snapshot)[LIBELF]
        assert libelf.stacks == ("a", "b", "root")
        assert (libelf.explicit, libelf.installed_at) == (True, "2023-11-14T22:13:20Z")


def test_stacks_at_urls(server: Server) -> None:
    """Each may lie at another address; what a URL hides behind ? is not published."""
    server["/a.json?key=1"] = document(small_database())
    server["/b.json"] = document(database(node("compiler-wrapper", WRAPPER)))
    (snapshot,) = together(f"e4s={server.at('/a.json?key=1')}", f"ml={server.at('/b.json')}")
    assert snapshot.content.stacks == {"e4s", "ml", "root"}
    assert snapshot.source.location == f"e4s={server.at('/a.json')} ml={server.at('/b.json')}"


@pytest.mark.parametrize(
    ("location", "stack"),
    [
        ("e4s=https://host/a=b.json", ("e4s", "https://host/a=b.json")),
        ("e4s=folder", ("e4s", "folder")),
        ("e4s=nothing", ("e4s", "nothing")),
        ("a=index.json", ("a", "index.json")),
        ("a=b.json", None),
        ("./a=b.json", None),
        ("a b=folder", None),
        ("https://host/?a=b", None),
        ("folder", None),
    ],
)
def test_which_locations_name_a_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str, stack: Any
) -> None:
    """What stands before = has to be a stack's name, and the whole no file of that name."""
    monkeypatch.chdir(tmp_path)
    put_layout_2(tmp_path / "folder")
    for name in ("a=b.json", "index.json", "a=index.json"):
        put(tmp_path / name, b"{}")
    assert labelled(location, QUICK) == (stack and StackIndex(*stack))


def test_a_file_whose_name_has_an_equals_sign(tmp_path: Path, monkeypatch: Any) -> None:
    """It is read as it ever was."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "a=b.json", text(small_database()))
    for location in ("a=b.json", "./a=b.json"):
        (snapshot,) = together(location)
        assert snapshot.content.stacks == frozenset()


def test_a_stack_without_a_location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told how to write one, unless a file has that name."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument, match="e4s= names a stack and no place; write e4s=LOC"):
        together("e4s=")
    put(tmp_path / "e4s=", text(small_database()))
    (snapshot,) = together("e4s=")
    assert snapshot.content.stacks == frozenset()


def test_stacks_beside_a_location_of_none(tmp_path: Path) -> None:
    """Whether that belongs to the same revision nobody can tell."""
    one, other = small_caches(tmp_path)
    reason = f"{other} is given for no stack, and e4s=.* give each as STACK=LOCATION, or import"
    with pytest.raises(InvalidArgument, match=reason):
        together(f"e4s={one}", other)


def test_what_cannot_be_the_stacks_of_a_revision(tmp_path: Path) -> None:
    """Each is told before anything is published: no tag, one twice, a list, what is not there."""
    one, other = small_caches(tmp_path)
    with pytest.raises(TagNeeded, match="name one with --tag"):
        together(f"e4s={one}", tag=None)
    with pytest.raises(InvalidArgument, match=r"e4s=.*one stands there twice"):
        together(f"e4s={one}", f"ml={other}", f"e4s={one}")
    file = put(tmp_path / "list.json", text({"develop": [{"label": "e4s", "url": one}]}))
    with pytest.raises(SourceError, match="is a list of tags, which have stacks themselves"):
        together(f"e4s={file}")
    with pytest.raises(SourceError, match="nothing: does not exist"):
        together(f"e4s={one}", f"ml={tmp_path}/nothing")
    with pytest.raises(SourceError, match="ftp://host/a: is none of what can be read"):
        together("e4s=ftp://host/a")
    with pytest.raises(InvalidArgument, match="more than 1,000 stacks"):
        together(*(f"s{number}={one}" for number in range(1001)))
