"""One cache page: its front matter to the package, the tag and the specs that it states."""

from datetime import datetime
from pathlib import PurePath

import msgspec

from snapshots.errors import InvalidArgument, SourceError
from snapshots.models import Spec
from snapshots.refs import check_tag, tag_date
from snapshots.sources import frontmatter
from snapshots.sources.frontmatter import FrontMatter
from snapshots.sources.pages.details import DETAILS, usual_specs
from snapshots.sources.pages.fields import Fields
from snapshots.sources.pages.records import read_specs
from snapshots.sources.pages.summary import check_summary
from snapshots.sources.reports import Report
from snapshots.spack.names import is_name
from snapshots.wording import quoted


class Page(msgspec.Struct, frozen=True):
    """What one page says: a package, the tag if the page names it, and the package's specs."""

    name: str
    tag: str | None
    specs: tuple[Spec, ...]
    synthetic: bool


def parse_page(data: bytes, location: str, report: Report) -> Page:
    """Parse one page; ``location`` names it in errors.

    Raises SourceError. A spec that cannot be read goes to ``report.bad``, a summary that disagrees
    with the specs to ``report.warn``.
    """
    matter = frontmatter.parse(data, location, typed={"spec_details": DETAILS})
    details = matter.typed.get("spec_details")
    specs = None
    if details is not None:
        name = _name(matter)
        specs = usual_specs(details, name)
    if specs is None:
        # Something in it is unusual or wrong: read it again, value by value, to say what and where.
        matter = frontmatter.parse(data, location)
        if "spec_details" not in matter.values:
            raise SourceError(location, _why_no_details(matter))
        name = _name(matter)
        specs = tuple(read_specs(matter, name, report))
        if len(specs) == len(matter.values["spec_details"]):
            check_summary(matter, specs, report)  # a skipped spec would only be reported again
    else:
        check_summary(matter, specs, report)
    return Page(name, _tag(matter), specs, matter.values.get("synthetic") is True)


def tag_in_path(path: PurePath, name: str) -> str | None:
    """Return the tag that a path of the form ``TAG/PACKAGE/specs.md`` states; None for others."""
    if path.stem == "specs" and path.parent.name == name:
        return path.parent.parent.name or None
    return None


def date_in_path(path: PurePath, tag: str) -> datetime | None:
    """Return the date in the nearest folder above a page that is named ``TAG-DATE``, if any."""
    for folder in path.parents:
        if folder.name.startswith(f"{tag}-"):
            date = tag_date(folder.name)
            if date is not None and folder.name == f"{tag}-{date:%Y-%m-%d}":
                return date
    return None


def _name(matter: FrontMatter) -> str:
    fields = Fields(matter.values, matter.location)
    name = fields.text("title")
    if not is_name(name):
        raise fields.wrong("title", f"{quoted(name)} cannot name a package", matter.lines["title"])
    return name


def _tag(matter: FrontMatter) -> str | None:
    if matter.values.get("categories") is None:
        return None
    fields = Fields(matter.values, matter.location)
    stated = fields.texts("categories")
    if len(stated) < 2:
        return None
    try:
        return check_tag(stated[1])
    except InvalidArgument as error:
        line = matter.lines["categories"]
        raise fields.wrong("categories", error.reason, line) from None


def _why_no_details(matter: FrontMatter) -> str:
    if "spec_names" in matter.values or "spec_files" in matter.values:
        return (
            "has the layout of 2022 (spec_files, spec_names), which names no hashes; "
            "only pages with spec_details can be read"
        )
    return "is no cache page: it has no spec_details"
