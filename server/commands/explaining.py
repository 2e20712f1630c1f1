"""``cachelog why``: what set off the rebuilds between two revisions."""

from typing import TYPE_CHECKING

import click

from server.commands.compared import compare, scope_options
from server.terminal.completion import complete_head_or_package, complete_range
from server.terminal.console import note, say_json, say_pages, width
from server.terminal.parameters import REF_FORMS, catalog_option, json_option, refs_of

_FEW = 3

if TYPE_CHECKING:
    from server.commands.compared import Compared
    from server.terminal.printing.reports import Report, Told


@click.command("why")
@click.argument(
    "base",
    metavar="BASE",
    shell_complete=complete_range,
    help=f"The revision to compare from: {REF_FORMS}. BASE..HEAD names both at once.",
)
@click.argument(
    "words",
    metavar="HEAD [PACKAGE|/HASH]",
    nargs=-1,
    shell_complete=complete_head_or_package,
    help="The revision to compare to, named likewise. Behind it, a package or the hash of a spec, "
    "of which the first characters are enough: how it came to what it is.",
)
@scope_options
@json_option
@catalog_option
def why_command(
    base: str,
    words: tuple[str, ...],
    *,
    package: str | None,
    stack: str | None,
    matching: str | None,
    as_json: bool,
    catalog: str,
) -> None:
    """Print what set off the rebuilds between two revisions.

    Each spec that took the place of another has one main cause, so the numbers add up. Of a package
    or a hash, the way from each spec down to its main cause is printed.
    """
    from snapshots.errors import InvalidArgument
    from snapshots.notes.scope import Only

    head, subject = _head_and_subject(base, words)
    if subject is not None and not subject.strip("/ "):
        raise click.UsageError("Behind HEAD stands a package, or /HASH with characters of a hash.")
    only = Only(
        package=package if subject is None or subject.startswith("/") else subject,
        stack=stack,
        matching=matching,
    )
    if subject is not None and package is not None:
        raise click.UsageError("A package or hash is named twice; leave --package out.")
    try:
        compared = compare(catalog, refs_of(base, head), only)
    except InvalidArgument as error:
        if subject is None or error.name != "--package":
            raise
        raise InvalidArgument("PACKAGE", error.reason) from None  # as it was written
    report = compared.report()
    if subject is not None and subject.startswith("/"):
        report = report._replace(changes=(_change_of(report, subject),))
    if as_json:
        from server.terminal.printing.documents import causes_document

        say_json(causes_document(compared, report))
    elif subject is None:
        _say_causes(compared, report)
    else:
        _say_stories(compared, report)


def _head_and_subject(base: str, words: tuple[str, ...]) -> tuple[str | None, str | None]:
    """Return what stands for HEAD, and for the package or hash; None where it is left out."""
    expected = 1 if ".." in base else 2
    if len(words) > expected:
        raise click.UsageError(f"There is one word too many: {words[expected]}")
    if expected == 1:
        return None, (words[0] if words else None)
    return (words[0] if words else None), (words[1] if len(words) > 1 else None)


def _change_of(report: "Report", text: str) -> "Told":
    """Return the change of the hash that begins with a text behind its slash.

    Raises InvalidArgument where none does, or several do.
    """
    from snapshots.errors import InvalidArgument
    from snapshots.wording import distinct_prefixes

    prefix = text.removeprefix("/").lower()
    found = [told for told in report.changes if told.change.hash.startswith(prefix)]
    if not found:
        raise InvalidArgument("HASH", f"no changed spec has a hash that begins with {prefix!r}")
    if len(found) > 1:
        hashes = distinct_prefixes([told.change.hash for told in found[:_FEW]])
        named = ", ".join(f"/{it}" for it in hashes) + (", ..." if len(found) > _FEW else "")
        raise InvalidArgument("HASH", f"{prefix!r} begins {len(found):,} changed specs: {named}")
    return found[0]


def _say_causes(compared: "Compared", report: "Report") -> None:
    from server.terminal.printing.differences import title_lines
    from server.terminal.printing.explanations import cause_lines, causes_summary

    causes = compared.explanation.causes
    titles = title_lines(compared.base, compared.head, width())
    lines = cause_lines(causes, causes.counted(report.replacing_rows), width())
    say_pages([*titles, *causes_summary(report, width()), *lines])
    if report.why.why_unknown:
        note(f"Some causes cannot be known: {report.why.why_unknown}.")


def _say_stories(compared: "Compared", report: "Report") -> None:
    from server.terminal.printing.differences import title_lines
    from server.terminal.printing.explanations import story_lines

    lines = [
        line
        for told in report.stories(report.changes)
        for line in story_lines(report, told, width())
    ]
    if not lines:
        note("Nothing changed.")
        return
    say_pages([*title_lines(compared.base, compared.head, width()), *lines])
