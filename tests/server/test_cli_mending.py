"""``cachelog import`` over damage: what is replaced is said, and what to do where nothing is."""

import shlex
from pathlib import Path

import pytest

from tests.server.cache_pages import detail, history_of, page, written
from tests.server.commands import cachelog
from tests.server.test_cli_import import commit, git


def damage(catalog: Path, digest: str) -> None:
    """Change a bit of what is stored of a content."""
    (file,) = (catalog / "specs" / f"digest={digest}").glob("*.parquet")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def test_what_was_replaced_is_said(tmp_path: Path) -> None:
    """Not "unchanged", where the import has mended the content; once, not again."""
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
    assert "unchanged, nothing published" in cachelog(*importing, catalog=catalog).out


@pytest.mark.parametrize("taken_at", [(), ("--taken-at", "2031-01-01")], ids=["now", "later"])
def test_programs_are_told_too(tmp_path: Path, taken_at: tuple[str, ...]) -> None:
    """In ``replaced``, beside ``published``; a new revision can have a content that is known."""
    written(tmp_path / "pages", page())
    catalog = tmp_path / "catalog"
    importing = ("import", tmp_path / "pages", "--json", *taken_at)
    first = cachelog(*importing, catalog=catalog).json["revisions"][0]
    assert (first["published"], first["replaced"]) == (True, False)
    damage(catalog, first["digest"])
    again = cachelog(*importing, catalog=catalog).json["revisions"][0]
    assert (again["published"], again["replaced"]) == (False, True)
    damage(catalog, first["digest"])
    written(tmp_path / "pages", page(categories=["package", "other"]), "other/zlib/specs.md")
    under_both = cachelog("import", tmp_path / "pages", catalog=catalog)
    assert "other: published" in under_both.out
    assert "; its stored content was damaged, and is replaced" in under_both.out


def test_an_older_content_from_git(tmp_path: Path) -> None:
    """The same import goes on behind it; so the error says what mends it, word for word."""
    repository, catalog = tmp_path / "site", tmp_path / "catalog"
    file = "_cache/develop/zlib/specs.md"
    git_pages = ("import", "--git", repository)
    written(repository, page(), file)
    git(repository, "init", "--quiet")
    commit(repository, "2025-03-01T10:00:00Z")
    written(repository, page(spec_details=[detail("c" * 32)]), file)
    commit(repository, "2025-03-02T10:00:00Z")
    cachelog(*git_pages, catalog=catalog)
    newer, older = history_of(catalog).revisions
    damage(catalog, older.digest)
    assert "nothing new" in cachelog(*git_pages, catalog=catalog).out
    refused = cachelog("diff", "develop~1", "develop", catalog=catalog)
    assert refused.code == 1
    _, _, advice = refused.err.partition("; to replace it, check out the commit ")
    commit_hash, _, rest = advice.partition(f" of {repository}, and import its folder of pages ")
    assert commit_hash == older.source.version
    git(repository, "checkout", "--quiet", commit_hash)
    options = shlex.split(rest.removeprefix("with "))
    mended = cachelog("import", repository / "_cache", *options, catalog=catalog)
    assert "its stored content was damaged, and is replaced" in mended.out
    assert cachelog("diff", "develop~1", "develop", catalog=catalog).code == 0
    assert history_of(catalog).revisions == [newer, older]
