"""One cache page: its front matter to the package, the tag and the specs that it states.

A page of the real catalog repeats a few texts over hundreds of specs. What many specs share stays
JSON and is decoded and checked once for each distinct text. A page with anything unusual in it is
read again, value by value, which is slower and can say what is wrong and where.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import Raw

from snapshots.errors import InvalidArgument, SourceError
from snapshots.models import SIZE_MAX, Spec
from snapshots.refs import check_tag, tag_date
from snapshots.sources.pages import front_matter
from snapshots.sources.pages.front_matter import FrontMatter
from snapshots.sources.reports import Report
from snapshots.spack.names import (
    are_usual_urls,
    checked_compiler,
    checked_hash,
    checked_items,
    checked_url,
    checked_version,
    checked_word,
    is_name,
)
from snapshots.spack.notation import canonical_compiler, checked_variants
from snapshots.texts import quoted, visible

# -- the page


class CachePage(msgspec.Struct, frozen=True):
    """What one page says: a package, the tag if the page names it, and the package's specs."""

    name: str
    tag: str | None
    specs: tuple[Spec, ...]
    synthetic: bool


def parse_page(data: bytes, location: str, report: Report) -> CachePage:
    """Parse one page; ``location`` names it in errors.

    Raises SourceError. A spec that cannot be read goes to ``report.bad``, a summary that disagrees
    with the specs to ``report.warn``.
    """
    matter = front_matter.parse(data, location, typed={"spec_details": DETAILS})
    specs = None
    if (details := matter.typed.get("spec_details")) is not None:
        specs = usual_specs(details, _name(matter))
    num_specs = -1 if specs is None else len(specs)
    if specs is None:
        # Something in it is unusual or wrong: read it again, value by value, to say what and where.
        matter = front_matter.parse(data, location)
        if "spec_details" not in matter.values:
            raise SourceError(location, _why_no_details(matter))
        specs = tuple(read_specs(matter, _name(matter), report))
        num_specs = len(matter.values["spec_details"])
    if len(specs) == num_specs:  # otherwise a spec that was skipped would be reported again
        check_summary(matter, specs, report)
    synthetic = matter.values.get("synthetic") is True
    return CachePage(_name(matter), _tag(matter), specs, synthetic)


def tag_in_path(path: PurePath, name: str) -> str | None:
    """Return the tag that a path of the form ``TAG/PACKAGE/specs.md`` states; None for others."""
    if path.stem == "specs" and path.parent.name == name:
        return path.parent.parent.name or None
    return None


def date_in_path(path: PurePath, tag: str) -> datetime | None:
    """Return the date in the nearest folder above a page that is named ``TAG-DATE``, if any."""
    for folder in reversed(path.parts[:-1]):
        if folder.startswith(f"{tag}-"):
            date = tag_date(folder)
            if date is not None and folder == f"{tag}-{date:%Y-%m-%d}":
                return date
    return None


def _name(matter: FrontMatter) -> str:
    name = matter.values.get("title")
    if type(name) is not str:
        raise SourceError(matter.location, _mistyped(matter.values, "title", _TEXT), key="title")
    if not is_name(name):
        raise _wrong(matter, "title", f"{quoted(name)} cannot name a package")
    return name


def _tag(matter: FrontMatter) -> str | None:
    categories = matter.values.get("categories")
    if categories is None:
        return None
    if not _are_texts(categories):
        reason = _mistyped(matter.values, "categories", _TEXTS)
        raise SourceError(matter.location, reason, key="categories")
    if len(categories) < 2:
        return None
    try:
        return check_tag(categories[1])
    except InvalidArgument as error:
        raise _wrong(matter, "categories", error.reason) from None


def _wrong(matter: FrontMatter, key: str, reason: str) -> SourceError:
    return SourceError(matter.location, reason, line=matter.lines[key], key=key)


def _why_no_details(matter: FrontMatter) -> str:
    if "spec_names" in matter.values or "spec_files" in matter.values:
        return (
            "has the layout of 2022 (spec_files, spec_names), which names no hashes; "
            "only pages with spec_details can be read"
        )
    return "is no cache page: it has no spec_details"


# -- the facts of a spec

_HASH_CHARACTERS = b"abcdefghijklmnopqrstuvwxyz234567"
_HASH_LENGTH = 32
_SIZE = re.compile(r"[0-9]{1,16}")
_UNKNOWN_SIZES = ("-", "", None)

