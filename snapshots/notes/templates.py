"""Templates: filters, environments and variables, and rendering with cachelog's templates."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from html import escape
from typing import Any

import msgspec
from jinja2 import BaseLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.vocabulary import reason_phrase
from snapshots.models import SideInfo
from snapshots.notes import sections, sentences
from snapshots.notes.changelog import Changelog, ComparisonFilter, to_json
from snapshots.notes.formats import NotesFormat
from snapshots.notes.phrases import commit_sentence, noun_phrase, version_steps
from snapshots.notes.sentences import SYNTHETIC, Name, Reference, Sentence, Value, enumerated
from snapshots.texts import counted, distinct_times, in_words, short_digest, size, visible

Filters = dict[str, Callable[..., Any]]

_FEW = 3
_BLANK_LINES = re.compile(r"\n{3,}")


def causes(group: Sequence[sections.CauseEntry]) -> Sentence:
    """Return a sentence about a group of causes that are involved in the same specs."""
    first, *others = map(noun_phrase, group)
    if not others:
        return Sentence(*first)
    return Sentence(*first, ", together with ", *enumerated(others, _FEW))


def commits_title(commits: Sequence[sections.CommitEntry]) -> str:
    """Return the title of a list of commits."""
    if all(commit.pull_request is not None for commit in commits):
        return "Pull requests"
    return "Pull requests and other commits"


def fitting(lines: Iterable[str], limit: int) -> list[str]:
    """Return the first lines that fit into ``limit`` characters, line ends included."""
    shown: list[str] = []
    for line in lines:
        limit -= len(line) + 1
        if limit < 0:
            break
        shown.append(line)
    return shown


def tidy(text: str) -> str:
    """Return a text without trailing spaces and without two consecutive blank lines."""
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return _BLANK_LINES.sub("\n\n", lines).strip("\n") + "\n"


_PLAIN: Filters = {
    "commits_title": commits_title,
    "counted": counted,
    "day": sentences.long_day,
    "fact_name": in_words,
    "fitting": fitting,
    "num_specs": sections.num_specs,
    "number": sentences.number,
    "reason_phrase": lambda name, count: reason_phrase(SpecChangeReason(name), count),
    "short_digest": short_digest,
    "size": size,
    "size_delta": sentences.size_delta,
    "tidy": tidy,
}


def _filters(
    escaped: type[str],
    sentence: Callable[[Sentence], str],
    code: Callable[[str], str],
    text: Callable[[str], str],
) -> Filters:
    """Return the filters of a format, with functions that render sentences, code and other texts.

    ``escaped`` is the type of the filters' results.
    """

    def joined(write: Callable[[Any], str], separator: str) -> Callable[[Any], str]:
        """Return a filter that renders a single value, or several joined by a separator."""

        def written(value: Any) -> str:
            single = isinstance(value, str | Sentence)
            return escaped(write(value) if single else separator.join(map(write, value)))

        return written

    told = joined(sentence, " ")
    return _PLAIN | {
        "causes": lambda group: told(causes(group)),
        "code_span": joined(code, ", "),
        "commit": lambda commit: told(commit_sentence(commit)),
        "inline": joined(text, ", "),
        "told": told,
        "version_steps": lambda entry, section: told(version_steps(entry, section)),
    }


class NotesMarkup(msgspec.Struct, frozen=True, eq=False):
    """A markup language: the suffix of its templates, and their filters.

    With ``autoescape``, printed values are escaped as well; otherwise, only filters escape.
    """

    suffix: str
    filters: Filters
    autoescape: bool = False


MARKDOWN = NotesMarkup(
    "md", _filters(str, sentences.markdown, sentences.markdown_code, sentences.markdown_text)
)
HTML = NotesMarkup(
    "html",
    _filters(
        Markup,
        sentences.html,
        lambda text: f"<code>{escape(visible(text))}</code>",
        lambda text: escape(visible(text)),
    ),
    autoescape=True,
)


_MARKUPS = {NotesFormat.MARKDOWN: MARKDOWN, NotesFormat.HTML: HTML}


def markup_of(name: str) -> NotesMarkup:
    """Return the markup that a template writes, by its name: release.html or release.html.jinja."""
    name = name.lower().removesuffix(".jinja").removesuffix(".j2")
    return HTML if name.endswith((".html", ".htm", ".xhtml", ".xml")) else MARKDOWN


@cache
def built_in_environment(markup: NotesMarkup) -> Environment:
    """Return the environment of the built-in templates."""
    return environment_of(Environment, PackageLoader("snapshots.notes"), markup)


def environment_of(kind: type[Environment], loader: BaseLoader, markup: NotesMarkup) -> Environment:
    """Return an environment of some kind with the filters of a markup."""
    environment = kind(
        loader=loader,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=markup.autoescape,
    )
    environment.filters |= markup.filters
    if markup.autoescape:
        environment.finalize = _escaped_value
    return environment


def _escaped_value(value: Any) -> Any:
    """Return a printed value with its invisible characters escaped."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value


