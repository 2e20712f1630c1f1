"""Repositories of recipes: the commits of revisions, those between, and changed repositories."""

import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.recipes_import import ImportedRecipes, import_recipes
from snapshots.errors import InvalidArgument
from snapshots.models import RevisionInfo
from snapshots.recipes.commits import Commit, CommitGraph, Recipes, RecipesOrigin, SpackChange
from snapshots.recipes.repository import open_recipes
from snapshots.sources.settings import ReadSettings
from tests.expensive import FEWER_EXAMPLES
from tests.snapshots.factories import a_revision, seeded
from tests.snapshots.recipes.repositories import FIRST, Change, RecipesRepository, recipe

PACKAGES = ("zlib", "hdf5", "7zip", "py-numpy")


@pytest.fixture
def repository(tmp_path: Path) -> RecipesRepository:
    """Return a repository of three commits, one hour apart."""
    made = RecipesRepository(tmp_path / "recipes")
    made.fill(
        Change("The beginning", [recipe("zlib")]),
        Change("zlib: add v1.3 (#1)", [recipe("zlib"), recipe("zlib", "fix.patch")]),
        Change("e4s: add hdf5 (#2)", ["stacks/e4s/spack.yaml", recipe("7zip")]),
    )
    return made


def at(hours: float) -> datetime:
    """Return the moment some hours after the first commit."""
    return datetime.fromtimestamp(FIRST + 3600 * hours, UTC)


def graph_of(
    location: Path, tips: Sequence[str], graph: CommitGraph | None = None, old: Sequence[str] = ()
) -> CommitGraph:
    """Return the stored commits after revisions of ``tips`` are added to those of ``old``."""
    graph = graph or CommitGraph(())
    with open_recipes(str(location), ReadSettings()) as opened:
        read = opened.read(opened.unknown(old, tips, lambda: graph))
    return CommitGraph([*graph.commits.values(), *read])


# -- the commit of a revision


@pytest.mark.parametrize(
    ("tag", "hours", "name", "number", "way"),
    [
        ("develop-2026-06-27", 1.5, None, 0, RecipesOrigin.REF),
        ("develop-2026-06-27", 1.5, "develop", 2, RecipesOrigin.GIVEN),
        ("v1.0", 1.5, None, 1, RecipesOrigin.REF),
        ("nightly", 1.5, None, 1, RecipesOrigin.DATE),
        ("develop", 3, None, 2, RecipesOrigin.REF),
        ("develop", 1.5, None, 1, RecipesOrigin.DATE),
    ],
)
def test_commit_of_a_revision(
    repository: RecipesRepository,
    tag: str,
    hours: float,
    name: str | None,
    number: int,
    way: RecipesOrigin,
) -> None:
    """A given commit precedes the refs of the tag, unless they are newer, and those the date."""
    first, second, third = repository.oids
    repository.git("update-ref", "refs/snapshots/develop-2026-06-27", first)
    repository.git("tag", "develop-2026-06-27", second)
    repository.git("tag", "-a", "-m", "release", "v1.0", second)
    with open_recipes(str(repository.folder), ReadSettings()) as opened:
        recipes = opened.recipes_of(tag, at(hours), name)
        assert opened.recipes_of("nightly", at(-1)) is None
        assert opened.commit(third[:9]) == third
    assert recipes
    assert (recipes.commit, recipes.found_by) == (repository.oids[number], way)


@pytest.mark.parametrize("name", ["abcdef0", "-x", "HEAD~1", "", "HEAD^{tree}"])
def test_invalid_commits(repository: RecipesRepository, name: str) -> None:
    """Only hashes and refs are accepted, no other expressions of git."""
    with (
        open_recipes(str(repository.folder), ReadSettings()) as opened,
        pytest.raises(InvalidArgument, match="is not a commit or ref"),
    ):
        opened.commit(name)


# -- the commits between


