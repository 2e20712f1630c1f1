"""What the hash of a spec covers besides its facts: how its document spells them, part by part.

Spack hashes a node as it is written: the order of keys, lists and dependencies, whether a value is
a list or a text, the description of a target below its name, and keys that are no facts. Nodes of
one Spack are nearly always spelled in the same, usual way. A part that is spelled otherwise is kept
as the text ``PART=JSON``, with a checksum in place of a long or an illegible JSON:

- ``target``: the description of the target, usually only its name.
- ``arch``: the architecture, with other keys or in another order.
- ``parameters``: the names, in another order, or without each of the compiler flags.
- ``parameters.NAME``: a value that differs from what its variant would be parsed from.
- ``dependencies``: the names, unless sorted; ``dependencies.NAME``: an edge, without its hash.
- ``keys``: the keys of the node, in another order.
- the name of any other key: its value.

Source: the specs that Spack writes, and its computation of hashes since format 3.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw

from snapshots.spack.notation import COMPILER_FLAGS
from snapshots.texts import is_plain

Parts = tuple[str, ...]
"""The parts of a node that are not spelled as usual, each as PART=JSON."""

_KEYS = (
    "name",
    "version",
    "arch",
    "compiler",
    "namespace",
    "parameters",
    "external",
    "patches",
    "package_hash",
    "provided_virtuals",
    "dependencies",
    "build_spec",
    "annotations",
    "hash",
)
_USUAL = {
    "compiler": (("name", "version"),),
    "annotations": (
        ("original_specfile_version",),
        ("original_specfile_version", "compiler"),
    ),
    "build_spec": (("name", "hash"),),
}
"""The usual keys of objects that are facts."""

_OWN = frozenset({"name", "version", "arch", "namespace", "parameters", "package_hash"})
_FILLED = frozenset({"patches", "provided_virtuals", "dependencies"})
"""The keys that Spack omits instead of writing an empty list."""

_NOT_HASHED = frozenset({"hash", "full_hash", "build_hash"})
_MAX_LENGTH, _MAX_KEYS, _MAX_DEPTH = 2_000, 50, 10
_DIGITS = 16
_objects = msgspec.json.Decoder(dict[str, Raw])
_EMPTY, _MAX_EMPTY = (b"[]", b"{}", b"null"), 4


def of_node(text: bytes | Raw) -> Parts:
    """Return the parts of a node outside of its architecture, parameters and dependencies.

    ``text`` is valid JSON.
    """
    node = _objects.decode(text)
    keys = tuple(node)
    is_usual, others, filled = _order_of(keys)
    parts = [] if is_usual else [_part("keys", json.dumps(keys).encode())]
    if len(others) > _MAX_KEYS:
        members = [b"%s:%s" % (json.dumps(key).encode(), node[key]) for key in others]
        return (_part("keys", b"{%s}" % b",".join(members)),)
    for key in others:
        value = bytes(node[key])
        if not (key in _USUAL and _has_usual_keys(key, value)):
            parts.append(_part(key, value))
    for key in filled:
        value = node[key]
        if memoryview(value).nbytes <= _MAX_EMPTY and bytes(value) in _EMPTY:
            parts.append(_part(key, bytes(value)))
    return tuple(parts)


@lru_cache(maxsize=1 << 8)
def _order_of(keys: tuple[str, ...]) -> tuple[bool, Sequence[str], Sequence[str]]:
    """Return whether keys are in the usual order, those to look into, and those of lists."""
    known = [key for key in keys if key in _KEYS]
    others = sorted({*keys} - _OWN - _NOT_HASHED - _FILLED)
    return known == sorted(known, key=_KEYS.index), others, sorted(_FILLED.intersection(keys))


@lru_cache(maxsize=1 << 14)
def _has_usual_keys(key: str, text: bytes) -> bool:
    if not text.startswith(b"{"):
        return False
    return tuple(_objects.decode(text)) in _USUAL[key]


def of_arch(text: bytes) -> Parts:
    """Return the parts of an architecture."""
    arch = _objects.decode(text)
    parts = [] if tuple(arch) == ("platform", "platform_os", "target") else [_part("arch", text)]
    target = bytes(arch["target"])
    if target.startswith(b"{"):
        parts.append(_part("target", target))
    return tuple(parts)


def of_parameters(parameters: Mapping[str, Any]) -> Parts:
    """Return the parts of variants and flags, by name in their order."""
    names, values, parts = list(parameters), list(parameters.values()), []
    num_variants = max(0, len(names) - len(_FLAGS))
    variants, flags = names[:num_variants], names[num_variants:]
    is_usual = flags == _FLAGS and variants == sorted(variants)
    if not is_usual and names != sorted({*names, *_FLAGS}):
        parts.append(_part("parameters", json.dumps(names).encode()))
    if is_usual and values[num_variants:] == _NO_FLAGS:
        del names[num_variants:]
    for name, value in zip(names, values, strict=False):
        if not (value is True or value is False or _is_usual(name, value)):
            parts.append(_part(f"parameters.{name}", json.dumps(value).encode()))
    return tuple(parts)


_FLAGS = sorted(COMPILER_FLAGS)
_NO_FLAGS: list[list[str]] = [[] for _ in _FLAGS]


def _is_usual(name: str, value: object) -> bool:
    """Return whether a value can be told from the variant that it represents."""
    if isinstance(value, str):
        return "," not in value and name not in COMPILER_FLAGS
    if value == []:
        return name in COMPILER_FLAGS
    if isinstance(value, list):
        if not all(isinstance(item, str) for item in value):
            return False
        if name in COMPILER_FLAGS:
            return not any(" " in flag for flag in value)
        is_sorted = value == sorted(set(value)) and not any("," in item for item in value)
        return is_sorted and (len(value) > 1 or name == "patches")
    return False


_EDGE = re.compile(
    rb'\{"name":"[^"\\]*","hash":"[^"\\]*",'
    rb'("type":\[[^][]*\]|"parameters":\{"deptypes":\[[^][]*\],"virtuals":\[[^][]*\]\})\}'
)


def of_edge(types: Sequence[str], virtuals: Sequence[str], text: bytes) -> Parts:
    """Return the part of a dependency, given its types and virtual packages in their order."""
    plain = msgspec.json.format(text, indent=-1)
    if _EDGE.fullmatch(plain) and [*types] == sorted(types) and [*virtuals] == sorted(virtuals):
        return ()
    edge = msgspec.json.decode(text)
    edge["hash"] = ""
    return (_part(f"dependencies.{edge['name']}", json.dumps(edge).encode()),)


def of_order(names: Sequence[str]) -> Parts:
    """Return the part of the order of dependencies, from their names."""
    if list(names) == sorted(names):
        return ()
    return (_part("dependencies", json.dumps(list(names)).encode()),)


def leaves(text: bytes) -> Parts:
    """Return the values in nested objects and lists of JSON, each as KEY.KEY=VALUE."""
    return tuple(_leaves(text, "", 0))


def _leaves(text: bytes, path: str, depth: int) -> Iterator[str]:
    if depth < _MAX_DEPTH and text.startswith(b"{") and text != b"{}":
        for key, value in _objects.decode(text).items():
            yield from _leaves(bytes(value), f"{path}.{key}" if path else key, depth + 1)
    elif depth < _MAX_DEPTH and text.startswith(b"[") and text != b"[]":
        for value in msgspec.json.decode(text, type=list[Raw]):
            yield from _leaves(bytes(value), path, depth + 1)
    elif path:
        is_text = text.startswith(b'"')
        line = f"{path}={msgspec.json.decode(text, type=str)}" if is_text else _part(path, text)
        is_legible = len(line) <= _MAX_LENGTH and is_plain(line)
        yield line if is_legible else f"sha256:{_checksum(line.encode())}"


def _part(name: str, text: bytes) -> str:
    is_short = len(text) <= _MAX_LENGTH and text.isascii()
    value = msgspec.json.format(text, indent=-1).decode() if is_short else ""
    if not (is_short and value.isprintable()):
        value = f'"sha256:{_checksum(text)}"'
    return f"{name}={value}"


def _checksum(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:_DIGITS]
