"""Feeds of a real server: their links, names and updates."""

import re
import shutil
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import httpx
from msgspec.structs import replace

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.demo import develop_history, history
from tests.server.commands import cachelog
from tests.server.feeds.endpoints import FeedsOf
from tests.server.pages.page_reader import shown
from tests.server.pages.recipes import REPOSITORY, import_recipes
from tests.server.servers import application
from tests.snapshots.notes.atom.feed_readers import read_feed


def test_graphiql_links_to_feeds(client: httpx.Client) -> None:
    """Its page links to the feeds of all series, where readers look for them."""
    page = client.get("/graphql", headers={"accept": "text/html"}).text
    links = re.findall(
        r'<link rel="alternate" type="application/atom\+xml" title="([^"]+)" href="([^"]+)">', page
    )
    assert {title for title, _ in links} == {"develop", "develop-DATE", "vX.Y.Z"}
    for _, href in links:
        answer = client.get(client.get("/graphql").request.url.join(href))
        assert answer.status_code == 200
        assert read_feed(answer.content).entries


def test_links_of_entries_lead_to_pages(client: httpx.Client, demo_catalog: Path) -> None:
    """They show the changes, or the contents of the first revision."""
    catalog = Catalog(str(demo_catalog))
    newest = catalog.require_history().of_series("develop-DATE")[0]
    package = catalog.reader().frame(newest.digest).packages[0]
    for path in ("/feeds/develop-DATE.atom", f"/feeds/develop-DATE/{package}.atom"):
        feed = read_feed(client.get(path).content)
        for entry in feed.entries:
            link = httpx.URL(f"http://host{path}").join(entry.link).raw_path.decode()
            page = shown(client, link)
            assert (page.status, page.texts(".problem")) == (200, [])
            assert page.texts("#tab tbody tr, article, table.packages, table.specs")


def test_names_of_series_may_be_escaped(tmp_path: Path) -> None:
    """For all characters of tags."""
    (snapshot,) = history(revisions=1, packages=2, specs=4)
    names = ("v1.0+x_y", "a.atom")
    Catalog(str(tmp_path)).publish([replace(snapshot, tag=name) for name in names])
    with application(Settings(catalog=str(tmp_path))) as client:
        for name in names:
            everything_escaped = "".join(f"%{ord(character):02x}" for character in name)
            for text in (name, quote(name, safe=""), everything_escaped):
                url = client.base_url.join(f"/feeds/{text}.atom")
                feed = read_feed(client.get(url).content)
                assert feed.feed.title == f"Spack build cache: {name}"
                second = read_feed(client.get(url.join(feed.feed.links[0].href)).content)
                assert second.feed.id == feed.feed.id


def test_feed_fills_missing_changes(tmp_path: Path) -> None:
    """The first request for a feed computes the changes between neighbours, and stores them."""
    Catalog(str(tmp_path)).publish(list(history(revisions=4, packages=4, specs=20)))
    for table in ("comparisons", "changes", "hashes"):
        shutil.rmtree(tmp_path / table)
    with application(Settings(catalog=str(tmp_path))) as client:
        feed = read_feed(client.get("/feeds/develop-DATE.atom").content)
        assert re.search(r": \d+ specs? (new|removed|replaced|rebuilt)", feed.entries[0].title)
    assert (tmp_path / "comparisons").is_dir()


def test_commits_imported_later_update_entries(tmp_path: Path) -> None:
    """An entry gets their pull requests later, and a new modification time."""
    catalog = Catalog(str(tmp_path / "catalog"))
    catalog.publish(list(develop_history(revisions=2, packages=6, specs=30)))
    (before,) = read_feed(feed_of(catalog)).entries[:1]
    assert "ull request" not in before.content[0].value
    import_recipes(catalog, sorted(catalog.package_names()))
    (after,) = read_feed(feed_of(catalog)).entries[:1]
    html = after.content[0].value
    assert html.startswith(before.content[0].value)
    assert "<h3>Pull requests (" in html
    moments = [datetime.fromisoformat(entry.updated) for entry in (before, after)]
    recorded = catalog.recipes.recorded_at
    revisions = catalog.history.of_series("develop")
    assert moments[0] < moments[1] == max(filter(None, map(recorded, revisions)))
    file = tmp_path / "feed.atom"
    result = cachelog("feed", "develop", "-o", file, catalog=catalog.location)
    assert result.code == 0, result.err
    (entry,) = read_feed(file.read_bytes()).entries[:1]
    assert f'<a href="{REPOSITORY}/pull/' in entry.content[0].value


def feed_of(catalog: Catalog) -> bytes:
    """Return the feed of develop as a server of a catalog sends it."""
    return FeedsOf(Path(catalog.location)).get("/feeds/develop.atom").content
