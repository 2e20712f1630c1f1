"""The specs of a page read value by value, so that an error can name the spec and the key."""

from collections.abc import Iterator
from typing import Any

from snapshots.errors import SourceError
from snapshots.models import Spec
from snapshots.sources.frontmatter import FrontMatter
from snapshots.sources.pages.fields import Fields
from snapshots.sources.pages.values import canonical_stacks
from snapshots.sources.reports import Report
from snapshots.spack.names import (
    checked_compiler,
    checked_hash,
    checked_items,
    checked_url,
    checked_variant,
    checked_version,
    checked_word,
)
from snapshots.spack.spelling import canonical_compiler, canonical_variants


def read_specs(matter: FrontMatter, name: str, report: Report) -> Iterator[Spec]:
    """Yield the specs of the package ``name`` that a page states in ``spec_details``.

    One that cannot be read goes to ``report.bad``, its key such as ``spec_details[3].hash``.
    Raises SourceError where there is no list of specs.
    """
    details = matter.values["spec_details"]
    line = matter.lines["spec_details"]
    if not isinstance(details, list):
        raise SourceError(matter.location, "is no list", line=line, key="spec_details")
    for index, detail in enumerate(details):
        try:
            yield _spec(detail, name, matter.location)
        except SourceError as error:
            key = f"spec_details[{index}]" + (f".{error.key}" if error.key else "")
            report.bad(SourceError(matter.location, error.reason, line=line, key=key))


def _spec(detail: Any, name: str, location: str) -> Spec:
    if not isinstance(detail, dict):
        raise SourceError(location, "is no object")
    fields = Fields(detail, location)
    digest = fields.checked("hash", checked_hash)
    versions = fields.texts("versions")
    if len(versions) != 1:
        raise fields.wrong("versions", f"one version is expected, {len(versions)} are there")
    try:
        version = checked_version(versions[0])
    except ValueError as error:
        raise fields.wrong("versions", str(error)) from None
    return Spec(
        hash=digest,
        name=name,
        version=version,
        compiler=_compiler(fields),
        operating_system=fields.checked("os", checked_word),
        platform=fields.checked("platform", checked_word),
        target=fields.checked("target", checked_word),
        variants=fields.canonical("variants", _variants),
        stacks=fields.canonical("stacks", canonical_stacks),
        size=fields.size("size"),
        tarball=_tarball(fields),
    )


def _compiler(fields: Fields) -> str | None:
    compiler = canonical_compiler(fields.text("compiler", default="none"))
    try:
        return compiler and checked_compiler(compiler)
    except ValueError as error:
        raise fields.wrong("compiler", str(error)) from None


def _variants(texts: list[str]) -> tuple[str, ...]:
    return checked_items(canonical_variants(texts), checked_variant)


def _tarball(fields: Fields) -> str | None:
    if not fields.text("tarball", default=""):
        return None
    return fields.checked("tarball", checked_url)
