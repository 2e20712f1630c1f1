"""``cachelog import``: what gets into a catalog, what must not, and what is replaced."""

import gc
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from weakref import ref

import orjson
import pytest
from msgspec.structs import replace

from server.webhooks import announcement, document
from snapshots.catalog.catalog import Catalog
from snapshots.contents import Content, Snapshot
from snapshots.demo import history
from snapshots.history import Neighbours
from snapshots.models import Source
from snapshots.sources.buildcache.layouts import LAYOUT_3_INDEX
from tests import real_data
from tests.server.cache_pages import (
    HASHES,
    as_pages_tell,
    demo_pages,
    detail,
    history_of,
    page,
    written,
)
from tests.server.commands import cachelog, succeed
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.snapshots.sources.buildcache.folders import put, put_layout_3, text
from tests.snapshots.sources.buildcache.indexes import small_database


def test_a_tree_of_pages_becomes_revisions(tmp_path: Path) -> None:
    """One a tag, with the content of the pages, and a line each."""
    snapshots, catalog = demo_pages(tmp_path / "pages"), tmp_path / "catalog"
    done = succeed("import", tmp_path / "pages", catalog=catalog)
    published = {it.tag: it for it in history_of(catalog).revisions}
    assert published.keys() == {snapshot.tag for snapshot in snapshots}
    for snapshot in snapshots:
        revision, content = published[snapshot.tag], as_pages_tell(snapshot.content)
        assert revision.digest == content.digest
        assert (revision.num_packages, revision.num_specs) == (len(content.packages), len(content))
        assert revision.source.kind == "pages"
        assert revision.source.synthetic
        start = f"{revision.tag}: published {revision.digest[:12]} of "
        (line,) = [line for line in done.lines if line.startswith(start)]
        assert f"{revision.num_specs} specs" in line
        assert line.endswith(" (synthetic)")


def test_a_page_is_published_under_another_tag(tmp_path: Path) -> None:
    """With a warning, where the page names another one; at the time of ``--taken-at``."""
    file = written(tmp_path, page())
    options = ("--tag", "mine", "--taken-at", "2024-02-03T04:05:06+01:00")
    done = cachelog("import", file, *options, catalog=tmp_path / "catalog")
    assert done.code == 0
    assert done.err == f"warning: {file}: says tag develop; published as mine\n"
    (revision,) = history_of(tmp_path / "catalog").revisions
    assert (revision.tag, revision.taken_at) == ("mine", datetime(2024, 2, 3, 3, 5, 6, tzinfo=UTC))


def test_a_moment_for_folders_of_dates(tmp_path: Path) -> None:
    """``--taken-at`` counts before the dates of folders, but is refused for several states."""
    folders = [tmp_path / f"develop-{date}" for date in ("2025-01-05", "2025-01-12")]
    for folder in folders:
        written(folder, page(), "zlib/specs.md")
    options = ("--taken-at", "2025-01-13")
    done = cachelog("import", *folders, *options, catalog=tmp_path / "catalog")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "cachelog: --taken-at: is one moment, and the folders of develop are of several: "
        "leave it out, or import them apart\n"
    )
    assert cachelog("import", folders[0], *options, catalog=tmp_path / "catalog").code == 0
    (revision,) = history_of(tmp_path / "catalog").revisions
    assert revision.taken_at == datetime(2025, 1, 13, tzinfo=UTC)


def test_skip_bad(tmp_path: Path) -> None:
    """Whole pages and single specs are left out; each is listed, in text and JSON."""
    good = written(tmp_path / "pages", page())
    half = [detail("c" * 32), detail("no hash")]
    bad_spec = written(tmp_path / "pages", page("hdf5", spec_details=half), "develop/hdf5/specs.md")
    bad_page = written(tmp_path / "pages", b"---\n", "develop/cut/specs.md")
    done = cachelog("import", tmp_path / "pages", "--skip-bad", "--json", catalog=tmp_path / "c")
    assert done.code == 0
    assert [it["num_specs"] for it in done.json["revisions"]] == [3]
    skipped = {it["location"]: it for it in done.json["skipped"]}
    assert set(skipped) == {str(bad_spec), str(bad_page)}
    assert skipped[str(bad_spec)]["key"] == "spec_details[1].hash"
    assert skipped[str(bad_spec)]["line"] == 5
    for it in skipped.values():
        assert it["reason"] in done.err
        assert f"skipped: {it['location']}" in done.err
    assert str(good) not in done.err


