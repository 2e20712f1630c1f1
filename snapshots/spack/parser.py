"""Spack's spec query language: text in, what a spec must be like out.

    hdf5@1.12: +mpi target=x86_64_v3: %gcc@13 ^zlib-api=zlib-ng ^cmake@3.27:

Source: Spack's grammar of specs (version 1.1), and its answers about concrete specs. What stands
behind ``%`` or ``^`` describes that dependency, up to the next of them; ``%`` belongs to the spec
or to the ``^`` before it. What Spack knows beyond this (conditions, specs in files, names that mean
this machine) is refused by name.
"""

import re
from collections.abc import Sequence
from typing import NoReturn

from snapshots.errors import ConstraintSyntaxError
from snapshots.spack.constraints import ANYTHING, DependencyConstraint, SpecConstraint
from snapshots.spack.edges import Edge, read_edge
from snapshots.spack.predicates import VariantConstraint, variant_value
from snapshots.spack.quoting import quote, unquote
from snapshots.spack.scanner import Scanner
from snapshots.spack.spelling import COMPILER_FLAGS
from snapshots.spack.targets import TargetRange, TargetSet, is_target
from snapshots.spack.version_sets import VersionList, read_versions
from snapshots.spack.virtuals import package_of_compiler

_IDENTIFIER = r"[A-Za-z0-9_][A-Za-z0-9_-]*"
_PACKAGE = re.compile(rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})*")
_ANONYMOUS = re.compile(r"\*")
_SIGIL = re.compile(r"(?P<twice>\+\+|~~|--)|[@/+~-]")
_HASH = re.compile(r"[A-Za-z0-9]+")
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_ASSIGNMENT = re.compile(rf"(?P<key>{_WORD.pattern})(?P<exact>:)?=(?P<propagate>=)?")
_QUOTE = re.compile(r"['\"]")
_QUOTED = re.compile(r"""'(?:[^']|(?<=\\)')*'|"(?:[^"]|(?<=\\)")*\"""")
_BARE_VALUE = re.compile(r"(?:[\w*.,:=/\\-]|\+(?![A-Za-z]))+", re.ASCII)
_GLUED = re.compile(r"\S")
_MORE_FLAGS = re.compile(r"\s+-")
_IN_A_FILE = re.compile(r"(?=\.|[\w.-]*/)[\w./-]+\.(?:json|yaml)\b", re.ASCII)

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
_END_OF_NODE = ("", "%", "^")


def parse(text: str) -> SpecConstraint:
    """Parse a spec query, named or not; ``*`` alone asks for nothing.

    Raises ConstraintSyntaxError.
    """
    scanner = Scanner(text)
    if not scanner.peek():
        scanner.fail_expecting("a spec")
    root = _Node(scanner)
    below: list[tuple[Edge, _Node]] = []
    owner = root
    while edge := read_edge(scanner):
        if edge.is_direct and not scanner.peek():
            scanner.fail_expecting("a spec")
        node = _Node(scanner)
        if edge.is_direct:
            node.use_name_of_package()
            owner.direct.append((edge, node))
        else:
            below.append((edge, node))
            owner = node
    return root.constraint(below)


def query_of(words: Sequence[str]) -> str:
    """Return the query that the words of a command line make, as Spack joins them.

    The shell has taken quotes away, so a word KEY=VALUE that cannot be read as it stands gets them
    again around all of its value. No words ask for everything.
    """
    return " ".join(map(_with_quotes, words)) or ANYTHING


def _with_quotes(word: str) -> str:
    match = _ASSIGNMENT.match(word)
    if match is None or match.end() == len(word):
        return word
    try:
        parse(word)
    except ConstraintSyntaxError:
        return match[0] + quote(word[match.end() :])
    return word


