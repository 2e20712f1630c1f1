"""Filters of templates, which transform and format parts of an answer. All are pure functions."""

import inspect
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from shlex import quote
from typing import Any

import msgspec
from markupsafe import Markup, escape

from server.pages.charts import cause_bars, growth_points
from snapshots import texts
from snapshots.changes import package_changes, pairings, reasons, spec_pairs, vocabulary
from snapshots.changes.causes import CauseName
from snapshots.models import OWN_COLUMNS, CauseKind
from snapshots.sources.locations import mirror_of, of_stacks
from snapshots.spack import query
from snapshots.spack.names import ROOT_STACK

Data = Mapping[str, Any]

UNKNOWN = texts.size(None)
MINUS = "\N{MINUS SIGN}"


def number(value: int | None) -> str:
    """Return a number with thousands separators."""
    return UNKNOWN if value is None else f"{value:,}"


def size(value: str | int | None) -> str:
    """Return a size in bytes in the largest suitable unit."""
    return texts.size(None if value is None else int(value))


def size_delta(value: str | int | None) -> str:
    """Return a difference of sizes with a sign."""
    if value is None:
        return UNKNOWN
    delta = int(value)
    sign = "+" if delta > 0 else MINUS if delta < 0 else ""  # the minus is as wide as the plus
    return f"{sign}{texts.size(abs(delta))}"


def moment(text: str) -> Markup:
    """Return the ``time`` element of a timestamp, which shows the day; a script adds its age."""
    at = datetime.fromisoformat(text)
    minute = texts.minute(at)
    day = minute.partition(" ")[0]
    return Markup(  # noqa: S704 - escaped
        f'<time datetime="{escape(text)}" title="{minute} UTC">{day}</time>'
    )


def day_or_time(text: str) -> str:
    """Return a timestamp as its day, and its time of day unless that is midnight."""
    return texts.minute(datetime.fromisoformat(text)).removesuffix(" 00:00")


def distinct_time(text: str, other: str) -> str:
    """Return a timestamp as its day, or more exactly if another one is of the same day."""
    return texts.distinct_times(datetime.fromisoformat(text), datetime.fromisoformat(other))[0]


def words(name: str) -> str:
    """Return the name of an enum value in words: NEW_PACKAGE becomes "new package"."""
    return texts.in_words(name.lower())


def proven(revision: Mapping[str, Any]) -> str:
    """Return the result of verifying a revision's hashes, from ``numProven`` and ``unproven``."""
    unproven = [
        (counts["reason"].lower(), counts["numSpecs"]) for counts in revision["unproven"] or ()
    ]
    return texts.proven(revision["numProven"], unproven)


def href(link: str, fragment: str = "", **attributes: str) -> Markup:
    """Return the attribute ``href``, and other attributes that depend on it.

    Returns nothing if ``link`` is empty, as in an exported site; only the text is then shown.
    """
    if not link:
        return Markup()
    # Markup.format would take five times as long, and a page has hundreds of links.
    others = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return Markup(f'{others} href="{escape(link)}{escape(fragment)}"')  # noqa: S704 - escaped


def package_kind(name: str) -> str:
    """Return the kind of a package change in words: VERSIONS_CHANGED becomes "other versions"."""
    return vocabulary.PACKAGE_KINDS[package_changes.PackageChangeKind[name]]


def reason_phrase(name: str, count: int) -> str:
    """Return the words after a number of specs that have a reason: NEW_BUILD, "more builds"."""
    return vocabulary.reason_phrase(reasons.SpecChangeReason[name], count)


def capitalize_first(text: str) -> str:
    """Return a message with its first letter in upper case, and the rest unchanged."""
    return text[:1].upper() + text[1:]


class Difference(msgspec.Struct, frozen=True):
    """A fact that differs between two specs, as texts; None if a side lacks it."""

    name: str
    before: str | None
    after: str | None


def difference(field: Mapping[str, Any]) -> Difference:
    """Return a difference in an answer; for lists, only items that are in one of the two."""
    path, before, after = field["path"], field["before"], field["after"]
    if isinstance(before, list) and isinstance(after, list):
        gone = [value for value in before if value not in after]
        new = [value for value in after if value not in before]
        return Difference(texts.in_words(path), _text(gone), _text(new))
    if path == "package_hash":
        hashes = (value and texts.short_hash(value) for value in (before, after))
        return Difference("recipe", *hashes)
    return Difference(texts.in_words(path), _text(before), _text(after))