_TEXT = "a text"
_TEXTS = "a list of texts"

_texts = msgspec.json.Decoder(tuple[str, ...])


@lru_cache(maxsize=1 << 16)
def _version(versions: bytes) -> str:
    texts = _texts.decode(versions)
    if len(texts) != 1:
        raise ValueError(f"one version is expected, {len(texts)} are there")
    return checked_version(texts[0])


@lru_cache(maxsize=1 << 16)
def _compiler(text: str | None) -> str | None:
    compiler = canonical_compiler(text or "none")
    return compiler and checked_compiler(compiler)


@lru_cache(maxsize=1 << 16)
def _variants(variants: bytes) -> tuple[str, ...]:
    return checked_variants(_texts.decode(variants))


@lru_cache(maxsize=1 << 14)
def _stacks(stacks: bytes) -> tuple[str, ...]:
    return checked_items(sorted(set(_texts.decode(stacks))), _checked_stack)


def _checked_stack(name: str) -> str:
    if not is_name(name):
        raise ValueError(f"{quoted(name)} cannot name a stack")
    return name


def _size(value: object) -> int | None:
    """Return a number of bytes; None for ``-``, as pages write an unknown one."""
    if value in _UNKNOWN_SIZES:
        return None
    if type(value) is str and _SIZE.fullmatch(value):
        value = int(value)
    if type(value) is int and 0 <= value <= SIZE_MAX:
        return value
    raise TypeError


def _tarball(url: str | None) -> str | None:
    return checked_url(url) if url else None


class _Fact(msgspec.Struct, frozen=True):
    """A fact of a spec, at a key of its entry: ``read`` returns its canonical value.

    That raises ValueError for a bad value, and TypeError for one that is not what is ``expected``.
    It is given the JSON text of a list, and any other value as it is.
    """

    key: str
    read: Callable[[Any], Any]
    expected: str = _TEXT
    is_required: bool = True


_FACTS: Mapping[str, _Fact] = {
    "hash": _Fact("hash", checked_hash),
    "version": _Fact("versions", _version, _TEXTS),
    "compiler": _Fact("compiler", _compiler, is_required=False),
    "operating_system": _Fact("os", checked_word),
    "platform": _Fact("platform", checked_word),
    "target": _Fact("target", checked_word),
    "variants": _Fact("variants", _variants, _TEXTS),
    "stacks": _Fact("stacks", _stacks, _TEXTS),
    "size": _Fact("size", _size, "a number of bytes or '-'", is_required=False),
    "tarball": _Fact("tarball", _tarball, is_required=False),
}
"""What pages state of a spec, by the names of a record's fields."""


# -- usual specs, read at once


class Detail(msgspec.Struct, gc=False):
    """One entry of ``spec_details``, with the lists that many specs share as JSON."""

    hash: str
    versions: Raw
    os: str
    platform: str
    target: str
    variants: Raw
    stacks: Raw
    compiler: str | None = None
    size: str | int | None = None
    tarball: str | None = None


DETAILS = msgspec.json.Decoder(list[Detail])
"""Decodes the value of ``spec_details``."""


def usual_specs(details: Sequence[Detail], name: str) -> tuple[Spec, ...] | None:
    """Return the specs of the package ``name``; None where something in them is not as usual."""
    if not _are_hashes([detail.hash for detail in details]):
        return None
    if not are_usual_urls([detail.tarball for detail in details if detail.tarball]):
        return None
    try:
        return tuple(
            [
                Spec(
                    hash=detail.hash,
                    name=name,
                    version=_version(bytes(detail.versions)),
                    compiler=_compiler(detail.compiler),
                    operating_system=checked_word(detail.os),
                    platform=checked_word(detail.platform),
                    target=checked_word(detail.target),
                    variants=_variants(bytes(detail.variants)),
                    stacks=_stacks(bytes(detail.stacks)),
                    size=None if detail.size == "-" else _size(detail.size),
                    tarball=detail.tarball or None,
                )
                for detail in details
            ]
        )
    except (ValueError, TypeError):  # msgspec's errors are ValueErrors too
        return None


def _are_hashes(hashes: Sequence[str]) -> bool:
    """Tell whether all are DAG hashes, as ``snapshots.spack.names.is_hash`` does for one."""
    others = "".join(hashes).encode(errors="replace").translate(None, _HASH_CHARACTERS)
    return not others and set(map(len, hashes)) <= {_HASH_LENGTH}


# -- specs, value by value


