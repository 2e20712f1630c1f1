"""``cachelog show``: a revision, a package or a spec in full."""

import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.past import Past
from snapshots.contents import Content, Snapshot
from snapshots.models import SPEC_FACTS, Dependency, Source, revision_facts
from tests.server.commands import ask, cachelog, good
from tests.server.remembered import (
    CMAKE,
    HDF5,
    NEWER_ZLIB,
    ZLIB,
    Remembered,
    remembered,
)
from tests.snapshots.factories import SOURCE, a_snapshot, a_spec, day, full_spec, hash_of
from tests.snapshots.templates import copied


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Remembered:
    """Return a small catalog with a past."""
    return remembered(tmp_path_factory.mktemp("past"))


def facts_at(world: Remembered, number: int, tag: str = "develop") -> dict[str, Any]:
    """Return the revision of a day."""
    revision = world.past.history.at(tag, day(number))
    assert revision
    return revision_facts(revision)


def labelled(lines: list[str]) -> dict[str, str]:
    """Return the texts of the lines by their labels."""
    parts = [line.partition(":") for line in lines if not line.startswith(" ")]
    return {label: text.strip() for label, sign, text in parts if sign}


# -- revisions


def test_a_revision(world: Remembered) -> None:
    """Its facts, its place in its series, its neighbours, and others with the same content."""
    document = good(world, "show", "develop@2025-01-07", "--json").json
    assert document["revision"] == facts_at(world, 2)
    assert (document["series"], document["place"], document["num_revisions"]) == ("develop", 2, 5)
    keys = ("revision", "specs_added", "specs_removed", "specs_changed")
    before, after = (tuple(document[side][key] for key in keys) for side in ("before", "after"))
    assert before == (facts_at(world, 1), 1, 0, 0)
    assert after == (facts_at(world, 3), 2, 3, 0)
    assert document["same"] == [facts_at(world, 5)]
    stacks = {it["name"]: it["num_specs"] for it in document["stacks"]}
    assert stacks == {"e4s": 2, "root": 3, "tools": 1}
    assert document["targets"] == [{"value": "x86_64_v3", "num_specs": 3}]
    assert document["compilers"] == [{"value": "gcc@13.2.0", "num_specs": 3}]


def test_what_people_read_of_a_revision(world: Remembered) -> None:
    """The same, each after its label; without arguments the newest of develop is shown."""
    texts = labelled(good(world, "show").lines)
    assert texts["Tag"] == "develop"
    assert texts["Series"] == "develop, revision 5 of 5"
    assert texts["Before"].startswith("develop of 2025-01-09 (")
    assert texts["Before"].endswith("), from it to this: +2 -2")
    assert texts["After"] == "none"
    assert texts["The same as"].startswith("develop of 2025-01-07 (")
    assert texts["Targets"] == "x86_64_v3 (3)"
    assert good(world, "show").out == good(world, "show", "develop").out
    releases = labelled(good(world, "show", "v0.2").lines)
    assert releases["Series"] == "vX.Y.Z, revision 2 of 3"
    assert releases["Before"].endswith("from it to this: unchanged")


# -- packages


def test_a_package(world: Remembered) -> None:
    """What the revision has of it, and its timeline in the series."""
    document = good(world, "show", "develop@2025-01-07", "hdf5", "--json").json
    assert document["revision"] == facts_at(world, 2)
    assert (document["package"], document["num_specs"], document["total_size"]) == ("hdf5", 1, 2048)
    assert document["versions"] == [{"value": "1.14", "num_specs": 1}]
    assert {it["value"] for it in document["stacks"]} == {"e4s", "root"}
    assert document["first_seen"] == facts_at(world, 1)
    assert document["last_seen"] == facts_at(world, 5)
    assert (document["num_entries"], document["last_change"]["kind"]) == (3, "rebuilt")
    lines = good(world, "show", "zlib").lines
    assert lines[0].startswith("zlib in develop of 2025-01-10 (")
    texts = labelled(lines[1:])
    assert texts["Versions"] == "1.2 (1)"
    assert texts["First seen"].startswith("develop of 2025-01-06 (")
    assert texts["Last change"].endswith("): downgraded, +1.2 -1.3 (+1 -1)")


def test_a_package_that_is_gone(world: Remembered) -> None:
    """Without a revision it is shown as it was last; in a revision without it, it is an error."""
    document = good(world, "show", "v0.1", "zlib", "--json").json
    assert document["series"] == "vX.Y.Z"
    done = ask(world, "show", "develop@2025-01-08", "cmake")
    assert (done.code, done.out) == (1, "")
    assert "does not have 'cmake'; it was removed in develop of 2025-01-08 (" in done.err
    assert "), it is back in develop of 2025-01-09 (" in done.err
    first = ask(world, "show", "develop@2025-01-06", "cmake")
    assert "does not have 'cmake'; it was added in develop of 2025-01-07 (" in first.err
    assert good(world, "show", "zlib", "--json").json["gone_in"] is None
    assert "Gone in" not in labelled(good(world, "show", "zlib").lines[1:])


