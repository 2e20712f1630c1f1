"""Release notes in Markdown and HTML: the values and filters of templates, and cachelog's own."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from jinja2 import BaseLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from snapshots.changes.scope import ComparisonFilter
from snapshots.models import SideInfo
from snapshots.notes import sentences
from snapshots.notes.changelog import Changelog
from snapshots.notes.formats import NotesFormat
from snapshots.notes.sentences import SYNTHETIC, Name, Reference, Sentence, Value
from snapshots.texts import counted, distinct_times, short_digest, size


def fitting(lines: Iterable[str], limit: int) -> list[str]:
    """Return the first lines that fit into ``limit`` characters as items of a list."""
    shown: list[str] = []
    for line in lines:
        limit -= len(line) + len("- \n")
        if limit < 0:
            break
        shown.append(line)
    return shown


def told(value: Sentence | Iterable[Sentence]) -> str:
    """Return one or several sentences in Markdown."""
    several = [value] if isinstance(value, Sentence) else value
    return " ".join(map(sentences.markdown, several))


FILTERS: dict[str, Callable[..., Any]] = {
    "told": told,
    "code_span": sentences.markdown_code,
    "inline": sentences.markdown_text,
    "counted": counted,
    "day": sentences.long_day,
    "fitting": fitting,
    "number": sentences.number,
    "size": size,
}
"""The filters of templates, which write Markdown; docs/notes.md describes them."""


def environment_of(kind: type[Environment], loader: BaseLoader) -> Environment:
    """Return an environment of some kind for templates that write Markdown."""
    environment = kind(
        loader=loader,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= FILTERS
    return environment


@cache
def _built_in(template: str) -> Template:
    """Return one of cachelog's templates; those of HTML escape what they print."""
    environment = environment_of(Environment, PackageLoader("snapshots.notes"))
    if template.endswith(".html.jinja"):
        environment.autoescape = True
        environment.filters["told"] = lambda sentence: Markup(sentences.html(sentence))  # noqa: S704
    return environment.get_template(template)


def render_built_in(template: str, log: Changelog, **more: Any) -> str:
    """Render one of cachelog's templates, with the values of a changelog and more."""
    return _built_in(template).render(values(log) | more)


def values(log: Changelog) -> dict[str, Any]:
    """Return the values of templates, by name; docs/notes.md describes them."""
    is_synthetic = log.base.source.synthetic or log.head.source.synthetic
    link = None if log.url is None else Sentence("See the ", Reference("comparison", log.url), ".")
    return {
        "base": log.base,
        "head": log.head,
        "summary": log.summary,
        "title": _title(log),
        "highlights": log.highlights,
        "synthetic": SYNTHETIC if is_synthetic else "",
        "link": link,
        "sides": Sentence("From ", *_side(log.base), " to ", *_side(log.head), ":"),
        "totals": _totals(log),
        "sections": log.sections,
    }


def _side(side: SideInfo) -> list[str]:
    """Return the name of a side, its date, and what identifies its content."""
    of_day = f" of {sentences.long_day(side.taken_at)}" if side.taken_at else ""
    return [Value(side.name), of_day, " (", Name(side.ref or short_digest(side.digest)), ")"]


def _totals(log: Changelog) -> list[tuple[str, list[str]]]:
    """Return what each side has, and what was added, removed and changed, as rows of a table."""
    before, after, counts = log.before, log.after, log.summary
    changed = before.num_packages - counts.packages_removed - counts.packages_unchanged
    packages = before.num_packages, after.num_packages
    specs = before.num_specs, after.num_specs
    rows = [
        _row("Packages", *packages, counts.packages_added, counts.packages_removed, changed),
        _row("Specs", *specs, counts.specs_added, counts.specs_removed, counts.specs_changed),
    ]
    stacks = before.num_stacks, after.num_stacks, counts.stacks_added, counts.stacks_removed
    # Those of a source that lists none do not add up.
    if log.only.stack is None and None not in stacks and any(stacks):
        rows.append(_row("Stacks", *stacks, log.stacks_changed))
    sizes = counts.total_size_before, counts.total_size_after
    if sizes != (None, None):
        rows.append(("Size", [*map(size, sizes), "", "", sentences.size_delta(*sizes)]))
    return rows


def _row(name: str, *numbers: int | None) -> tuple[str, list[str]]:
    return name, ["" if number is None else f"{number:,}" for number in numbers]


def _title(log: Changelog) -> Sentence:
    base, head = _names(log.base, log.head)
    return Sentence("Spack build cache: ", *base, " → ", *head, *_scope(log.only))


def _names(base: SideInfo, head: SideInfo) -> tuple[list[str], list[str]]:
    """Return distinct names of the two sides: the name, or with the day or time, or the digest."""
    if base.name != head.name:
        return [Value(base.name)], [Value(head.name)]
    times = short_digest(base.digest), short_digest(head.digest)
    if base.taken_at is not None and head.taken_at is not None and base.taken_at != head.taken_at:
        times = distinct_times(base.taken_at, head.taken_at)
    return [Value(base.name), f" ({times[0]})"], [Value(head.name), f" ({times[1]})"]


def _scope(only: ComparisonFilter) -> list[str]:
    """Return the conditions that narrow the notes, as a suffix of the title."""
    pieces: list[str] = []
    if only.stack is not None:
        pieces += [", stack ", Name(only.stack)]
    if only.package is not None:
        pieces += [", package ", Name(only.package)]
    if only.matching is not None:
        pieces += [", specs that match ", Name(only.matching)]
    return pieces


Watch = Callable[[Iterable[str]], Iterable[str]]
"""A function that passes on the pieces of a text while it is rendered; it may raise to cancel."""


def render(log: Changelog, format_: NotesFormat, watch: Watch = iter) -> str:
    """Render release notes in a format; HTML is a self-contained page."""
    template = _built_in("notes.html.jinja" if format_ is NotesFormat.HTML else "notes.md.jinja")
    return "".join(watch(template.generate(values(log))))
