"""The specs of a page read value by value, so that an error can name the spec and the key."""

from collections.abc import Iterator
from typing import Any

from snapshots.errors import SourceError
from snapshots.models import Spec
from snapshots.sources.frontmatter import FrontMatter
from snapshots.sources.pages.fields import Fields
from snapshots.sources.pages.values import canonical_stacks
from snapshots.sources.reports import Report
from snapshots.spack.names import is_hash
from snapshots.spack.spelling import canonical_compiler, canonical_variants
from snapshots.spack.versions import is_version


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
    digest = fields.text("hash")
    if not is_hash(digest):
        raise fields.wrong("hash", f"{digest!r} is no hash: 32 characters of a-z and 2-7")
    versions = fields.texts("versions")
    if len(versions) != 1:
        raise fields.wrong("versions", f"one version is expected, {len(versions)} are there")
    if not is_version(versions[0]):
        raise fields.wrong("versions", f"{versions[0]!r} is no version")
    return Spec(
        hash=digest,
        name=name,
        version=versions[0],
        compiler=canonical_compiler(fields.text("compiler", default="none")),
        operating_system=fields.text("os"),
        platform=fields.text("platform"),
        target=fields.text("target"),
        variants=fields.canonical("variants", canonical_variants),
        stacks=fields.canonical("stacks", canonical_stacks),
        size=fields.size("size"),
        tarball=fields.text("tarball", default="") or None,
    )
