"""``cachelog revisions``, ``diff`` and ``notes``: what is read from a catalog."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from enum import Enum
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from server.console import (
    DEFAULT_CATALOG,
    BaseArgument,
    CatalogOption,
    HeadArgument,
    JsonOption,
    note,
    say,
    say_json,
)
from snapshots.catalog.catalog import Catalog
from snapshots.changes.diff import LEFT_OUT, Comparison
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.spec_changes import SpecChange, SpecChangeKind
from snapshots.errors import CachelogError, InvalidArgument
from snapshots.frames.filters import SpecFilter
from snapshots.models import RevisionInfo, revision_facts
from snapshots.notes.changelog import Section, Summary, changelog, summarize
from snapshots.notes.rendering import json, markdown

_UNCUT = 1_000
_SIGNS = {SpecChangeKind.ADDED: "+", SpecChangeKind.REMOVED: "-", SpecChangeKind.CHANGED: "~"}


class NotesFormat(Enum):
    """How release notes are written."""

    MARKDOWN = "markdown"
    JSON = "json"


def revisions_command(
    tag: Annotated[str | None, typer.Option(help="Only the revisions of this tag.")] = None,
    as_json: JsonOption = False,
    catalog: CatalogOption = DEFAULT_CATALOG,
) -> None:
    """List the published revisions, newest first."""
    opened = Catalog(catalog)
    opened.refresh()
    history = opened.history
    revisions = history.revisions if tag is None else history.of_tag(tag)
    if history.revisions and not revisions:
        known = ", ".join(history.tags)
        raise InvalidArgument("--tag", f"there is no tag {tag}; there are {known}")
    if as_json:
        say_json([revision_facts(revision) for revision in revisions])
        return
    if not history.revisions:
        note(
            f"The catalog at {catalog} is empty. Fill it with 'cachelog import PATH', "
            "or with made-up data by 'cachelog demo'."
        )
    else:
        _print_revisions(revisions)


def diff_command(
    base: BaseArgument,
    head: HeadArgument,
    as_json: JsonOption = False,
    stat: Annotated[bool, typer.Option("--stat", help="Only counts, package by package.")] = False,
    package: Annotated[str | None, typer.Option(metavar="NAME", help="Only this package.")] = None,
    stack: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only specs that this stack has on either side."),
    ] = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Leave with 1 if anything differs, else with 0.")
    ] = False,
    catalog: CatalogOption = DEFAULT_CATALOG,
) -> None:
    """Print what changed from BASE to HEAD: + came, - went, ~ changed."""
    old, new, comparison = _compare(catalog, base, head)
    _require_known(comparison, package, stack)
    if package is not None or stack is not None:
        comparison = comparison.narrowed(
            SpecFilter(
                packages=None if package is None else (package,),
                stacks=None if stack is None else (stack,),
            )
        )
    changes = comparison.specs
    if as_json:
        only = {"package": package, "stack": stack}
        say_json(_diff_facts(old, new, comparison, changes) | {"only": only})
    else:
        say(f"{_title(old)} -> {_title(new)}")
        for line in _lines(comparison, changes, stat=stat):
            say(line)
        say(_totals(changes))
    if exit_code and changes:
        raise typer.Exit(1)


def notes_command(
    base: BaseArgument,
    head: HeadArgument,
    format_: Annotated[
        NotesFormat, typer.Option("--format", help="For people or for programs.")
    ] = NotesFormat.MARKDOWN,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write there, not to the terminal."),
    ] = None,
    catalog: CatalogOption = DEFAULT_CATALOG,
) -> None:
    """Write release notes of what changed from BASE to HEAD, ready to be published."""
    log = changelog(*_compare(catalog, base, head))
    text = json(log) if format_ is NotesFormat.JSON else markdown(log)
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CachelogError(f"{output}: cannot be written: {error.strerror}") from None


def _compare(catalog: str, base: str, head: str) -> tuple[RevisionInfo, RevisionInfo, Comparison]:
    opened = Catalog(catalog)
    history = opened.require_history()
    old, new = history.resolve(base), history.resolve(head)
    frame = opened.load(old.digest)
    other = frame if old.digest == new.digest else opened.load(new.digest)
    return old, new, Comparison(frame, other)


def _require_known(comparison: Comparison, package: str | None, stack: str | None) -> None:
    sides = (comparison.base, comparison.head)
    known = {
        "--package": (package, {name for frame in sides for name in frame.packages}),
        "--stack": (stack, {name for frame in sides for name in frame.stacks.items}),
    }
    for option, (name, names) in known.items():
        if name is not None and name not in names:
            close = ", ".join(get_close_matches(name, sorted(names)))
            hint = f"; nearest: {close}" if close else ""
            raise InvalidArgument(option, f"neither revision has {name}{hint}")


def _print_revisions(revisions: Sequence[RevisionInfo]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("tag", "digest", "taken at"):
        table.add_column(name, no_wrap=True)
    for name in ("packages", "specs", "stacks"):
        table.add_column(name, justify="right")
    table.add_column("source", overflow="fold")
    for revision in revisions:
        source = revision.source
        table.add_row(
            revision.tag,
            revision.digest[:12],
            f"{revision.taken_at:%Y-%m-%d %H:%M}",
            f"{revision.num_packages:,}",
            f"{revision.num_specs:,}",
            f"{revision.num_stacks:,}",
            f"{source.kind} (synthetic)" if source.synthetic else source.kind,
        )
    console = Console(soft_wrap=True)
    if not console.is_terminal:
        console.width = _UNCUT  # programs such as grep want whole lines
    console.print(table)


def _title(revision: RevisionInfo) -> str:
    return f"{revision.tag} of {revision.taken_at:%Y-%m-%d} ({revision.digest[:12]})"


def _lines(comparison: Comparison, changes: Sequence[SpecChange], *, stat: bool) -> Iterator[str]:
    packages = {change.name: change for change in comparison.packages}
    for name, inside in groupby(changes, key=attrgetter("name")):
        of_package = list(inside)
        yield f"{_headline(packages[name])} ({_totals(of_package)})"
        if not stat:
            for change in of_package:
                yield from _spec_lines(comparison, change)


def _headline(change: PackageChange) -> str:
    kind = Section.of(change).value.replace("_", " ")
    if change.kind in (PackageChangeKind.UPGRADED, PackageChangeKind.DOWNGRADED):
        return f"{change.name}: {kind} {change.newest_before} -> {change.newest_after}"
    return f"{change.name}: {kind}"


def _spec_lines(comparison: Comparison, change: SpecChange) -> Iterator[str]:
    records = [
        frame.spec(row)
        for frame, row in ((comparison.base, change.before), (comparison.head, change.after))
        if row is not None
    ]
    yield f"  {_SIGNS[change.kind]} {change.hash} {records[-1].short}"
    if change.kind is SpecChangeKind.CHANGED:
        for field in comparison.field_changes(change):
            yield f"      {field.path}: {_shown(field.before)} -> {_shown(field.after)}"


def _shown(value: Any) -> str:
    return " ".join(value) if isinstance(value, (list, tuple)) else str(value)


def _totals(changes: Sequence[SpecChange]) -> str:
    counts = {kind: sum(change.kind is kind for change in changes) for kind in SpecChangeKind}
    return ", ".join(f"{count:,} {kind.value}" for kind, count in counts.items())


def _diff_facts(
    old: RevisionInfo, new: RevisionInfo, comparison: Comparison, changes: Sequence[SpecChange]
) -> dict[str, Any]:
    summary: Summary = summarize(comparison)
    return {
        "base": revision_facts(old),
        "head": revision_facts(new),
        "summary": msgspec.to_builtins(summary),
        "packages": [msgspec.to_builtins(change) for change in comparison.packages],
        "specs": {
            kind.value: [
                _spec_facts(comparison, change) for change in changes if change.kind is kind
            ]
            for kind in SpecChangeKind
        },
        "stacks": [msgspec.to_builtins(change) for change in comparison.stacks],
        "left_out": LEFT_OUT,
    }


def _spec_facts(comparison: Comparison, change: SpecChange) -> dict[str, Any]:
    facts: dict[str, Any] = {"hash": change.hash, "name": change.name}
    if change.before is not None and change.after is not None:
        facts["fields"] = [msgspec.to_builtins(it) for it in comparison.field_changes(change)]
    return facts
