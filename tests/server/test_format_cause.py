"""A cache that is rebuilt by a Spack with another format of specs: one cause of all changes."""

import json
from pathlib import Path

import httpx
import pytest

from server.settings import Settings
from tests import real_data
from tests.server.commands import cachelog
from tests.server.pages.page_reader import shown
from tests.server.servers import application
from tests.snapshots.sources.buildcache.rehashing import rehashed

TITLE = "Spack's format of specs 5 → 6"
REFS = "develop-2026-06-20", "develop-2026-06-27"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of a real index, and of the same specs concretized by a newer Spack."""
    folder = tmp_path_factory.mktemp("formats")
    source = real_data.folder() / "spack-history" / "2026-06-20" / "e4s" / "index.json"
    (folder / "index.json").write_text(json.dumps(rehashed(json.loads(source.read_bytes()))[0]))
    for index, tag in zip((source, folder / "index.json"), REFS, strict=True):
        result = cachelog("import", index, "--tag", tag, catalog=folder / "catalog")
        assert result.out.endswith("hashes: 222 proven\n"), result.err
    return folder / "catalog"


def test_format_is_the_only_cause(catalog: Path) -> None:
    """The comparison links to the page of the cause, which belongs to no package."""
    why = cachelog("why", "..".join(REFS), catalog=catalog)
    assert why.lines[-1] == f"    220      220  {TITLE}"
    comparison = "...".join(REFS)
    with application(Settings(catalog=str(catalog))) as client:
        client.timeout = httpx.Timeout(60)
        page = shown(client, f"/compare/{comparison}")
        (link,) = {element.get("href", "") for element in page.dom.cssselect(".causes a[href]")}
        assert "/causes/format?kind=FORMAT&from=5&to=6" in link
        cause = shown(client, str(page.response.url.join(link)))
        assert cause.text("#tab h2") == TITLE
        assert "Spack wrote these specs in a different format" in cause.text("#cause")
        assert len(cause.dom.cssselect("#cause tbody tr")) == 50
        query = (
            f'{{ compare(base: "{REFS[0]}", head: "{REFS[1]}") '
            '{ cause(kind: FORMAT, before: "5", after: "6") { package title numSpecs } } }'
        )
        answer = client.post("/graphql", json={"query": query}).json()
    expected = {"package": None, "title": TITLE, "numSpecs": 220}
    assert answer == {"data": {"compare": {"cause": expected}}}
