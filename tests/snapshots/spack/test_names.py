"""Names and other texts of a spec: which texts are valid, and the natural order of names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.models import SPEC_FACTS, Spec
from snapshots.spack import names
from snapshots.spack.names import is_hash, is_name, natural_key, natural_order
from snapshots.texts import is_plain
from tests.snapshots.factories import full_spec
from tests.snapshots.records import check_facts

NAMES = st.text("ab-_.0123456789", min_size=1, max_size=30)


@given(st.lists(NAMES, unique=True))
def test_natural_order_against_a_plain_key(names: list[str]) -> None:
    """Numbers compare as numbers, and sort before letters; equal keys sort by the text."""

    def plain_key(name: str) -> tuple[list[tuple[int, int]], str]:
        pieces = re.findall(r"[0-9]+|[^0-9]", name)
        return [(0, int(piece)) if piece.isdigit() else (1, ord(piece)) for piece in pieces], name

    expected = sorted(names, key=plain_key)
    assert natural_order(names) == expected
    assert sorted(sorted(names), key=natural_key) == expected


# -- the names of a spec


INVISIBLE = "\0\x1b\n\r\t\x7f\x9b\xa0\xad\u200b\u2028\u202e\u2066\u3164\ufe0f\ufeff\U000e0041\ud800"
"""Control characters, and others that no one sees: blanks, marks of direction, fillers, tags."""

TEXT_FACTS = [name for name, fact in SPEC_FACTS.items() if fact.check is not None]


def with_text(fact: str, text: str) -> Spec:
    """Return a spec with a text as the value of a fact, or as an item of its list."""
    is_list = isinstance(getattr(full_spec(), fact), tuple)
    return replace(full_spec(), **{fact: (text,) if is_list else text})


@pytest.mark.parametrize("fact", TEXT_FACTS)
def test_invisible_characters_are_refused(fact: str) -> None:
    """No fact may contain control characters or invisible characters."""
    text = getattr(full_spec(), fact)
    text = text[0] if isinstance(text, tuple) else text
    for invisible in INVISIBLE:
        with pytest.raises(ValueError, match=f"^{fact}: ") as caught:
            check_facts(with_text(fact, text[:4] + invisible + text[4:]))
        assert is_plain(str(caught.value))


@pytest.mark.parametrize("fact", TEXT_FACTS)
def test_long_texts_are_refused(fact: str) -> None:
    """Every text has a maximum length, and the error message is short."""
    with pytest.raises(ValueError, match=f"^{fact}: ") as caught:
        check_facts(with_text(fact, "https://a/" + "a" * 10_000))
    assert len(str(caught.value)) < 300


def test_every_text_fact_declares_a_check() -> None:
    """A new fact that is a text has to declare which texts are valid."""
    without = {name for name, fact in SPEC_FACTS.items() if fact.check is None}
    assert without == {"size", "dependencies", "spec_format", "explicit", "spelling"}


@pytest.mark.parametrize(
    "url",
    [
        "https://binaries.spack.io/v0.22.0/build_cache/a-b.spack",
        "http://127.0.0.1:8080/a",
        "s3://spack-binaries/develop/build_cache/a%20b.spack?versionId=1#part",
        "oci://ghcr.io/spack/cache:latest",
        "file:///srv/my%20cache/a.spack",
        "HTTPS://example.org/a",
    ],
)
def test_url_of_a_package(url: str) -> None:
    """URLs of packages have one of a few schemes."""
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
def test_refused_url(url: str) -> None:
    """Schemes that run code, and characters that end an attribute or a span, are refused."""
    with pytest.raises(ValueError, match=r"is not a URL|characters that no URL has"):
        names.checked_url(url)


def test_hashes() -> None:
    """A hash is 32 characters of base32, in lower case."""
    digest = "abcdefghijklmnopqrstuvwxyz234567"
    texts = (digest, digest[:-1], f"{digest}7", f"{digest[:-1]}8", digest.upper(), f"{digest}\n")
    assert [text for text in texts if is_hash(text)] == [digest]


def test_package_names() -> None:
    """A name is safe in a path and in Markdown."""
    names = ["py-numpy", "7zip", "ml-linux-x86_64-cuda", "r.x"]
    others = ["", ".hidden", "-x", "a/b", "a b", "a\n"]
    assert [text for text in (*names, *others) if is_name(text)] == names
