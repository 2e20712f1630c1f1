"""Commits of the recipes on pages (a tab of comparisons, a page each, links)."""

import re

import httpx

from tests.server.pages.page_reader import Shown, page_data, shown

PAIR, WEEK = "/compare/develop-2025-01-05...develop", "/compare/develop~1...develop"


def link_to(page: Shown, text: str, selector: str = "main a") -> str:
    """Return the target of the only link whose text contains ``text``."""
    (link,) = {link for words, link in page.links(selector).items() if text in words}
    return link


def test_tab_lists_the_commits(history_client: httpx.Client) -> None:
    """Each with its specs, stacks and causes; the subject and the pull request are links."""
    page = shown(history_client, f"{WEEK}/commits")
    sides = {"base": "develop~1", "head": "develop", "first": 50}
    data = page_data(history_client, "compare_commits", **sides)["compare"]
    nodes, targets = data["commits"]["nodes"], page.targets("tbody th a")
    assert len(nodes) > 5
    for row, node in zip(page.rows(), nodes, strict=True):
        commit, pull = node["commit"], node["commit"]["pullRequest"]
        title = commit["subject"].partition(" (#")[0]
        assert row[0].startswith(f"{title} #{pull['number']} {commit['committedAt'][:10]}")
        assert row[1:3] == [f"{node[count]:,}" for count in ("numSpecs", "numInvolved")]
        assert row[3].startswith(", ".join(node["stackNames"][:3]))
        assert all(cause["packageName"] in row[4] for cause in node["causes"]["nodes"][:2])
        assert f"commits/{commit['oid']}" in "".join(targets)
        assert page.links()[f"#{pull['number']}"] == pull["webUrl"]
    assert page.text("nav.tabs [aria-current]") == "Commits"


def test_commits_are_filtered(history_client: httpx.Client) -> None:
    """By level, and by the package of the cause."""
    page = shown(history_client, f"{WEEK}/commits")
    closely = shown(history_client, link_to(page, "another Spack", ".choices a"))
    assert [row[0].split(":")[0] for row in closely.rows()] == ["Spack"]
    cause = page.rows()[2][4].split()[0]
    narrowed = shown(history_client, f"{WEEK}/commits?cause={cause}")
    assert narrowed.rows()
    assert all(cause in row[4] for row in narrowed.rows())
    assert {*narrowed.values("input[name=cause]")} == {cause}
    nothing = shown(history_client, f"{WEEK}/commits?cause=zlib-of-nobody")
    assert nothing.text("#results").startswith("No commit matches.")


def test_page_of_a_commit(history_client: httpx.Client) -> None:
    """Changed packages, replacements by series and revisions; also by a prefix of the hash."""
    tab = shown(history_client, f"{WEEK}/commits")
    subject, address = next(iter(tab.links("tbody th a").items()))
    page = shown(history_client, address)
    assert page.text("h1") == subject
    assert re.search(r"\d+ replacements? in develop\.", page.text())
    headings = page.texts("thead th")
    assert headings[:4] == ["Series", "Revision", "Replacements", "Reached"]
    newest = page.rows()[0]
    assert newest[0].startswith("develop")
    assert newest[2:4] == tab.rows()[0][1:3]
    assert shown(history_client, next(iter(page.links("td a").values()))).status == 200
    oid = address.rpartition("/")[2]
    prefix = shown(history_client, f"/commits/{oid[:8]}")
    assert prefix.rows() == page.rows()
    assert f"The only commit that begins with {oid[:8]}" in prefix.text()


def test_pages_link_to_commits(history_client: httpx.Client, addresses: dict[str, str]) -> None:
    """Those of a cause, a package, a spec and a hash."""
    subjects = shown(history_client, f"{WEEK}/commits").links("tbody th a").keys()
    cause = shown(history_client, addresses["cause"])
    assert subjects & cause.links("#cause ul.commits a").keys()
    of_package = shown(history_client, addresses["rebuilt-package"])
    package = httpx.URL(addresses["rebuilt-package"]).path.split("/")[4]
    history = shown(history_client, f"/r/develop/packages/{package}").links("table.history a")
    assert any(link.endswith(f"/packages/{package}/commits") for link in history.values())
    assert of_package.text("h2") == f"The commits that rebuilt {package}"
    assert subjects & of_package.links().keys()
    of_spec = shown(history_client, next(iter(of_package.links(".names a").values())))
    for page in (of_spec, shown(history_client, link_to(of_spec, "All about"))):
        rebuilt = shown(history_client, link_to(page, "by which commits"))
        assert subjects & rebuilt.links().keys()
        assert len(rebuilt.texts(".names li")) == 1


def test_pages_without_recipes(client: httpx.Client) -> None:
    """Only the tab mentions commits, and how to import recipes."""
    page = shown(client, f"{PAIR}/commits")
    assert page.status == 200
    assert "cachelog upkeep --recipes REPO" in page.text("#tab .empty")
    assert not page.dom.cssselect("#tab table, #tab .exports")
    assert shown(client, f"{PAIR}/commits?as=csv").status == 404
    cause = shown(client, PAIR).links("ol.causes a")
    assert "Commits of the recipes" not in shown(client, next(iter(cause.values()))).text()
    assert "commits" not in shown(client, "/r/develop/packages/hdf5").links("ol.log a")
