"""Names and other texts of a spec: validation and natural sort order.

Texts of a build cache appear in terminals, in Markdown and on web pages. Therefore, they must not
contain invisible or active characters: control characters, bidirectional formatting characters,
zero-width characters, line breaks. Each kind of text also has a maximum length that is far above
that of real ones.

Each ``checked_`` function takes a text, and returns it or raises ValueError with the reason.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from snapshots.errors import ConstraintSyntaxError
from snapshots.spack.versions import is_version, number_key, parse_versions
from snapshots.texts import is_plain, quoted

ROOT_STACK = "root"
"""The stack that is the union of all others: every spec is in it."""

_HASH = re.compile(r"[a-z2-7]{32}")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_DIGITS = re.compile(r"[0-9]+")


def is_hash(text: str) -> bool:
    """Return whether the text is a DAG hash: base32 of a sha1, 32 characters of a-z and 2-7."""
    return _HASH.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Return whether the text can name a package or a stack: at most 200 characters."""
    return _NAME.fullmatch(text) is not None


def natural_key(name: str) -> str:
    """Return a sort key for natural order: lib2 before lib10."""
    return _DIGITS.sub(_number_text, name)


def natural_order(names: Iterable[str]) -> list[str]:
    """Sort names by ``natural_key``, and names with equal keys (lib1, lib01) by their text.

    Names contain no line breaks, so a single pass computes all keys.
    """
    texts = list(names)
    keys = natural_key("\n".join(texts)).split("\n")
    return [name for _, name in sorted(zip(keys, texts, strict=True))] if texts else []


def _number_text(digits: re.Match[str]) -> str:
    # NUL sorts before every character of a name, as "lib2" before "lib-x". The length follows, as
    # longer numbers are larger; it is encoded as a character that is never a line break.
    length, text = number_key(digits[0])
    return f"\0{chr(ord('0') + length)}{text}"


# -- rules for the texts of facts


WORD_LENGTH_MAX = 200
"""Maximum length of a namespace, platform, system, target or checksum, in characters."""

VARIANT_LENGTH_MAX = 8_192
"""Maximum length of a variant, in characters; compiler flags are the longest."""

LINE_LENGTH_MAX = 4_096
"""Maximum length of a path or of the name of an environment module, in characters."""

URL_LENGTH_MAX = 2_048
"""Maximum length of a URL, in characters."""

ITEMS_MAX = 1_000
"""Maximum number of variants, stacks or patches of a spec."""

URL_SCHEMES = ("http", "https", "s3", "gs", "oci", "file")
"""The URL schemes allowed for binary packages; others, such as javascript, can do harm."""

Check = Callable[[str], str]

_WORD = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.+-]{{0,{WORD_LENGTH_MAX - 1}}}")
_MOMENT = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]Z")
_CHECKSUM = re.compile(rf"(?=.{{1,{WORD_LENGTH_MAX}}}\Z)[A-Za-z0-9+/_-]+={{0,6}}")
_BINARY_CHECKSUM = re.compile(r"[a-z0-9]{1,16}:[0-9a-f]{32,128}")
_URL = re.compile(rf"(?i:{'|'.join(URL_SCHEMES)})://\S+")
_NOT_IN_URLS = re.compile(r'["<>\\^`{|} ]')


def checked_hash(text: str) -> str:
    """Check a DAG hash."""
    if not is_hash(text):
        raise ValueError(f"{quoted(text)} is not a hash: 32 characters of a-z and 2-7")
    return text


def _checker(is_valid: Callable[[str], object], reason: str) -> Check:
    """Return a cached check of texts; ``{}`` in the reason is the quoted text."""

    @lru_cache(maxsize=1 << 16)
    def checked(text: str) -> str:
        if not is_valid(text):
            raise ValueError(reason.format(quoted(text)))
        return text

    return checked


def _is_compiler(text: str) -> bool:
    name, at, version = text.partition("@")
    return is_name(name) and (not at or is_version(version))


