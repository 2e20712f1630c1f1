"""Spack's spec query language: text in, what a spec must be like out.

    hdf5@1.12: +mpi %gcc@13 target=x86_64_v3 ^zlib@1.3:

Source: the grammar and the meaning of a spec in Spack's documentation of the spec syntax. What
Spack knows beyond this (propagation, edge attributes, git versions, target ranges ...) is refused
by name. Two things are read as Spack printed specs before 1.0: what follows ``%COMPILER@VERSIONS``
describes the spec instead of the compiler, and a spec has one compiler. Commas in ``os=`` and
``platform=`` mean any of the values, as Spack has it for ``target=``.
"""

import re
from typing import NoReturn

from snapshots.errors import ConstraintSyntaxError
from snapshots.spack.predicates import (
    BARE_VALUE,
    CompilerConstraint,
    SpecConstraint,
    VariantConstraint,
    unquote,
    variant_value,
)
from snapshots.spack.scanner import Scanner
from snapshots.spack.spelling import COMPILER_FLAGS
from snapshots.spack.version_sets import VersionList, read_versions

__all__ = [
    "CompilerConstraint",
    "ConstraintSyntaxError",
    "SpecConstraint",
    "VariantConstraint",
    "parse",
]

_IDENTIFIER = r"[A-Za-z0-9_][A-Za-z0-9_-]*"
_COMPILER = re.compile(_IDENTIFIER)
_PACKAGE = re.compile(rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})*")
_ANONYMOUS = re.compile(r"\*")
_DEPENDENCY = re.compile(r"\^")
_SIGIL = re.compile(r"[@%/+~-]")
_HASH = re.compile(r"[A-Za-z0-9]+")
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_ASSIGNMENT = re.compile(rf"(?P<key>{_WORD.pattern})(?P<operator>:?=)")
_QUOTE = re.compile(r"['\"]")
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.S)
_GLUED = re.compile(r"\S")
_MORE_FLAGS = re.compile(r"\s+-")

_REFUSED = (
    (re.compile(r"%%"), "propagation of a compiler (%%)"),
    (re.compile(r"\+\+|~~|--"), "propagation of a variant (++, ~~ or --)"),
    (re.compile(rf"{_WORD.pattern}:?=="), "propagation of a value (==)"),
    (re.compile(r"[%^]\["), "edge attributes ([...] behind ^ or %)"),
    (
        re.compile(rf"[%^]\s*{_IDENTIFIER}(?:,{_IDENTIFIER})*:?="),
        "the choice of a virtual package (VIRTUAL=NAME behind ^ or %)",
    ),
    (re.compile(r"when:?="), "conditions (when=)"),
    (re.compile(r"(?=\.|[\w.-]*/)[\w./-]+\.(?:json|yaml)\b", re.ASCII), "specs in files"),
)
_TRIPLET = ("platform", "os", "target")
_ARCHITECTURE = {
    "arch": _TRIPLET,
    "architecture": _TRIPLET,
    "platform": ("platform",),
    "os": ("os",),
    "operating_system": ("os",),
    "target": ("target",),
}
_OF_THE_HOST = frozenset({"frontend", "fe", "backend", "be", "default_os", "default_target"})
_HASH_LENGTH = 32
_UNSET = "None"
_END_OF_NODE = ("", "^")


def parse(text: str) -> SpecConstraint:
    """Parse a spec query, named or not; ``*`` alone asks for nothing.

    Raises ConstraintSyntaxError.
    """
    scanner = Scanner(text)
    if not scanner.peek():
        scanner.fail_expecting("a spec")
    root = _Node(scanner)
    dependencies = []
    while scanner.accept(_DEPENDENCY):
        if scanner.peek() in _END_OF_NODE:
            scanner.fail_expecting("a spec")
        dependencies.append(_Node(scanner).constraint())
    return root.constraint(*sorted(dependencies, key=str))