def test_since_when_a_package_is_gone(tmp_path: Path) -> None:
    """In the revision after the one that it was last seen in."""
    catalog = Catalog(str(tmp_path))
    for number in range(3):
        specs = [ZLIB, HDF5][: 2 if number < 1 else 1]
        catalog.publish(
            [a_snapshot([*specs, a_spec(f"{number}", name="more")], "main", day(number))]
        )
    document = cachelog("show", HDF5.name, "--json", catalog=catalog.location).json
    gone = catalog.require_history().of_series("main")[1]
    assert document["gone_in"] == revision_facts(gone)
    texts = labelled(cachelog("show", HDF5.name, catalog=catalog.location).lines[1:])
    assert texts["Gone in"] == f"main of {day(1):%Y-%m-%d} ({gone.digest[:12]})"


def test_a_package_of_another_series(world: Remembered) -> None:
    """``--series`` selects it; without a package its newest revision is shown."""
    document = good(world, "show", "zlib", "--series", "vX.Y.Z", "--json").json
    assert (document["series"], document["package"]) == ("vX.Y.Z", "zlib")
    newest = good(world, "show", "--series", "vX.Y.Z", "--json").json
    assert newest["series"] == "vX.Y.Z"
    done = ask(world, "show", "cmake", "--series", "vX.Y.Z")
    assert (done.code, "these had it: develop (--series)" in done.err) == (1, True)


# -- specs


def test_every_fact_of_a_spec(world: Remembered) -> None:
    """As in the newest revision that has it; each fact has a line of text."""
    known = world.past.hash_history(HDF5.hash)
    assert known
    document = good(world, "show", f"/{HDF5.hash}", "--json").json
    assert document["revision"] == revision_facts(known.newest)
    for name in SPEC_FACTS:
        if name != "dependencies":
            value = getattr(HDF5, name)
            assert document["spec"][name] == (list(value) if isinstance(value, tuple) else value)
    texts = labelled(good(world, "show", f"/{HDF5.hash[:8]}").lines)
    assert set(texts) >= {
        fact.label or name.replace("_", " ").capitalize()
        for name, fact in SPEC_FACTS.items()
        if name != "dependencies" and not fact.is_exceptional
    }
    assert not {"External at", "External modules", "Spliced, built as"} & set(texts)
    assert texts["Hash"] == HDF5.hash


def test_dependencies_of_a_spec(world: Remembered) -> None:
    """What it needs, in the revision or not, and its dependents."""
    document = good(world, "show", f"/{HDF5.hash}", "--json").json
    zlib = {"name": "zlib", "version": "1.2", "hash": ZLIB.hash, "is_in_revision": True}
    gcc = {"name": "gcc", "version": None, "hash": hash_of("gcc"), "is_in_revision": False}
    edge = {"types": ["link"], "virtuals": [], "external_path": None}
    assert document["dependencies"] == [zlib | edge, gcc | edge]
    assert document["dependents"] == []
    needed = good(world, "show", f"/{ZLIB.hash}", "--json").json["dependents"]
    assert needed == [{"name": "hdf5", "version": "1.14", "hash": HDF5.hash}]
    lines = good(world, "show", f"/{HDF5.hash}").lines
    assert f"  /{ZLIB.hash} zlib@1.2 (link)" in lines
    assert f"  /{hash_of('gcc')} gcc (link, not in the revision)" in lines
    assert "1 spec needs it directly:" in good(world, "show", f"/{ZLIB.hash}").lines
    assert "Depends on nothing." in good(world, "show", f"/{CMAKE.hash}").lines


def test_what_only_some_specs_have(tmp_path: Path) -> None:
    """What it provides, where it is external, what it was spliced from, in plain words."""
    gcc = full_spec("gcc", name="gcc", stacks=(), external_modules=(), external_path="/usr")
    content = Content.of([full_spec()], [gcc])
    catalog = str(tmp_path / "catalog")
    Catalog(catalog).publish([Snapshot(tag="develop", content=content, source=SOURCE)])
    lines = cachelog("show", f"/{full_spec().hash}", catalog=catalog).lines
    texts = labelled(lines)
    assert texts["Provides"] == "libgfortran@5 zlib-api"
    assert texts["External at"] == "/opt/my libs"
    assert texts["External modules"] == "PrgEnv-cray/8.3 gcc/13.2.0"
    assert texts["Spliced, built as"] == f"zlib-ng/{hash_of('zlib-ng')}"
    assert texts["Spec format"] == "6"
    assert f"  /{hash_of('gcc')} gcc@1.14.5 (build as c, cxx, external at /usr)" in lines
    document = cachelog("show", f"/{full_spec().hash}", "--json", catalog=catalog).json
    assert [it["external_path"] for it in document["dependencies"]] == ["/usr", None]


