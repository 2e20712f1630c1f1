"""The commits of the recipes in release notes: references and effects."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from snapshots.notes import own_templates
from snapshots.notes.changelog import Changelog
from snapshots.notes.sentences import plain
from snapshots.recipes.commits import Between, Commit, Links, SpackChange, links_of
from tests.snapshots.changes.graphs import node
from tests.snapshots.notes.stories import as_html, as_markdown, log_between
from tests.snapshots.notes.test_cause_phrases import OTHER_RECIPE
from tests.snapshots.notes.test_escaping import HOSTILE, elements

HUB = "https://github.com/spack/spack-packages"
GITHUB = links_of("", HUB)
SPACK = SpackChange("c" * 40, "d" * 40)

BASE = [node("gettext"), node("git", "gettext"), node("tar", "gettext"), node("raja")]
HEAD = [
    node("gettext:2", package_hash=OTHER_RECIPE),
    node("git:2", "gettext:2"),
    node("tar:2", "gettext:2", version="2"),
    node("raja:2", variants=("+mpi",)),
]


def a_commit(subject: str = "gettext: fix (#5277)", *packages: str, **facts: Any) -> Commit:
    """Return a commit that changed gettext, or other packages."""
    moment = datetime(2026, 6, 21, 12, tzinfo=UTC)
    touched = facts.pop("packages", packages or ("gettext",))
    return Commit(f"{len(subject):040x}", (), moment, subject, touched, **facts)


def log_of(
    *commits: Commit, links: Links = GITHUB, taken_back: tuple[Commit, ...] = ()
) -> Changelog:
    """Return the changelog of the two contents, with commits between their recipes."""
    return log_between(BASE, HEAD, commits=Between(commits, taken_back), links=links)


def test_references_to_pull_requests() -> None:
    """Highlights and causes link to pull requests; a list has the effect of each."""
    log = log_of(a_commit())
    text = as_markdown(log)
    link = f"[#5277]({HUB}/pull/5277)"
    assert f"`gettext`'s recipe changed ({link}), which accounts for 2 specs and reached 3" in text
    assert f"- The recipe of `gettext` ({link}) accounts for 2 specs and reached 3\n" in text
    assert "## Pull requests (1)\n\n" in text
    assert f"\n- {link} `gettext: fix` accounts for 2 specs and reached 3\n" in text
    page = as_html(log)
    assert f'The recipe of <code>gettext</code> (<a href="{HUB}/pull/5277">#5277</a>)' in page
    assert "<h2>Pull requests <small>1</small></h2>" in page


def test_references_without_links() -> None:
    """They name the repository, as another site's #5277 is another one; or the hash."""
    log = log_of(a_commit(), links=Links(name="packages"))
    text = as_markdown(log)
    assert "`gettext`'s recipe changed (packages#5277), which" in text
    assert "\n- packages#5277 `gettext: fix` accounts for" in text
    for rendered in (
        text,
        as_html(log),
        *(own_templates.render_example(log, name) for name in own_templates.EXAMPLES),
    ):
        assert "packages#5277" in rendered
        assert not re.search(r"(?<!packages)#5277", rendered)
    text = as_markdown(log_of(a_commit("gettext: fix")))
    oid = f"{12:040x}"
    assert f"([{oid[:12]}]({HUB}/commit/{oid}))" in text
    assert "## Pull requests and other commits (1)" in text


@pytest.mark.parametrize("name", own_templates.EXAMPLES)
def test_example_templates(name: str) -> None:
    """The examples for a chat and for a GitHub release link to pull requests."""
    text = own_templates.render_example(log_of(a_commit()), name)
    assert f"([#5277]({HUB}/pull/5277))" in text
    assert ("## Pull requests (1)" in text) == (name == "github-release")


