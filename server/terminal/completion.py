"""Shell completion of tags, series and packages; click completes commands, options and files."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from snapshots.errors import CachelogError

if TYPE_CHECKING:
    from snapshots.catalog.catalog import Catalog

Completer = Callable[[click.Context, click.Parameter, str], list[str]]


def _of_catalog(names: Callable[["Catalog"], Iterable[str]]) -> Completer:
    """Return a completer of names in the catalog; if it cannot be read, nothing is offered.

    An error message must not appear in the middle of a command line.
    """

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
        from snapshots.catalog.catalog import Catalog

        base, dots, last = incomplete.rpartition("..")
        try:
            catalog = Catalog(ctx.params["catalog"])
            catalog.refresh()
            return [base + dots + name for name in names(catalog) if name.startswith(last)]
        except CachelogError:
            return []

    return complete


def _packages(catalog: "Catalog") -> list[str]:
    from snapshots.spack.names import natural_key

    return sorted(catalog.package_names(), key=natural_key)


complete_ref = _of_catalog(lambda catalog: catalog.history.tags)
"""Completes tags, also after the dots of ``BASE..HEAD``."""

complete_series = _of_catalog(lambda catalog: catalog.history.series_names)
complete_package = _of_catalog(_packages)