def test_touched_packages_and_stacks(repository: RecipesRepository) -> None:
    """Packages by their folders, patches included; stacks; commits of Spack; and subjects."""
    before, after = "a" * 40, "b" * 40
    repository.commit("ci: pin", {".ci/env": f"export SPACK_CHECKOUT_VERSION={before}\n"})
    repository.commit("ci: pin (#9)", {".ci/env": f"SPACK_CHECKOUT_VERSION='{after}'\n"})
    repository.commit(
        "move",
        {
            recipe("7zip"): None,
            "var/spack/repos/builtin/packages/old-one/package.py": "",
            "var/spack/repos/spack_repo/builtin/packages/py_numpy/package.py": "",
            ".ci/gitlab/stacks/ml/spack.yaml": "",
            "share/spack/gitlab/cloud_pipelines/stacks/hep/spack.yaml": "",
            "README.md": "",
            "repos/spack_repo/builtin/packages/README": "",
            "repos/spack_repo/builtin/packages/<b>/package.py": "",
            "repos/spack_repo/builtin/build_systems/cmake.py": "",
            "var/spack/repos/builtin.mock/packages/zlib/package.py": "",
            "stacks/spack.yaml": "",
        },
    )
    repository.commit("<b>a</b> \x1b[31m \u202e (#7)")
    graph = graph_of(repository.folder, [repository.oids[0], repository.oids[-1]])
    commits = graph.between(repository.oids[0], repository.oids[-1]).reached
    assert [(of.packages, of.stacks, of.spack) for of in commits] == [
        ((), (), None),
        (("7zip", "old-one", "py-numpy"), ("hep", "ml"), None),
        ((), (), SpackChange(before, after)),
        ((), (), SpackChange(None, before)),
        (("7zip",), ("e4s",), None),
        (("zlib",), (), None),
    ]
    assert [of.pull_request for of in commits] == [7, None, 9, None, 2, 1]
    assert commits[0].subject == "<b>a</b> \\x1b[31m \\u202e (#7)"


def brute_force(repository: RecipesRepository, base: str, head: str) -> set[tuple[str, str]]:
    """Return the commits and packages that ``git log`` lists."""
    log = ("log", "--no-merges", "--name-only", "--no-renames", "--format=%x01%H")
    pairs = set()
    for part in repository.git(*log, f"{base}..{head}").split("\x01")[1:]:
        oid, *paths = part.split()
        pairs |= {(oid, path.split("/")[4]) for path in paths}
    return pairs


def touched(commits: Iterable[Commit]) -> set[tuple[str, str]]:
    """Return the commits with the packages that they touch, by their folders."""
    return {(of.oid, recipe(name).split("/")[4]) for of in commits for name in of.packages}


def random_repository(random: Random) -> tuple[list[tuple[list[int], list[str]]], list[int]]:
    """Return the parents and packages of some commits, and the order of the tips."""
    commits: list[tuple[list[int], list[str]]] = []
    for number in range(random.randint(2, 14)):
        parents = random.sample(range(number), min(number, random.choice([1, 1, 1, 2])))
        commits.append((parents, random.sample(PACKAGES, random.randint(0, 2))))
    return commits, [random.randrange(len(commits)) for _ in range(random.randint(2, 4))]


@given(drawn=seeded(random_repository))
@settings(FEWER_EXAMPLES, max_examples=6)
def test_commits_agree_with_git_log(
    drawn: tuple[list[tuple[list[int], list[str]]], list[int]],
) -> None:
    """Regardless of branches, merges and the order of revisions."""
    commits, tips = drawn
    with TemporaryDirectory() as folder:
        made = RecipesRepository(Path(folder) / "recipes")
        made.fill(
            *(
                Change(f"Commit {number}", list(map(recipe, packages)), parents)
                for number, (parents, packages) in enumerate(commits)
            )
        )
        oids = [made.oids[tip] for tip in tips]
        graph = graph_of(made.folder, oids[:2])
        for number in range(2, len(oids)):
            graph = graph_of(made.folder, [oids[number]], graph, oids[:number])
        whole = graph_of(made.folder, oids)
        assert graph.commits == whole.commits
        for base in oids:
            for head in oids:
                between = graph.between(base, head)
                assert touched(between.reached) == brute_force(made, base, head)
                assert touched(between.taken_back) == brute_force(made, head, base)


