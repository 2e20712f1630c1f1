"""Cache pages: one Markdown file per package and tag, as the build-cache site keeps them.

``_cache/TAG/PACKAGE/specs.md``: front matter with a ``meta`` summary and ``spec_details``, a list
with one object a spec. Pages of every year are read but those of 2022, which name no hashes.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any

import msgspec

from snapshots.contents import Content, Snapshot
from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.models import SIZE_MAX, Source, Spec
from snapshots.program import importer_name
from snapshots.refs import check_tag, fits, is_glob
from snapshots.sources import frontmatter
from snapshots.sources.frontmatter import FrontMatter
from snapshots.sources.reports import Report
from snapshots.spack.names import is_hash, is_name
from snapshots.spack.spelling import canonical_compiler, canonical_variants
from snapshots.spack.versions import is_version

_SIZE = re.compile(r"[0-9]{1,16}")
_META_LISTS = {
    "versions": "version",
    "compilers": "compiler",
    "oss": "operating_system",
    "platforms": "platform",
    "targets": "target",
}


class Page(msgspec.Struct, frozen=True):
    """What one page says: a package, the tag if the page names it, and the package's specs."""

    name: str
    tag: str | None
    specs: tuple[Spec, ...]
    synthetic: bool


def read(paths: Sequence[Path], *, tags: Sequence[str] = (), report: Report) -> Iterator[Snapshot]:
    """Read page files, and every page below the folders among the paths.

    ``tags`` (names or globs) choose among the tags that the pages state; a single plain name that
    matches none of them, or that the pages do not state, is the tag to publish under. Yields one
    Snapshot a tag. Raises SourceError, TagNeeded, and InvalidArgument for a tag that is not there.
    """
    files = list(_page_files(paths))
    location = ", ".join(map(str, paths))
    collected = _Collector(location, report)
    for done, file in enumerate(files):
        report.progress("reading pages", done, len(files))
        try:
            page = parse_page(_read_bytes(file), str(file), report)
            collected.add(page, file)
        except SourceError as error:
            report.bad(error)
    report.progress("reading pages", len(files), len(files))
    yield from collected.snapshots(tags)


def parse_page(data: bytes, location: str, report: Report) -> Page:
    """Parse one page; ``location`` names it in errors.

    Raises SourceError. A spec that cannot be read goes to ``report.bad``, a summary that disagrees
    with the specs to ``report.warn``.
    """
    matter = frontmatter.parse(data, location)
    if "spec_details" not in matter.values:
        raise SourceError(location, _why_no_details(matter))
    fields = _Fields(matter.values, location)
    name = fields.text("title")
    if not is_name(name):
        raise fields.wrong("title", f"{name!r} cannot name a package", matter.lines["title"])
    specs = tuple(_specs(matter, name, report))
    if len(specs) == len(matter.values["spec_details"]):
        _check_meta(matter, specs, report)  # what was skipped would only be told again
    return Page(name, _tag(matter), specs, fields.values.get("synthetic") is True)


def tag_in_path(path: PurePath, name: str) -> str | None:
    """Return the tag that a path of the form ``TAG/PACKAGE/specs.md`` states; None for others."""
    if path.name == "specs.md" and path.parent.name == name:
        return path.parent.parent.name or None
    return None


class _Collector:
    """Gathers pages by tag, and watches that no tag has a hash twice."""

    def __init__(self, location: str, report: Report) -> None:
        self._location = location
        self._report = report
        self._specs: defaultdict[str | None, dict[str, Spec]] = defaultdict(dict)
        self._homes: dict[tuple[str | None, str], Path] = {}
        self._synthetic = False

    def add(self, page: Page, file: Path) -> None:
        tag = page.tag or tag_in_path(file.absolute(), page.name)
        specs = self._specs[tag]
        self._synthetic |= page.synthetic
        for spec in page.specs:
            home = self._homes.setdefault((tag, spec.hash), file)
            if home == file and spec.hash not in specs:
                specs[spec.hash] = spec
                continue
            reason = f"the hash {spec.hash} stands there already"
            where = "spec_details" if home == file else f"in {home}"
            self._report.bad(SourceError(str(file), f"{reason} ({where})", key=page.name))

    def snapshots(self, wanted: Sequence[str]) -> Iterator[Snapshot]:
        source = Source(
            kind="pages",
            location=self._location,
            importer=importer_name(),
            synthetic=self._synthetic,
        )
        for tag, stated in self._choose(wanted):
            content = Content.of(self._specs[stated].values())
            if content:
                yield Snapshot(tag=tag, content=content, source=source)
            else:
                self._report.warn(f"{self._location}: no spec of {tag}; nothing to publish")

    def _choose(self, wanted: Sequence[str]) -> Iterable[tuple[str, str | None]]:
        """Return pairs of the tag to publish under and the tag that the pages state."""
        stated = sorted(tag for tag in self._specs if tag is not None)
        if not wanted:
            if None in self._specs:
                raise TagNeeded(self._location)
            return [(tag, tag) for tag in stated]
        chosen = [tag for tag in stated if fits(tag, wanted)]
        if chosen and None not in self._specs:
            return [(tag, tag) for tag in chosen]
        if len(wanted) == 1 and len(self._specs) == 1 and not is_glob(wanted[0]):
            tag = check_tag(wanted[0])
            (only,) = self._specs
            if only is not None:
                self._report.warn(f"{self._location}: says tag {only}; published as {tag}")
            return [(tag, only)]
        known = ", ".join(stated) or "none"
        reason = f"{' '.join(wanted)} fits no tag of the pages ({known})"
        if None in self._specs and stated:
            reason = f"some pages name no tag, others {known}: import them apart"
        raise InvalidArgument("--tag", reason)