def read_specs(matter: FrontMatter, name: str, report: Report) -> Iterator[Spec]:
    """Yield the specs of the package ``name`` that a page states in ``spec_details``.

    One that cannot be read goes to ``report.bad``, its key such as ``spec_details[3].hash``.
    Raises SourceError where there is no list of specs.
    """
    details = matter.values["spec_details"]
    if not isinstance(details, list):
        raise _wrong(matter, "spec_details", "is no list")
    line = matter.lines["spec_details"]
    for index, detail in enumerate(details):
        try:
            yield _spec(detail, name, matter.location)
        except SourceError as error:
            key = f"spec_details[{index}]" + (f".{error.key}" if error.key else "")
            report.bad(SourceError(matter.location, error.reason, line=line, key=key))


def _spec(detail: Any, name: str, location: str) -> Spec:
    if not isinstance(detail, dict):
        raise SourceError(location, "is no object")
    facts = {}
    for field, fact in _FACTS.items():
        value = detail.get(fact.key)
        is_text = type(value) is str or (value is None and not fact.is_required)
        try:
            if fact.expected == _TEXTS:
                if not _are_texts(value):
                    raise TypeError
                value = msgspec.json.encode(value)
            elif fact.expected == _TEXT and not is_text:
                raise TypeError
            facts[field] = fact.read(value)
        except TypeError:
            reason = _mistyped(detail, fact.key, fact.expected)
            raise SourceError(location, reason, key=fact.key) from None
        except ValueError as error:
            raise SourceError(location, str(error), key=fact.key) from None
    return Spec(name=name, **facts)


_SHOWN = 40


def _mistyped(values: Mapping[str, Any], key: str, expected: str) -> str:
    """Return the reason why the value of a key is refused."""
    if key not in values:
        return f"is missing: {expected} is expected"
    value = visible(repr(values[key]))
    shown = value if len(value) <= _SHOWN else f"{value[: _SHOWN - 3]}..."
    return f"{expected} is expected, not {shown}"


def _are_texts(value: Any) -> bool:
    return type(value) is list and all(type(item) is str for item in value)


# -- the summary

_LISTED = {
    "versions": attrgetter("version"),
    "compilers": attrgetter("compiler"),
    "oss": attrgetter("operating_system"),
    "platforms": attrgetter("platform"),
    "targets": attrgetter("target"),
}


def check_summary(matter: FrontMatter, specs: Sequence[Spec], report: Report) -> None:
    """Tell ``report.warn`` of each disagreement. Raises SourceError where ``meta`` is no object."""
    meta = matter.values.get("meta")
    if meta is None:
        return
    if not isinstance(meta, dict):
        raise _wrong(matter, "meta", "is no object")

    def disagree(key: str, stated: object, actual: object) -> None:
        report.warn(f"{matter.location}: meta.{key} says {stated}, the specs say {actual}")

    if "num_specs" in meta and meta["num_specs"] != len(specs):
        disagree("num_specs", meta["num_specs"], len(specs))
    by_stack = _specs_by_stack(specs)
    stated = meta.get("num_specs_by_stack")
    if isinstance(stated, dict) and stated != by_stack:
        for stack in sorted({*map(str, stated), *by_stack}):
            if stated.get(stack, 0) != by_stack[stack]:
                disagree(f"num_specs_by_stack.{stack}", stated.get(stack, 0), by_stack[stack])
    actual: dict[str, set[str]] = {key: set(map(fact, specs)) for key, fact in _LISTED.items()}
    actual["compilers"].discard(None)
    actual["stacks"] = set(by_stack)
    for key, values in actual.items():
        listed = meta.get(key)
        if not isinstance(listed, list):
            continue
        names = set(map(str, listed))
        if key == "compilers":
            names = {name for text in names if (name := canonical_compiler(text)) is not None}
        if names != values:
            disagree(key, _listing(names, values), _listing(values, names))


def _specs_by_stack(specs: Sequence[Spec]) -> Counter[str]:
    by_stack: dict[str, int] = {}
    for stacks, number in Counter(map(attrgetter("stacks"), specs)).items():
        for stack in stacks:
            by_stack[stack] = by_stack.get(stack, 0) + number
    return Counter(by_stack)


def _listing(names: set[str], others: set[str]) -> str:
    """Return how many names there are, and those that the other side lacks."""
    own = ", ".join(sorted(names - others))
    return f"{len(names)} with {own}" if own else str(len(names))
