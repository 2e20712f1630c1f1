"""``cachelog import``: published contents, errors, and replaced contents."""

import gc
import re
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
from snapshots.history import Neighbours
from snapshots.models import Source
from tests.demo_histories import history
from tests.model.real import index_of
from tests.server.cache_pages import HASHES, detail, history_of, page, write_page
from tests.server.commands import cachelog, fail, succeed
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.snapshots.removal_catalogs import flip
from tests.snapshots.sources.buildcache import indexes, registries
from tests.snapshots.sources.buildcache.folders import put, text
from tests.snapshots.sources.buildcache.misbehaving_servers import serving


def test_tag_time_and_name_are_overridden(tmp_path: Path) -> None:
    """Those of one folder, the tag with a warning; several folders cannot have one time."""
    folders = [tmp_path / f"develop-{date}" for date in ("2025-01-05", "2025-01-12")]
    for folder in folders:
        file = write_page(folder, page(), "zlib/specs.md")
    times, catalog = ("--taken-at", "2024-02-03T04:05:06+01:00"), tmp_path / "catalog"
    assert fail("import", *folders, *times, catalog=catalog) == (
        "cachelog: --taken-at: is one moment, and the folders of develop are of several: "
        "omit it, or split the import\n"
    )
    options = ("--tag", "mine", *times, "--source-name", "our nightly cache")
    result = cachelog("import", file, *options, catalog=catalog)
    assert (result.code, result.err) == (
        0,
        f"warning: {file}: says tag develop; published as mine\n",
    )
    (revision,) = history_of(catalog).revisions
    assert (revision.tag, revision.taken_at) == ("mine", datetime(2024, 2, 3, 3, 5, 6, tzinfo=UTC))
    (row,) = cachelog("revisions", "--json", catalog=catalog).json["revisions"]["nodes"]
    assert row["source"]["location"] == "our nightly cache"


def test_skip_bad_lists_omissions(tmp_path: Path) -> None:
    """Each invalid page and spec is listed, in text and JSON; it is an error if none is valid."""
    folder = tmp_path / "pages"
    good = write_page(folder, page())
    content = page("hdf5", spec_details=[detail("c" * 32), detail("no hash")])
    bad_spec = str(write_page(folder, content, "develop/hdf5/specs.md"))
    bad_page = str(write_page(folder, b"---\n", "develop/cut/specs.md"))
    result = cachelog("import", folder, "--skip-bad", "--json", catalog=tmp_path / "c")
    assert result.code == 0
    assert [published["isNew"] for published in result.json["revisions"]] == [True]
    page_error, spec_error = sorted(result.json["skipped"])
    assert page_error.startswith(f"{bad_page}: is cut: ")
    assert spec_error.startswith(f"{bad_spec}, line 5, spec_details[1].hash: ")
    for error in (page_error, spec_error):
        assert f"skipped: {error}\n" in result.err
    assert str(good) not in result.err
    nothing = fail("import", bad_page, "--skip-bad", catalog=tmp_path / "other")
    assert nothing.startswith(f"skipped: {bad_page}: ")
    assert nothing.endswith("cachelog: nothing could be read, so nothing was published\n")
    assert history_of(tmp_path / "other").revisions == []


def test_unknown_stacks_are_not_none(tmp_path: Path) -> None:
    """An index states no stacks: all outputs show them as unknown, not as none."""
    zlib = indexes.node("zlib", HASHES[0])
    file = put(tmp_path / "index.json", text(indexes.database(zlib, version="7")))
    catalog = tmp_path / "c"
    result = cachelog("import", file, "--tag", "mine", catalog=catalog)
    published = ": published 1 package, 1 spec, stacks unknown; hashes: 0 proven, 1 of"
    assert published in result.out, result.err
    for listing in (("revisions",), ("packages", "mine")):
        header, row = cachelog(*listing, catalog=catalog).lines
        assert row[: header.index("stacks") + len("stacks ")].endswith("unknown ")
    assert "1 package, 1 spec, stacks unknown\n" in cachelog("show", "mine", catalog=catalog).out
    spec_text = cachelog("show", "mine", f"/{HASHES[0]}", catalog=catalog).out
    assert re.search("^Stacks: +unknown$", spec_text, re.MULTILINE)


def test_forged_specs_are_omitted_or_accepted(tmp_path: Path) -> None:
    """A forged spec is omitted with ``--skip-bad``, or accepted with ``--no-proof``."""
    index, catalog = tmp_path / "index.json", tmp_path / "catalog"
    index.write_bytes(index_of("2026-06-20", "e4s", in_format_6=False))
    assert cachelog("import", index, "--tag", "e4s", catalog=catalog).code == 0
    assert "222 proven" in cachelog("show", "e4s", catalog=catalog).out
    index.write_bytes(index.read_bytes().replace(b'"version":"0.11.0"', b'"version":"0.11.9"'))
    skipped = cachelog("import", index, "--tag", "some", "--skip-bad", catalog=catalog)
    assert (skipped.code, skipped.out.count("221 specs")) == (0, 1), skipped.err
    assert "skipped: " in skipped.err
    accepted = cachelog("import", index, "--tag", "all", "--no-proof", catalog=catalog)
    assert accepted.out.endswith("222 specs, stacks unknown\n"), accepted.err


