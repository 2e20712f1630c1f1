"""The summary of a page, ``meta``, compared with the specs of the page."""

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter

from snapshots.errors import SourceError
from snapshots.models import Spec
from snapshots.sources.frontmatter import FrontMatter
from snapshots.sources.reports import Report
from snapshots.spack.spelling import canonical_compiler

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
        line = matter.lines["meta"]
        raise SourceError(matter.location, "is no object", line=line, key="meta")

    def disagree(key: str, stated: object, found: object) -> None:
        report.warn(f"{matter.location}: meta.{key} says {stated}, the specs say {found}")

    if "num_specs" in meta and meta["num_specs"] != len(specs):
        disagree("num_specs", meta["num_specs"], len(specs))
    by_stack = _specs_by_stack(specs)
    stated = meta.get("num_specs_by_stack")
    if isinstance(stated, dict) and stated != by_stack:
        for stack in sorted({*map(str, stated), *by_stack}):
            if stated.get(stack, 0) != by_stack[stack]:
                disagree(f"num_specs_by_stack.{stack}", stated.get(stack, 0), by_stack[stack])
    found: dict[str, set[str]] = {key: set(map(fact, specs)) for key, fact in _LISTED.items()}
    found["compilers"].discard(None)
    found["stacks"] = set(by_stack)
    for key, values in found.items():
        listed = meta.get(key)
        if not isinstance(listed, list):
            continue
        names = set(map(str, listed))
        if key == "compilers":
            names = {name for text in names if (name := canonical_compiler(text)) is not None}
        if names != values:
            disagree(key, _listing(names, values), _listing(values, names))


def _specs_by_stack(specs: Sequence[Spec]) -> Counter[str]:
    by_stack = Counter[str]()
    for stacks, number in Counter(map(attrgetter("stacks"), specs)).items():
        for stack in stacks:
            by_stack[stack] += number
    return by_stack


def _listing(names: set[str], others: set[str]) -> str:
    """Return how many names there are, and those that the other side lacks."""
    own = ", ".join(sorted(names - others))
    return f"{len(names)} with {own}" if own else str(len(names))
