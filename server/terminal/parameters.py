"""Shared arguments and options of commands, and the types of their values."""

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, is_typeddict

import click

from server.terminal import completion
from server.terminal.console import choose_json, choose_query
from snapshots.errors import InvalidArgument

if TYPE_CHECKING:
    from snapshots.catalog.retention import RetentionRule

REF_FORMS = (
    "TAG or SERIES, TAG~N (N before it), TAG@DATE (or @1.month.ago), a printed ref "
    "(TAG@TIME.DIGEST) or a digest"
)
LATEST = "the newest of develop, else of the series with the most revisions"
SIDE_FORMS = (
    f"a revision ({REF_FORMS}), a stack of it (REF:STACK), or the path of a lock file, an index, "
    "an installation's .spack-db or cache pages (./FILE)"
)

_FORMS = {"SIDE": SIDE_FORMS, "REF": REF_FORMS, "LATEST": LATEST}
"""What descriptions of parameters say by ``{NAME}``."""

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)

_MAX_JOBS = 256

_CLUSTER = "CACHELOG_CLUSTER"

_HASH = re.compile(r"/[a-z2-7]{1,32}", re.IGNORECASE)

_PREFIX = "CACHELOG_"
_CATALOG_VARIABLE = "CACHELOG_CATALOG"
_RECIPES = "CACHELOG_RECIPES"

Value = TypeVar("Value")


class Parsed(click.ParamType[Value]):
    """A parameter type whose values a function parses; the function raises InvalidArgument."""

    def __init__(self, name: str, parse: Callable[[str], Value]) -> None:
        self.name = name
        self._parse = parse

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Value:
        """Parse a text. A default that is not a text is returned unchanged."""
        try:
            return self._parse(value) if isinstance(value, str) else value
        except InvalidArgument as error:
            self.fail(error.reason, param, ctx)


def _moment(text: str) -> datetime:
    from snapshots.refs import Ago, parse_moment

    if ago := Ago.parse(text.strip().lower()):
        return ago.before(datetime.now(UTC))
    try:
        return parse_moment(text)
    except InvalidArgument as error:
        raise InvalidArgument(error.name, f"{error.reason}, or '1 week ago'") from None


def _policy(text: str) -> "tuple[RetentionRule, ...]":
    from snapshots.catalog.retention import parse_policy

    return parse_policy(text)


TIME = Parsed("time", _moment)
"""A date, or a date and time (RFC 3339, by default in UTC); or an age, such as '1 week ago'."""


def _check_variables(ctx: click.Context, _param: click.Parameter, catalog: str) -> str:
    """Return the catalog; raises InvalidArgument for a variable that is not a setting.

    A misspelled CACHELOG_CATALOG would otherwise silently select another catalog.
    """
    if not ctx.resilient_parsing and any(
        name.startswith(_PREFIX) and name != _CATALOG_VARIABLE for name in os.environ
    ):
        from server.settings import settings_from

        settings_from(os.environ)
    return catalog


# -- declarations of parameters

Declaration = Callable[[str], click.Parameter]
"""Returns the argument or option of a function's parameter with this name."""


def option(*names: str, **attributes: Any) -> Declaration:
    """Declare an option. Without names, it is named after the parameter; help shows a default."""
    attributes.setdefault("show_default", "default" in attributes)
    return lambda name: click.Option(
        [*(names or [f"--{name.replace('_', '-')}"]), name], **attributes
    )


def format_option(*names: str) -> Declaration:
    """Declare ``--format`` with its choices, of which the first is the default."""
    return option("--format", type=click.Choice(names), default=names[0])


def limited(least: int, **attributes: Any) -> Declaration:
    """Declare ``--limit``, and its smallest value."""
    return option("-n", "--limit", metavar="N", type=click.IntRange(least), **attributes)


def argument(metavar: str, **attributes: Any) -> Declaration:
    """Declare an argument. One in brackets may be omitted, one with dots may be repeated."""
    attributes.setdefault("nargs", -1 if "..." in metavar else 1)
    attributes["required"] = not metavar.startswith("[")
    return lambda name: click.Argument([name], metavar=metavar, **attributes)


_CATALOG = click.Option(
    ["--catalog"],
    envvar=_CATALOG_VARIABLE,
    callback=_check_variables,
    default="catalog",
    show_default=True,
    show_envvar=True,
    metavar="LOCATION",
    help="Where the catalog is: a folder, or a URL of object storage.",
)
_JSON = click.Option(
    ["--json"], is_flag=True, expose_value=False, callback=choose_json, help="Print JSON."
)
_PRINT_QUERY = click.Option(
    ["--print-query"],
    is_flag=True,
    expose_value=False,
    callback=choose_query,
    help="Print the GraphQL document of --json and its variables, which a server answers as well.",
)


def catalog_command(
    name: str,
    *others: click.Option,
    has_json: bool = True,
    has_document: bool = False,
) -> Callable[[Callable[..., None]], click.Command]:
    """Declare a command with the option ``--catalog`` and, with ``has_json``, also ``--json``.

    With ``has_document``, its JSON is the answer to a GraphQL document, which --print-query prints.

    Annotations of the function's parameters declare the others: ``Annotated[TYPE, option(...)]``,
    or a TypedDict of such fields (a Struct would import msgspec, which takes as long as click).
    ``others`` are options without a parameter. The function's docstring describes the command, and
    its parameters in a list of the form ``- NAME: text``, in which ``{REF}`` stands for one of
    ``_FORMS``.
    """

    def declared(function: Callable[..., None]) -> click.Command:
        about, *parts = re.split(r"^- (\w+): ", inspect.getdoc(function) or "", flags=re.M)
        annotations = inspect.get_annotations(function)
        params: dict[str, Any] = {param.name or "": param for param in _declared(annotations)}
        for param, text in zip(parts[::2], parts[1::2], strict=True):
            params[param].help = " ".join(text.format_map(_FORMS).split())

        def run(**values: Any) -> None:
            for of, kind in annotations.items():
                if is_typeddict(kind):
                    values[of] = {field: values.pop(field) for field in kind.__annotations__}
            function(**values)

        json = [_JSON] if has_json else []
        last = [*others, *json, *([_PRINT_QUERY] if has_document else []), _CATALOG]
        return click.Command(
            name, callback=run, params=[*params.values(), *last], help=about.strip()
        )

    return declared