def test_whose_place_a_spec_took(world: Remembered) -> None:
    """The last time that it came, and what took its own place when it went."""
    back = good(world, "show", f"/{ZLIB.hash}", "--json").json
    assert back["took_place_of"]["spec"]["hash"] == NEWER_ZLIB.hash
    assert back["took_place_of"]["revision"] == facts_at(world, 5)
    assert back["replaced_by"] is None
    gone = good(world, "show", f"/{NEWER_ZLIB.hash}", "--json").json
    assert gone["took_place_of"]["spec"]["hash"] == ZLIB.hash
    assert gone["took_place_of"]["revision"] == facts_at(world, 3)
    assert gone["replaced_by"]["spec"]["hash"] == ZLIB.hash
    assert gone["replaced_by"]["revision"] == facts_at(world, 5)
    lines = good(world, "show", f"/{NEWER_ZLIB.hash}").lines
    assert any(line.startswith(f"Replaced /{ZLIB.hash} in develop of") for line in lines)
    assert lines[-1] == "  zlib@1.3 → 1.2"
    alone = good(world, "show", f"/{CMAKE.hash}", "--json").json
    assert (alone["took_place_of"], alone["replaced_by"]) == (None, None)


def test_a_spec_of_a_revision(world: Remembered) -> None:
    """It is shown as in that revision; one that the revision does not have is an error."""
    document = good(world, "show", "v0.1", f"/{ZLIB.hash[:5]}", "--json").json
    assert document["revision"] == facts_at(world, 3, "v0.1")
    done = ask(world, "show", "v0.1", f"/{CMAKE.hash[:7]}")
    assert done.code == 1
    assert f"has none that begins with '{CMAKE.hash[:7]}'" in done.err


def test_an_inconsistent_history(world: Remembered, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what does not agree, and how to verify it."""
    known = world.past.hash_history(CMAKE.hash)
    assert known
    wrong = replace(known, hash=hash_of("never there"))
    monkeypatch.setattr(Past, "hash_history", lambda *_: wrong)
    done = ask(world, "show", f"/{wrong.hash}")
    assert (done.code, done.out) == (1, "")
    assert f"lacks {wrong.hash}, which it has according to the stored history" in done.err
    assert "cachelog verify" in done.err


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a catalog whose one spec is needed by many packages, and one tells nothing."""
    zlib = a_spec("zlib", name="zlib", dependencies=())
    edge = Dependency("zlib", zlib.hash, ("link",))
    others = [a_spec(f"p{it}", name=f"p{it}", dependencies=(edge,)) for it in range(25)]
    silent = a_spec("silent", name="silent")
    snapshot = a_snapshot([zlib, silent, *others], "develop", day(1))
    source = Source(kind="git", location="pages", version="0123abc", importer="cachelog 1")
    catalog = Catalog(str(tmp_path_factory.mktemp("many")))
    catalog.publish([replace(snapshot, source=source)])
    catalog.publish([a_snapshot([a_spec("alone", name="alone")], "main", day(0))])
    return catalog.location


def test_what_a_source_does_not_state(many: str) -> None:
    """Unknown dependencies are not printed as none."""
    document = cachelog("show", f"/{hash_of('silent')}", "--json", catalog=many).json
    assert (document["dependencies"], document["dependents"]) == (None, [])
    text = cachelog("show", f"/{hash_of('silent')}", catalog=many).out
    assert "What it depends on is not known." in text
    alone = cachelog("show", "main", f"/{hash_of('alone')}", "--json", catalog=many).json
    assert (alone["dependencies"], alone["dependents"]) == (None, None)


def test_many_of_a_kind(many: str) -> None:
    """Text has the first ones and the number of the others; JSON has all."""
    document = cachelog("show", f"/{hash_of('zlib')}", "--json", catalog=many).json
    assert len(document["dependents"]) == 25
    lines = cachelog("show", f"/{hash_of('zlib')}", catalog=many).lines
    assert "25 specs need it directly:" in lines
    assert "  and 5 more" in lines
    log = cachelog("log", catalog=many).lines
    assert log[-1] == " and 17 more packages"
    assert "Source: git pages (0123abc)" in log


def test_a_prefix_of_several_hashes_of_a_revision(many: str) -> None:
    """The error lists some of them."""
    hashes = sorted(hash_of(f"p{it}") for it in range(25))
    first = next(a[0] for a, b in pairwise(hashes) if a[0] == b[0])
    done = cachelog("show", "develop", f"/{first}", catalog=many)
    assert (done.code, done.out) == (1, "")
    assert f"'{first}' begins " in done.err


def test_counts_that_are_not_kept(world: Remembered, tmp_path: Path) -> None:
    """To show a revision nothing is compared: its neighbours have no counts."""
    own = world._replace(catalog=copied(Path(world.catalog.location), tmp_path))
    for table in ("comparisons", "changes", "hashes"):
        shutil.rmtree(tmp_path / table)
    document = good(own, "show", "develop", "--json").json
    assert document["before"]["specs_added"] is None
    assert document["after"] is None
    assert labelled(good(own, "show", "develop").lines)["Before"].endswith(")")
    assert not (tmp_path / "comparisons").exists()
