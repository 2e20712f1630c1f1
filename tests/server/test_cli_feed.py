"""``cachelog feed``: the feeds of a server, as files."""

import re
from pathlib import Path

from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.demo import history
from tests.server.cache_pages import history_of
from tests.server.commands import cachelog, succeed
from tests.server.site.sites import files_in
from tests.snapshots.notes.atom.feed_readers import read_feed
from tests.snapshots.templates import copied

DATED = "develop-DATE"


def test_feed_is_printed_or_written(demo_catalog: Path, tmp_path: Path) -> None:
    """Standard output and the file contain the same feed, of a series or of a package in it."""
    catalog = demo_catalog
    printed = succeed("feed", DATED, catalog=catalog)
    feed = read_feed(printed.out.encode())
    tags = [revision.tag for revision in history_of(catalog).of_series(DATED)]
    assert [entry.tags[0].term for entry in feed.entries] == tags
    assert [link.href for link in feed.feed.links] == [f"{DATED}.atom"]
    assert not any(entry.get("links") for entry in feed.entries)
    file = tmp_path / "new" / "feed.atom"
    assert cachelog("feed", DATED, "--output", file, catalog=catalog).out == ""
    assert file.read_text("utf-8") == printed.out
    name = (
        Catalog(str(catalog))
        .reader()
        .frame(history_of(catalog).of_series(DATED)[0].digest)
        .packages[0]
    )
    of_package = read_feed(cachelog("feed", DATED, name, catalog=catalog).out.encode())
    assert of_package.feed.links[0].href == f"../{DATED}/{name}.atom"
    assert of_package.entries[-1].title.startswith(f"{name}: added")


def test_all_feeds_are_written_to_a_folder(demo_catalog: Path, tmp_path: Path) -> None:
    """The folder has the structure of /feeds/ on a server; the feeds are valid and have URLs."""
    catalog, folder = demo_catalog, tmp_path / "feeds"
    urls = ("--base-url", "https://example.org/f", "--server-url", "https://example.org/cachelog/")
    result = cachelog("feed", "--all", "--output", folder, *urls, catalog=catalog)
    assert (result.code, result.out) == (0, "")
    files, past = files_in(folder), history_of(catalog)
    assert result.err == f"{len(files):,} files written in {folder}\n"
    second = cachelog("feed", "--all", "--output", folder, *urls, catalog=catalog)
    assert second.err == f"0 files written in {folder}\n"
    opened = Catalog(str(catalog))
    for series in past.series_names:
        names = opened.reader().frame(past.of_series(series)[0].digest).packages
        assert {f"{series}/{name}.atom" for name in names} <= files.keys()
    for path, document in files.items():
        feed = read_feed(document)
        assert feed.feed.links[0].href == f"https://example.org/f/{path}"
        assert len(feed.feed.links) == 1
        for entry in feed.entries:
            assert re.match(r"https://example\.org/cachelog/(compare|r)/[0-9a-f]{64}", entry.link)


def test_removed_package_has_an_entry(demo_catalog: Path, tmp_path: Path) -> None:
    """It has an entry for the removal; files of other programs are unchanged."""
    opened, folder = copied(demo_catalog, tmp_path / "catalog"), tmp_path / "feeds"
    command = ("feed", DATED, "--all", "--output", folder)
    cachelog(*command, catalog=opened.location)
    newest = opened.require_history().of_series(DATED)[0]
    emptied = next(iter(history(revisions=1, packages=1, specs=1, seed=7)))
    packages = opened.reader().frame(newest.digest).packages
    removed = next(package for package in packages if package not in emptied.content.packages)
    for name in (".hidden", "never-there"):
        (folder / DATED / f"{name}.atom").write_text("of somebody else")
    opened.publish([replace(emptied, tag="develop-2044-01-01", taken_at=None)])
    cachelog(*command, catalog=opened.location)
    feed = read_feed((folder / DATED / f"{removed}.atom").read_bytes())
    assert feed.entries[0].title.startswith(f"{removed}: removed, ")
    assert (folder / DATED / "never-there.atom").read_text() == "of somebody else"