class _Node:
    """Reads one spec, up to the end of the text or to the next ``%`` or ``^``."""

    def __init__(self, scanner: Scanner) -> None:
        self.direct: list[tuple[Edge, _Node]] = []
        self._scanner = scanner
        self._name: str | None = None
        self._namespace: str | None = None
        self._versions: VersionList | None = None
        self._hash_prefix: str | None = None
        self._variants: dict[str, VariantConstraint] = {}
        self._architecture: dict[str, str] = {}
        self._targets: TargetSet | None = None

        self._next_part()
        self._read_name()
        while (sigil := self._next_part()) not in _END_OF_NODE:
            self._read_part(sigil)

    def use_name_of_package(self) -> None:
        """Take a compiler's old name (clang) for that of its package (llvm)."""
        if self._name is not None:
            self._name = package_of_compiler(self._name)

    def constraint(self, transitive: "Sequence[tuple[Edge, _Node]]" = ()) -> SpecConstraint:
        """Return what was read, with the dependencies in canonical order."""
        return SpecConstraint(
            name=self._name,
            namespace=self._namespace,
            versions=self._versions,
            variants=tuple(self._variants[name] for name in sorted(self._variants)),
            platform=self._architecture.get("platform"),
            operating_system=self._architecture.get("os"),
            targets=self._targets,
            hash_prefix=self._hash_prefix,
            direct=_dependencies(self.direct),
            transitive=_dependencies(transitive),
        )

    def _next_part(self) -> str:
        """Return the character that the next part begins with; refuse specs in files."""
        sigil = self._scanner.peek()
        if self._scanner.sees(_IN_A_FILE):
            self._scanner.refuse("specs in files")
        return sigil

    def _read_name(self) -> None:
        if self._scanner.accept(_ANONYMOUS) or self._scanner.sees(_ASSIGNMENT):
            return
        if package := self._scanner.accept(_PACKAGE):
            namespace, _, self._name = package[0].rpartition(".")
            self._namespace = namespace or None

    def _read_part(self, sigil: str) -> None:
        start = self._scanner.position
        mark = self._scanner.accept(_SIGIL)
        match sigil:
            case "@":
                self._once(self._versions, "a version (commas make a list)", start)
                self._versions = read_versions(self._scanner)
            case "/":
                self._once(self._hash_prefix, "a hash", start)
                self._hash_prefix = self._read_hash()
            case "+" | "~" | "-":
                self._scanner.peek()
                name = self._scanner.expect(_WORD, "the name of a variant")[0]
                propagate = mark is not None and mark["twice"] is not None
                variant = VariantConstraint(name, sigil == "+", propagate=propagate)
                self._add_variant(variant, start)
            case _:
                self._read_assignment()

    def _read_hash(self) -> str:
        match = self._scanner.expect(_HASH, "a hash")
        if len(match[0]) > _HASH_LENGTH:
            self._scanner.fail(f"a hash has at most {_HASH_LENGTH} characters", match.start())
        return match[0]

    def _read_assignment(self) -> None:
        match = self._scanner.accept(_ASSIGNMENT) or self._fail_at_word()
        key = match["key"]
        if key == "when":
            self._scanner.refuse("conditions (when=)", match.start())
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
            return unquote(match[0])
        match = scanner.expect(_BARE_VALUE, "a value")
        if key in COMPILER_FLAGS and scanner.sees(_MORE_FLAGS):
            scanner.fail(f'several flags need quotes around them ({key}="...")')
        if glued := scanner.sees(_GLUED):
            scanner.fail(f"unexpected {glued[0]!r} (put a space before it, or the value in quotes)")
        return match[0]

    def _variant(self, match: re.Match[str], text: str) -> VariantConstraint:
        name = match["key"]
        value = variant_value(name, text)
        if name in COMPILER_FLAGS:
            # Spack ignores ':=' and '==' where it compares flags, and '*' is a flag like others.
            return VariantConstraint(name, value)
        exact, propagate = match["exact"] is not None, match["propagate"] is not None
        if isinstance(value, bool):
            return VariantConstraint(name, value, propagate=propagate)
        if len(value) > 1 and "" in value:
            self._scanner.fail("an empty value", match.end())
        if "*" in value and (exact or len(value) > 1):
            self._scanner.fail("'*' stands alone, behind '='", match.end())
        return VariantConstraint(name, value, exact, propagate)

    def _add_architecture(self, match: re.Match[str], value: str) -> None:
        if match["exact"] or match["propagate"]:
            self._scanner.fail("only '=' goes with an architecture", match.end("key"))
        parts = _ARCHITECTURE[match["key"]]
        if parts == _TRIPLET and "-" not in value:
            parts = ("target",)
        values = value.split("-") if parts == _TRIPLET else [value]
        if len(values) != len(parts):
            reason = f"{match['key']} is PLATFORM-OS-TARGET, or a target alone"
            self._scanner.fail(reason, match.end())
        for part, text in zip(parts, values, strict=True):
            if parts == _TRIPLET and text == _UNSET:
                continue
            if part == "target":
                self._once(self._targets, "target=", match.start())
                self._targets = self._read_targets(text, match)
            else:
                self._once(self._architecture.get(part), f"{part}=", match.start())
                # Spack takes a list of these for one strange name.
                self._check_names(text.split(","), match)
                self._architecture[part] = text

    def _read_targets(self, text: str, match: re.Match[str]) -> TargetSet:
        names: set[str] = set()
        ranges: set[TargetRange] = set()
        for item in text.split(","):
            low, colon, high = item.partition(":")
            self._check_names([it for it in (low, high) if it] if colon else [item], match)
            if not colon:
                names.add(item)
                continue
            for bound in (low, high):
                if bound and not is_target(bound):
                    self._scanner.fail(f"{bound!r} is no target that ranges can have", match.end())
            ranges.add(TargetRange(low, high))
        return TargetSet(tuple(sorted(names)), tuple(sorted(ranges)))

    def _check_names(self, names: list[str], match: re.Match[str]) -> None:
        if not _OF_THE_HOST.isdisjoint(names):
            self._scanner.refuse("names that depend on the host", match.end())
        if not all(name == ANYTHING or _WORD.fullmatch(name) for name in names):
            self._scanner.fail(f"this is no {match['key']}", match.end())

    def _add_variant(self, variant: VariantConstraint, position: int) -> None:
        if variant.value == ():
            return  # no flags
        known = self._variants.get(variant.name)
        if known is not None and variant.name in COMPILER_FLAGS:
            variant = _with_flags_of(variant, known)
        else:
            self._once(known, f"the variant {variant.name}", position)
        self._variants[variant.name] = variant

    def _once(self, known: object, what: str, position: int) -> None:
        if known is not None:
            self._scanner.fail(f"{what} is given twice", position)


def _with_flags_of(one: VariantConstraint, other: VariantConstraint) -> VariantConstraint:
    flags = {flag for it in (one, other) if not isinstance(it.value, bool) for flag in it.value}
    return VariantConstraint(one.name, tuple(sorted(flags)))


def _dependencies(found: Sequence[tuple[Edge, _Node]]) -> tuple[DependencyConstraint, ...]:
    constraints = {
        DependencyConstraint(node.constraint(), edge.types, edge.virtuals) for edge, node in found
    }
    return tuple(sorted(constraints, key=str))