def _is_virtual(text: str) -> bool:
    name, at, versions = text.partition("@")
    if not is_name(name) or len(versions) > WORD_LENGTH_MAX or not versions.isascii():
        return False
    try:
        return not at or bool(parse_versions(versions))
    except (ValueError, ConstraintSyntaxError):
        return False


def _is_build_spec(text: str) -> bool:
    name, _, digest = text.partition("/")
    return is_name(name) and is_hash(digest)


checked_name = _checker(is_name, "{} is not a name")
"""Check the name of a package or a stack."""

checked_compiler = _checker(_is_compiler, "{} is not a compiler such as gcc@13.2.0")
"""Check a compiler: a name, or ``name@version``."""

checked_word = _checker(
    _WORD.fullmatch, f"{{}} is not a single word of {WORD_LENGTH_MAX} letters or fewer"
)
"""Check a single word: a platform, an operating system, a target, a namespace."""

checked_binary_checksum = _checker(
    _BINARY_CHECKSUM.fullmatch, "{} is not a checksum of a binary: ALGORITHM:HEXADECIMAL"
)
checked_checksum = _checker(_CHECKSUM.fullmatch, "{} is not a checksum")
"""Check a hash in any encoding that Spack uses."""

checked_virtual = _checker(_is_virtual, "{} is not a virtual package such as mpi or mpi@3.1")
"""Check a virtual package: a name, or ``name@versions``."""

checked_build_spec = _checker(_is_build_spec, "{} is not a package with its hash, NAME/HASH")
"""Check a package with a hash: ``name/hash``."""


@lru_cache(maxsize=1 << 16)
def checked_version(text: str) -> str:
    """Check a version."""
    if not is_version(text):
        raise ValueError(f"{quoted(text)} is not a version" if text else "is empty")
    return text


@lru_cache(maxsize=1 << 16)
def checked_variant(text: str) -> str:
    """Check a variant; its value can be any text without invisible characters."""
    if not text:
        raise ValueError("a variant is empty")
    if len(text) > VARIANT_LENGTH_MAX:
        reason = f"is longer than {VARIANT_LENGTH_MAX:,} characters"
        raise ValueError(f"the variant {quoted(text)} {reason}")
    if not is_plain(text):
        raise ValueError(f"the variant {quoted(text)} has invisible characters")
    return text


@lru_cache(maxsize=1 << 16)
def checked_line(text: str) -> str:
    """Check a single-line text: a path, or the name of an environment module."""
    if not 0 < len(text) <= LINE_LENGTH_MAX:
        limit = f"has {len(text):,} characters, not 1 to {LINE_LENGTH_MAX:,}"
        raise ValueError(f"{quoted(text)} {limit}")
    if not is_plain(text):
        raise ValueError(f"{quoted(text)} has invisible characters")
    return text


def checked_moment(text: str) -> str:
    """Check a time in UTC: ``2025-03-30T12:00:00Z``."""
    if _MOMENT.fullmatch(text) is None:
        raise ValueError(f"{quoted(text)} is not a time in UTC such as 2025-03-30T12:00:00Z")
    return text


def checked_url(text: str) -> str:
    """Check the URL of a binary package."""
    if len(text) > URL_LENGTH_MAX:
        raise ValueError(f"{quoted(text)} is longer than {URL_LENGTH_MAX:,} characters")
    if not is_plain(text) or _NOT_IN_URLS.search(text):
        raise ValueError(f"{quoted(text)} contains characters that no URL has")
    if _URL.fullmatch(text) is None:
        schemes = ", ".join(URL_SCHEMES)
        raise ValueError(f"{quoted(text)} is not a URL that begins with one of {schemes}")
    return text


def checked_items(texts: Iterable[str], check: Check) -> tuple[str, ...]:
    """Return the texts, each checked. Also raises ValueError if there are too many."""
    items = tuple(texts)
    check_number(len(items))
    return tuple(map(check, items))


def check_number(count: int) -> None:
    """Raise ValueError if a spec has too many texts of one kind."""
    if count > ITEMS_MAX:
        raise ValueError(f"there are {count:,} of them, more than {ITEMS_MAX:,}")