def test_unknown_stacks(tmp_path: Path) -> None:
    """An index names no stacks: every output has them as unknown, not as none."""
    build = {"name": "zlib", "version": "1.3.1", "hash": HASHES[0], "parameters": {}}
    arch = {"platform": "linux", "platform_os": "ubuntu24.04", "target": "x86_64_v3"}
    install = {"spec": build | {"arch": arch}, "ref_count": 1, "in_buildcache": True}
    file = tmp_path / "index.json"
    file.write_bytes(orjson.dumps({"database": {"version": "7", "installs": {HASHES[0]: install}}}))
    catalog = tmp_path / "c"
    done = cachelog("import", file, "--tag", "mine", catalog=catalog)
    assert ", 1 package, 1 spec, stacks unknown; hashes: 0 proven, 1 of" in done.out, done.err
    for listing in (("revisions",), ("packages", "mine")):
        heads, row = cachelog(*listing, catalog=catalog).lines
        assert row[: heads.index("stacks") + len("stacks ")].endswith("unknown ")
    assert "1 package, 1 spec, stacks unknown\n" in cachelog("show", "mine", catalog=catalog).out
    shown = cachelog("show", "mine", f"/{HASHES[0]}", catalog=catalog).out
    assert re.search("^Stacks: +unknown$", shown, re.MULTILINE)
    assert "its source does not name any" in cachelog("stacks", "mine", catalog=catalog).err

    def document(*arguments: str) -> Any:
        return cachelog(*arguments, "--json", catalog=catalog).json

    assert document("revisions")[0]["num_stacks"] is None
    assert document("packages")["packages"][0]["num_stacks"] is None
    assert document("stacks")["stacks"] is None
    assert document("show", "mine")["stacks"] is None
    assert document("show", "mine")["revision"]["num_stacks"] is None
    assert document("show", "mine", "zlib")["stacks"] is None
    assert document("show", "mine", f"/{HASHES[0]}")["spec"]["stacks"] is None
    assert document("find", "zlib", "--in", "mine")["specs"][0]["stacks"] is None


def test_hashes_are_proven(tmp_path: Path) -> None:
    """The output counts them; a forged spec is refused, or accepted with ``--no-proof``."""
    index = real_data.folder() / "spack-history" / "2026-06-20" / "e4s" / "index.json"
    catalog = tmp_path / "catalog"
    done = cachelog("import", index, "--tag", "e4s", catalog=catalog)
    assert done.out.endswith("222 specs, stacks unknown; hashes: 222 proven\n"), done.err
    assert "222 proven" in cachelog("show", "e4s", catalog=catalog).out
    (revision,) = cachelog("revisions", "--json", catalog=catalog).json
    assert (revision["num_proven"], revision["unproven"]) == (222, [])

    forged = tmp_path / "forged.json"
    forged.write_bytes(index.read_bytes().replace(b'"version":"0.11.0"', b'"version":"0.11.9"'))
    refused = cachelog("import", forged, "--tag", "forged", catalog=catalog)
    assert refused.code == 1
    assert "its content has another hash" in refused.err
    assert "Traceback" not in refused.err
    skipped = cachelog("import", forged, "--tag", "some", "--skip-bad", catalog=catalog)
    assert (skipped.code, skipped.out.count("221 specs")) == (0, 1), skipped.err
    assert "skipped: " in skipped.err
    accepted = cachelog("import", forged, "--tag", "all", "--no-proof", catalog=catalog)
    assert accepted.out.endswith("222 specs, stacks unknown\n"), accepted.err


