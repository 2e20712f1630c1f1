"""Names and other texts of a spec: what they may be, and the order that people expect of names."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.models import SPEC_FACTS, Dependency, Spec
from snapshots.spack import names
from snapshots.spack.names import is_hash, is_name, natural_key, natural_order
from snapshots.texts import is_plain
from tests.snapshots.checking import check_facts
from tests.snapshots.factories import SPECS, full_spec, hash_of, shuffled

NAMES = st.text("ab-_.0123456789", min_size=1, max_size=30)


def as_people_do(name: str) -> tuple[list[tuple[int, int]], str]:
    """Return a key that takes a number for one item, which stands before every character."""
    pieces = re.findall(r"[0-9]+|[^0-9]", name)
    return [(0, int(it)) if it.isdigit() else (1, ord(it)) for it in pieces], name


@given(st.lists(NAMES, unique=True))
def test_names_stand_as_people_sort_them(names: list[str]) -> None:
    """Numbers count as numbers; names with equal keys stand by their text."""
    expected = sorted(names, key=as_people_do)
    assert natural_order(names) == expected
    assert sorted(sorted(names), key=natural_key) == expected


# -- the names of a spec


UNSEEN = {
    "NUL": "\0",
    "escape": "\x1b[31m",
    "line feed": "\n",
    "carriage return": "\r",
    "tab": "\t",
    "delete": "\x7f",
    "C1": "\x9b31m",
    "line separator": "\u2028",
    "no-break space": "\xa0",
    "soft hyphen": "\xad",
    "zero width": "\u200b",
    "right to left": "\u202e",
    "isolate": "\u2066",
    "byte order mark": "\ufeff",
    "tag": "\U000e0041",
    "filler": "\u3164",
    "selector": "\ufe0f",
    "surrogate": "\ud800",
}

TEXT_FACTS = [name for name, fact in SPEC_FACTS.items() if fact.check is not None]


def with_text(fact: str, text: str) -> Spec:
    """Return a spec that has a text for a fact, or for one of its items."""
    is_list = isinstance(getattr(full_spec(), fact), tuple)
    return replace(full_spec(), **{fact: (text,) if is_list else text})


@pytest.mark.parametrize("unseen", UNSEEN)
@pytest.mark.parametrize("fact", TEXT_FACTS)
def test_no_fact_holds_what_is_not_seen(fact: str, unseen: str) -> None:
    """Whatever the fact, characters that act on a terminal or are not seen are refused."""
    text = getattr(full_spec(), fact)
    text = text[0] if isinstance(text, tuple) else text
    with pytest.raises(ValueError, match=f"^{fact}: ") as caught:
        check_facts(with_text(fact, text[:4] + UNSEEN[unseen] + text[4:]))
    assert is_plain(str(caught.value))


@pytest.mark.parametrize("fact", TEXT_FACTS)
def test_every_fact_has_a_length(fact: str) -> None:
    """No text is without bound, and the error is short."""
    with pytest.raises(ValueError, match=f"^{fact}: ") as caught:
        check_facts(with_text(fact, "https://a/" + "a" * 10_000))
    assert len(str(caught.value)) < 300


def test_every_fact_of_text_has_a_rule() -> None:
    """A new fact that is text declares what it may be."""
    without = {name for name, fact in SPEC_FACTS.items() if fact.check is None}
    assert without == {"size", "dependencies", "spec_format", "explicit"}


@given(SPECS)
def test_usual_facts_pass(specs: list[Spec]) -> None:
    """What build caches really say is not refused."""
    for spec in specs:
        check_facts(spec)


@pytest.mark.parametrize(
    "url",
    [
        "https://binaries.spack.io/v0.22.0/build_cache/a-b.spack",
        "http://127.0.0.1:8080/a",
        "s3://spack-binaries/develop/build_cache/a%20b.spack?versionId=1#part",
        "gs://bucket/a",
        "oci://ghcr.io/spack/cache:latest",
        "file:///srv/my%20cache/a.spack",
        "HTTPS://example.org/a",
        "https://example.org/ü",
    ],
)
def test_urls(url: str) -> None:
    """Packages lie at URLs of few schemes."""
    assert names.checked_url(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "javascript://example.org/%0aalert(1)",
        " https://example.org",
        "data:text/html,<script>",
        "vbscript:a",
        "//example.org/a",
        "/etc/passwd",
        "a",
        "",
        "https://",
        "https:example.org",
        'https://example.org/"onclick="a',
        "https://example.org/<b>",
        "https://example.org/a b",
        "https://example.org/`a`",
        "https://example.org/|a",
        "ftp://example.org/a",
    ],
)
def test_what_is_no_url_of_a_package(url: str) -> None:
    """Schemes that do something, and characters that end an attribute or a span, are refused."""
    with pytest.raises(ValueError, match=r"is not a URL|characters that no URL has"):
        names.checked_url(url)


@pytest.mark.parametrize(
    ("edge", "reason"),
    [
        (Dependency("a<b", hash_of("a"), ()), "is not a name"),
        (Dependency("a", "short", ()), "is not a hash"),
        (Dependency("a", hash_of("a"), ("li\x1bnk",)), "is not a name"),
        (Dependency("a", hash_of("a"), (), ("m\npi",)), "is not a name"),
    ],
)
def test_edges(edge: Dependency, reason: str) -> None:
    """What an edge says follows the same rules."""
    with pytest.raises(ValueError, match=reason):
        check_facts(full_spec(dependencies=(edge,)))


def test_lists_have_a_length() -> None:
    """A spec has no thousand variants."""
    check_facts(full_spec(variants=tuple(f"+a{number}" for number in range(1_000))))
    with pytest.raises(ValueError, match=r"variants: there are 1,001 of them, more than 1,000"):
        check_facts(full_spec(variants=tuple(f"+a{number}" for number in range(1_001))))


@given(st.characters(categories=["Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"]))
def test_control_and_format_characters_are_not_plain(character: str) -> None:
    """No category of Unicode that is not seen counts as plain."""
    assert not is_plain(character)
    assert unicodedata.category(character)[0] in "CZ"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abcdefghijklmnopqrstuvwxyz234567", True),
        ("abcdefghijklmnopqrstuvwxyz23456", False),
        ("abcdefghijklmnopqrstuvwxyz2345677", False),
        ("abcdefghijklmnopqrstuvwxyz234568", False),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", False),
        ("abcdefghijklmnopqrstuvwxyz234567\n", False),
    ],
)
def test_hash(text: str, *, expected: bool) -> None:
    """A hash is 32 characters of base32, in lower case."""
    assert is_hash(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("py-numpy", True),
        ("7zip", True),
        ("ml-linux-x86_64-cuda", True),
        ("r.x", True),
        ("", False),
        (".hidden", False),
        ("-x", False),
        ("a/b", False),
        ("a b", False),
        ("a\n", False),
    ],
)
def test_name(text: str, *, expected: bool) -> None:
    """A name can stand in a path and in Markdown without harm."""
    assert is_name(text) is expected


def test_natural_order() -> None:
    """Numbers in names count as numbers, however long; letters go by their codes."""
    names = ["Lib10", "lib", "lib2", "lib10", "lib" + "9" * 5_000, "lib-a", "liba"]
    assert sorted(shuffled(names), key=natural_key) == natural_order(shuffled(names)) == names
