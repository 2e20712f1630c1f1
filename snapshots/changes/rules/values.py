"""The values that the keys of rules may hold, read; ValueError says what is wrong and allowed."""

from collections.abc import Callable, Mapping
from typing import Any

from snapshots.changes.cells import CoverageDimension
from snapshots.changes.rules.amounts import SIZES, Amount, Unit, read_amount
from snapshots.errors import CachelogError
from snapshots.frames.matching import read
from snapshots.spack.query import ANYTHING
from snapshots.wording import quoted

LONGEST_TEXT = 200
"""How many characters a name or glob may have."""

LONGEST_PATH = 4_096
"""How many characters a path may have."""

MOST_GLOBS = 500
"""How many globs a list may have."""

DIMENSIONS = {it.value.replace("_", "-"): it for it in CoverageDimension}
"""The dimensions of coverage as files and the command line name them."""


def text(value: Any) -> str:
    """Return a text that is neither empty nor too long."""
    if not isinstance(value, str):
        raise ValueError(f"is {_kind(value)}, not a text")
    if not 1 <= len(value) <= LONGEST_TEXT:
        raise ValueError(f"has {len(value):,} characters; it may have 1 to {LONGEST_TEXT}")
    return value


def choice(kinds: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Return what reads one of some names as what it stands for."""

    def chosen(value: Any) -> Any:
        if not isinstance(value, str) or value not in kinds:
            raise ValueError(f"{_shown(value)} is none of {', '.join(kinds)}")
        return kinds[value]

    return chosen


def globs(value: Any) -> tuple[str, ...]:
    """Return the names or globs of packages: one, or a list of them."""
    items = value if isinstance(value, list) else [value]
    if not 1 <= len(items) <= MOST_GLOBS:
        raise ValueError(f"has {len(items):,} items; it may have 1 to {MOST_GLOBS}")
    if not all(isinstance(item, str) for item in items):
        raise ValueError("is no text, nor a list of texts: names of packages, with * for any text")
    return tuple(map(text, items))


def query(value: Any) -> str:
    """Return a query in Spack's language, which is read to see that it is one."""
    if not isinstance(value, str):
        raise ValueError(f"is {_kind(value)}, not a query in Spack's language")
    if not value:
        raise ValueError("is empty; it may be a query in Spack's language, as hdf5+mpi is")
    try:
        read(value)
    except CachelogError as error:
        raise ValueError(str(error).partition("\n")[0]) from None
    return value


def query_of_package(value: Any) -> str:
    """Return a query in Spack's language that names a package."""
    if read(query(value)).name in (None, "", ANYTHING):
        raise ValueError(f"{quoted(value)} names no package; write one in front, as in hdf5+mpi")
    return str(value)


def dimensions(value: Any) -> tuple[CoverageDimension, ...]:
    """Return the dimensions that a list names, each once."""
    if not isinstance(value, list) or not value:
        raise ValueError(f"is no list of {', '.join(DIMENSIONS)}")
    found = tuple(map(choice(DIMENSIONS), value))
    if len({*found}) < len(found):
        raise ValueError("names something twice")
    return found


def amount(*units: Unit) -> Callable[[Any], Amount]:
    """Return what reads an amount of one of some units."""
    forms = {
        Unit.NUMBER: "a whole number (100)",
        Unit.PERCENTAGE: 'a percentage ("5 %")',
        Unit.BYTES: f'a size ("20 GiB"; {", ".join(SIZES)})',
    }
    allowed = " or ".join(forms[unit] for unit in units)

    def read_one(value: Any) -> Amount:
        try:
            if isinstance(value, bool) or not isinstance(value, int | str):
                raise ValueError(f"is {_kind(value)}")
            found = read_amount(value)
        except ValueError as error:
            raise ValueError(f"{error}; it may be {allowed}") from None
        if found.unit not in units:
            raise ValueError(f"{quoted(found.text)} cannot be; it may be {allowed}")
        return found

    return read_one


def at_least(value: Any) -> Amount:
    """Return a number, or a percentage of 100 or less."""
    found = amount(Unit.NUMBER, Unit.PERCENTAGE)(value)
    if found.unit is Unit.PERCENTAGE and found.value > 100:
        raise ValueError(f"{found.text} is more than 100 %")
    return found


def path(value: Any) -> str:
    """Return the path of a file."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError(f"is {_kind(value)}, not the path of a lock file")
    if len(value) > LONGEST_PATH:
        raise ValueError(f"is longer than {LONGEST_PATH:,} characters")
    return value


def _kind(value: Any) -> str:
    """Return what a value is in TOML's terms."""
    if value == "":
        return "empty"
    kinds = {bool: "a boolean", str: "a text", int: "a whole number", float: "a number"}
    kinds |= {list: "a list", dict: "a table"}
    return kinds.get(type(value), "a date or time")


def _shown(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else _kind(value)
