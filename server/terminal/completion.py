"""Shell completion of refs, packages and stacks of the catalog.

An error message must not appear in the middle of a command line. If the catalog cannot be read,
nothing is offered.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from snapshots.texts import short_digest

if TYPE_CHECKING:
    from snapshots.catalog.completions import Names

Completer = Callable[[click.Context, click.Parameter, str], list[str]]

_WORD = re.compile(r"(?P<sigil>[\^%]?)(?P<name>[A-Za-z0-9_.-]*)")

DIMENSIONS = (
    "stack",
    "target",
    "operating-system",
    "platform",
    "compiler",
    "compiler-name",
    "version",
)
"""The dimensions of coverage, by their names on the command line."""


def _without_errors(offers: Callable[[click.Context, str], list[str]]) -> Completer:
    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
        try:
            return offers(ctx, incomplete)
        except Exception:  # noqa: BLE001 - see the docstring of the module
            return []

    return complete


def _refs(ctx: click.Context, incomplete: str) -> list[str]:
    """Return the tags with this prefix in natural order, and then the digests."""
    history = _names_of(ctx).history
    digests = [short_digest(digest) for digest in history.digests] if incomplete else []
    return _beginning(incomplete, [*history.tags, *digests])


def _packages(ctx: click.Context, incomplete: str) -> list[str]:
    """Return the packages with this prefix, in natural order."""
    names = _names_of(ctx)
    return _in_order(incomplete, names.packages(_digest(ctx, names)))


complete_ref, complete_package = map(_without_errors, (_refs, _packages))


@_without_errors
def complete_tag(ctx: click.Context, incomplete: str) -> list[str]:
    """Return the tags with this prefix, in natural order."""
    return _beginning(incomplete, _names_of(ctx).history.tags)


@_without_errors
def complete_range(ctx: click.Context, incomplete: str) -> list[str]:
    """Return the refs with this prefix, including after the dots of ``BASE..HEAD``."""
    base, dots, head = incomplete.rpartition("..")
    return [f"{base}{dots}{ref}" for ref in _refs(ctx, head)]


@_without_errors
def complete_series(ctx: click.Context, incomplete: str) -> list[str]:
    """Return the series with this prefix, in the catalog's order."""
    return _beginning(incomplete, _names_of(ctx).history.series_names)


@_without_errors
def complete_package_or_hash(ctx: click.Context, incomplete: str) -> list[str]:
    """Return the packages with this prefix; nothing after the slash of a hash."""
    return [] if incomplete.startswith("/") else _packages(ctx, incomplete)


@_without_errors
def complete_head_or_package(ctx: click.Context, incomplete: str) -> list[str]:
    """Return refs until both revisions are named, and then the packages with this prefix."""
    from snapshots.refs import split_range

    typed = [ctx.params.get("base") or "", *(ctx.params.get("words") or ())]
    is_complete = len(typed) > 1 or split_range(typed[0]) is not None
    return (_packages if is_complete else _refs)(ctx, incomplete)


@_without_errors
def complete_shown(ctx: click.Context, incomplete: str) -> list[str]:
    """Return the refs and packages with this prefix; only packages after a ref."""
    if incomplete.startswith("/"):
        return []
    refs = [] if ctx.params.get("words") else _refs(ctx, incomplete)
    return [*refs, *_packages(ctx, incomplete)]


@_without_errors
def complete_dimensions(_ctx: click.Context, incomplete: str) -> list[str]:
    """Return the dimensions of coverage with this prefix, including after the comma of a list."""
    chosen, comma, name = incomplete.rpartition(",")
    others = [dimension for dimension in DIMENSIONS if dimension not in chosen.split(",")]
    return [f"{chosen}{comma}{dimension}" for dimension in _beginning(name, others)]


@_without_errors
def complete_query(ctx: click.Context, incomplete: str) -> list[str]:
    """Return the packages with this prefix, including as a dependency (``^NAME``, ``%NAME``)."""
    word = _WORD.fullmatch(incomplete)
    if word is None:
        return []
    return [word["sigil"] + name for name in _packages(ctx, word["name"])]


@_without_errors
def complete_stack(ctx: click.Context, incomplete: str) -> list[str]:
    """Return the stacks with this prefix, in natural order."""
    names = _names_of(ctx)
    return _in_order(incomplete, names.stacks(_digest(ctx, names)))


def _beginning(text: str, names: Sequence[str]) -> list[str]:
    return [name for name in names if name.startswith(text)]


def _in_order(text: str, names: Sequence[str]) -> list[str]:
    from snapshots.spack.names import natural_key

    return sorted(_beginning(text, names), key=natural_key)


def _names_of(ctx: click.Context) -> "Names":
    from snapshots.catalog.completions import Names

    return Names(ctx.params["catalog"])


def _digest(ctx: click.Context, names: "Names") -> str:
    """Return the digest of the revision that the command line names so far, or of the default."""
    base, head, ref, words = (ctx.params.get(name) for name in ("base", "head", "ref", "words"))
    text = ref or head or next(iter(words or ()), None) or (base or "").rpartition("..")[2]
    history = names.history
    revision = history.resolve(text) if text else history.latest or history.revisions[0]
    return revision.digest
