"""Parser of Spack's spec query language.

    hdf5@1.12: +mpi target=x86_64_v3: %gcc@13 ^zlib-api=zlib-ng ^cmake@3.27:

Source: Spack's grammar of specs (version 1.1), and its results for concrete specs. The text after
``%`` or ``^``, up to the next one, describes that dependency; ``%`` applies to the spec or to the
``^`` before it. Other features of Spack (conditions, specs in files, names that represent the
host) are rejected with an error that names them.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NoReturn

import msgspec
from msgspec.structs import replace

from snapshots.errors import ConstraintSyntaxError
from snapshots.spack.notation import COMPILER_FLAGS, flags_of, quote, recorded_value, unquote
from snapshots.spack.versions import Scanner, VersionList, read_versions
from snapshots.spack.virtuals import package_of_compiler

ANYTHING = "*"
"""Any platform, operating system or target, or a query without a name."""

# -- variants and compiler flags


ANY_VALUE = ("*",)
"""The values of a variant with any value, written ``KEY=*``; not applicable to flags."""

VariantValue = bool | tuple[str, ...]

_PATCHES = "patches"
_PATCH_LENGTH = 7
_TRUTH = {"true": True, "false": False}


def variant_value(name: str, value: str) -> VariantValue:
    """Return the value of an unquoted text: true or false, or else its listed values, sorted.

    Compiler flags are separated by white space outside of quotes, other values by commas; both are
    sets.
    """
    if name in COMPILER_FLAGS:
        return tuple(sorted(set(flags_of(value))))
    values = tuple(sorted({item.strip() for item in value.split(",")}))
    return _TRUTH.get(values[0].lower(), values) if len(values) == 1 else values


class VariantConstraint(msgspec.Struct, frozen=True):
    """A condition on a variant's value, or on compiler flags of one kind.

    ``value`` is a result of ``variant_value``. The spec must have all values in it; with ``exact``,
    it must have no others. With ``propagate`` (``++mpi``), the condition applies to the spec and to
    all specs below it that have such a variant.
    """

    name: str
    value: VariantValue
    exact: bool = False
    propagate: bool = False

    def matches(self, variants: Collection[str]) -> bool:
        """Return whether the spec has this variant with a matching value.

        A spec without the variant does not match, regardless of the value.
        """
        return True in self._verdicts(variants)

    def contradicts(self, variants: Collection[str]) -> bool:
        """Return whether the spec has this variant with another value."""
        return False in self._verdicts(variants)

    def _verdicts(self, variants: Collection[str]) -> list[bool]:
        """Return, for each of the spec's variants with this name, whether its value is accepted."""
        recorded = (_recorded_variant(text) for text in variants if self.name in text)
        return [self._accepts(value) for name, value in recorded if name == self.name]

    def _accepts(self, value: VariantValue) -> bool:
        is_any = self.value == ANY_VALUE and self.name not in COMPILER_FLAGS
        if self.value == value or is_any:
            return True
        if isinstance(value, bool) or isinstance(self.value, bool):
            return False
        if self.name == _PATCHES:
            return _has_patches(value, self.value, exact=self.exact)
        return not self.exact and set(self.value) <= set(value)


@lru_cache(maxsize=1 << 16)
def _recorded_variant(text: str) -> tuple[str, VariantValue]:
    if text.startswith(("+", "~")):
        return text.lstrip("+~"), text.startswith("+")
    name, _, value = text.partition("=")
    return name, variant_value(name, recorded_value(value.removeprefix("=")))


def _has_patches(present: tuple[str, ...], required: tuple[str, ...], *, exact: bool) -> bool:
    # Pages shorten the sha256 of a patch to seven digits; indexes do not.
    prefixes = tuple(patch[:_PATCH_LENGTH] for patch in required)
    if exact and not all(patch.startswith(prefixes) for patch in present):
        return False
    return all(any(patch.startswith(prefix) for patch in present) for prefix in prefixes)


# -- targets


class TargetRange(msgspec.Struct, frozen=True, order=True):
    """The targets between two others, both inclusive; an empty text is an open bound."""

    low: str
    high: str

    def includes(self, target: str) -> bool:
        """Return whether the target is in the range."""
        return (not self.low or _is_or_descends(target, self.low)) and (
            not self.high or _is_or_descends(self.high, target)
        )


class TargetSet(msgspec.Struct, frozen=True):
    """Names and ranges of targets, combined with OR."""

    names: tuple[str, ...] = ()
    ranges: tuple[TargetRange, ...] = ()

    def includes(self, target: str) -> bool:
        """Return whether the target is one of the names or in one of the ranges."""
        if target in self.names or ANYTHING in self.names:
            return True
        return any(between.includes(target) for between in self.ranges)


