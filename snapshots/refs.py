"""Names of revisions: tags, their series and order, and the syntax of refs."""

import re
from calendar import monthrange
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from fnmatch import fnmatchcase

import msgspec

from snapshots.errors import InvalidArgument
from snapshots.models import DIGITS_OF_REF, SideInfo, exact_ref, utc
from snapshots.texts import quoted, short_digest

DIGEST_PREFIX_MIN = 6
"""Minimum number of hexadecimal digits in a digest prefix."""

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,199}")
_RELEASE = re.compile(r"v\d+(\.\d+)*(?:[-.]?(?:alpha|beta|rc)\.?\d*)?")
_DATED = re.compile(r"(?P<stem>.+)-(?P<date>\d{4}-\d{2}-\d{2})")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_REF = re.compile(r"(?P<name>[^@~]+)(?:@(?P<date>[^~]+))?(?:~(?P<back>\d{1,9}))?")
_AGO = r"(?P<number>\d{1,4})[ .](?P<unit>day|week|month|year)s?[ .]ago"
_CLOCKS = {0: "", 4: "%H%M", 6: "%H%M%S", 12: "%H%M%S%f"}
"""The forms of a time of day in the ref of a single revision, by their numbers of digits."""

_EXACT = re.compile(
    r"(?P<name>[^@~]+)@(?P<day>\d{4}-\d{2}-\d{2})(?:T(?P<clock>\d{4}(?:\d{2}(?:\d{6})?)?))?"
    rf"\.(?P<digest>[0-9a-f]{{{DIGITS_OF_REF}}})(?:~(?P<back>\d{{1,9}}))?",
    re.ASCII,
)
_DIGEST = re.compile(rf"[0-9a-fA-F]{{{DIGEST_PREFIX_MIN},64}}")


class Ago(msgspec.Struct, frozen=True):
    """A time before the newest revision, in days, weeks, months or years."""

    number: int
    unit: str

    @classmethod
    def parse(cls, text: str) -> "Ago | None":
        """Parse ``1 month ago`` or ``1.month.ago``; return None for another text."""
        match = re.fullmatch(_AGO, text, re.ASCII)
        return cls(int(match["number"]), match["unit"]) if match else None

    def before(self, moment: datetime) -> datetime:
        """Return the time before a moment; raise InvalidArgument if it is before the year 1."""
        days = {"day": 1, "week": 7}.get(self.unit, 0) * self.number
        months = {"month": 1, "year": 12}.get(self.unit, 0) * self.number
        year, month = divmod(12 * moment.year + moment.month - 1 - months, 12)
        try:
            last = monthrange(year, month + 1)[1]
            shifted = moment.replace(year=year, month=month + 1, day=min(moment.day, last))
            return shifted - timedelta(days=days)
        except (ValueError, OverflowError):
            raise InvalidArgument("time", f"{self.number} {self.unit}s ago is too early") from None


class Ref(msgspec.Struct, frozen=True):
    """A parsed ref: a tag, series or digest, optionally a time, and the number of steps back.

    The time is the latest one of the revision, or one that is relative to the newest. With the
    first digits of its ``digest`` it is the exact time, and the ref that of a single revision.
    """

    name: str
    until: datetime | None = None
    back: int = 0
    digest: str | None = None
    ago: Ago | None = None

    @property
    def exact(self) -> str | None:
        """The ref of the single revision from which steps are counted, if it is named so."""
        if self.until is None or self.digest is None:
            return None
        return exact_ref(self.name, self.until, self.digest)

    @property
    def is_digest(self) -> bool:
        """Whether the name can be a digest or a prefix of one."""
        is_timeless = self.until is None and self.ago is None
        return is_timeless and _DIGEST.fullmatch(self.name) is not None


def parse_ref(text: str) -> Ref:
    """Parse ``TAG``, ``TAG~N``, ``TAG@DATE``, ``TAG@TIME.DIGEST`` (see ``exact_ref``) or a digest.

    A series (``develop-DATE``) may take the place of the tag, and ``1 month ago`` (or, as in git,
    ``1.month.ago``) that of the date. ``~N`` may also follow a date or a digest.

    Raises InvalidArgument if the text has another form.
    """
    if exact := _EXACT.fullmatch(text):
        name, day, clock, digest, back = exact.groups("")
        return Ref(name, _exact_moment(day, clock), int(back or 0), digest)
    match = _REF.fullmatch(text)
    if match is None:
        raise InvalidArgument(
            "ref",
            f"{quoted(text)} is not one of TAG, TAG~N, TAG@DATE, TAG@TIME.DIGEST or a digest",
        )
    steps = int(match["back"] or 0)
    if ago := Ago.parse(match["date"] or ""):
        return Ref(match["name"], back=steps, ago=ago)
    until = parse_moment(match["date"], end_of_day=True) if match["date"] else None
    return Ref(match["name"], until, steps)


