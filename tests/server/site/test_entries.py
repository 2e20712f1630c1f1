"""What a site has pages of beside its revisions, and the index that its search looks into."""

from pathlib import Path

import orjson
import pytest

from snapshots.catalog.catalog import Catalog
from tests.server.site.sites import exported, files_in, index_of
from tests.snapshots.factories import a_snapshot, a_spec, day

STACKS = ("e4s", "root", "..", "a/b", "x" * 300)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog with a package that went, and stacks that can be the names of no files."""
    folder = tmp_path_factory.mktemp("catalog")
    specs = [a_spec(text, name=f"p{text}", stacks=tuple(sorted(STACKS))) for text in "abc"]
    Catalog(str(folder)).publish(
        [a_snapshot(specs, "develop", day(1)), a_snapshot(specs[1:], "develop", day(2))]
    )
    return folder


def rows_of(site: Path) -> list[list[str]]:
    """Return the rows of the index: kind, value, detail, file."""
    text = (site / "search-index.js").read_text().removeprefix("globalThis.searchIndex = ")
    rows: list[list[str]] = orjson.loads(text.removesuffix(";\n"))
    return rows


def test_each_has_a_page_that_the_search_leads_to(catalog: Path, tmp_path: Path) -> None:
    """Series, revisions, packages, also gone ones, stacks and hashes, also removed ones."""
    done = exported(catalog, tmp_path / "site")
    assert done.code == 0, done.err
    rows, files = rows_of(tmp_path / "site"), files_in(tmp_path / "site")
    assert [row[3] for row in rows if row[3] not in files] == []
    kinds = [row[0] for row in rows]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "series": 1,
        "revision": 1,
        "package": 3,
        "stack": 2,
        "hash": 3,
    }
    details = {row[1]: row[2] for row in rows}
    assert details["pa"] == "gone, last in develop"
    assert details["pb"] == "1.14.5 in develop"
    assert details[a_spec("a").hash] == "pa@1.14.5 for x86_64_v3"
    assert not (tmp_path / "index.html").exists()


def test_there_are_no_more_than_the_limit(catalog: Path, tmp_path: Path) -> None:
    """Of each kind; none leaves series, revisions and comparisons."""
    assert exported(catalog, tmp_path / "one", "--limit", 1).code == 0
    addresses = [it.get("address", "") for it in index_of(tmp_path / "one")["files"].values()]
    for part, most in {"/packages/p": 3, "/specs/": 1, "/stacks/": 0, "/hash/": 2}.items():
        of_kind = [it for it in addresses if part in it and "compare" not in it]
        assert len(of_kind) == most, part
    assert exported(catalog, tmp_path / "none", "--limit", 0).code == 0
    assert {row[0] for row in rows_of(tmp_path / "none")} == {"series", "revision"}


@pytest.mark.parametrize("prefix", ["", "sha256:"])
def test_the_documents_of_code_generator_are_answered(
    catalog: Path, tmp_path: Path, prefix: str
) -> None:
    """Its persisted-documents.json maps the hash of a document to its text."""
    manifest = tmp_path / "persisted-documents.json"
    digest = "7c0dd33f6b5a0aa1b6a4a1b4cd5f15ae6e0d5ae8"
    text = "query Newest($ref: String!) { revision(ref: $ref) { __typename numSpecs } }"
    manifest.write_bytes(orjson.dumps({f"{prefix}{digest}": text}))
    done = exported(catalog, tmp_path / "site", "--documents", manifest, "--no-pages")
    assert done.code == 0, done.err
    answers = [
        orjson.loads(it.read_bytes()) for it in (tmp_path / f"site/graphql/{digest}").iterdir()
    ]
    told = [it["data"]["revision"] for it in answers]
    assert sorted(told, key=lambda it: it["numSpecs"]) == [
        {"__typename": "Revision", "numSpecs": number} for number in (2, 3)
    ]