def _targets() -> Mapping[str, Any]:
    """Return the targets with a known ancestry, by name."""
    from archspec.cpu import TARGETS  # imported late, as few queries contain a range

    return TARGETS  # type: ignore[no-any-return]


@lru_cache(maxsize=1 << 12)
def family_of(target: str) -> str:
    """Return the family of a target: aarch64 for neoverse_v1; for an unknown target, itself."""
    targets = _targets()
    return targets[target].family.name if target in targets else target


def is_target(target: str | None, name: str | None) -> bool:
    """Return whether a target has this name, or is of the family with this name."""
    return target == name or (target is not None and family_of(target) == name)


def with_families(constraint: "SpecConstraint") -> "SpecConstraint":
    """Return a constraint in which the name of a family, such as aarch64, is all its targets."""
    if constraint.targets is None:
        return constraint
    names = [name for name in constraint.targets.names if name in _targets()]
    families = tuple(TargetRange(name, "") for name in names if name == family_of(name))
    targets = replace(constraint.targets, ranges=constraint.targets.ranges + families)
    return replace(constraint, targets=targets)


@lru_cache(maxsize=1 << 12)
def _is_or_descends(target: str, ancestor: str) -> bool:
    if target == ancestor:
        return True
    targets = _targets()
    ancestors = targets[target].ancestors if target in targets else ()
    return any(other.name == ancestor for other in ancestors)


# -- specs and their dependencies


