"""Nearly valid inputs: bytes with flipped bits, JSON with other types, depths and sizes."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

TOKENS = (
    b"---\n", b"\n", b"\r\n", b"\0", b"\x1b[2J", b"\xff\xfe", b"\xed\xa0\x80", b"\xe2\x80\xae",
    b"{", b"}", b"[", b"]", b'"', b"'", b":", b": ", b"- ", b"&a ", b"*a", b"!!python/object:a ",
    b"null", b"true", b"NaN", b"1e999", b"-0", b"9" * 5_000, b"[" * 5_000, b'{"a":' * 2_000,
    b"\\ud800", b"\\u0000", b"<<: ", b"? ", b"|", b">", b"%", b"@", b"`", b"#", b"\t",
)  # fmt: skip


def deep(depth: int) -> Any:
    """Return lists and objects within each other."""
    value: Any = "end"
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1 << 70, 10**400, 1.5, 1e308, "", " ", "a" * 5_000, "\n# forged",
    "\x1b[31m", "\u202e", "\ud800", "<img src=x>", "javascript:alert(1)", "../../etc/passwd",
    "file:///etc/passwd", "http://169.254.169.254/", "http://[::1", "s3://", "a\0b", "%00", "none",
    [], [[]], {}, {"": ""}, ["a"] * 2_000, deep(60), deep(400),
)  # fmt: skip


def mutated_bytes(data: bytes, random: Random) -> bytes:
    """Return the bytes with one to four changes: bits, cuts, repetitions, tokens."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 4)):
        random.choice(_CHANGES)(changed, random)
    return bytes(changed)


def mutated_json(value: Any, random: Random) -> Any:
    """Return a copy of a JSON value with one to three changes at random places."""
    changed = json.loads(json.dumps(value))
    for _ in range(random.randint(1, 3)):
        changed = _changed(changed, random)
    return changed


def written(value: Any, random: Random) -> bytes:
    """Return a value as JSON, with or without escapes."""
    text = json.dumps(value, ensure_ascii=random.random() < 0.5)
    return text.encode(errors="surrogatepass")


def _changed(value: Any, random: Random) -> Any:
    if not isinstance(value, dict | list) or not value or random.random() < 0.08:
        return _other(random)
    key: Any = (
        random.choice(list(value)) if isinstance(value, dict) else random.randrange(len(value))
    )
    way = random.random()
    if way < 0.75:
        value[key] = _changed(value[key], random)
    elif way < 0.85:
        del value[key]
    elif isinstance(value, dict):
        other = _other(random)
        value[other if isinstance(other, str) else str(key) + "x"] = value[key]
    else:
        value.append(value[key])
    return value


def _other(random: Random) -> Any:
    value = random.choice(VALUES)
    return json.loads(json.dumps(value)) if isinstance(value, dict | list) else value


def _flip(data: bytearray, random: Random) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _cut(data: bytearray, random: Random) -> None:
    start = random.randrange(len(data) + 1)
    del data[start : start + random.choice((1, 2, 7, 100, len(data)))]


def _repeat(data: bytearray, random: Random) -> None:
    start = random.randrange(len(data) + 1)
    piece = data[start : start + random.choice((1, 10, 200))]
    data[start:start] = piece * random.choice((1, 2, 50))


def _insert(data: bytearray, random: Random) -> None:
    start = random.randrange(len(data) + 1)
    data[start:start] = random.choice(TOKENS)


def _replace(data: bytearray, random: Random) -> None:
    start = random.randrange(len(data) + 1)
    token = random.choice(TOKENS)
    data[start : start + random.choice((1, len(token)))] = token


_CHANGES: tuple[Callable[[bytearray, Random], None], ...] = (
    _flip, _flip, _flip, _cut, _repeat, _insert, _replace,
)  # fmt: skip