def test_a_history_of_pages_is_read_from_git(tmp_path: Path) -> None:
    """One revision a commit that changed something, at the commit's time; again, nothing new."""
    repository = tmp_path / "site"
    written(repository, page(), "_cache/develop/zlib/specs.md")
    git(repository, "init", "--quiet")
    commit(repository, "2025-03-01T10:00:00Z")
    written(repository, page(spec_details=[detail("c" * 32)]), "_cache/develop/zlib/specs.md")
    commit(repository, "2025-03-02T10:00:00Z")
    options = ("import", "--git", repository, "--json")
    settings: dict[str, Any] = {
        "catalog": tmp_path / "catalog",
        "cache_dir": tmp_path / "cache",
    }
    done = succeed(*options, **settings)
    taken = [(it["taken_at"], it["num_specs"]) for it in done.json["revisions"]]
    assert taken == [("2025-03-01T10:00:00Z", 2), ("2025-03-02T10:00:00Z", 1)]
    assert len(history_of(tmp_path / "catalog").revisions) == 2
    assert not any(it["published"] for it in cachelog(*options, **settings).json["revisions"])


def test_states_of_a_repository_are_published_as_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are, no more than the last ones are in memory as objects."""
    contents: list[ref[Content]] = []
    alive: list[int] = []

    def read(*_: object, **__: object) -> Iterator[Snapshot]:
        for snapshot in history(revisions=9, packages=3, specs=9):
            contents.append(ref(snapshot.content))
            yield snapshot
            del snapshot
            gc.collect()
            alive.append(sum(content() is not None for content in contents))

    monkeypatch.setattr("snapshots.sources.git.page_history.read", read)
    done = cachelog("import", "--git", "anywhere", catalog=tmp_path / "catalog")
    assert (done.code, len(history_of(tmp_path / "catalog").revisions)) == (0, len(contents))
    assert max(alive) <= 3


def git(repository: Path, *arguments: str, **variables: str) -> None:
    """Run git as a user without a configuration."""
    who = {f"GIT_{it}_{fact}": "x" for it in ("AUTHOR", "COMMITTER") for fact in ("NAME", "EMAIL")}
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(repository), **who, **variables}
    subprocess.run(["git", *arguments], cwd=repository, env=environ, check=True)


def commit(repository: Path, date: str) -> None:
    """Commit all that is there."""
    git(repository, "add", "_cache")
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    git(repository, "commit", "--quiet", "--message", date, **dates)


def test_a_view_of_a_build_cache(tmp_path: Path) -> None:
    """It is published instead of the whole; a missing one is refused."""
    put_layout_3(tmp_path / "cache", text(small_database()))
    index = tmp_path / "cache" / LAYOUT_3_INDEX
    put(index.parent / "tools" / index.name, index.read_bytes())
    index.unlink()
    command = ("import", tmp_path / "cache", "--tag", "mine", "--no-proof", "--view")
    succeed(*command, "tools", catalog=tmp_path / "catalog")
    (revision,) = history_of(tmp_path / "catalog").revisions
    assert revision.source.location == str(index.parent / "tools" / index.name)
    refused = cachelog(*command, "tool", catalog=tmp_path / "catalog")
    assert refused.code == 1
    assert "has no view 'tool'; those there are: tools" in refused.err


# -- what is refused


SIGNED_SPEC = b"""-----BEGIN PGP SIGNED MESSAGE-----
Hash: SHA512

