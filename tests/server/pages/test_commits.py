"""The commits of the recipes on pages: a tab of comparisons, a page a commit, and links to both."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.demo import develop_history
from snapshots.models import RevisionInfo
from snapshots.recipes.commits import FoundBy, Recipes, SpackChange
from tests import real_data
from tests.model.real import STACKS
from tests.server.commands import cachelog
from tests.server.pages.demo_comparison import PAIR, rows
from tests.server.pages.page_reader import Shown, shown
from tests.server.pages.recipes import REPOSITORY, SPACK, keep_recipes
from tests.server.servers import application
from tests.snapshots.recipes.repositories import the_week

DATES = ("2026-06-20", "2026-06-27")
WEEK = "/compare/{}...{}".format(*(f"develop-{date}" for date in DATES))
MADE_UP = "/compare/develop~1...develop"


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Return a client of a server of a real week of three stacks, with its recipes."""
    folder = tmp_path_factory.mktemp("week")
    recipes = the_week(folder / "recipes").folder
    for date, ref in zip(DATES, ("base", "head"), strict=True):
        index = real_data.folder() / "spack-history" / date
        stacks = [f"{stack}={index / stack / 'index.json'}" for stack in STACKS]
        of_recipes = ("--recipes", recipes, "--recipes-commit", f"refs/snapshots/{ref}")
        tag = ("--tag", f"develop-{date}")
        done = cachelog("import", *stacks, *tag, *of_recipes, catalog=str(folder / "catalog"))
        assert done.code == 0, done.err
    settings = Settings(catalog=str(folder / "catalog"), recipes_url=REPOSITORY)
    with application(settings) as client:
        yield client


def link_to(page: Shown, text: str, selector: str = "main a") -> str:
    """Return where the only link leads whose text has ``text`` in it."""
    (link,) = {link for words, link in page.links(selector).items() if text in words}
    return link


def test_the_tab_has_the_commits_of_the_week(week: httpx.Client) -> None:
    """Each with its specs, its stacks and its causes; the subject leads on, so does the number."""
    page = shown(week, f"{WEEK}/commits")
    table = rows(page)
    assert len(table) == 12
    commit, rebuilt, reached, stacks, cause = table[0]
    assert commit.startswith("gettext: fix libintl argument #5277 2026-06-21")
    assert (rebuilt, reached) == ("378", "387")
    assert stacks == "developer-tools, e4s, ml-linux-aarch64-cpu"
    assert cause == "recipe of gettext changed"
    assert link_to(page, "#5277") == f"{REPOSITORY}/pull/5277"
    assert re.search("/commits/[0-9a-f]{40}$", link_to(page, "gettext: fix libintl argument"))
    assert table[-1][0].startswith("dyninst: add conflict for dyninst@13 with tbb@2023 #5332")
    assert table[-1][0].endswith("perhaps by what depends on it")
    assert table[-1][4] == "intel-tbb 2023.0.0 → 2022.3.0"
    assert page.text("nav.tabs [aria-current]") == "Commits"


def test_the_tab_is_narrowed(week: httpx.Client) -> None:
    """By how closely commits explain, and by the package that is the cause."""
    page = shown(week, f"{WEEK}/commits")
    closely = shown(week, link_to(page, "what depends on it", ".choices a"))
    assert [row[0].split(":")[0] for row in rows(closely)] == ["dyninst"]
    expat = shown(week, f"{WEEK}/commits?cause=expat")
    assert [row[1:3] for row in rows(expat)] == [["4", "333"]]
    assert expat.dom.cssselect("input[name=cause]")[0].get("value") == "expat"
    nothing = shown(week, f"{WEEK}/commits?cause=zlib")
    assert nothing.text("#results").startswith("No commit matches.")


def test_a_commit_has_a_page(week: httpx.Client) -> None:
    """What it touched, what it rebuilt, where and when; also by how its hash begins."""
    address = link_to(shown(week, f"{WEEK}/commits"), "gettext: fix libintl argument")
    page = shown(week, address)
    assert page.text("h1") == "gettext: fix libintl argument"
    assert "378 specs rebuilt in 1 series." in page.text()
    headings = page.texts("thead th")
    assert headings[:4] == ["Series", "Revision", "Specs rebuilt", "Specs reached"]
    (row,) = rows(page)
    assert row[0] == "develop-DATE"
    assert row[1].startswith("develop-2026-06-27")
    assert row[2:4] == ["378", "387"]
    assert shown(week, link_to(page, "compare", "td a")).text("h1") == shown(week, WEEK).text("h1")
    assert link_to(page, "#5277") == f"{REPOSITORY}/pull/5277"
    oid = address.rpartition("/")[2]
    prefix = shown(week, f"/commits/{oid[:8]}")
    assert rows(prefix) == rows(page)
    assert f"The only commit that begins with {oid[:8]}" in prefix.text()


