"""Repositories of recipes: the commit of a revision, and the commits between revisions."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings

from snapshots.errors import InvalidArgument, SourceError
from snapshots.recipes import repository as module
from snapshots.recipes.commits import Commit, CommitGraph, RecipesOrigin, SpackChange
from snapshots.recipes.repository import TagRefs, open_recipes
from snapshots.sources.settings import ReadSettings
from tests.expensive import FEWER_EXAMPLES
from tests.snapshots.factories import seeded
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


def test_commit_of_a_revision(repository: RecipesRepository) -> None:
    """A given commit takes precedence, then the refs of the tag in their order, then the date."""
    first, second, third = repository.oids
    repository.git("update-ref", "refs/snapshots/develop-2026-06-27", first)
    repository.git("tag", "develop-2026-06-27", second)
    repository.git("tag", "-a", "-m", "release", "v1.0", second)
    with open_recipes(str(repository.folder), ReadSettings()) as opened:
        ways = {
            (tag, name): opened.recipes_of(tag, at(1.5), name)
            for tag, name in [
                ("develop-2026-06-27", None),
                ("develop-2026-06-27", "develop"),
                ("develop-2026-06-27", third[:9]),
                ("v1.0", None),
                ("nightly", None),
            ]
        }
        assert opened.recipes_of("nightly", at(-1)) is None
    commits = {key: (of.commit, of.found_by) for key, of in ways.items() if of}
    assert commits == {
        ("develop-2026-06-27", None): (first, RecipesOrigin.REF),
        ("develop-2026-06-27", "develop"): (third, RecipesOrigin.GIVEN),
        ("develop-2026-06-27", third[:9]): (third, RecipesOrigin.GIVEN),
        ("v1.0", None): (second, RecipesOrigin.REF),
        ("nightly", None): (second, RecipesOrigin.DATE),
    }


@pytest.mark.parametrize(("hours", "number", "way"), [(3, 2, "ref"), (1.5, 1, "date")])
def test_branch_that_moved(
    repository: RecipesRepository, hours: float, number: int, way: str
) -> None:
    """The branch of a mutable tag determines the commit only if it is older than the revision."""
    with open_recipes(str(repository.folder), ReadSettings()) as opened:
        recipes = opened.recipes_of("develop", at(hours))
    assert recipes
    assert (recipes.commit, recipes.found_by.value) == (repository.oids[number], way)


@pytest.mark.parametrize("name", ["abcdef0", "-x", "HEAD~1", "", "HEAD^{tree}"])
def test_invalid_commits(repository: RecipesRepository, name: str) -> None:
    """Only hashes and refs are accepted, no other expressions of git."""
    with (
        open_recipes(str(repository.folder), ReadSettings()) as opened,
        pytest.raises(InvalidArgument, match="is not a commit or ref"),
    ):
        opened.commit(name)


@pytest.mark.parametrize("pattern", ["{tag}", "refs/{tag}/{tag}", "refs/x", "refs/../{tag}", "--x"])
def test_invalid_patterns(pattern: str) -> None:
    """Each pattern is a ref with {tag} once."""
    with pytest.raises(InvalidArgument, match="CACHELOG_RECIPES_REFS"):
        TagRefs([pattern])


# -- the commits between


def test_touched_packages_and_stacks(repository: RecipesRepository) -> None:
    """Packages by their folders, patches included; stacks; and the commits of Spack.

    A subject keeps markup, which is escaped where it is shown; control characters are visible.
    """
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


def test_commits_are_read_once(repository: RecipesRepository) -> None:
    """Older and newer revisions add only the missing ones."""
    first, second, third = repository.oids
    graph = graph_of(repository.folder, [second, third])
    assert set(graph.commits) == {third}
    with open_recipes(str(repository.folder), ReadSettings()) as opened:
        assert opened.unknown([second, third], [third], lambda: graph) == []
        assert opened.unknown([second, third], [first], lambda: graph) == [second]


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


def test_shallow_clone(repository: RecipesRepository, tmp_path: Path) -> None:
    """Its last commit seems to have created all files, and touches none."""
    shallow = tmp_path / "shallow"
    command = ["git", "clone", "-q", "--depth=2", f"file://{repository.folder}", str(shallow)]
    subprocess.run(command, check=True)
    _, second, third = repository.oids
    with open_recipes(str(shallow), ReadSettings()) as opened:
        assert opened.has(repository.oids) == {second, third}
        assert [of.packages for of in opened.read([third, second])] == [("7zip",), ()]


@pytest.mark.parametrize(
    ("limit", "value", "reason"),
    [("MAX_BYTES", 100, "more paths"), ("MAX_COMMITS", 1, "more than")],
)
def test_bounds(
    repository: RecipesRepository,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    value: int,
    reason: str,
) -> None:
    """More commits or paths than the bounds allow are an error."""
    monkeypatch.setattr(module, limit, value)
    with pytest.raises(SourceError, match=reason):
        graph_of(repository.folder, [repository.oids[0], repository.oids[2]])


def test_timeout(
    repository: RecipesRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git is terminated if reading commits takes longer than the bound."""
    git = shutil.which("git")
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(f'#!/bin/sh\n[ "$1" = diff-tree ] && exec sleep 60\nexec {git} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(module, "LONGEST", 0.1)
    with pytest.raises(SourceError, match=r"git took longer than 0\.1 s"):
        graph_of(repository.folder, [repository.oids[0], repository.oids[2]])
