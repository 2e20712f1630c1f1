"""Tags, their series and order, and the syntax of refs."""

from datetime import UTC, datetime
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots import refs
from snapshots.errors import InvalidArgument
from snapshots.models import exact_ref

LAST_OF_DAY = datetime(2025, 3, 30, 23, 59, 59, 999_999, tzinfo=UTC)
NOON = datetime(2025, 3, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("develop", refs.Ref("develop")),
        ("develop~2", refs.Ref("develop", back=2)),
        ("develop@2025-03-30", refs.Ref("develop", LAST_OF_DAY)),
        ("develop@2025-03-30T12:00:00Z", refs.Ref("develop", NOON)),
        ("develop@2025-03-30T14:00:00+02:00", refs.Ref("develop", NOON)),
        ("develop@2025-03-30T12:00:00", refs.Ref("develop", NOON)),
        ("develop@2025-03-30~3", refs.Ref("develop", LAST_OF_DAY, 3)),
        ("0123abcd~1", refs.Ref("0123abcd", back=1)),
        ("e4s-DATE~1", refs.Ref("e4s-DATE", back=1)),
        ("develop@1 month ago", refs.Ref("develop", ago=refs.Ago(1, "month"))),
        ("develop@2.weeks.ago~1", refs.Ref("develop", back=1, ago=refs.Ago(2, "week"))),
    ],
)
def test_ref(text: str, ref: refs.Ref) -> None:
    """A ref is a name, an optional date, and an optional number of steps back."""
    assert refs.parse_ref(text) == ref


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", "ref"),
        ("~1", "ref"),
        ("@2025-03-30", "ref"),
        ("develop~", "ref"),
        ("develop~x", "ref"),
        ("develop~-1", "ref"),
        ("develop~1~1", "ref"),
        ("develop~9999999999", "ref"),
        ("develop@", "ref"),
        ("develop~1@2025-03-30", "ref"),
        ("develop@yesterday", "time"),
        ("develop@1 fortnight ago", "time"),
        ("develop@month ago", "time"),
        ("develop@2025-02-30.0123abcd", "time"),
        ("develop@2025-03-30T2460.0123abcd", "time"),
        ("develop@2025-02-30", "time"),
        ("develop@2025-03-30@2025-03-30", "time"),
        ("develop@0001-01-01T00:00:00+14:00", "time"),
    ],
)
def test_refused_ref(text: str, name: str) -> None:
    """Other forms are refused; the error names the invalid part: the ref or the time in it."""
    with pytest.raises(InvalidArgument) as caught:
        refs.parse_ref(text)
    assert caught.value.name == name
    assert str(caught.value).startswith(f"{name}: ")


@given(st.text(max_size=30) | st.text("@~develop0123-", max_size=20))
def test_any_text_is_a_ref_or_refused(text: str) -> None:
    """No text raises an error other than InvalidArgument; a ref keeps its name."""
    try:
        ref = refs.parse_ref(text)
    except InvalidArgument:
        return
    assert text.startswith(ref.name)
    assert ref.back >= 0


@pytest.mark.parametrize(
    ("text", "is_digest"),
    [
        ("abcdef", True),
        ("ABCDEF", True),
        ("0" * 64, True),
        ("abcde", False),
        ("0" * 65, False),
        ("abcdeg", False),
        ("abcdef@2025-03-30", False),
    ],
)
def test_digest_in_a_ref(text: str, *, is_digest: bool) -> None:
    """Six to 64 hexadecimal digits without a date can be the prefix of a digest."""
    assert refs.parse_ref(text).is_digest is is_digest


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("develop@2025-03-30.0123abcd", True),
        ("develop-2025-03-30@2025-03-30T1205.0123abcd~2", True),
        ("v0.22.0@2025-03-30T120559.0123abcd", True),
        ("develop@2025-03-30", False),
        ("develop@2025-03-30.0123abc", False),
        ("develop@2025-03-30.0123ABCD", False),
        ("develop@2025-03-30T12.0123abcd", False),
        ("develop@2025-03-30T12:05:59.0123abcd", False),
        ("0a" * 32, False),
    ],
)
def test_refs_of_single_revisions(text: str, *, expected: bool) -> None:
    """Only a tag with a time and the first digits of a digest always means the same revision."""
    assert refs.is_exact(text) is expected