@pytest.mark.parametrize("oid", ["f" * 40, "abc", "<b>", "a" * 5_000])
def test_a_commit_that_is_not_known_has_none(week: httpx.Client, oid: str) -> None:
    """The page says so, and leads on."""
    page = shown(week, f"/commits/{oid}")
    assert page.status in (404, 400)
    assert page.texts(".problem")


def test_pages_lead_to_the_commits(week: httpx.Client) -> None:
    """Those of a cause, of a package, of a spec and of a hash."""
    gettext = "gettext: fix libintl argument"
    cause = shown(week, f"{WEEK}/causes/gettext?kind=RECIPE")
    assert gettext in cause.links("#cause ul.commits a")
    package = shown(week, "/r/develop-2026-06-27/packages/python")
    of_package = shown(week, link_to(package, "commits", "ol.log a"))
    assert of_package.text("h2") == "The commits that rebuilt python"
    assert gettext in of_package.links()
    spec = of_package.links(".names a")
    of_spec = shown(week, next(iter(spec.values())))
    for page in (of_spec, shown(week, link_to(of_spec, "Everything known of"))):
        rebuilt = shown(week, link_to(page, "by which commits"))
        assert gettext in rebuilt.links()
        assert len(rebuilt.texts(".names li")) == 1


def test_a_cause_says_how_closely_its_commits_explain_it(history_client: httpx.Client) -> None:
    """Where none of them touched the recipe that it is about."""
    tab = shown(history_client, f"{MADE_UP}/commits?levels=SPACK")
    cause = shown(history_client, next(iter(tab.links("td:last-child a").values())))
    assert "perhaps by another Spack" in cause.text("ul.commits")


def test_what_explains_little_stands_last(history_client: httpx.Client) -> None:
    """What was taken back, then what is sweeping, each marked; a bump of Spack has both commits."""
    commits = [row[0] for row in rows(shown(history_client, f"{MADE_UP}/commits"))]
    marks = [2 if "sweeping" in text else 1 if "taken back" in text else 0 for text in commits]
    assert marks == sorted(marks)
    assert {*marks} == {0, 1, 2}
    page = shown(history_client, f"{MADE_UP}/commits?levels=SPACK")
    (row,) = rows(page)
    assert f"Spack: {'a' * 12} → {'b' * 12} (compare)" in row[0]
    link = f"https://github.com/spack/spack/compare/{SPACK.before}...{SPACK.after}"
    assert link_to(page, "compare", "th a") == link


def test_nothing_is_shown_where_nothing_is_known(client: httpx.Client) -> None:
    """But on the tab, which says how it becomes known."""
    page = shown(client, f"{PAIR}/commits")
    assert page.status == 200
    assert "cachelog history fill --recipes REPO" in page.text("#tab .empty")
    assert not page.dom.cssselect("#tab table, #tab .exports")
    assert shown(client, f"{PAIR}/commits?as=csv").status == 404
    cause = shown(client, PAIR).links("ol.causes a")
    assert "Commits of the recipes" not in shown(client, next(iter(cause.values()))).text()
    assert "commits" not in shown(client, "/r/develop/packages/hdf5").links("ol.log a")


def test_recipes_of_two_repositories_are_not_compared(tmp_path: Path) -> None:
    """The tab says so."""
    catalog = Catalog(str(tmp_path))
    catalog.publish(list(develop_history(revisions=2, packages=2, specs=4)))
    revisions: Mapping[RevisionInfo, Recipes] = {
        revision: Recipes(f"/{place}", "a" * 40, FoundBy.REF)
        for place, revision in enumerate(catalog.history.revisions)
    }
    catalog.recipes.keep(revisions, {})
    with application(Settings(catalog=str(tmp_path))) as client:
        assert "two repositories" in shown(client, f"{MADE_UP}/commits").text("#tab .empty")


@pytest.mark.parametrize(
    ("setting", "spack", "text", "link"),
    [
        ("https://x.org/{before}/{after}", SPACK, "(compare)", f"https://x.org/{SPACK.before}"),
        ("", SpackChange(None, "b" * 40), f"Spack: unknown → {'b' * 12}", None),
    ],
)
def test_where_two_commits_of_spack_are_compared(
    tmp_path: Path, setting: str, spack: SpackChange, text: str, link: str | None
) -> None:
    """As the setting says, where both are known."""
    catalog = Catalog(str(tmp_path))
    catalog.publish(list(develop_history(revisions=3, packages=4, specs=12)))
    keep_recipes(catalog, sorted(catalog.package_names())[::2], spack=spack)
    with application(Settings(catalog=str(tmp_path), recipes_url=setting)) as client:
        page = shown(client, f"{MADE_UP}/commits?levels=SPACK")
    (row,) = rows(page)
    assert text in row[0]
    compared = page.links("th a").get("compare")
    assert compared is None if link is None else str(compared).startswith(link)