{"spec": {"_meta": {"version": 4}, "nodes": []}}
-----BEGIN PGP SIGNATURE-----
"""


@pytest.mark.parametrize(
    ("content", "options", "parts"),
    [
        (page(spec_details=[detail(HASHES[0].upper())]), (), ("line 5", "spec_details[0].hash")),
        (page(), ("--tag", "nope-*"), ("nope-*",)),
        (page(categories=["package"]), ("--tag", "a b"), ("'a b' is not a tag",)),
        (page(categories=["package"]), (), ("name one with --tag",)),
        (SIGNED_SPEC, ("--tag", "mine"), ("page.md: is the spec.json of one spec", "index.json")),
    ],
    ids=lambda it: str(it)[:9] if isinstance(it, tuple) else "",
)
def test_what_is_bad_ends_the_import(
    tmp_path: Path, content: bytes, options: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    """The reason is one line; nothing is published."""
    file = written(tmp_path / "pages", content, "page.md")
    done = cachelog("import", file, *options, catalog=tmp_path / "c")
    assert (done.code, done.out) == (1, "")
    assert re.fullmatch("cachelog: .*\n", done.err)
    assert all(part in done.err for part in parts)
    assert history_of(tmp_path / "c").revisions == []


def test_nothing_but_bad_pages_publishes_nothing(tmp_path: Path) -> None:
    """With ``--skip-bad``, too, that is an error; they are listed."""
    file = written(tmp_path / "pages", b"")
    done = cachelog("import", tmp_path / "pages", "--skip-bad", catalog=tmp_path / "c")
    assert (done.code, done.out) == (1, "")
    assert f"skipped: {file}: is empty" in done.err
    assert done.err.endswith("cachelog: nothing could be read, so nothing was published\n")
    assert history_of(tmp_path / "c").revisions == []


# -- damage


def damage(catalog: Path, digest: str) -> None:
    """Change a bit of what is stored of a content."""
    (file,) = (catalog / "specs" / f"digest={digest}").glob("*.parquet")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def test_a_damaged_content_is_replaced(tmp_path: Path) -> None:
    """The output says so once, instead of "unchanged"."""
    written(tmp_path / "pages", page())
    catalog = tmp_path / "catalog"
    importing = ("import", tmp_path / "pages")
    cachelog(*importing, catalog=catalog)
    (revision,) = history_of(catalog).revisions
    damage(catalog, revision.digest)
    refused = cachelog("find", "zlib", catalog=catalog)
    assert refused.code == 1
    assert "is damaged" in refused.err
    assert "import the same again to replace it" in refused.err
    done = cachelog(*importing, catalog=catalog)
    (line,) = done.lines
    assert line.startswith("develop: its stored content was damaged, and is replaced: ")
    assert cachelog("find", "zlib", catalog=catalog).code == 0
    damage(catalog, revision.digest)
    (again,) = cachelog(*importing, "--json", catalog=catalog).json["revisions"]
    assert (again["published"], again["replaced"]) == (False, True)
    assert "unchanged, nothing published" in cachelog(*importing, catalog=catalog).out


SHOWING = (
    ("revisions",),
    ("tags",),
    ("show", "develop"),
    ("packages", "develop"),
    ("log",),
    ("log", "libelf"),
    ("diff", "develop~1..develop"),
    ("why", "develop~1..develop"),
    ("notes", "develop~1..develop", "--format", "json"),
)


def test_no_local_path_is_in_json(tmp_path: Path) -> None:
    """Every document has only the last part of the imported folder."""
    catalog = tmp_path / "catalog"
    source = Source(kind="index", location="/srv/of-the-operator/mirror", importer="cachelog 1")
    snapshots = [
        replace(a_snapshot([a_spec(label, name="libelf")], "develop", day(number)), source=source)
        for number, label in enumerate("ab")
    ]
    base, head = (made.revision for made in Catalog(str(catalog)).publish(snapshots))
    for command in SHOWING:
        done = cachelog(*command, *(() if "json" in command else ("--json",)), catalog=catalog)
        assert done.code == 0, (command, done.err)
        assert "of-the-operator" not in done.out, command
    announced = announcement(Neighbours(base, head), None)
    body = orjson.loads(document(announced, "one", day(0)))
    assert [body[name]["source"]["location"] for name in ("base", "revision")] == ["mirror"] * 2


def test_a_source_is_named(tmp_path: Path) -> None:
    """The name is stored with the revision, and printed everywhere."""
    put_layout_3(tmp_path / "mirror", text(small_database()))
    catalog = tmp_path / "catalog"
    options = ("--tag", "mine", "--no-proof", "--source-name", "our nightly cache")
    assert cachelog("import", tmp_path / "mirror", *options, catalog=catalog).code == 0
    (revision,) = history_of(catalog).revisions
    assert (revision.source.kind, revision.source.location) == ("index", "our nightly cache")
    (row,) = cachelog("revisions", "--json", catalog=catalog).json
    assert row["source"]["location"] == "our nightly cache"
    assert "our nightly cache" in cachelog("show", "mine", catalog=catalog).out