@given(st.sampled_from(["develop", "develop-2025-03-30", "v0.22.0"]), st.datetimes(), st.binary())
def test_refs_of_revisions_are_parsed(tag: str, moment: datetime, content: bytes) -> None:
    """Tag, time and digest are those of the revision, also with a stack or steps back."""
    digest = sha256(content).hexdigest()
    ref = exact_ref(tag, moment, digest)
    parsed = refs.parse_ref(f"{ref}~3")
    assert parsed == refs.Ref(tag, moment.replace(tzinfo=UTC), 3, digest[:8])
    assert parsed.exact == ref
    assert refs.parse_side(f"{ref}~3:e4s") == refs.SideWords(f"{ref}~3", "e4s")
    assert refs.split_range(f"{ref}..{ref}") == refs.split_range(f"{ref}...{ref}") == (ref, ref)


def test_a_date_alone_is_its_first_or_last_moment() -> None:
    """A day is a span of time: the caller chooses its beginning or its end."""
    assert refs.parse_moment("2025-03-30") == datetime(2025, 3, 30, tzinfo=UTC)
    assert refs.parse_moment("2025-03-30", end_of_day=True) == LAST_OF_DAY


@given(st.datetimes(timezones=st.just(UTC)))
def test_moments_in_rfc_3339(moment: datetime) -> None:
    """Every moment in RFC 3339 is parsed, to the microsecond."""
    assert refs.parse_moment(moment.isoformat()) == moment


@pytest.mark.parametrize(
    "tag", ["develop", "v0.22.0", "develop-2025-03-30", "a+b", "_x", "0" * 200]
)
def test_tag(tag: str) -> None:
    """A valid tag is returned unchanged."""
    assert refs.check_tag(tag) == tag


@pytest.mark.parametrize(
    "tag",
    ["", ".", "..", "../x", "a/b", "a\\b", "-x", "a b", "a@b", "a~1", "a\n", "a\0", "é", "0" * 201],
)
def test_refused_tag(tag: str) -> None:
    """A tag that could leave its folder or be parsed as another ref is refused."""
    with pytest.raises(InvalidArgument, match=r"^tag: .* is not a tag"):
        refs.check_tag(tag)


@pytest.mark.parametrize(
    ("tag", "family", "date"),
    [
        ("develop", "develop", None),
        ("develop-2025-03-30", "develop-DATE", datetime(2025, 3, 30, tzinfo=UTC)),
        ("e4s-2025-03-30", "e4s-DATE", datetime(2025, 3, 30, tzinfo=UTC)),
        ("develop-2025-02-30", "develop-2025-02-30", None),
        ("develop-20250330", "develop-20250330", None),
        ("v0.22.0", "vX.Y.Z", None),
        ("v1.0.0rc1", "vX.Y.Z", None),
        ("v1.0.0-alpha.4", "vX.Y.Z", None),
        ("v1.0.0-custom", "v1.0.0-custom", None),
        ("e4s-24.11", "e4s-24.11", None),
    ],
)
def test_series(tag: str, family: str, date: datetime | None) -> None:
    """Releases are one series, the dated snapshots of a name another; any other tag is its own."""
    assert refs.series(tag) == family
    assert refs.tag_date(tag) == date


PATHS = [
    "/",
    "/opt/spack/.spack-db",
    "./spack.lock",
    "./site",
    "../site",
    "../../spack.lock",
    "spack.lock",
    "site/index.json",
    "a:b.json",
    "/66d2kqr",
]
NO_PATHS = ["develop", "develop-json", "develop~1", ".json", "..", ".spack-db", "a/b", "~/spack"]