def variables(log: Changelog) -> dict[str, Any]:
    """Return the variables of a changelog, by name; docs/notes.md describes them."""
    is_synthetic = log.base.source.synthetic or log.head.source.synthetic
    groups, num_unexplained = sections.explained(log.causes)
    largest, smaller = sections.leading(groups)
    num_replaced = log.summary.specs_rebuilt + log.summary.specs_replaced
    return {name: getattr(log, name) for name in log.__struct_fields__} | {
        "packages": {kind.value: log.packages.get(kind.value, []) for kind in PackageChangeKind},
        "stacks": {kind: log.stacks.get(kind, []) for kind in ("added", "removed")},
        "is_changed": bool(log.packages or log.stacks),
        "num_packages_changed": _num_packages_changed(log),
        "has_stack_totals": _has_stack_totals(log),
        "title": _title(log),
        "link": None
        if log.url is None
        else Sentence("See the ", Reference("comparison", log.url), "."),
        "digests": _digests(log),
        "causes_title": f"What caused the replacement{'' if num_replaced == 1 else 's'}",
        "only_cause": groups[0] if len(groups) == 1 and not num_unexplained else None,
        "synthetic": SYNTHETIC if is_synthetic else "",
        "largest_causes": largest,
        "smaller_causes": smaller,
        "num_unexplained": num_unexplained,
        "is_mostly_unexplained": sections.is_most(num_unexplained, groups),
    }


def _num_packages_changed(log: Changelog) -> int:
    """Return the number of packages on both sides that differ in any way."""
    on_one_side = {PackageChangeKind.ADDED.value, PackageChangeKind.REMOVED.value}
    return sum(len(entries) for kind, entries in log.packages.items() if kind not in on_one_side)


def _has_stack_totals(log: Changelog) -> bool:
    """Return whether the totals of stacks add up; those of a source that lists none do not."""
    before, after = log.before.num_stacks, log.after.num_stacks
    added, removed = log.summary.stacks_added, log.summary.stacks_removed
    if before is None or after is None or added is None or removed is None:
        return False
    return log.only.stack is None and before + after > 0 and before + added - removed == after


def _title(log: Changelog) -> Sentence:
    base, head = _names(log.base, log.head)
    scope = _scope(log.only)
    return Sentence("Spack build cache: ", *base, " → ", *head, *scope)


def _names(base: SideInfo, head: SideInfo) -> tuple[list[str], list[str]]:
    """Return distinct names of the two sides: the name, or with the day or time, or the digest."""
    if base.name != head.name:
        return [Value(base.name)], [Value(head.name)]
    times = short_digest(base.digest), short_digest(head.digest)
    if base.taken_at is not None and head.taken_at is not None and base.taken_at != head.taken_at:
        times = distinct_times(base.taken_at, head.taken_at)
    return [Value(base.name), f" ({times[0]})"], [Value(head.name), f" ({times[1]})"]


def _digests(log: Changelog) -> Sentence:
    base, head = Name(log.base.digest), Name(log.head.digest)
    return Sentence("The digest of the content went from ", base, " to ", head, ".")


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
    if format_ is NotesFormat.JSON:
        return to_json(log).decode() + "\n"
    markup = _MARKUPS[format_]
    template = built_in_environment(markup).get_template(f"notes.{markup.suffix}.jinja")
    return "".join(watch(template.generate(variables(log))))
