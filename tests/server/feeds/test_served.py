"""Feeds of a real server: their links, names and updates."""

import re
import shutil
from pathlib import Path
from urllib.parse import quote

import httpx
from msgspec.structs import replace

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.demo import history
from tests.server.pages.page_reader import shown
from tests.server.servers import application
from tests.snapshots.notes.atom.feed_readers import read_feed


def test_every_feed_that_the_page_names_is_there(client: httpx.Client) -> None:
    """The page for browsers names those of all series, as readers look for them."""
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
    """People who follow one read what changed, or what was there at first."""
    catalog = Catalog(str(demo_catalog))
    package = catalog.load(catalog.require_history().of_series("develop-DATE")[0].digest).packages[
        0
    ]
    for path in ("/feeds/develop-DATE.atom", f"/feeds/develop-DATE/{package}.atom"):
        feed = read_feed(client.get(path).content)
        for entry in feed.entries:
            link = httpx.URL(f"http://host{path}").join(entry.link).raw_path.decode()
            page = shown(client, link)
            assert (page.status, page.texts(".problem")) == (200, [])
            assert page.texts("#tab tbody tr, article, table.packages, table.specs")


def test_names_of_series_may_be_escaped(tmp_path: Path) -> None:
    """Whatever a tag may be made of."""
    (snapshot,) = history(revisions=1, packages=2, specs=4)
    names = ("v1.0+x_y", "2.0", "a.atom", "UPPER")
    Catalog(str(tmp_path)).publish([replace(snapshot, tag=name) for name in names])
    with application(Settings(catalog=str(tmp_path))) as client:
        for name in names:
            for text in (name, quote(name, safe=""), "".join(f"%{ord(it):02x}" for it in name)):
                feed = read_feed(client.get(f"/feeds/{text}.atom").content)
                assert feed.feed.title == f"Spack build cache: {name}"
                url = httpx.URL(f"{client.base_url}/feeds/{text}.atom")
                again = read_feed(client.get(url.join(feed.feed.links[0].href)).content)
                assert again.feed.id == feed.feed.id


def test_an_older_catalog_is_completed_on_the_way(tmp_path: Path) -> None:
    """The first request for a feed makes what changed between neighbours, and keeps it."""
    Catalog(str(tmp_path)).publish(list(history(revisions=4, packages=4, specs=20)))
    for table in ("comparisons", "changes", "hashes"):
        shutil.rmtree(tmp_path / table)
    with application(Settings(catalog=str(tmp_path))) as client:
        feed = read_feed(client.get("/feeds/develop-DATE.atom").content)
        assert re.search(r": \d+ specs? (new|removed|replaced|rebuilt)", feed.entries[0].title)
    assert (tmp_path / "comparisons").is_dir()