@pytest.mark.parametrize("text", [*PATHS, *NO_PATHS])
def test_paths_are_recognized(text: str) -> None:
    """They begin with /, ./ or ../, or end in .json or .lock."""
    assert refs.parse_side(text) == refs.SideWords(text, is_path=text in PATHS)


@pytest.mark.parametrize(
    ("text", "ref", "stack"),
    [
        ("develop", "develop", None),
        ("develop:e4s", "develop", "e4s"),
        ("0123abcd:e4s", "0123abcd", "e4s"),
        ("develop@2025-03-30:e4s", "develop@2025-03-30", "e4s"),
        ("develop-DATE@1 month ago~1:e4s", "develop-DATE@1 month ago~1", "e4s"),
        ("develop@2025-03-30T12:00:00Z", "develop@2025-03-30T12:00:00Z", None),
        ("develop@2025-03-30T12:00:00Z:e4s", "develop@2025-03-30T12:00:00Z", "e4s"),
        ("develop@2025-03-30T14:00:00+02:00", "develop@2025-03-30T14:00:00+02:00", None),
        ("develop@2025-03-30T14:00:00+02:00~1:e4s", "develop@2025-03-30T14:00:00+02:00~1", "e4s"),
        ("develop@2025-03-30T12:00:00:e4s", "develop@2025-03-30T12:00:00", "e4s"),
        ("develop:", "develop", ""),
        (":e4s", ":e4s", None),
        ("develop:e4s~1", "develop:e4s~1", None),
        ("develop:a:b", "develop:a:b", None),
    ],
)
def test_stack_after_a_revision(text: str, ref: str, stack: str | None) -> None:
    """A colon within a time separates no stack; invalid refs are left to their resolution."""
    assert refs.parse_side(text) == refs.SideWords(ref, stack)


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("a..b", ("a", "b")),
        ("develop@1.month.ago..develop-DATE", ("develop@1.month.ago", "develop-DATE")),
        ("develop~1:e4s..develop:e4s", ("develop~1:e4s", "develop:e4s")),
        ("../a.lock..develop", ("../a.lock", "develop")),
        ("develop..../a.lock", ("develop", "../a.lock")),
        ("develop..../../a.lock", ("develop", "../../a.lock")),
        ("develop.../a.lock", ("develop", "./a.lock")),
        ("develop../a.lock", ("develop", "/a.lock")),
        ("/a/../b.lock..c", ("/a/../b.lock", "c")),
        ("./x/..develop", ("./x/", "develop")),
        ("a..", ("a", "")),
        ("..b", ("", "b")),
        ("a...b", ("a", "b")),
        ("develop~1...develop", ("develop~1", "develop")),
        ("../a.lock...develop", ("../a.lock", "develop")),
        ("develop...../a.lock", ("develop", "../a.lock")),
        ("a....b", ("a", "..b")),
        ("a", None),
        ("/a/..", None),
        ("a.b", None),
    ],
)
def test_ranges(text: str, sides: tuple[str, str] | None) -> None:
    """Two or three dots separate the sides, unless they are a folder in a path."""
    assert refs.split_range(text) == sides


@pytest.mark.parametrize(
    ("number", "unit", "moment", "before"),
    [
        (3, "day", "2025-03-01", "2025-02-26"),
        (2, "week", "2025-03-30", "2025-03-16"),
        (1, "month", "2025-03-31", "2025-02-28"),
        (3, "month", "2025-02-10", "2024-11-10"),
        (1, "year", "2024-02-29", "2023-02-28"),
        (0, "month", "2025-12-31", "2025-12-31"),
    ],
)
def test_time_before_another(number: int, unit: str, moment: str, before: str) -> None:
    """Months and years are those of the calendar; a day that a month lacks is its last."""
    ago = refs.Ago(number, unit)
    assert ago.before(refs.parse_moment(moment)) == refs.parse_moment(before)
    with pytest.raises(InvalidArgument, match="too early"):
        refs.Ago(9999, "year").before(refs.parse_moment(moment))
