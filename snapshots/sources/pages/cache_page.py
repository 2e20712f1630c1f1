"""Parser of cache pages: from the front matter to the package, the tag and the specs.

Real pages repeat a few texts in hundreds of specs. Values that many specs share remain JSON, and
are decoded and checked once per distinct text.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import PurePath
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from snapshots.errors import InvalidArgument, SourceError
from snapshots.models import SIZE_MAX, Spec
from snapshots.refs import check_tag, tag_date
from snapshots.sources.inputs import decode_json, misshapen
from snapshots.sources.pages import front_matter
from snapshots.sources.pages.front_matter import FrontMatter
from snapshots.sources.reports import Report
from snapshots.spack import names
from snapshots.spack.notation import canonical_compiler, checked_variants
from snapshots.texts import quoted

# -- the page

Origin = TypeVar("Origin")


class CachePage(msgspec.Struct, frozen=True):
    """The content of a page: a package, the tag if the page states it, and the package's specs."""

    name: str
    tag: str | None
    specs: tuple[Spec, ...]
    synthetic: bool


def parse_page(data: bytes, location: str, report: Report) -> CachePage:
    """Parse one page; ``location`` names it in errors.

    Raises SourceError. A spec that cannot be read is passed to ``report.bad``, a summary that
    contradicts the specs to ``report.warn``.
    """
    matter = front_matter.parse(data, location, decoders=_DECODERS)
    keys = _keys(matter)
    specs = tuple(_specs(matter, keys, report))
    stated = (keys.meta or {}).get("num_specs", len(keys.spec_details))
    if stated != len(keys.spec_details):
        report.warn(f"{location}: meta.num_specs says {stated}, there are {len(specs)}")
    return CachePage(keys.title, _tag(matter, keys), specs, keys.synthetic is True)


def split_repeated(
    specs: Iterable[Spec], origin: Origin, origins: dict[str, Origin]
) -> tuple[list[Spec], list[tuple[str, Origin]]]:
    """Return the specs whose hashes are not yet in ``origins``, and the hashes of the others.

    New hashes are added to ``origins`` with ``origin``; the others are returned with their origins.
    """
    new: list[Spec] = []
    repeated: list[tuple[str, Origin]] = []
    for spec in specs:
        if spec.hash in origins:
            repeated.append((spec.hash, origins[spec.hash]))
        else:
            origins[spec.hash] = origin
            new.append(spec)
    return new, repeated


def tag_in_path(path: PurePath, name: str) -> str | None:
    """Return the tag in a path of the form ``TAG/PACKAGE/specs.md``; None for other paths."""
    if path.stem == "specs" and path.parent.name == name:
        return path.parent.parent.name or None
    return None


def date_in_path(path: PurePath, tag: str) -> datetime | None:
    """Return the date of the nearest parent folder named ``TAG-DATE``; None without one."""
    for folder in reversed(path.parts[:-1]):
        if folder.startswith(f"{tag}-"):
            date = tag_date(folder)
            if date is not None and folder == f"{tag}-{date:%Y-%m-%d}":
                return date
    return None


class _Keys(msgspec.Struct):
    """The keys read from a page; each item of ``spec_details`` is a _Detail or unconverted."""

    title: str
    spec_details: list[Any]
    categories: list[str] | None = None
    meta: dict[str, Any] | None = None
    synthetic: Any = None


def _keys(matter: FrontMatter) -> _Keys:
    values = matter.values
    if "spec_details" not in values:
        reason = "is not a cache page: it has no spec_details"
        if "spec_names" in values or "spec_files" in values:
            reason = "has the layout of 2022 (spec_files, spec_names), which names no hashes; "
            reason += "only pages with spec_details can be read"
        raise SourceError(matter.location, reason)
    try:
        keys = msgspec.convert(values, _Keys)
    except msgspec.ValidationError as error:
        bad = misshapen(error, matter.location, "")
        raise matter.wrong(bad.key or "", bad.reason) from None
    if not names.is_name(keys.title):
        raise matter.wrong("title", f"{quoted(keys.title)} cannot name a package")
    return keys


def _tag(matter: FrontMatter, keys: _Keys) -> str | None:
    if keys.categories is None or len(keys.categories) < 2:
        return None
    try:
        return check_tag(keys.categories[1])
    except InvalidArgument as error:
        raise matter.wrong("categories", error.reason) from None


