"""Links to commits and pull requests, and the sources of recipes."""

import pytest

from snapshots.errors import InvalidArgument
from snapshots.recipes.commits import (
    Recipes,
    RecipesOrigin,
    links_of,
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
    ],
)
def test_links(setting: str, repository: str, commit: str | None, pull_request: str | None) -> None:
    """They follow from the forge in the URL; other URLs have none."""
    links = links_of(setting, repository)
    assert (links.commit("abc"), links.pull_request(5)) == (commit, pull_request)


@pytest.mark.parametrize(
    "setting",
    [
        "javascript:alert(1)",
        "gitea:javascript:alert(1)",
        "https://example.org/a",
        "gitea:https://x.org/{hash}",
        'gitea:https://x/"',
    ],
)
def test_invalid_settings(setting: str) -> None:
    """URLs that lead nowhere, or run scripts, are refused."""
    with pytest.raises(InvalidArgument, match="CACHELOG_RECIPES_URL"):
        links_of(setting, HUB)


def test_sources_of_recipes() -> None:
    """URLs with and without .git are one repository, until its history is rewritten."""
    one, two, three = (
        Recipes(repository, "abc", RecipesOrigin.REF, line)
        for repository, line in ((HUB, 0), (f"{HUB}.git/", 0), (HUB, 1))
    )
    assert one.source == two.source != three.source
