"""Entries of feeds name the pull requests behind their causes, where they are known."""

from datetime import datetime
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from tests.server.commands import cachelog
from tests.server.feeds.endpoints import SERIES, Served
from tests.server.test_cli_recipes import GETTEXT, Week
from tests.snapshots.notes.atom.feed_readers import read_feed

URL = "https://github.com/spack/spack-packages"


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Week:
    """Return two states of a real stack without their recipes."""
    made = Week(tmp_path_factory.mktemp("week"))
    made.publish()
    return made


def test_commits_that_become_known(week: Week, tmp_path: Path) -> None:
    """An entry has none of them; later it names them, and says that it changed."""
    before = read_feed(Served(Path(week.catalog)).get(SERIES).content)
    assert "ull request" not in before.entries[0].content[0].value
    week.run("history", "fill", "--recipes", week.recipes.folder)
    after = read_feed(Served(Path(week.catalog)).get(SERIES).content)
    html = after.entries[0].content[0].value
    assert html.startswith(before.entries[0].content[0].value)
    assert "<h3>Pull requests (7)</h3>" in html
    title = GETTEXT.partition(" (")[0]
    assert f"<li>#5277 <code>{title}</code> rebuilt 109 specs and reached 112</li>" in html
    moments = [datetime.fromisoformat(feed.entries[0].updated) for feed in (before, after)]
    assert moments[0] < moments[1]
    catalog = Catalog(week.catalog)
    recorded = catalog.recipes.recorded_at
    assert moments[1] == max(filter(None, map(recorded, catalog.require_history().revisions)))
    file = tmp_path / "feed.atom"
    done = cachelog("feed", "develop-DATE", "-o", file, catalog=week.catalog, recipes_url=URL)
    assert done.code == 0
    assert (
        f'<a href="{URL}/pull/5277">#5277</a>'
        in read_feed(file.read_bytes()).entries[0].content[0].value
    )