# -- the facts of a spec

_SIZE = re.compile(r"[0-9]{1,16}")
_UNKNOWN_SIZES = ("-", "", None)

_texts = msgspec.json.Decoder(tuple[str, ...])


@lru_cache(maxsize=1 << 16)
def _version(versions: bytes) -> str:
    texts = _texts.decode(versions)
    if len(texts) != 1:
        raise ValueError(f"one version is expected, {len(texts)} are there")
    return names.checked_version(texts[0])


@lru_cache(maxsize=1 << 16)
def _compiler(text: str | None) -> str | None:
    compiler = canonical_compiler(text or "none")
    return compiler and names.checked_compiler(compiler)


@lru_cache(maxsize=1 << 16)
def _variants(variants: bytes) -> tuple[str, ...]:
    return checked_variants(_texts.decode(variants))


@lru_cache(maxsize=1 << 14)
def _stacks(stacks: bytes) -> tuple[str, ...]:
    return names.checked_items(sorted(set(_texts.decode(stacks))), _checked_stack)


def _checked_stack(name: str) -> str:
    if not names.is_name(name):
        raise ValueError(f"{quoted(name)} cannot name a stack")
    return name


def _size(value: str | int | None) -> int | None:
    """Return a size in bytes; None for ``-``, which represents an unknown size."""
    if value in _UNKNOWN_SIZES:
        return None
    if isinstance(value, str) and _SIZE.fullmatch(value):
        value = int(value)
    if isinstance(value, int) and 0 <= value <= SIZE_MAX:
        return value
    raise ValueError(f"{quoted(str(value))} is neither a number of bytes nor '-'")


def _tarball(url: str | None) -> str | None:
    return names.checked_url(url) if url else None


class _Detail(msgspec.Struct, gc=False):
    """An item of ``spec_details``; the lists that many specs share remain JSON."""

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


_DECODERS = {"spec_details": msgspec.json.Decoder(list[_Detail])}

_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "hash": names.checked_hash,
    "versions": _version,
    "compiler": _compiler,
    "os": names.checked_word,
    "platform": names.checked_word,
    "target": names.checked_word,
    "variants": _variants,
    "stacks": _stacks,
    "size": _size,
    "tarball": _tarball,
}
"""Each key of a spec, and the function that returns its canonical value or raises ValueError."""


def _specs(matter: FrontMatter, keys: _Keys, report: Report) -> Iterator[Spec]:
    """Yield the specs of a page.

    One that cannot be read is passed to ``report.bad``, with a key such as
    ``spec_details[3].hash``.
    """
    for index, detail in enumerate(keys.spec_details):
        try:
            yield _spec(detail, keys.title, matter.location, f"spec_details[{index}]")
        except SourceError as error:
            line = matter.lines["spec_details"]
            report.bad(SourceError(matter.location, error.reason, line=line, key=error.key))


def _spec(detail: Any, name: str, location: str, item_key: str) -> Spec:
    if not isinstance(detail, _Detail):
        detail = decode_json(msgspec.json.encode(detail), _Detail, location, item_key)
    try:
        # A loop over the facts takes 1.5 times as long.
        return Spec(
            hash=names.checked_hash(detail.hash),
            name=name,
            version=_version(bytes(detail.versions)),
            compiler=_compiler(detail.compiler),
            operating_system=names.checked_word(detail.os),
            platform=names.checked_word(detail.platform),
            target=names.checked_word(detail.target),
            variants=_variants(bytes(detail.variants)),
            stacks=_stacks(bytes(detail.stacks)),
            size=_size(detail.size),
            tarball=_tarball(detail.tarball),
        )
    except ValueError:
        raise _first_fault(detail, location, item_key) from None


def _first_fault(detail: _Detail, location: str, item_key: str) -> SourceError:
    """Return the error for the first value of an item that cannot be read."""
    for key, checked in _CHECKS.items():
        value = getattr(detail, key)
        try:
            checked(bytes(value) if isinstance(value, Raw) else value)
        except msgspec.ValidationError as error:
            return misshapen(error, location, f"{item_key}.{key}")
        except ValueError as error:
            return SourceError(location, str(error), key=f"{item_key}.{key}")
    raise AssertionError(f"{location}: {item_key} has no fault")
