"""Links to commits and pull requests, and the sources of recipes."""

import pytest

from snapshots.errors import InvalidArgument
from snapshots.recipes.commits import (
    Recipes,
    RecipesOrigin,
    SpackChange,
    links_of,
    without_pull_request,
)

HUB = "https://github.com/spack/spack-packages"
LAB = "https://gitlab.example.org/a/b"
TEA = "https://codeberg.org/a/b"


@pytest.mark.parametrize(
    ("setting", "repository", "commit", "pull_request"),
    [
        ("", HUB, f"{HUB}/commit/abc", f"{HUB}/pull/5"),
        ("", "git@github.com:spack/spack-packages.git", f"{HUB}/commit/abc", f"{HUB}/pull/5"),
        ("", LAB, f"{LAB}/-/commit/abc", f"{LAB}/-/merge_requests/5"),
        ("", TEA, f"{TEA}/commit/abc", f"{TEA}/pulls/5"),
        ("", "https://example.org/x", None, None),
        ("", "javascript://github.com/x", None, None),
        ("none", HUB, None, None),
        (HUB, "/srv/packages", f"{HUB}/commit/abc", f"{HUB}/pull/5"),
        ("gitea:https://x.org/a", "/srv", "https://x.org/a/commit/abc", "https://x.org/a/pulls/5"),
        ("https://x.org/{hash}", "/srv", "https://x.org/abc", None),
        ("https://x/c/{hash} https://x/p/{number}", "/srv", "https://x/c/abc", "https://x/p/5"),
    ],
)
def test_links(setting: str, repository: str, commit: str | None, pull_request: str | None) -> None:
    """They follow from the forge in the URL, or from templates; other URLs have none."""
    links = links_of(setting, repository)
    assert (links.commit("abc"), links.pull_request(5)) == (commit, pull_request)


@pytest.mark.parametrize(
    ("setting", "url"),
    [
        (HUB, "https://github.com/spack/spack/compare/v1.0...a%2Fb"),
        ("", "https://github.com/spack/spack/compare/v1.0...a%2Fb"),
        ("none", None),
        ("https://x.org/{hash}", None),
        ("https://x.org/{hash} https://x.org/{before}/{after}", "https://x.org/v1.0/a%2Fb"),
    ],
)
def test_links_to_comparisons_of_spack(setting: str, url: str | None) -> None:
    """On GitHub, or by a template; refs are escaped."""
    links = links_of(setting, "/srv/packages")
    assert links.spack(SpackChange("v1.0", "a/b")) == url
    for before, after in ((None, "a"), ("a", None), ("../a", "b"), ("a", '">'), ("a", "x:y()")):
        assert links.spack(SpackChange(before, after)) is None


@pytest.mark.parametrize(
    ("subject", "title"),
    [("zlib: fix (#7)", "zlib: fix"), ("(#7)", "(#7)"), ("a (#7) b", "a (#7) b"), ("", "")],
)
def test_subjects_without_their_pull_requests(subject: str, title: str) -> None:
    """The number at the end is removed, unless it is the entire subject."""
    assert without_pull_request(subject) == title


@pytest.mark.parametrize(
    "setting",
    [
        "https://x.org/{before}",
        "javascript:alert({hash})",
        "https://x/{name}",
        "https://x/{hash} https://y/{hash}",
        "https://example.org/a",
        'https://x/"{hash}',
        "{hash}",
    ],
)
def test_invalid_settings(setting: str) -> None:
    """Templates that lead nowhere, or run scripts, are refused."""
    with pytest.raises(InvalidArgument, match="CACHELOG_RECIPES_URL"):
        links_of(setting, HUB)


def test_sources_of_recipes() -> None:
    """URLs with and without .git are one repository, until its history is rewritten."""
    one, two, three = (
        Recipes(repository, "abc", RecipesOrigin.REF, line)
        for repository, line in ((HUB, 0), (f"{HUB}.git/", 0), (HUB, 1))
    )
    assert one.source == two.source != three.source