def _exact_moment(day: str, clock: str) -> datetime:
    try:
        moment = datetime.strptime(day + clock, f"%Y-%m-%d{_CLOCKS[len(clock)]}")
    except ValueError:
        time_of_day = f"T{clock}" if clock else ""
        raise InvalidArgument("time", f"{quoted(day + time_of_day)} is not a time") from None
    return moment.replace(tzinfo=UTC)


def is_exact(text: str) -> bool:
    """Return whether the text is the ref of a single revision, which never means another one."""
    return _EXACT.fullmatch(text) is not None


def parse_moment(text: str, *, end_of_day: bool = False) -> datetime:
    """Parse an RFC 3339 date or date and time, in UTC if it has no time zone.

    A date alone represents its first moment, or its last with ``end_of_day``. Raises
    InvalidArgument.
    """
    try:
        if _DATE.fullmatch(text):
            clock = time.max if end_of_day else time.min
            return datetime.combine(date.fromisoformat(text), clock, UTC)
        if not _DATE.match(text):
            raise ValueError  # Python accepts more of ISO 8601 than RFC 3339
        return utc(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        example = "2025-03-30 or 2025-03-30T12:00:00Z"
        raise InvalidArgument(
            "time", f"{quoted(text)} is not a date or time such as {example}"
        ) from None


def check_tag(tag: str) -> str:
    """Return the tag; raise InvalidArgument if it is not a valid tag."""
    if _TAG.fullmatch(tag) is None:
        raise InvalidArgument(
            "tag",
            f"{quoted(tag)} is not a tag: use letters, digits and . _ + -, not - or . at the start",
        )
    return tag


def is_glob(text: str) -> bool:
    """Return whether the text is a pattern of tags rather than a tag."""
    return any(character in text for character in "*?[")


def fits(tag: str, patterns: Iterable[str]) -> bool:
    """Return whether a tag matches one of the names or globs."""
    return any(fnmatchcase(tag, pattern) for pattern in patterns)


def tag_date(tag: str) -> datetime | None:
    """Return the date in the tag's name as its first moment in UTC; None if it has none."""
    match = _DATED.fullmatch(tag)
    if match is None:
        return None
    try:
        return parse_moment(match["date"])
    except InvalidArgument:
        return None


def series(tag: str) -> str:
    """Return the series of a tag.

    ``develop-2025-03-30`` is in ``develop-DATE``, ``v0.22.0`` in ``vX.Y.Z``, and any other tag is
    its own series.
    """
    if _RELEASE.fullmatch(tag):
        return "vX.Y.Z"
    match = _DATED.fullmatch(tag)
    return f"{match['stem']}-DATE" if match and tag_date(tag) else tag


def catalog_order(tag: str) -> tuple[int, str]:
    """Return the sort key of a tag's series in the catalog's order of tags.

    develop is first, then releases, then dated snapshots, then other tags. Tags of a series are
    then sorted by ``version_key``, in descending order.
    """
    family = series(tag)
    return {"develop": 0, "vX.Y.Z": 1}.get(family, 2 if family != tag else 3), family


def title(side: SideInfo) -> str:
    """Return the title of a side in a sentence: the ref of a revision, or FILE (DIGEST)."""
    return side.ref or f"{side.name} ({short_digest(side.digest)})"


# -- the sides of a comparison


_PATH = re.compile(r"\.{0,2}/.*|.+\.(json|lock|md|gz)", re.S)
_MOMENT = (
    r"\d{4}-\d{2}-\d{2}(?:[Tt ][\d:.]*(?:[Zz]|[+-]\d{2}:\d{2})?)?"
    rf"(?:\.[0-9a-f]{{{DIGITS_OF_REF}}})?"
)
_STACK = re.compile(
    rf"(?P<ref>[^@:~]+(?:@(?:{_MOMENT}|{_AGO}))?(?:~\d+)?)(?::(?P<stack>[^:~]*))?", re.S | re.ASCII
)
_DOTS = re.compile(r"\.{3}(?=[^./]|\.\./)|\.\.(?!/|\Z)|(?<=[^/])\.\.")


class SideWords(msgspec.Struct, frozen=True):
    """The parsed name of a side of a comparison: a ref, perhaps with a stack, or a path."""

    text: str
    stack: str | None = None
    is_path: bool = False


def parse_side(text: str) -> SideWords:
    """Parse the name of a side: a path, ``REF:STACK``, or a ref, which is not parsed further.

    A path begins with ``/``, ``./`` or ``../``, or ends in .json, .lock, .md or .gz.
    """
    if _PATH.fullmatch(text):
        return SideWords(text, is_path=True)
    match = _STACK.fullmatch(text)
    return SideWords(text) if match is None else SideWords(match["ref"], match["stack"])


def split_range(text: str) -> tuple[str, str] | None:
    """Return the sides of ``BASE..HEAD`` or ``BASE...HEAD``; None if the text names a single side.

    Two dots that are a folder name in a path are part of the path.
    """
    match = _DOTS.search(text)
    return None if match is None else (text[: match.start()], text[match.end() :])
