"""Commits of the recipes through GraphQL: the causes that they explain, and the effects of each."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from snapshots.catalog.library import Library
from snapshots.catalog.recipes_import import import_recipes
from snapshots.sources.settings import ReadSettings
from tests.schema import questions
from tests.schema.comparisons.test_causes import BASE, HEAD, published
from tests.schema.worlds import World
from tests.snapshots.recipes.repositories import RecipesRepository, recipe

URL = "https://github.com/a/b"


class Repository(RecipesRepository):
    """A repository in which the recipe of gettext changed between base and head."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.commit("The beginning", [recipe("gettext")])
        self.commit("gettext: fix (#7)", [recipe("gettext")])
        self.commit("zlib: add v1.3.2", [recipe("zlib")])
        self.commit("hdf5: unrelated", [recipe("hdf5")])
        self.commit("ci: Spack (#9)", {".ci/env": f"SPACK={'a' * 40}\n"})


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """Return the repository."""
    return Repository(tmp_path_factory.mktemp("repository") / "recipes")


@pytest.fixture(scope="module")
def world(repository: Repository, tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a catalog of base and head, with their recipes."""
    world = published(tmp_path_factory.mktemp("catalog"), BASE, HEAD)
    for revision, commit in zip(world.catalog.history.revisions[::-1], (0, -1), strict=True):
        import_recipes(
            world.catalog,
            [revision],
            str(repository.folder),
            settings=ReadSettings(),
            commit=repository.oids[commit],
        )
    return replace(world, library=Library(world.catalog, recipes_url=URL))


def of_comparison(world: World, fields: str, **variables: Any) -> Any:
    """Return fields of the comparison of base and head."""
    document = f'{{ compare(base: "develop~1", head: "develop") {{ {fields} }} }}'
    return world.data(document, **variables)["compare"]


def test_commits_are_paged_and_filtered(world: World) -> None:
    """By level or package."""

    def page(arguments: str) -> Any:
        fields = "totalCount edges { cursor node { commit { subject } } }"
        return of_comparison(world, f"commits({arguments}) {{ {fields} }}")["commits"]

    (first,) = page("first: 1")["edges"]
    (second,) = page(f'after: "{first["cursor"]}"')["edges"]
    assert second["node"]["commit"]["subject"] == "zlib: add v1.3.2"
    arguments = ("first: 1", 'package: "zlib"', "levels: [STACK]")
    assert [page(text)["totalCount"] for text in arguments] == [2, 1, 0]


def test_commit_is_found_by_hash(world: World, repository: Repository) -> None:
    """Or by a prefix, or by its id; null if there is none."""
    oid, spack = repository.oids[1], repository.oids[4]
    commit = world.data(f'{{ commit(oid: "{oid[:9]}") {{ id oid isSweeping }} }}')["commit"]
    assert (commit["oid"], commit["isSweeping"]) == (oid, False)
    node = world.data("query($id: ID!) { node(id: $id) { id } }", id=commit["id"])["node"]
    assert node == {"id": commit["id"]}
    bump = world.data(f'{{ commit(oid: "{spack}") {{ spack {{ after }} }} }}')
    assert bump["commit"]["spack"] == {"after": "a" * 40}
    for text in ("abcdef0123", "zz"):
        assert world.data(f'{{ commit(oid: "{text}") {{ oid }} }}') == {"commit": None}


def test_without_recipes(tmp_path: Path) -> None:
    """All fields are null."""
    world = published(tmp_path, BASE, HEAD)
    causes = "causes(first: 9) { nodes { commits { nodes { level } } } }"
    answer = of_comparison(world, f"head {{ recipes {{ oid }} }} commits {{ totalCount }} {causes}")
    assert answer["head"]["recipes"] is answer["commits"] is None
    assert {cause["commits"] for cause in answer["causes"]["nodes"]} == {None}


EFFECT = f"query($id: ID!) {{ node(id: $id) {{ ...E }} }} {questions.EFFECT}"


def test_commits_of_a_comparison(world: World, repository: Repository) -> None:
    """Those that explain a cause, the closest and largest first, with the numbers of the cause.

    A commit is the same from a comparison, from its cause and by its hash.
    """
    compared = world.data(questions.COMMITS, base="develop~1", head="develop")["compare"]
    assert compared["head"]["recipes"] == {
        "repository": "recipes",  # of a local path the last part alone
        "oid": repository.oids[-1],
        "foundBy": "GIVEN",
        "webUrl": f"{URL}/commit/{repository.oids[-1]}",
    }
    commits = compared["commits"]
    first, second = commits["nodes"]
    assert commits["totalCount"] == len(commits["edges"]) == 2
    assert second["commit"]["subject"] == "zlib: add v1.3.2"
    title = "recipe of gettext changed"
    assert (first["level"], first["isTakenBack"]) == ("OWN_RECIPE", False)
    assert first["causes"]["nodes"] == [{"title": title}]
    (cause,) = (node for node in compared["causes"]["nodes"] if node["title"] == title)
    (of_cause,) = cause["commits"]["nodes"]
    assert of_cause == first | {"id": of_cause["id"]}
    assert of_cause["id"] != first["id"]
    for effect in (first, of_cause):
        node = world.data(EFFECT, id=effect["id"])["node"]
        assert node == effect
    assert (first["numSpecs"], first["numInvolved"]) == (cause["numSpecs"], cause["numInvolved"])
    commit = world.data(questions.COMMIT, oid=repository.oids[1])["commit"]
    assert commit.pop("effects") == {"totalCount": 1, "nodes": [first]}
    assert first["commit"] == commit
    assert commit["pullRequest"] == {"number": 7, "webUrl": f"{URL}/pull/7"}
    assert commit["webUrl"] == f"{URL}/commit/{commit['oid']}"
    assert (commit["oid"], commit["subject"]) == (repository.oids[1], "gettext: fix (#7)")
    assert (commit["changedPackageNames"], commit["changedStackNames"], commit["spack"]) == (
        ["gettext"],
        [],
        None,
    )