# -- clones


def test_partial_clone(repository: RecipesRepository, tmp_path: Path) -> None:
    """It has the refs and only the blobs that name commits of Spack, and is updated."""
    repository.git("config", "uploadpack.allowFilter", "true")
    repository.git("config", "uploadpack.allowAnySHA1InWant", "true")
    repository.commit("ci: pin", {".ci/env": f"SPACK_REF={'c' * 40}\n"})
    repository.git("update-ref", "refs/snapshots/nightly", repository.oids[1])
    url, reading = f"file://{repository.folder}", ReadSettings(cache_dir=tmp_path / "cache")
    for _ in range(2):
        with open_recipes(url, reading) as opened:
            recipes = opened.recipes_of("nightly", at(3))
            newest = opened.commit("develop")
            assert recipes
            assert (recipes.repository, recipes.commit) == (url, repository.oids[1])
            assert newest == repository.oids[-1]
            commits = opened.read([repository.oids[3]])
        assert commits[0].spack == SpackChange(None, "c" * 40)
        repository.commit("zlib: more", [recipe("zlib")])
    (clone,) = (tmp_path / "cache/clones").iterdir()
    missing = ["rev-list", "--objects", "--missing=print", "refs/snapshots/nightly"]
    output = subprocess.run(["git", "-C", str(clone), *missing], capture_output=True, check=True)
    assert b"\n?" in output.stdout


# -- repositories that change, move or break between imports


OLD_LAYOUT = "var/spack/repos/builtin/packages/{}/package.py"


class Series:
    """A catalog in which the revisions of a series have recipes, one hour apart."""

    def __init__(self, folder: Path) -> None:
        self.catalog = Catalog(str(folder / "catalog"))
        self.settings = ReadSettings(cache_dir=folder / "cache")

    def keep(self, number: int, repository: RecipesRepository | str) -> ImportedRecipes:
        """Store the recipes of a revision taken ``number`` hours after the first commit."""
        location = repository if isinstance(repository, str) else str(repository.folder)
        return import_recipes(self.catalog, [revision(number)], location, settings=self.settings)

    def of(self, number: int) -> Recipes:
        """Return the stored recipes of a revision."""
        recipes = self.catalog.recipes.of(revision(number))
        assert recipes is not None
        return recipes

    def subjects(self, base: int, head: int) -> tuple[list[str], list[str]] | None:
        """Return the subjects of the commits reached and taken back; None if unknown."""
        between = self.catalog.recipes.between(revision(base), revision(head))
        if between is None:
            return None
        sides = between.reached, between.taken_back
        reached, taken_back = ([commit.subject for commit in side] for side in sides)
        return reached, taken_back


def revision(number: int) -> RevisionInfo:
    """Return the revision taken ``number`` hours after the first commit, and a minute."""
    of_hour = a_revision("nightly", 0, f"content {number}")
    return replace(of_hour, taken_at=at(number) + timedelta(minutes=1))


@pytest.fixture
def series(tmp_path: Path) -> Series:
    """Return an empty series."""
    return Series(tmp_path)


def rewrite(repository: RecipesRepository) -> None:
    """Replace the last two commits by others, as a force push does."""
    repository.git("update-ref", "refs/heads/develop", repository.oids[0])
    for number in (1, 2):
        repository.commit(
            f"hdf5: {number}",
            [recipe("hdf5")],
            parents=[0 if number == 1 else 3],
            seconds=FIRST + 3600 * number,
        )