def _text(value: Any) -> str | None:
    """Return the value of a fact as text."""
    if isinstance(value, list):
        return " ".join(map(str, value)) or None
    return None if value is None else texts.single_value(value)


FEW = 2
"""Minimum number of specs whose common variants are shown separately."""


def distinguishing(specs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the variants that all specs share, and the other variants and stacks of each spec.

    Specs of several packages share no variants. The stack that is the union of all is omitted.
    """
    lists = [spec["variants"] for spec in specs]
    names = {spec.get("name") for spec in specs}
    common = set(lists[0]).intersection(*lists) if len(lists) >= FEW and len(names) == 1 else set()
    return {
        "common_variants": [variant for variant in lists[0] if variant in common] if common else [],
        "own_variants": [
            [variant for variant in variants if variant not in common] for variants in lists
        ],
        "own_stacks": [
            [stack for stack in spec["stacks"] or () if stack != ROOT_STACK] for spec in specs
        ],
    }


# The last alternative is unambiguous: otherwise, rejecting a long text would take long.
_HASH = re.compile(r"/?([a-z2-7]{32})|/([a-z2-7]{1,31})|([a-z]*[2-7][a-z2-7]*)")
_MIN_HASH_PREFIX = 6


class QueryReading(msgspec.Struct, frozen=True):
    """The position of a syntax error in a query: the text before it, at it, and after it.

    ``reason`` describes the error, or what is expected there.
    """

    before: str
    there: str
    behind: str
    reason: str


def hash_in(text: str) -> str | None:
    """Return the hash or prefix of a hash that a text represents; None if it is likely a name.

    A name may consist of the letters of hashes; a slash, a digit or the length identifies a hash.
    """
    match = _HASH.fullmatch(text.strip().lower())
    if match is None:
        return None
    digits = next(filter(None, match.groups()))
    return digits if match[3] is None or len(digits) >= _MIN_HASH_PREFIX else None


def reading_of(error: Mapping[str, Any], query: str) -> QueryReading | None:
    """Return the position of an error in a query; None if the error has no position."""
    position = error.get("extensions", {}).get("position")
    if position is None:
        return None
    reason = error["message"].split(" at character ")[0]
    return QueryReading(
        query[:position], query[position : position + 1], query[position + 1 :], reason
    )


MAX_COLUMNS, MAX_ROWS = 12, 40
"""Maximum number of versions (the newest) and of rows (those with most specs) in a matrix."""

_LEVELS = 4


class VersionCell(msgspec.Struct, frozen=True):
    """The number of specs with a version and another value.

    ``level``, which determines the color, ranges from 0 for no specs to 4.
    """

    version: str
    num_specs: int
    level: int


class VersionMatrix(msgspec.Struct, frozen=True):
    """A matrix with a column for each version, newest first, and a row for each other value.

    ``rows`` and ``versions`` are those that are shown; ``num_rows`` and ``num_columns`` count all
    of them. ``num_specs`` is the sum of all cells.
    """

    versions: Sequence[str]
    rows: Sequence[tuple[str, Sequence[VersionCell]]]
    num_columns: int
    num_rows: int
    num_specs: int

    @property
    def has_gaps(self) -> bool:
        """Whether any shown cell has no specs."""
        return not all(cell.num_specs for _, cells in self.rows for cell in cells)


def version_matrix(cells: Sequence[Mapping[str, Any]], versions: Sequence[str]) -> VersionMatrix:
    """Return the matrix of cells, each with another value and one of the versions."""
    counts: dict[str, dict[str, int]] = {}
    for one in cells:
        value, version = one["values"]
        counts.setdefault(value, {})[version] = one["numSpecs"]
    columns = versions[:MAX_COLUMNS]
    weighty = sorted(counts, key=lambda value: -sum(counts[value].values()))[:MAX_ROWS]
    largest = max((one["numSpecs"] for one in cells), default=1)

    def cell(version: str, num_specs: int) -> VersionCell:
        return VersionCell(version, num_specs, -(-_LEVELS * num_specs // largest))

    shown = set(weighty)
    rows = [
        (value, [cell(version, of_value.get(version, 0)) for version in columns])
        for value, of_value in counts.items()
        if value in shown
    ]
    total = sum(one["numSpecs"] for one in cells)
    return VersionMatrix(columns, rows, len(versions), len(counts), total)


def install_commands(revision: Data) -> Mapping[str, str]:
    """Return the commands to install a revision's spec, and to add its mirror if it is known.

    They are quoted for a POSIX shell. ``source`` is the location that the spec was read from.
    """
    spec, source = revision["spec"], revision["source"]
    location = of_stacks(source["location"], spec["stacks"] or ())
    mirror = mirror_of(source["kind"].lower(), location, spec["tarball"])
    commands = {
        "source": location,
        "install": f"spack install --cache-only {quote('/' + spec['hash'])}",
        "install_alike": f"spack install --cache-only {quote(spec['short'])}",
    }
    if mirror is not None:
        commands["add_mirror"] = f"spack mirror add {quote(revision['tagName'])} {quote(mirror)}"
    return commands


def choices(rows: Iterable[Data], value: str, count: str) -> list[tuple[str, str, int]]:
    """Return the values by which a table can be filtered, each with its name and count."""
    return [(row[value], texts.in_words(row[value].lower()), row[count]) for row in rows]


def differences(change: Data) -> list[Difference]:
    """Return the differences between both sides of a changed spec, or a spec and its counterpart.

    The latter are those of the spec's own facts and of its stacks.
    """
    fields = {field["path"]: field for field in change["fields"]}
    names = fields if change["kind"] == "CHANGED" else (*OWN_COLUMNS, "stacks")
    return [difference(fields[name]) for name in names if name in fields]


def own_differences(compared: Data) -> list[Difference]:
    """Return the differences between two specs themselves, without their dependencies."""
    own = [difference(field) for field in compared["facts"]]
    for change in map(_field_change, compared["variants"]):
        values = (change.before, change.after)
        name = change.path.partition(spec_pairs.PATH_SEPARATOR)[2]
        own.append(Difference(name, *(vocabulary.variant_text(name, value) for value in values)))
    return own


def differences_below(fields: Iterable[Data]) -> list[tuple[str, list[str]]]:
    """Return the differences between the dependencies of two specs by package, in words."""
    return [
        (name, [vocabulary.difference_phrase(path, change) for path, change in changes])
        for name, changes in spec_pairs.dependency_changes(map(_field_change, fields))
    ]


def _field_change(field: Data) -> pairings.FieldChange:
    return pairings.FieldChange(field["path"], field["before"], field["after"])


def undirected_title(cause: Data) -> str:
    """Return the title of a cause of twins, without a direction."""
    sides = cause["packageName"], cause["valueBefore"], cause["valueAfter"]
    name = CauseName(CauseKind[cause["kind"]], *sides)
    return vocabulary.twins_title(name)


def by_cause(specs: Iterable[Data]) -> list[list[Data]]:
    """Return specs grouped by their causes, the largest group first."""
    specs_of: dict[str, list[Data]] = {}
    for spec in specs:
        specs_of.setdefault(spec["mainCause"]["title"], []).append(spec)
    return sorted(specs_of.values(), key=len, reverse=True)


MAX_FIELDS = 2_500
"""Maximum number of fields of the matrix, including empty ones, which limits the page's size."""

Cells = Mapping[str, Mapping[str, Any]]


class CoverageMatrix(msgspec.Struct, frozen=True):
    """Cells by the names of their rows and columns; ``num_shown`` is the number of cells in it."""

    columns: list[str]
    rows: list[tuple[tuple[str, ...], Cells]]
    num_shown: int


def coverage_matrix(nodes: Iterable[Data]) -> CoverageMatrix:
    """Return lost and gained cells as a matrix.

    Its columns are the values of the first requested dimension; its rows are the packages with the
    values of the other dimensions. It ends before it exceeds MAX_FIELDS.
    """
    by_row: dict[tuple[str, ...], dict[str, Any]] = {}
    for node in nodes:
        column, *others = node["values"] or [""]
        by_row.setdefault((node["packageName"], *others), {})[column] = node
    rows: list[tuple[tuple[str, ...], Cells]] = []
    columns: set[str] = set()
    for names, cells in by_row.items():
        if len(columns | cells.keys()) * (len(rows) + 1) > MAX_FIELDS:
            break
        columns |= cells.keys()
        rows.append((names, cells))
    return CoverageMatrix(sorted(columns), rows, sum(len(cells) for _, cells in rows))


MAX_CHARACTERS = 70_000
"""Maximum length of notes on their page, in characters; the full notes exist as Markdown."""

_HEADING = re.compile(r"(</?h)([1-3])(?=>)")
_LIST = re.compile(r"<ul>\n(.*?)</ul>", re.DOTALL)
_FEWEST_LINES = 3


def notes_body(whole: str) -> tuple[Markup, bool]:
    """Return the ``main`` element of release notes in HTML, and whether lists were shortened."""
    body = whole[whole.index("<main>") + len("<main>") : whole.rindex("</main>")]
    shown = _HEADING.sub(_one_level_deeper, _shorten_lists(body, MAX_CHARACTERS))
    # The template of the notes escapes all names, so no markup comes from the catalog.
    return Markup(shown), len(shown) < len(body)  # noqa: S704


def _shorten_lists(body: str, most: int) -> str:
    """Return notes with lists shortened so that they fit."""
    shown = body
    for lines in (200, 100, 50, 25, 10, _FEWEST_LINES):
        if len(shown) <= most:
            break
        shown = _LIST.sub(partial(_shortened, lines), body)
    return shown


def _one_level_deeper(heading: re.Match[str]) -> str:
    """Return a heading one level deeper, because the page has the top-level one."""
    return f"{heading[1]}{int(heading[2]) + 1}"


def _shortened(most: int, items: re.Match[str]) -> str:
    lines = items[1].splitlines(keepends=True)
    if len(lines) > most:
        lines[most:] = [f"<li><em>and {len(lines) - most:,} more</em></li>\n"]
    return f"<ul>\n{''.join(lines)}</ul>"


MAX_MISSING = 45
"""Maximum number of missing specs on the page of a lock file; the CSV file contains all."""


class MissingGroup(msgspec.Struct, frozen=True):
    """Specs of a lock file that are missing for the same cause; ``specs`` are the first of them.

    ``title`` is empty if the catalog never had them. ``gone`` is a representative removed spec, or
    None if they were not removed.
    """

    title: str
    num_specs: int
    specs: Sequence[Data]
    gone: Data | None


def missing_groups(missing: Sequence[Data]) -> list[MissingGroup]:
    """Return missing specs grouped by cause and revision, the largest group first.

    The groups contain at most MAX_MISSING specs in total. The cause is the main cause in the
    revision that removed the specs, or else the reason for the removal.
    """
    specs_of: dict[tuple[str, str], list[Data]] = {}
    for spec in missing:
        gone_in = (spec["goneIn"] or {}).get("ref", "")
        specs_of.setdefault((missing_cause(spec), gone_in), []).append(spec)
    groups = []
    room = MAX_MISSING
    for (title, gone_in), specs in sorted(specs_of.items(), key=lambda one: -len(one[1])):
        groups.append(MissingGroup(title, len(specs), specs[:room], specs[0] if gone_in else None))
        room = max(0, room - len(specs))
    return groups


def missing_cause(spec: Data) -> str:
    """Return why a spec is missing, in words; empty if the catalog never had it."""
    if spec["lastSeen"] is None:
        return ""
    if spec["goneIn"] is None:
        return "in another series"
    if spec["reason"] == reasons.SpecChangeReason.REPLACED.name and spec.get("mainCauses"):
        title: str = spec["mainCauses"][0]["title"]
        return title
    return texts.in_words(spec["reason"].lower()) if spec["reason"] else "unknown reason"


def family_of(target: str) -> str:
    """Return the family of a target: aarch64 for neoverse_v1."""
    return query.family_of(target)


def by_family(targets: Iterable[str]) -> Mapping[str, list[str]]:
    """Return targets by the names of their families, in their order."""
    families: dict[str, list[str]] = {}
    for target in targets:
        families.setdefault(query.family_of(target), []).append(target)
    return families


FILTERS = {
    name: function
    for name, function in inspect.getmembers(sys.modules[__name__], inspect.isfunction)
    if function.__module__ == __name__ and not name.startswith("_")
} | {
    function.__name__: function
    for function in (
        *(texts.counted, texts.percent, texts.shares, texts.versioned),
        *(texts.short_hash, texts.short_digest, texts.short_version),
        *(cause_bars, growth_points),
    )
}
"""The functions that templates call by their names: the public ones of this module, and more."""
