"""A changelog as text that can be published: Markdown or JSON, the same to the byte every time."""

from datetime import datetime
from enum import Enum
from functools import cache

import msgspec
import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined

from snapshots.models import revision_facts
from snapshots.notes.changelog import Changelog
from snapshots.notes.escaping import code_span, inline
from snapshots.wording import counted, day, short_digest

_TITLES = {
    "added": "Added packages",
    "upgraded": "Upgraded packages",
    "downgraded": "Downgraded packages",
    "versions_changed": "Other version changes",
    "removed": "Removed packages",
    "rebuilt": "Rebuilt packages",
    "more_builds": "Packages with more builds",
    "fewer_builds": "Packages with fewer builds",
    "changed": "Changed facts",
}
_STACK_TITLES = {"added": "Added stacks", "removed": "Removed stacks"}
_UNITS = ("KiB", "MiB", "GiB", "TiB")


class NotesFormat(Enum):
    """How release notes are written: for people, or with the same facts for programs."""

    MARKDOWN = "markdown"
    JSON = "json"


def render(log: Changelog, format_: NotesFormat) -> str:
    """Render release notes in a format."""
    return json(log) if format_ is NotesFormat.JSON else markdown(log)


def markdown(log: Changelog) -> str:
    """Render release notes in Markdown."""
    summary = log.summary
    return (
        _environment()
        .get_template("notes.md.jinja")
        .render(
            log=log,
            s=summary,
            names=_names(log),
            titles=_TITLES,
            stack_titles=_STACK_TITLES,
            packages_changed=summary.packages_upgraded
            + summary.packages_downgraded
            + summary.packages_versions_changed
            + summary.packages_rebuilt
            + summary.packages_changed,
            stacks_changed=log.stacks_changed,
            synthetic=log.base.source.synthetic or log.head.source.synthetic,
        )
    )


def _names(log: Changelog) -> tuple[str, str]:
    """Return how the two revisions are told apart: by tag, else also by day, else by digest."""
    base, head = log.base, log.head
    if base.tag != head.tag:
        return inline(base.tag), inline(head.tag)
    days = day(base.taken_at), day(head.taken_at)
    if days[0] == days[1]:
        days = short_digest(base.digest), short_digest(head.digest)
    return f"{inline(base.tag)} ({days[0]})", f"{inline(head.tag)} ({days[1]})"


def json(log: Changelog) -> str:
    """Render release notes as JSON, with every fact of the Markdown ones."""
    document = {
        "base": revision_facts(log.base),
        "head": revision_facts(log.head),
        "summary": msgspec.to_builtins(log.summary) | {"size_delta": log.summary.size_delta},
        "packages": {
            section.value: [
                {
                    "name": entry.change.name,
                    "newest_before": entry.change.newest_before,
                    "newest_after": entry.change.newest_after,
                    "versions_before": entry.change.versions_before,
                    "versions_after": entry.change.versions_after,
                    "specs_added": entry.change.specs_added,
                    "specs_removed": entry.change.specs_removed,
                    "specs_changed": entry.change.specs_changed,
                    "size_before": entry.change.size_before,
                    "size_after": entry.change.size_after,
                    "changed_facts": entry.facts,
                }
                for entry in entries
            ]
            for section, entries in log.packages.items()
        },
        "stacks": {
            kind.value: [
                {
                    "name": entry.change.name,
                    "num_specs": entry.change.num_specs_before + entry.change.num_specs_after,
                    "num_packages": entry.num_packages,
                }
                for entry in entries
            ]
            for kind, entries in log.stacks.items()
        },
        "stacks_changed": log.stacks_changed,
        "left_out": log.left_out,
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("snapshots.notes"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown, not HTML
    )
    environment.filters |= {
        "code_span": code_span,
        "counted": counted,
        "day": _day,
        "fact_name": _fact_name,
        "inline": inline,
        "number": _number,
        "size": _size,
        "size_delta": _size_delta,
    }
    return environment


def _number(count: int) -> str:
    return f"{count:,}"


def _size(num_bytes: int | None) -> str:
    """Return a size in the largest unit that it has at least one of."""
    if num_bytes is None:
        return "unknown"
    if num_bytes < 1024:
        return f"{num_bytes} B"
    amount = num_bytes / 1024
    for unit in _UNITS[:-1]:
        if round(amount, 1) < 1024:
            return f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:,.1f} {_UNITS[-1]}"


def _size_delta(num_bytes: int | None) -> str:
    if num_bytes is None:
        return ""
    return f" {'-' if num_bytes < 0 else '+'}{_size(abs(num_bytes))}"


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"


def _fact_name(name: str) -> str:
    return name.replace("_", " ")