def forget(repository: RecipesRepository) -> None:
    """Remove unreachable commits."""
    repository.git("reflog", "expire", "--expire=now", "--all")
    repository.git("gc", "--quiet", "--prune=now")


def test_moved_ref(series: Series, repository: RecipesRepository) -> None:
    """The commit at the time of the import remains, until it is replaced explicitly."""
    pinned = replace(revision(2), tag="develop-2026-06-27")
    location = str(repository.folder)
    for number in (0, 1):
        repository.git("update-ref", "refs/snapshots/develop-2026-06-27", repository.oids[number])
        import_recipes(series.catalog, [pinned], location, settings=series.settings)
        recipes = series.catalog.recipes.of(pinned)
        assert recipes
        assert (recipes.commit, recipes.found_by) == (repository.oids[0], RecipesOrigin.REF)
    recorded_at = series.catalog.recipes.recorded_at(pinned)
    assert series.catalog.recipes.recorded_at(revision(1)) is None
    import_recipes(series.catalog, [pinned], location, settings=series.settings, replace=True)
    moved = Catalog(series.catalog.location).recipes
    moved.refresh()
    recipes, corrected_at = moved.of(pinned), moved.recorded_at(pinned)
    assert recipes
    assert recipes.commit == repository.oids[1]
    assert recorded_at
    assert corrected_at
    assert recorded_at < corrected_at


@pytest.mark.parametrize("is_url", [False, True], ids=["folder", "url"])
def test_rewritten_branch(series: Series, repository: RecipesRepository, is_url: bool) -> None:
    """Former commits that exist, also in a clone, count as dropped."""
    location = f"file://{repository.folder}" if is_url else repository
    series.keep(2, location)
    rewrite(repository)
    if is_url:
        forget(repository)
    series.keep(3, location)
    reached, taken_back = ["hdf5: 2", "hdf5: 1"], ["e4s: add hdf5 (#2)", "zlib: add v1.3 (#1)"]
    assert series.subjects(2, 3) == (reached, taken_back)


def test_rewritten_history(series: Series, repository: RecipesRepository) -> None:
    """If its commits no longer exist, only revisions of the same history are compared."""
    series.keep(1, repository)
    series.keep(2, repository)
    rewrite(repository)
    forget(repository)
    (warning,) = series.keep(3, repository).warnings
    assert " lacks 2 commits that revisions were made of, such as " in warning
    assert "its history was rewritten" in warning
    assert [series.of(number).line for number in (1, 2, 3)] == [0, 0, 1]
    assert series.subjects(2, 3) is None
    why = "the history of the recipe repository was rewritten between the two"
    assert series.catalog.recipes.why_unknown(revision(2), revision(3)) == why
    assert series.subjects(1, 2) == (["e4s: add hdf5 (#2)"], [])
    repository.commit("raja: 4", [recipe("raja")], parents=[4], seconds=FIRST + 3600 * 4)
    assert series.keep(4, repository).warnings == ()
    assert series.of(4).line == 1
    assert series.subjects(3, 4) == (["raja: 4"], [])


def test_two_repositories_in_one_series(
    series: Series, repository: RecipesRepository, tmp_path: Path
) -> None:
    """As in 2025, when recipes moved out of Spack's repository: commits between are unknown."""
    spack = RecipesRepository(tmp_path / "spack")
    for number in range(2):
        spack.commit(f"zlib: in Spack {number}", [OLD_LAYOUT.format("zlib")])
    series.keep(0, spack)
    series.keep(1, spack)
    assert series.keep(2, repository).warnings == ()
    assert series.subjects(0, 1) == (["zlib: in Spack 1"], [])
    assert series.subjects(1, 2) is None
    why = f"the recipes are of two repositories, {spack.folder} and {repository.folder}"
    assert series.catalog.recipes.why_unknown(revision(1), revision(2)) == why