def test_git_history_is_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the last few contents are in memory at any time."""
    contents, counts = list[ref[Content]](), list[int]()

    def read(*_: object, **__: object) -> Iterator[Snapshot]:
        for snapshot in history(revisions=5, packages=3, specs=9):
            contents.append(ref(snapshot.content))
            yield snapshot
            del snapshot
            gc.collect()
            counts.append(sum(content() is not None for content in contents))

    monkeypatch.setattr("snapshots.sources.git.page_history.read", read)
    succeed("import", "--git", "anywhere", catalog=tmp_path / "catalog")
    assert max(counts) <= 3 < len(contents) == len(counts)


@pytest.mark.parametrize(
    ("content", "options", "texts"),
    [
        (page(spec_details=[detail(HASHES[0].upper())]), (), ("line 5", "spec_details[0].hash")),
        (page(), ("--tag", "nope-*"), ("nope-*",)),
        (page(categories=["package"]), ("--tag", "a b"), ("'a b' is not a tag",)),
        (page(categories=["package"]), (), ("name one with --tag",)),
    ],
    ids=["hash", "tag pattern", "invalid tag", "no tag"],
)
def test_errors_publish_nothing(
    tmp_path: Path, content: bytes, options: tuple[str, ...], texts: tuple[str, ...]
) -> None:
    """One line states the reason; no revision is published."""
    file = write_page(tmp_path / "pages", content, "page.md")
    error = fail("import", file, *options, catalog=tmp_path / "c")
    assert re.fullmatch("cachelog: .*\n", error)
    assert all(part in error for part in texts)
    assert history_of(tmp_path / "c").revisions == []


def test_damaged_content_is_replaced(tmp_path: Path) -> None:
    """The output of the next import says so once, instead of "unchanged"."""
    command = ("import", write_page(tmp_path / "pages", page()))
    catalog = tmp_path / "catalog"
    cachelog(*command, catalog=catalog)
    flip(next((catalog / "specs").glob("*/*.parquet")))
    (line,) = cachelog(*command, catalog=catalog).lines
    assert line.startswith("develop@")
    assert ": its stored content was damaged, and is replaced: " in line
    for path in (catalog / "specs").glob("*/*.parquet"):  # the first one is still there
        flip(path)
    (second,) = cachelog(*command, "--json", catalog=catalog).json["revisions"]
    assert (second["isNew"], second["isRepaired"]) == (False, True)
    assert "unchanged, nothing published" in cachelog(*command, catalog=catalog).out


def test_json_contains_no_local_path(tmp_path: Path) -> None:
    """Each document has only the last part of the imported folder."""
    catalog = tmp_path / "catalog"
    source = Source(kind="index", location="/srv/of-the-operator/mirror", importer="cachelog 1")
    snapshots = [
        replace(a_snapshot([a_spec(label, name="libelf")], "develop", day(number)), source=source)
        for number, label in enumerate("ab")
    ]
    base, head = (publication.revision for publication in Catalog(str(catalog)).publish(snapshots))
    pair = "develop~1..develop"
    for command in ("revisions", "show develop", "packages develop", "log", "log libelf"):
        assert "of-the-operator" not in succeed(*command.split(), "--json", catalog=catalog).out
    for command in (f"diff {pair} --json", f"why {pair} --json", f"notes {pair}"):
        assert "of-the-operator" not in succeed(*command.split(), catalog=catalog).out
    change = announcement(Neighbours(base, head), None)
    body = orjson.loads(document(change, "one", day(0)))
    assert [body[name]["source"]["location"] for name in ("base", "revision")] == ["mirror"] * 2


def test_password_of_a_registry_stays_secret(tmp_path: Path) -> None:
    """Neither output, catalog nor cached files contain the password."""
    settings: dict[str, Any] = {"catalog": tmp_path / "catalog", "cache_dir": tmp_path / "cache"}
    user, password = registries.USER, registries.PASSWORD
    login: dict[str, Any] = {"oci_user": user, "oci_password": password}
    images = map(registries.spec_image, indexes.documents_of(indexes.small_database()).values())
    with serving() as server:
        location = registries.serve(server, "site/cache", [*images])
        tokens = registries.Tokens(server, login=registries.basic(user, password))
        tokens.guard("site/cache")
        result = succeed("import", "--no-proof", location, "--tag", "mysite", **settings, **login)
        assert "3 packages, 3 specs" in result.out
    spec = cachelog("show", "mysite", f"/{indexes.LIBELF}", "--json", **settings)
    assert spec.json["spec"]["size"] > 0
    for file in filter(Path.is_file, tmp_path.rglob("*")):
        content = file.read_bytes()
        assert password.encode() not in content
        assert b"token-1" not in content


def test_demo_refuses_a_real_catalog(tmp_path: Path) -> None:
    """Synthetic revisions are never among real ones."""
    catalog = tmp_path / "catalog"
    command = ("demo", "--revisions", 1, "--packages", 2, "--specs", 4)
    succeed(*command, catalog=catalog)
    Catalog(str(catalog)).publish([a_snapshot([a_spec()])])
    reason = f"{catalog} has real revisions: name another for synthetic ones"
    assert fail(*command, catalog=catalog) == f"cachelog: catalog: {reason}\n"
    assert len(history_of(catalog).revisions) == 3