def _declared(annotations: Mapping[str, Any]) -> Iterator[click.Parameter]:
    """Yield what the annotations of parameters, or of the fields of a record, declare."""
    for name, kind in annotations.items():
        if is_typeddict(kind):
            yield from _declared(inspect.get_annotations(kind))
        for declare in getattr(kind, "__metadata__", ()):
            yield declare(name)


Flag = Annotated[bool, option(is_flag=True)]
Series = Annotated[str | None, option(metavar="NAME", shell_complete=completion.complete_series)]
Stack = Annotated[str | None, option(metavar="NAME")]
Tag = Annotated[str | None, option(metavar="TAG", shell_complete=completion.complete_ref)]
Limit = Annotated[int | None, limited(0)]
Output = Annotated[Path | None, option("--output", "-o", type=FILE, metavar="FILE")]
Since = Annotated[
    datetime | None,
    option(
        metavar="TIME",
        type=TIME,
        help="Only revisions taken at this time or later: a date, a date and time, or an age such "
        "as '1 week ago'.",
    ),
]
Package = Annotated[
    str | None,
    option(metavar="NAME", shell_complete=completion.complete_package, help="Only this package."),
]
_keep = partial(
    option,
    metavar="POLICY",
    type=Parsed("policy", _policy),
    help="The revisions to keep, such as '30 daily, 52 weekly, all releases': for each series, "
    "a number (or all) of last, hourly, daily, weekly, monthly or yearly ones; 'all releases'; "
    "'all'.",
)
Keep = Annotated["tuple[RetentionRule, ...]", _keep(required=True)]
KeepIfGiven = Annotated["tuple[RetentionRule, ...] | None", _keep()]
Jobs = Annotated[int | None, option(type=click.IntRange(1, _MAX_JOBS), metavar="N")]
Cluster = Annotated[
    str | None,
    option(
        envvar=_CLUSTER,
        show_envvar=True,
        metavar="URL",
        help="Run the work on the Ray cluster at ray://HOST:PORT. Requires cachelog[cluster] here "
        "and on the cluster, and a catalog that all nodes can access.",
    ),
]
Recipes = Annotated[
    str | None,
    option(
        envvar=_RECIPES,
        metavar="REPO",
        help="The git repository of the recipes (a path or clone URL), whose commits explain "
        f"replacements. By default {_RECIPES}.",
    ),
]


# -- refs


Base = Annotated[
    str | None,
    argument(
        "[BASE]",
        shell_complete=completion.complete_ref,
        help=f"The base: {SIDE_FORMS}. BASE..HEAD or BASE...HEAD names both at once. "
        "Without BASE and HEAD, the newest revision of develop (without develop, of the series "
        "with the most revisions) is compared with the previous one.",
    ),
]
Head = Annotated[str | None, argument("[HEAD]", shell_complete=completion.complete_ref)]
Ref = Annotated[str | None, argument("[REF]", shell_complete=completion.complete_ref)]
InRef = Annotated[str | None, option("--in", metavar="REF", shell_complete=completion.complete_ref)]


def refs_or_none(base: str | None, head: str | None) -> tuple[str, str] | None:
    """Return base and head as ``refs_of`` does; None if neither was entered."""
    return None if base is None else refs_of(base, head)


def refs_of(base: str, head: str | None) -> tuple[str, str]:
    """Return base and head, which may both be in one argument as ``BASE..HEAD``.

    Raises UsageError if one of the two is missing.
    """
    from snapshots.refs import parse_side

    if head is not None:
        return base, head
    both = split_range(base)
    if both is None:
        raise click.UsageError("Missing argument 'HEAD': write BASE HEAD, or BASE..HEAD.")
    base, head = both
    if not base or not head or (head.startswith(".") and not parse_side(head).is_path):
        raise click.UsageError("Write two revisions with dots between them: BASE..HEAD.")
    return both


def split_range(text: str) -> tuple[str, str] | None:
    """Return the two sides of ``BASE..HEAD`` or ``BASE...HEAD``; None for a text that names one."""
    from snapshots import refs

    return refs.split_range(text)


def two_hashes(base: str | None, head: str | None) -> tuple[str, str] | None:
    """Return the prefixes of two hashes, each after a slash.

    Returns None if either is something else, or is the path of an existing file or folder.
    """
    if base is None:
        return None
    named = split_range(base) if head is None else (base, head)
    are_hashes = named and all(_HASH.fullmatch(text) for text in named)
    return named if are_hashes and not any(map(os.path.exists, named or ())) else None


def require_package_or_hash(*words: str) -> None:
    """Raise UsageError for an empty argument, or a slash without a hash."""
    if any(not word.strip("/ ") for word in words):
        raise click.UsageError("Write a package, or /HASH with the first characters of a hash.")


def require_no_more(words: Sequence[str], expected: int) -> None:
    """Raise UsageError for more arguments than expected."""
    if len(words) > expected:
        raise click.UsageError(f"There is one argument too many: {words[expected]}")
