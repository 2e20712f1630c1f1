"""Entries of feeds name the pull requests behind their causes, where they are known."""

from datetime import datetime
from pathlib import Path

from snapshots.catalog.catalog import Catalog
from snapshots.demo import develop_history
from tests.server.commands import cachelog
from tests.server.feeds.endpoints import Served
from tests.server.pages.recipes import REPOSITORY, keep_recipes
from tests.snapshots.notes.atom.feed_readers import read_feed


def test_commits_that_become_known(tmp_path: Path) -> None:
    """An entry has none of them; later it names them, and says that it changed."""
    catalog = Catalog(str(tmp_path / "catalog"))
    catalog.publish(list(develop_history(revisions=2, packages=6, specs=30)))
    (before,) = read_feed(served(catalog)).entries[:1]
    assert "ull request" not in before.content[0].value
    keep_recipes(catalog, sorted(catalog.package_names()))
    (after,) = read_feed(served(catalog)).entries[:1]
    html = after.content[0].value
    assert html.startswith(before.content[0].value)
    assert "<h3>Pull requests (" in html
    moments = [datetime.fromisoformat(entry.updated) for entry in (before, after)]
    recorded = catalog.recipes.recorded_at
    revisions = catalog.history.of_series("develop")
    assert moments[0] < moments[1] == max(filter(None, map(recorded, revisions)))
    file = tmp_path / "feed.atom"
    done = cachelog("feed", "develop", "-o", file, catalog=catalog.location)
    assert done.code == 0, done.err
    (entry,) = read_feed(file.read_bytes()).entries[:1]
    assert f'<a href="{REPOSITORY}/pull/' in entry.content[0].value


def served(catalog: Catalog) -> bytes:
    """Return the feed of develop, as a server of a catalog sends it."""
    return Served(Path(catalog.location)).get("/feeds/develop.atom").content
