"""What the commands that compare two revisions share: the two, why they differ, and a scope."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import click

from server.terminal.completion import complete_package, complete_stack

if TYPE_CHECKING:
    from server.terminal.printing.reports import Report
    from snapshots.catalog.asking.library import Library
    from snapshots.changes.diff import Comparison
    from snapshots.changes.explanation import Explanation
    from snapshots.frames.columns import Mask
    from snapshots.history import History
    from snapshots.models import RevisionInfo
    from snapshots.notes.document import Changelog
    from snapshots.notes.scope import Only, Scope

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def scope_options(command: Decorated) -> Decorated:
    """Add ``--package``, ``--stack`` and ``--matching``, which narrow what is told."""
    for option in (
        click.option(
            "--matching",
            metavar="QUERY",
            help="Only specs that this query in Spack's language matches on either side.",
        ),
        click.option(
            "--stack",
            metavar="NAME",
            shell_complete=complete_stack,
            help="Only specs that this stack has on either side.",
        ),
        click.option(
            "--package", metavar="NAME", shell_complete=complete_package, help="Only this package."
        ),
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class Compared:
    """Two revisions of a catalog; what is asked of the difference is made when it is asked for.

    ``scope`` has the specs that are asked for; None for all.
    """

    base: "RevisionInfo"
    head: "RevisionInfo"
    scope: "Scope | None"
    _library: "Library"
    _history: "History"

    @cached_property
    def comparison(self) -> "Comparison":
        """What changed from base to head, in scope or not."""
        return self._library.compare(self.base.digest, self.head.digest)

    @cached_property
    def explanation(self) -> "Explanation":
        """Why it changed."""
        return self._library.explain(self.base.digest, self.head.digest)

    @cached_property
    def returned(self) -> "Mask":
        """The rows of head whose hash an earlier revision of the series had."""
        return self._library.find_returned(self._history, self.base, self.head)

    def report(self) -> "Report":
        """Return the changes in scope, each with its reason."""
        from server.terminal.printing.reports import reported

        comparison = self.comparison
        if self.scope is not None:
            comparison = comparison.narrowed_to(self.scope.in_base, self.scope.in_head)
        return reported(self.base, self.head, comparison, self.explanation, self.returned)

    def changelog(self) -> "Changelog":
        """Return the changes in scope as release notes have them."""
        from snapshots.notes.changelog import changelog

        return changelog(self.base, self.head, self.explanation, self.scope, self.returned)


def compare(location: str, refs: tuple[str, str], only: "Only") -> Compared:
    """Compare the revisions of a catalog that two refs name, as far as it is asked for.

    Raises as ``History.resolve`` does, and InvalidArgument for names that neither revision has.
    """
    from snapshots.catalog.asking.library import Library
    from snapshots.catalog.catalog import Catalog

    catalog = Catalog(location)
    history = catalog.require_history()
    base, head = (history.resolve(ref) for ref in refs)
    library = Library(catalog)
    scope = _scope(library, (base.digest, head.digest), only) if only else None
    return Compared(base, head, scope, library, history)


def _scope(library: "Library", digests: tuple[str, str], only: "Only") -> "Scope":
    """Return which specs are asked for; raises InvalidArgument for names that are not there.

    Raises UnknownPackage for a name in a query that nothing has.
    """
    from server.commands.names import require_package, require_stack
    from snapshots.errors import UnknownPackage
    from snapshots.notes.scope import scope_of

    base, head = sides = tuple(map(library.frames.get, digests))
    if only.package is not None:
        require_package(only.package, sides)
    if only.stack is not None:
        require_stack(only.stack, sides)
    matching = None
    if only.matching is not None:
        before, after = (library.find(digest, only.matching) for digest in digests)
        if not before.any() and not after.any():
            # A slip of the pen would say that nothing changed.
            for unknown in library.unknown_names(digests[1], only.matching):
                raise UnknownPackage(unknown.name, unknown.nearest)
        matching = before, after
    return scope_of(only, (base, head), matching)