def test_own_template(tmp_path: Path) -> None:
    """A template has the effects of commits, with their links."""
    template = tmp_path / "own.md"
    template.write_text("{% for line in sections.commits.lines %}{{ line | told }}{% endfor %}")
    text = own_templates.render_own(log_of(a_commit()), template)
    assert text == f"[#5277]({HUB}/pull/5277) `gettext: fix` accounts for 2 specs and reached 3"


@pytest.mark.parametrize(
    ("log", "line", "cause"),
    [
        (
            log_of(taken_back=(a_commit(),)),
            "Dropping spack-packages#5277 gettext: fix accounts for 2 specs and reached 3",
            "the recipe of gettext (dropping spack-packages#5277)",
        ),
        (
            log_of(a_commit("all: (#9)", packages=("gettext", *map(str, range(200))))),
            "spack-packages#9 all:, which touches 201 packages, perhaps accounts for 2 specs "
            "and reached 3",
            "the recipe of gettext (perhaps by spack-packages#9)",
        ),
        (
            log_of(a_commit("git: conflict (#8)", "git")),
            "spack-packages#8 git: conflict perhaps accounts for 2 specs and reached 3",
            "the recipe of gettext (perhaps by spack-packages#8)",
        ),
        (
            log_of(a_commit("ci: pin (#7)", packages=(), spack=SPACK), links=Links()),
            "recipes#7 ci: pin (Spack cccccccccccc → dddddddddddd) perhaps accounts for 4 specs "
            "and reached 5",
            "the recipe of gettext (perhaps by recipes#7)",
        ),
        (
            log_of(a_commit("ci: pin (#7)", packages=(), spack=SpackChange(None, None))),
            "spack-packages#7 ci: pin (another Spack) perhaps accounts for 4 specs and reached 5",
            "the recipe of gettext (perhaps by spack-packages#7)",
        ),
        (
            log_of(a_commit(), a_commit("gettext: another (#5280)")),
            "spack-packages#5277 gettext: fix accounts for 2 specs and reached 3",
            "the recipe of gettext (spack-packages#5277 and 1 more)",
        ),
        (
            log_of(a_commit("tar: add v2 (#3)", "tar")),
            "spack-packages#3 tar: add v2 accounts for 1 spec",
            "tar 1 → 2 (spack-packages#3)",
        ),
    ],
)
def test_sentence_of_a_commit(log: Changelog, line: str, cause: str) -> None:
    """Reverts, sweeping commits, uncertain attributions and bumps of Spack have their own words."""
    assert line in [*map(plain, log.sections["commits"].lines)]
    causes = [*map(plain, log.sections["causes"].lines)]
    assert any(told.lower().startswith(f"{cause} accounts for ") for told in causes)


def test_bump_of_spack_links_to_its_changes() -> None:
    """The link compares the two commits of Spack."""
    text = as_markdown(log_of(a_commit("ci: pin (#7)", packages=(), spack=SPACK)))
    url = f"https://github.com/spack/spack/compare/{SPACK.before}...{SPACK.after}"
    assert f"(Spack cccccccccccc → dddddddddddd: [compare]({url}))" in text


@pytest.mark.parametrize("hostile", HOSTILE[:6])
def test_hostile_subjects(hostile: str) -> None:
    """Subjects and link templates cannot add markup."""
    outlines, pages = [], []
    for text in (hostile, "harmless"):
        links = Links("https://x.org/{hash}", "https://x.org/a)b|c`(" + "{number}")
        log = log_of(a_commit(f"{text} (#7)"), a_commit(text), links=links)
        tokens = MarkdownIt("commonmark").enable("table").parse(as_markdown(log))
        outlines.append([(token.type, token.tag) for token in tokens])
        urls = [
            child.attrs["href"]
            for token in tokens
            for child in token.children or ()
            if child.type == "link_open"
        ]
        assert {str(url) for url in urls if "%29" in str(url)} == {"https://x.org/a%29b%7Cc%60%287"}
        assert all(str(url).startswith("https://x.org/") for url in urls)
        pages.append(elements(as_html(log)))
    assert outlines[0] == outlines[1]
    assert pages[0] == pages[1]
