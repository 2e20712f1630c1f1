"""Arguments, options and groups that several commands share, and the types of their values."""

import os
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, TypeVar

import click

from server.terminal.completion import complete_range, complete_ref, complete_series

DEFAULT_CATALOG = "catalog"
REF_FORMS = "TAG, TAG~N (N before it), TAG@DATE or the beginning of a digest"

_MOST_JOBS = 256

_CLUSTER = "CACHELOG_CLUSTER"

_PERCENT = re.compile(r"(?P<number>\d{1,3}(\.\d{1,6})?) ?%?")
_DURATION = re.compile(r"(?P<number>\d{1,5})(?P<unit>[hdw])|0")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}

_PREFIX = "CACHELOG_"
_CATALOG = "CACHELOG_CATALOG"

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Time(click.ParamType[datetime]):
    """A date, or a date and time, of RFC 3339; UTC where it names no zone."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Parse the text."""
        from snapshots.errors import InvalidArgument
        from snapshots.refs import parse_moment

        if isinstance(value, datetime):
            return value
        try:
            return parse_moment(value)
        except InvalidArgument as error:
            self.fail(error.reason, param, ctx)


class Duration(click.ParamType[timedelta]):
    """How long: a number of hours, days or weeks, as 12h, 1d, 1w; or 0."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Parse the text."""
        if isinstance(value, timedelta):
            return value
        match = _DURATION.fullmatch(value)
        if match is None:
            self.fail(f"{value!r} is no duration such as 12h, 1d or 1w", param, ctx)
        return int(match["number"] or 0) * _UNITS[match["unit"] or "h"]


class Percent(click.ParamType[Fraction]):
    """A number of per cent from 0 to 100, with its sign or without; exactly as it is written."""

    name = "percent"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        """Parse the number."""
        if isinstance(value, Fraction):
            return value
        match = _PERCENT.fullmatch(value)
        if match is None or Fraction(match["number"]) > 100:
            self.fail(f"{value!r} is no number of per cent from 0 to 100", param, ctx)
        return Fraction(match["number"])


def _check_variables(ctx: click.Context, _param: click.Parameter, catalog: str) -> str:
    """Return the catalog; raise InvalidArgument for a variable that is no setting.

    A mistyped CACHELOG_CATALOG would otherwise select another catalog silently.
    """
    if not ctx.resilient_parsing and any(
        name.startswith(_PREFIX) and name != _CATALOG for name in os.environ
    ):
        from server.environment import settings_from

        settings_from(os.environ)
    return catalog


def catalog_option(command: Decorated) -> Decorated:
    """Add ``--catalog``."""
    return click.option(
        "--catalog",
        envvar=_CATALOG,
        callback=_check_variables,
        default=DEFAULT_CATALOG,
        show_default=True,
        show_envvar=True,
        metavar="LOCATION",
        help="Where the catalog is: a folder, or a URL of object storage.",
    )(command)


def json_option(command: Decorated) -> Decorated:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(
        command
    )


def series_option(describe: str) -> Callable[[Decorated], Decorated]:
    """Return what adds ``--series``, with a description."""
    return click.option("--series", metavar="NAME", shell_complete=complete_series, help=describe)


def jobs_option(describe: str) -> Callable[[Decorated], Decorated]:
    """Return what adds ``--jobs``, with a description, and ``--cluster``."""
    jobs = click.option(
        "--jobs",
        type=click.IntRange(1, _MOST_JOBS),
        metavar="N",
        help=f"{describe} By default one; on a cluster one for each core.",
    )
    cluster = click.option(
        "--cluster",
        envvar=_CLUSTER,
        show_envvar=True,
        metavar="URL",
        help="Have Ray's cluster at ray://HOST:PORT do it; needs cachelog[cluster] here and there, "
        "and a catalog that all nodes reach.",
    )
    return lambda command: jobs(cluster(command))


def two_refs(command: Decorated) -> Decorated:
    """Add the arguments BASE and HEAD; ``refs_of`` parses them."""
    base = click.argument(
        "base",
        metavar="BASE",
        shell_complete=complete_range,
        help=f"The revision to compare from: {REF_FORMS}. BASE..HEAD names both at once.",
    )
    head = click.argument(
        "head",
        metavar="HEAD",
        required=False,
        shell_complete=complete_ref,
        help="The revision to compare to, named likewise.",
    )
    return base(head(command))


def refs_of(base: str, head: str | None) -> tuple[str, str]:
    """Return the refs of base and head, which ``BASE..HEAD`` holds both.

    Raises UsageError where one of the two is missing.
    """
    if head is not None:
        return base, head
    base, dots, head = base.partition("..")
    if not dots:
        raise click.UsageError("Missing argument 'HEAD': write BASE HEAD, or BASE..HEAD.")
    if not base or not head or head.startswith("."):
        raise click.UsageError("Write two revisions with two dots between them: BASE..HEAD.")
    return base, head


class HintingGroup(click.Group):
    """A group whose error for an option before its command says where it belongs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments before the command."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name
            if any(
                name in option.opts
                for command in self.commands.values()
                for option in command.params
            ):
                hint = f"Write it behind the command: {ctx.command_path} COMMAND {name} ..."
                raise click.NoSuchOption(name, f"{error.message} {hint}", ctx=ctx) from None
            raise