def _page_files(paths: Sequence[Path]) -> Iterator[Path]:
    seen: set[Path] = set()
    for path in paths:
        if path.is_dir():
            found = [file for file in sorted(path.rglob("*.md")) if _is_page(file, path)]
            if not found:
                raise SourceError(str(path), "holds no cache pages (files named *.md)")
        elif path.exists():
            found = [path]
        else:
            raise SourceError(str(path), "does not exist")
        for file in found:
            if (real := file.resolve()) not in seen:
                seen.add(real)
                yield file


def _is_page(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return file.is_file() and not hidden and file.stem.lower() != "readme"


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise SourceError(str(file), f"cannot be read: {error.strerror}") from None


def _why_no_details(matter: FrontMatter) -> str:
    if "spec_names" in matter.values or "spec_files" in matter.values:
        return (
            "has the layout of 2022 (spec_files, spec_names), which names no hashes; "
            "only pages with spec_details can be read"
        )
    return "is no cache page: it has no spec_details"


def _tag(matter: FrontMatter) -> str | None:
    categories = matter.values.get("categories")
    if categories is None:
        return None
    fields = _Fields(matter.values, matter.location)
    stated = fields.texts("categories")
    if len(stated) < 2:
        return None
    try:
        return check_tag(stated[1])
    except InvalidArgument as error:
        line = matter.lines["categories"]
        raise fields.wrong("categories", error.reason, line) from None


def _specs(matter: FrontMatter, name: str, report: Report) -> Iterator[Spec]:
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
    fields = _Fields(detail, location)
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
        variants=fields.canonical("variants", _variants),
        stacks=fields.canonical("stacks", _stacks),
        size=fields.size("size"),
        tarball=fields.text("tarball", default="") or None,
    )


@lru_cache(maxsize=1 << 16)
def _variants(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the canonical form of a list of variants; raises TypeError for other items."""
    _require_texts(texts)
    return canonical_variants(texts)


@lru_cache(maxsize=1 << 16)
def _stacks(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of stacks, sorted, each once; raises TypeError and ValueError."""
    _require_texts(texts)
    for text in texts:
        if not is_name(text):
            raise ValueError(f"{text!r} cannot name a stack")
    return tuple(sorted(set(texts)))


def _require_texts(items: tuple[object, ...]) -> None:
    if not all(type(item) is str for item in items):
        raise TypeError


class _Fields:
    """Typed access to the fields of an object; every method raises SourceError on a wrong type."""

    def __init__(self, values: dict[str, Any], location: str) -> None:
        self.values = values
        self.location = location

    def text(self, key: str, default: str | None = None) -> str:
        value = self.values.get(key, default)
        if type(value) is str:
            return value
        if value is None and default is not None:
            return default
        raise self._mistyped(key, "a text")

    def texts(self, key: str) -> list[str]:
        value = self.values.get(key)
        if type(value) is list and all(type(item) is str for item in value):
            return value
        raise self._mistyped(key, "a list of texts")

    def size(self, key: str) -> int | None:
        """Return a number of bytes; pages write ``-`` where they do not know it."""
        value = self.values.get(key, "-")
        if value in ("-", "", None):
            return None
        if type(value) is str and _SIZE.fullmatch(value):
            value = int(value)
        if type(value) is int and 0 <= value <= SIZE_MAX:
            return value
        raise self._mistyped(key, "a number of bytes or '-'")

    def canonical(
        self, key: str, form: Callable[[tuple[str, ...]], tuple[str, ...]]
    ) -> tuple[str, ...]:
        """Return a list of texts in its canonical form, which is looked up where it is known."""
        value = self.values.get(key)
        if type(value) is list:
            try:
                return form(tuple(value))
            except TypeError:
                pass
            except ValueError as error:
                raise self.wrong(key, str(error)) from None
        raise self._mistyped(key, "a list of texts")

    def wrong(self, key: str, reason: str, line: int | None = None) -> SourceError:
        return SourceError(self.location, reason, line=line, key=key)

    def _mistyped(self, key: str, expected: str) -> SourceError:
        if key not in self.values:
            return self.wrong(key, f"is missing: {expected} is expected")
        found = repr(self.values[key])
        shown = found if len(found) <= 40 else f"{found[:37]}..."
        return self.wrong(key, f"{expected} is expected, not {shown}")


def _check_meta(matter: FrontMatter, specs: Sequence[Spec], report: Report) -> None:
    """Compare the page's summary with its specs and warn of each disagreement."""
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
    by_stack = Counter(stack for spec in specs for stack in spec.stacks)
    stated = meta.get("num_specs_by_stack")
    if isinstance(stated, dict):
        for stack in sorted({*map(str, stated), *by_stack}):
            if stated.get(stack, 0) != by_stack[stack]:
                disagree(f"num_specs_by_stack.{stack}", stated.get(stack, 0), by_stack[stack])
    found: dict[str, set[str]] = {
        key: {value for spec in specs if (value := getattr(spec, field)) is not None}
        for key, field in _META_LISTS.items()
    }
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


def _listing(names: set[str], others: set[str]) -> str:
    """Return how many names there are, and those that the other side lacks."""
    own = ", ".join(sorted(names - others))
    return f"{len(names)} with {own}" if own else str(len(names))