class SpecConstraint(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions on a spec; None or empty means no condition.

    ``direct`` are conditions on its direct dependencies (``%``). ``transitive`` are conditions on
    its link and run dependencies, direct or indirect, and on its direct build dependencies (``^``).
    Each must match at least one of them.
    """

    name: str | None = None
    namespace: str | None = None
    versions: VersionList | None = None
    variants: tuple[VariantConstraint, ...] = ()
    platform: str | None = None
    operating_system: str | None = None
    targets: TargetSet | None = None
    hash_prefix: str | None = None
    direct: "tuple[DependencyConstraint, ...]" = ()
    transitive: "tuple[DependencyConstraint, ...]" = ()

    @property
    def is_about_dependencies(self) -> bool:
        """Whether evaluation requires more than the spec's own facts."""
        propagates = any(variant.propagate for variant in self.variants)
        return bool(self.direct or self.transitive) or propagates

    @property
    def num_dependencies(self) -> int:
        """Number of ``%`` and ``^``, including nested ones."""
        dependencies = (*self.direct, *self.transitive)
        return sum(1 + dependency.spec.num_dependencies for dependency in dependencies)

    def is_compiler(self, compiler: str) -> bool:
        """Return whether a compiler such as ``gcc@13.2.0``, without other facts, matches."""
        name, _, version = compiler.partition("@")
        if self.name is not None and package_of_compiler(name) != package_of_compiler(self.name):
            return False
        if msgspec.structs.replace(self, name=None, versions=None) != SpecConstraint():
            return False
        return self.versions is None or (bool(version) and self.versions.includes(version))


class DependencyConstraint(msgspec.Struct, frozen=True):
    """A required dependency: the conditions on its spec and on the edge that leads to it.

    ``types`` and ``virtuals`` are the edge's types and the virtual packages that the dependency
    provides through it. ``snapshots.frames.queries`` defines how they are matched.
    """

    spec: SpecConstraint
    types: tuple[str, ...] = ()
    virtuals: tuple[str, ...] = ()


# -- the parser


DEPENDENCY_TYPES = ("build", "link", "run", "test")

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

_EDGE_SIGIL = re.compile(r"%%|[%^]")
_OPEN = re.compile(r"\[")
_CLOSE = re.compile(r"\]")
_PROPERTY = re.compile(rf"(?P<key>{_WORD.pattern}):?=(?P<value>'[^']*'|\"[^\"]*\"|[\w,-]+)")
# Spack also interprets ^ KEY=VALUE as a provider, even if a variant was meant.
_PROVIDER = re.compile(rf"\s*(?P<virtuals>{_IDENTIFIER}(?:,{_IDENTIFIER})*)=(?=[A-Za-z0-9_])")
_PACKAGE_WITH_VALUE = re.compile(rf"{_PACKAGE.pattern}(?=:?=)")

_TRIPLET = ("platform", "os", "target")
_ARCHITECTURE = {
    "arch": _TRIPLET,
    "architecture": _TRIPLET,
    "platform": ("platform",),
    "os": ("os",),
    "operating_system": ("os",),
    "target": ("target",),
}
_FACTS = {"platform": "platform", "os": "operating_system", "target": "targets"}
_HOST_NAMES = frozenset({"frontend", "fe", "backend", "be", "default_os", "default_target"})
_HASH_LENGTH = 32
_UNSET = "None"
_END_OF_NODE = ("", "%", "^")


def parse(text: str) -> SpecConstraint:
    """Parse a spec query, with or without a name; ``*`` alone matches every spec.

    Raises ConstraintSyntaxError.
    """
    scanner = Scanner(text)
    if not scanner.peek():
        scanner.fail_expecting("a spec")
    root = owner = _Node(scanner)
    transitive: list[_Node] = []
    while edge := _read_edge(scanner):
        if edge.is_direct and not scanner.peek():
            scanner.fail_expecting("a spec")
        node = _Node(scanner, edge)
        if edge.is_direct:
            owner.direct.append(node)
        else:
            transitive.append(node)
            owner = node
    return root.constraint(transitive)


def query_of(words: Sequence[str]) -> str:
    """Return the query formed by the arguments of a command line, which Spack joins with spaces.

    The shell removes quotes. Therefore, a word KEY=VALUE that cannot be parsed is quoted again,
    around its entire value. Without words, the query matches every spec.
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


class _Edge(msgspec.Struct, frozen=True):
    """The kind of a dependency, and the properties of the edge to it, both sorted.

    %[virtuals=c,cxx deptypes=build] gcc        %c,cxx=gcc        ^mpi=openmpi
    """

    is_direct: bool
    types: tuple[str, ...]
    virtuals: tuple[str, ...]


_NO_EDGE = _Edge(is_direct=False, types=(), virtuals=())


def _read_edge(scanner: Scanner) -> _Edge | None:
    """Read the beginning of a dependency; None if the next part is not one."""
    scanner.peek()
    sigil = scanner.accept(_EDGE_SIGIL)
    if sigil is None:
        return None
    types: set[str] = set()
    virtuals: set[str] = set()
    if scanner.accept(_OPEN):
        while scanner.peek() != "]":
            _read_property(scanner, types, virtuals)
        scanner.accept(_CLOSE)
    if provider := scanner.accept(_PROVIDER):
        virtuals.update(provider["virtuals"].split(","))
        if name := scanner.accept(_PACKAGE_WITH_VALUE):
            scanner.fail(f"{name[0]} is the package that provides it, and has no value")
    return _Edge(sigil[0] != "^", tuple(sorted(types)), tuple(sorted(virtuals)))


def _read_property(scanner: Scanner, types: set[str], virtuals: set[str]) -> None:
    match = scanner.expect(_PROPERTY, "']'")
    values = {value.strip() for value in unquote(match["value"]).split(",")}
    match match["key"]:
        case "deptypes":
            if unknown := values.difference(DEPENDENCY_TYPES, {"all"}):
                reason = f"{min(unknown)!r} is not a type: {', '.join(DEPENDENCY_TYPES)} or all"
                scanner.fail(reason, match.start("value"))
            types.update(DEPENDENCY_TYPES if "all" in values else values)
        case "virtuals":
            virtuals.update(values)
        case "when":
            scanner.refuse("conditions (when=)", match.start())
        case _:
            scanner.fail("an edge has deptypes=, virtuals= and no other", match.start())


class _Node:
    """A spec, parsed up to the end of the text or to the next ``%`` or ``^``."""

    def __init__(self, scanner: Scanner, edge: _Edge = _NO_EDGE) -> None:
        self.direct: list[_Node] = []
        self._scanner = scanner
        self._edge = edge
        self._facts: dict[str, Any] = {}
        self._variants: dict[str, VariantConstraint] = {}

        self._next_part()
        self._read_name()
        while (sigil := self._next_part()) not in _END_OF_NODE:
            self._read_part(sigil)

    def constraint(self, transitive: "Sequence[_Node]" = ()) -> SpecConstraint:
        """Return the conditions on the spec, with the dependencies in canonical order."""
        return SpecConstraint(
            **self._facts,
            variants=tuple(self._variants[name] for name in sorted(self._variants)),
            direct=_dependencies(self.direct),
            transitive=_dependencies(transitive),
        )

    def dependency(self) -> DependencyConstraint:
        """Return the condition on the dependency, with the properties of its edge."""
        return DependencyConstraint(self.constraint(), self._edge.types, self._edge.virtuals)

    def _next_part(self) -> str:
        """Return the first character of the next part; reject specs in files."""
        sigil = self._scanner.peek()
        if self._scanner.sees(_IN_A_FILE):
            self._scanner.refuse("specs in files")
        return sigil

    def _read_name(self) -> None:
        if self._scanner.accept(_ANONYMOUS) or self._scanner.sees(_ASSIGNMENT):
            return
        if package := self._scanner.accept(_PACKAGE):
            namespace, _, name = package[0].rpartition(".")
            if namespace:
                self._facts["namespace"] = namespace
            # A compiler may be given by the former name (clang) of its package (llvm).
            self._facts["name"] = package_of_compiler(name) if self._edge.is_direct else name

    def _read_part(self, sigil: str) -> None:
        start = self._scanner.position
        mark = self._scanner.accept(_SIGIL)
        match sigil:
            case "@":
                self._check_unset("versions", "a version (commas make a list)", start)
                self._facts["versions"] = read_versions(self._scanner)
            case "/":
                self._check_unset("hash_prefix", "a hash", start)
                self._facts["hash_prefix"] = self._read_hash()
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
            self._check_unset("namespace", "a namespace", match.start())
            if not _PACKAGE.fullmatch(value):
                self._scanner.fail("this is not a namespace", match.end())
            self._facts["namespace"] = value
        else:
            self._add_variant(self._variant(match, value), match.start())

    def _fail_at_word(self) -> NoReturn:
        word = self._scanner.sees(_PACKAGE)
        if word is None:
            self._scanner.fail_expecting("a part of a spec")
        if "name" not in self._facts:
            self._scanner.fail("a name comes first in a spec")
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
            # Spack ignores ':=' and '==' when it compares flags, and '*' is an ordinary flag.
            return VariantConstraint(name, value)
        exact, propagate = match["exact"] is not None, match["propagate"] is not None
        if isinstance(value, bool):
            return VariantConstraint(name, value, propagate=propagate)
        if len(value) > 1 and "" in value:
            self._scanner.fail("an empty value", match.end())
        if "*" in value and (exact or len(value) > 1):
            self._scanner.fail("'*' is written alone, after '='", match.end())
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
            fact = _FACTS[part]
            self._check_unset(fact, f"{part}=", match.start())
            if part == "target":
                self._facts[fact] = self._read_targets(text, match)
            else:
                # Spack interprets a list of these as one name.
                self._check_names(text.split(","), match)
                self._facts[fact] = text

    def _read_targets(self, text: str, match: re.Match[str]) -> TargetSet:
        names: set[str] = set()
        ranges: set[TargetRange] = set()
        for item in text.split(","):
            low, colon, high = item.partition(":")
            self._check_names([name for name in (low, high) if name] if colon else [item], match)
            if not colon:
                names.add(item)
                continue
            for bound in (low, high):
                if bound and bound not in _targets():
                    self._scanner.fail(
                        f"{bound!r} is not a target that ranges can have", match.end()
                    )
            ranges.add(TargetRange(low, high))
        return TargetSet(tuple(sorted(names)), tuple(sorted(ranges)))

    def _check_names(self, names: list[str], match: re.Match[str]) -> None:
        if not _HOST_NAMES.isdisjoint(names):
            self._scanner.refuse("names that depend on the host", match.end())
        if not all(name == ANYTHING or _WORD.fullmatch(name) for name in names):
            self._scanner.fail(f"this is not a valid {match['key']}", match.end())

    def _add_variant(self, variant: VariantConstraint, position: int) -> None:
        if variant.value == ():
            return  # no flags
        earlier = self._variants.get(variant.name)
        if earlier is not None:
            if variant.name not in COMPILER_FLAGS:
                self._scanner.fail(f"the variant {variant.name} is given twice", position)
            flags = (*_flags(earlier), *_flags(variant))
            variant = VariantConstraint(variant.name, tuple(sorted(set(flags))))
        self._variants[variant.name] = variant

    def _check_unset(self, fact: str, what: str, position: int) -> None:
        """Fail if a fact of the spec is given a second time."""
        if fact in self._facts:
            self._scanner.fail(f"{what} is given twice", position)


def _flags(variant: VariantConstraint) -> tuple[str, ...]:
    return () if isinstance(variant.value, bool) else variant.value


def _dependencies(nodes: Sequence[_Node]) -> tuple[DependencyConstraint, ...]:
    return tuple(sorted({node.dependency() for node in nodes}, key=repr))