class _Node:
    """Reads one spec, up to the end of the text or to the ``^`` of the next one."""

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner
        self._name: str | None = None
        self._namespace: str | None = None
        self._versions: VersionList | None = None
        self._compiler: CompilerConstraint | None = None
        self._hash_prefix: str | None = None
        self._variants: dict[str, VariantConstraint] = {}
        self._architecture: dict[str, tuple[str, ...]] = {}

        self._next_part()
        self._read_name()
        while (sigil := self._next_part()) not in _END_OF_NODE:
            self._read_part(sigil)

    def constraint(self, *dependencies: SpecConstraint) -> SpecConstraint:
        return SpecConstraint(
            name=self._name,
            namespace=self._namespace,
            versions=self._versions,
            variants=tuple(self._variants[name] for name in sorted(self._variants)),
            compiler=self._compiler,
            platforms=self._architecture.get("platform", ()),
            operating_systems=self._architecture.get("os", ()),
            targets=self._architecture.get("target", ()),
            hash_prefix=self._hash_prefix,
            dependencies=dependencies,
        )

    def _next_part(self) -> str:
        """Return the character that the next part begins with, if the part is supported."""
        sigil = self._scanner.peek()
        for pattern, what in _REFUSED:
            if self._scanner.sees(pattern):
                self._scanner.refuse(what)
        return sigil

    def _read_name(self) -> None:
        if self._scanner.accept(_ANONYMOUS) or self._scanner.sees(_ASSIGNMENT):
            return
        if package := self._scanner.accept(_PACKAGE):
            namespace, _, self._name = package[0].rpartition(".")
            self._namespace = namespace or None

    def _read_part(self, sigil: str) -> None:
        start = self._scanner.position
        self._scanner.accept(_SIGIL)
        match sigil:
            case "@":
                self._once(self._versions, "a version (commas make a list)", start)
                self._versions = read_versions(self._scanner)
            case "%":
                self._once(self._compiler, "a compiler (a dependency is ^NAME)", start)
                self._compiler = self._read_compiler()
            case "/":
                self._once(self._hash_prefix, "a hash", start)
                self._hash_prefix = self._read_hash()
            case "+" | "~" | "-":
                self._scanner.peek()
                name = self._scanner.expect(_WORD, "the name of a variant")[0]
                self._add_variant(VariantConstraint(name, sigil == "+"), start)
            case _:
                self._read_assignment()

    def _read_hash(self) -> str:
        match = self._scanner.expect(_HASH, "a hash")
        if len(match[0]) > _HASH_LENGTH:
            self._scanner.fail(f"a hash has {_HASH_LENGTH} characters at the most", match.start())
        return match[0]

    def _read_compiler(self) -> CompilerConstraint:
        self._scanner.peek()
        name = self._scanner.expect(_COMPILER, "the name of a compiler")[0]
        if self._scanner.peek() != "@":
            return CompilerConstraint(name)
        self._scanner.accept(_SIGIL)
        return CompilerConstraint(name, read_versions(self._scanner))

    def _read_assignment(self) -> None:
        match = self._scanner.accept(_ASSIGNMENT) or self._fail_at_word()
        key = match["key"]
        value = self._read_value(key)
        if key in _ARCHITECTURE:
            self._add_architecture(match, value)
        elif key == "namespace":
            self._once(self._namespace, "a namespace", match.start())
            if not _PACKAGE.fullmatch(value):
                self._scanner.fail("this is no namespace", match.end())
            self._namespace = value
        else:
            self._add_variant(self._variant(match, value), match.start())

    def _fail_at_word(self) -> NoReturn:
        word = self._scanner.sees(_PACKAGE)
        if word is None:
            self._scanner.fail_expecting("a part of a spec")
        if self._name is None:
            self._scanner.fail("a name stands first in a spec")
        self._scanner.fail(f"a second spec begins (a dependency is ^{word[0]})")

    def _read_value(self, key: str) -> str:
        scanner = self._scanner
        if scanner.sees(_QUOTE):
            match = scanner.accept(_QUOTED) or scanner.fail("a quote that is never closed")
        else:
            match = scanner.expect(BARE_VALUE, "a value")
            if key in COMPILER_FLAGS and scanner.sees(_MORE_FLAGS):
                scanner.fail(f'several flags need quotes around them ({key}="...")')
        if glued := scanner.sees(_GLUED):
            scanner.fail(f"unexpected {glued[0]!r} (put a space before it, or the value in quotes)")
        return unquote(match[0])

    def _variant(self, match: re.Match[str], text: str) -> VariantConstraint:
        value = variant_value(match["key"], text)
        if isinstance(value, bool):
            return VariantConstraint(match["key"], value)
        exact = match["operator"] == ":="
        if not value or "" in value:
            self._scanner.fail("an empty value", match.end())
        if "*" in value and (exact or len(value) > 1):
            self._scanner.fail("'*' stands alone, behind '='", match.end())
        return VariantConstraint(match["key"], value, exact)

    def _add_architecture(self, match: re.Match[str], value: str) -> None:
        parts = _ARCHITECTURE[match["key"]]
        values = value.split("-") if parts == _TRIPLET else [value]
        if len(values) != len(parts):
            self._scanner.fail(f"{match['key']} is PLATFORM-OS-TARGET", match.end())
        for part, names in zip(parts, values, strict=True):
            if parts == _TRIPLET and names == _UNSET:
                continue
            self._once(self._architecture.get(part), f"{part}=", match.start())
            self._architecture[part] = self._names(names, match)

    def _names(self, text: str, match: re.Match[str]) -> tuple[str, ...]:
        if match["operator"] == ":=":
            self._scanner.fail("':=' is for variants alone", match.start("operator"))
        if ":" in text:
            self._scanner.refuse("ranges of targets (:)", match.end())
        names = tuple(sorted(set(text.split(","))))
        if not _OF_THE_HOST.isdisjoint(names):
            self._scanner.refuse("names that depend on the host", match.end())
        if not all(map(_WORD.fullmatch, names)):
            self._scanner.fail(f"this is no {match['key']}", match.end())
        return names

    def _add_variant(self, variant: VariantConstraint, position: int) -> None:
        self._once(self._variants.get(variant.name), f"the variant {variant.name}", position)
        self._variants[variant.name] = variant

    def _once(self, known: object, what: str, position: int) -> None:
        if known is not None:
            self._scanner.fail(f"{what} is given twice", position)
