"""Repositories that change, move or break between imports."""

from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.recipes_import import ImportedRecipes, import_recipes
from snapshots.errors import SourceError
from snapshots.models import RevisionInfo
from snapshots.recipes.commits import Recipes, RecipesOrigin
from snapshots.sources.settings import ReadSettings
from tests.snapshots.factories import a_revision
from tests.snapshots.recipes.repositories import FIRST, Change, RecipesRepository, recipe
from tests.snapshots.recipes.test_repository import at

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

    def why_unknown(self, base: int, head: int) -> str | None:
        """Return why the commits are unknown."""
        return self.catalog.recipes.why_unknown(revision(base), revision(head))


def revision(number: int) -> RevisionInfo:
    """Return the revision taken ``number`` hours after the first commit, and a minute."""
    of_hour = a_revision("nightly", 0, f"content {number}")
    return replace(of_hour, taken_at=at(number) + timedelta(minutes=1))


@pytest.fixture
def series(tmp_path: Path) -> Series:
    """Return an empty series."""
    return Series(tmp_path)


@pytest.fixture
def repository(tmp_path: Path) -> RecipesRepository:
    """Return a repository of three commits."""
    made = RecipesRepository(tmp_path / "recipes")
    made.fill(*(Change(f"zlib: {number}", [recipe("zlib")]) for number in range(3)))
    return made


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
    moved = Catalog(series.catalog.location)
    moved.recipes.refresh()
    recipes = moved.recipes.of(pinned)
    assert recipes
    assert recipes.commit == repository.oids[1]
    corrected_at = moved.recipes.recorded_at(pinned)
    assert recorded_at is not None
    assert corrected_at is not None
    assert recorded_at < corrected_at


def test_rewritten_branch(series: Series, repository: RecipesRepository) -> None:
    """It is a warning; the former commits, which still exist, count as taken back."""
    series.keep(2, repository)
    assert series.keep(2, repository).warnings == ()
    rewrite(repository)
    (warning,) = series.keep(3, repository).warnings
    oid = repository.oids[2][:12]
    assert f" no longer has {oid} on its default branch: its history was rewritten" in warning
    assert series.subjects(2, 3) == (["hdf5: 2", "hdf5: 1"], ["zlib: 2", "zlib: 1"])


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
    assert series.why_unknown(2, 3) == (
        "the history of the recipes' repository was rewritten between the two"
    )
    assert series.subjects(1, 2) == (["zlib: 2"], [])
    repository.commit("raja: 4", [recipe("raja")], parents=[4], seconds=FIRST + 3600 * 4)
    assert series.keep(4, repository).warnings == ()
    assert series.of(4).line == 1
    assert series.subjects(3, 4) == (["raja: 4"], [])


def test_rewritten_history_at_a_url(series: Series, repository: RecipesRepository) -> None:
    """The cached clone still has the former commits: they are taken back."""
    url = f"file://{repository.folder}"
    series.keep(2, url)
    rewrite(repository)
    forget(repository)
    (warning,) = series.keep(3, url).warnings
    assert "its history was rewritten" in warning
    assert series.subjects(2, 3) == (["hdf5: 2", "hdf5: 1"], ["zlib: 2", "zlib: 1"])


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
    why = series.why_unknown(1, 2) or ""
    assert why.startswith("the recipes are of two repositories, ")
    assert str(spack.folder) in why
    assert str(repository.folder) in why


def test_renamed_recipe(series: Series, repository: RecipesRepository) -> None:
    """The commit touches both packages."""
    series.keep(2, repository)
    repository.commit("zlib-ng: rename", {recipe("zlib"): None, recipe("zlib-ng"): "3\n"})
    series.keep(3, repository)
    between = series.catalog.recipes.between(revision(2), revision(3))
    assert between
    assert [commit.packages for commit in between.reached] == [("zlib", "zlib-ng")]


def test_recipes_that_move_to_another_folder(series: Series, tmp_path: Path) -> None:
    """As in 2025 within Spack: each is touched once, by a sweeping commit."""
    names = [f"py-{number}" for number in range(201)]
    repository = RecipesRepository(tmp_path / "spack")
    repository.commit("The beginning", list(map(OLD_LAYOUT.format, names)))
    moved: dict[str, str | None] = dict.fromkeys(map(OLD_LAYOUT.format, names))
    new = "var/spack/repos/spack_repo/builtin/packages/{}/package.py"
    moved |= {new.format(name.replace("-", "_")): "0\n" for name in names}
    repository.commit("all: move (#50000)", moved)
    repository.commit("py-7: fix (#50001)", [new.format("py_7")])
    for number in (0, 2):
        series.keep(number, repository)
    between = series.catalog.recipes.between(revision(0), revision(2))
    assert between
    fix, move = between.reached
    assert (fix.packages, fix.is_sweeping) == (("py-7",), False)
    assert (move.packages, move.is_sweeping) == (tuple(sorted(names)), True)


def test_damaged_repository(series: Series, repository: RecipesRepository) -> None:
    """Nothing is stored of a commit that cannot be read, and earlier recipes remain."""
    series.keep(1, repository)
    for path in (repository.folder / ".git/objects").rglob("*"):
        if path.is_file():
            path.chmod(0o644)
            path.write_bytes(b"")
    with pytest.raises(SourceError):
        series.keep(2, repository)
    assert series.catalog.recipes.of(revision(2)) is None
    assert series.of(1).commit == repository.oids[1]
