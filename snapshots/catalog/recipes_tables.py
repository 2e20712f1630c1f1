"""The tables ``recipes`` and ``commits``: the recipes of revisions, and the commits between.

Imports write them in addition to revisions. They are not part of any content, and optional. A row
of ``recipes`` names the commit of the recipes that a revision was built from; of several rows for
one revision, the newest counts. ``commits`` contains the commits of a repository that are reachable
from some of those commits, but not from all. It is written first, so that a reader of a row of
``recipes`` finds its commits.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from operator import itemgetter

import msgspec
import pyarrow as pa
from deltalake.exceptions import DeltaError, TableNotFoundError

from snapshots.catalog.delta import CatalogTable, TableView
from snapshots.catalog.storage import Storage, translated
from snapshots.errors import CatalogError
from snapshots.models import FileInfo, RevisionInfo, SideInfo
from snapshots.recipes.commits import (
    Between,
    Commit,
    CommitGraph,
    Recipes,
    RecipesOrigin,
    SpackChange,
    is_oid_prefix,
)
from snapshots.tables import COMMITS, RECIPES

Source = tuple[str, int]
"""A repository, and the number of its history, like ``Recipes.source``."""

_RevisionKey = tuple[str, datetime, str]


class RecipesTables(TableView):
    """The recipes of revisions in a storage, as of the last ``refresh``.

    Commits are read when they are requested. All methods are thread-safe, and raise CatalogError if
    the store fails or a table is damaged.
    """

    def __init__(self, storage: Storage) -> None:
        super().__init__(CatalogTable(storage, "recipes", RECIPES), storage.location.text)
        self._commits = CatalogTable(storage, "commits", COMMITS)
        self._lock = threading.RLock()
        self._rows: dict[_RevisionKey, tuple[datetime, Recipes]] = {}
        self._graphs: dict[Source, CommitGraph] | None = None

    def refresh(self) -> bool:
        """Read new recipes; return whether any were added or removed.

        Without the table, no revision has recipes. If it cannot be read, the methods that read
        recipes raise the error until a later call succeeds; nothing else is affected.
        """
        with self._lock:
            return super().refresh()

    def _read(self, *, exists: bool) -> None:
        rows = self.table.read().to_pylist() if exists else []
        self._graphs = None
        self._rows = {
            (row["tag"], row["taken_at"], row["digest"]): (
                row["recorded_at"],
                Recipes(
                    row["repository"], row["commit"], RecipesOrigin(row["found_by"]), row["line"]
                ),
            )
            for row in sorted(rows, key=itemgetter("recorded_at"))
        }

    @property
    def _of_revisions(self) -> Mapping[_RevisionKey, tuple[datetime, Recipes]]:
        self._require_sound()
        return self._rows

    @property
    def all(self) -> Iterable[Recipes]:
        """The recipes of all revisions that have some, removed revisions included."""
        return [recipes for _, recipes in self._of_revisions.values()]

    def of(self, revision: SideInfo) -> Recipes | None:
        """Return the recipes of a revision or a stack of it; None if they are unknown."""
        if isinstance(revision, FileInfo):
            return None
        row = self._of_revisions.get(_key_of(revision))
        return None if row is None else row[1]

    def recorded_at(self, revision: RevisionInfo) -> datetime | None:
        """Return when the recipes of a revision were recorded; None if they are unknown."""
        row = self._of_revisions.get(_key_of(revision))
        return None if row is None else row[0]

    def between(self, base: SideInfo, head: SideInfo) -> Between | None:
        """Return the commits between the recipes of two revisions; None if they are unknown.

        This is the case if the recipes of a revision are unknown, if they are from different
        repositories, or if the history of the repository was rewritten; ``why_unknown`` returns the
        reason.
        """
        before, after = self.of(base), self.of(head)
        if before is None or after is None or before.source != after.source:
            return None
        return self.graph(after.source).between(before.commit, after.commit)

    def why_unknown(self, base: SideInfo, head: SideInfo) -> str | None:
        """Return why ``between`` returns None; None if it does not."""
        before, after = self.of(base), self.of(head)
        if before is None or after is None:
            side = "base" if before is None else "head"
            return f"the commit of the recipes that {side} was made of is not known"
        if before.source[0] != after.source[0]:
            return (
                f"the recipes are of two repositories, {before.repository} and {after.repository}"
            )
        if before.source != after.source:
            return "the history of the recipe repository was rewritten between the two"
        return None

    def graph(self, source: Source) -> CommitGraph:
        """Return the stored commits of a repository."""
        graphs = self._all_graphs()
        return graphs.get(source) or CommitGraph(())

    def commits(self, prefix: str) -> list[tuple[Source, Commit]]:
        """Return the stored commits whose hash starts with a prefix, with their sources.

        A hash in several sources is returned once.
        """
        if not is_oid_prefix(prefix):
            return []
        return self._where(lambda commit: commit.oid.startswith(prefix))

    def of_pull_request(self, number: int) -> list[tuple[Source, Commit]]:
        """Return the stored commits whose subject names a pull request, as ``commits`` does."""
        return self._where(lambda commit: commit.pull_request == number)

    def _where(self, accept: Callable[[Commit], bool]) -> list[tuple[Source, Commit]]:
        matches = {
            oid: (source, commit)
            for source, graph in self._all_graphs().items()
            for oid, commit in graph.commits.items()
            if accept(commit)
        }
        return list(matches.values())

    def _all_graphs(self) -> dict[Source, CommitGraph]:
        with self._lock:
            if self._graphs is None:
                with translated(self._location):
                    try:
                        self._graphs = _graphs(self._commits.read())
                    except TableNotFoundError:
                        return {}
            return self._graphs

    # -- writing

    def keep(
        self, recipes: Mapping[RevisionInfo, Recipes], commits: Mapping[Source, Sequence[Commit]]
    ) -> None:
        """Store commits, and recipes of revisions. A commit that is stored twice counts once."""
        moment = datetime.now(UTC)
        with self._lock, translated(self._location):
            if any(commits.values()):
                self._commits.append(_commits_table(commits))
                self._graphs = None
            if recipes:
                self.table.append(_recipes_table(recipes, moment))
            self.refresh()
            # What was stored is valid even if this fails.
            with suppress(CatalogError, DeltaError, pa.ArrowException, OSError):
                for table in (self._commits, self.table):
                    table.merge()


def _key_of(revision: RevisionInfo) -> _RevisionKey:
    return revision.tag, revision.taken_at, revision.digest


def _recipes_table(recipes: Mapping[RevisionInfo, Recipes], moment: datetime) -> pa.Table:
    rows = [
        {
            "tag": revision.tag,
            "taken_at": revision.taken_at,
            "digest": revision.digest,
            "recorded_at": moment,
            **msgspec.to_builtins(own),
        }
        for revision, own in recipes.items()
    ]
    return pa.Table.from_pylist(rows, RECIPES)


def _commits_table(commits: Mapping[Source, Sequence[Commit]]) -> pa.Table:
    rows = [
        {
            **msgspec.structs.asdict(commit),
            "repository": repository,
            "line": line,
            "hash": commit.oid,
            "pull_request": commit.pull_request,
            "changes_spack": commit.spack is not None,
            "spack_before": commit.spack and commit.spack.before,
            "spack_after": commit.spack and commit.spack.after,
        }
        for (repository, line), of_source in commits.items()
        for commit in of_source
    ]
    return pa.Table.from_pylist(rows, COMMITS)


def _graphs(table: pa.Table) -> dict[Source, CommitGraph]:
    of_sources: dict[Source, list[Commit]] = defaultdict(list)
    for row in table.to_pylist():
        commit = Commit(
            row["hash"],
            tuple(row["parents"]),
            row["committed_at"],
            row["subject"],
            tuple(row["packages"]),
            tuple(row["stacks"]),
            SpackChange(row["spack_before"], row["spack_after"]) if row["changes_spack"] else None,
        )
        of_sources[row["repository"], row["line"]].append(commit)
    return {source: CommitGraph(commits) for source, commits in of_sources.items()}
