"""Suggestions: the names in a revision that resemble the beginning of a user's input."""

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import Enum

import msgspec
import numpy as np

from snapshots.errors import InvalidArgument
from snapshots.frames.frame import Frame
from snapshots.spack.names import ROOT_STACK
from snapshots.spack.query import family_of
from snapshots.texts import absent_name, names_hint, nearest_hint, nearest_names

TYPO_MIN = 4
"""Minimum length of a text that may have a typo, because shorter texts resemble too many names."""

TYPO = 4
"""The tier of names that differ from a text by a typo."""

HASH_MIN = 3
"""Minimum length of a text for which hashes are suggested."""

_SEPARATORS = str.maketrans(dict.fromkeys("-_.@/ ", " "))
_SIGILS = "%^"
"""Characters that precede a name in Spack's spec syntax and are not part of it."""


class SuggestionKind(Enum):
    """The kind of a suggestion.

    - PACKAGE: A package.
    - STACK: A stack.
    - SERIES: A series.
    - TAG: A tag.
    - VERSION: A version of a package, `hdf5@1.14.3`.
    - COMPILER: A compiler with its version, `gcc@13.2.0`.
    - TARGET: A microarchitecture, or a family of them.
    - VARIANT: A variant, `+mpi`.
    - HASH: The hash of a spec.
    """

    # Names that resemble a text equally are in the order of their kinds.
    PACKAGE = "package"
    STACK = "stack"
    SERIES = "series"
    TAG = "tag"
    VERSION = "version"
    COMPILER = "compiler"
    TARGET = "target"
    VARIANT = "variant"
    HASH = "hash"


class Suggestion(msgspec.Struct, frozen=True):
    """A name, with the number of specs that have it, or of revisions for a series or tag.

    - newest: The newest version of a package, or NAME@VERSION of a hash; empty for other kinds.
    - content: The digest of the content whose specs are counted; empty for a series or tag.
    - last_in: The ref of the last revision that had it, if it is gone.
    """

    kind: SuggestionKind
    value: str
    count: int
    newest: str = ""
    content: str = ""
    last_in: str = ""


class Suggestions:
    """Names in the order of their kinds, within a kind the most used first."""

    def __init__(self, names: Iterable[Suggestion]) -> None:
        self.names = sorted(names, key=_usage)
        self._words = [words(name.value) for name in self.names]

    @property
    def num_bytes(self) -> int:
        """Approximate memory used by the names, in bytes."""
        texts = sum(map(sys.getsizeof, self._words))
        return texts + sum(120 + sys.getsizeof(name.value) for name in self.names)

    def like(
        self, text: str, kinds: Collection[SuggestionKind], most: int
    ) -> list[tuple[int, Suggestion]]:
        """Return up to ``most`` names that resemble a text, best first, each with its tier.

        Case and the separators between words are ignored. Tiers: 0 equal, 1 begins with the text, 2
        a word begins with the text, 3 contains the text, 4 equal except for one character that is
        wrong, missing, superfluous or swapped with its neighbour. Tier 4 is used only if no other
        name resembles the text. Versions match only a text with an ``@``.
        """
        sought = words(text.lstrip(_SIGILS))
        if not sought.strip():
            return []
        if "@" not in text:
            kinds = {*kinds} - {SuggestionKind.VERSION}
        tiers: tuple[list[Suggestion], ...] = [], [], [], [], []
        inner = sought[1:]
        for name, spelling in zip(self.names, self._words, strict=True):
            if inner in spelling and name.kind in kinds:
                tiers[_tier(sought, spelling)].append(name)
        if not any(tiers) and len(inner) >= TYPO_MIN:
            tiers[TYPO].extend(name for name in self._misspelt(sought) if name.kind in kinds)
        ranked = [(tier, name) for tier, names in enumerate(tiers) for name in names[:most]]
        return ranked[:most]

    def _misspelt(self, sought: str) -> Iterator[Suggestion]:
        """Yield the names that differ from a text by a single typo."""
        length, half = len(sought), len(sought) // 2
        # A typo is in one half. If it swaps the two middle characters, those before are unchanged.
        start, end = sought[: half - 1], sought[half:]
        for name, spelling in zip(self.names, self._words, strict=True):
            if (
                -1 <= len(spelling) - length <= 1
                and sought[1:] not in spelling
                and (spelling.startswith(start) or spelling.endswith(end))
                and is_one_typo(sought, spelling)
            ):
                yield name


def words(text: str) -> str:
    """Return a text in the form that is compared: in lower case, with a space before each word."""
    return f" {text.lower().translate(_SEPARATORS).strip()}"


def _tier(sought: str, spelling: str) -> int:
    if spelling.startswith(sought):
        return 0 if len(spelling) == len(sought) else 1
    return 2 if sought in spelling else 3


def is_one_typo(one: str, other: str) -> bool:
    """Return whether two texts differ by a single typo.

    A typo is one character that is replaced, missing, or swapped with the next.
    """
    shortest = min(len(one), len(other))
    at = next((place for place in range(shortest) if one[place] != other[place]), shortest)
    rest, others = one[at:], other[at:]
    if len(rest) != len(others):
        return rest[1:] == others or rest == others[1:]
    return bool(rest) and (
        rest[1:] == others[1:] or (rest[2:] == others[2:] and rest[1::-1] == others[:2])
    )


def _usage(name: Suggestion) -> tuple[int, int, str]:
    return _ORDER[name.kind], -name.count, name.value


_ORDER = {kind: place for place, kind in enumerate(SuggestionKind)}


def merged_names(parts: Iterable[Suggestions]) -> Suggestions:
    """Return the names of all parts; one that several have is that of the first of them."""
    merged: dict[tuple[SuggestionKind, str], Suggestion] = {}
    for part in parts:
        for name in part.names:
            merged.setdefault((name.kind, name.value), name)
    return Suggestions(merged.values())


def names_of(frame: Frame, content: str) -> Iterator[Suggestion]:
    """Yield the names that a frame's specs have, each with the number of specs.

    ``content`` is the digest of the specs. The name of a version includes its package:
    ``hdf5@1.14.3``.
    """
    versions = frame.version.values
    codes = frame.package.codes.astype(np.int64) * len(versions) + frame.version.codes
    each, num_specs = np.unique(codes, return_counts=True)
    pairs_of_codes = [divmod(code, len(versions)) for code in each.tolist()]
    newest = dict(pairs_of_codes)  # the codes of versions are in their order
    counts = np.diff(frame.starts).tolist()
    for code, (package, count) in enumerate(zip(frame.packages, counts, strict=True)):
        version = versions[newest[code]]
        yield Suggestion(SuggestionKind.PACKAGE, package, count, version, content)
    for kind, pairs in (
        (SuggestionKind.STACK, frame.stacks.item_counts(slice(None))),
        (SuggestionKind.COMPILER, frame.compiler.counts(slice(None))),
        (SuggestionKind.TARGET, _with_families(frame.target.counts(slice(None)))),
        (SuggestionKind.VARIANT, frame.variants.item_counts(slice(None))),
    ):
        for value, count in pairs:
            if value and value != ROOT_STACK:
                yield Suggestion(kind, value, count, content=content)
    for (code, number), count in zip(pairs_of_codes, num_specs.tolist(), strict=True):
        value = f"{frame.packages[code]}@{versions[number]}"
        yield Suggestion(SuggestionKind.VERSION, value, count, content=content)


def _with_families(counts: Iterable[tuple[str, int]]) -> Iterable[tuple[str, int]]:
    """Return the numbers of specs of targets, and of their families."""
    targets = dict(counts)
    families: Counter[str] = Counter()
    for target, count in targets.items():
        families[family_of(target)] += count
    return (targets | families).items()


def require_names(
    frames: Sequence[Frame], stack: str | None = None, package: str | None = None, sign: str = ""
) -> None:
    """Raise InvalidArgument, with the nearest names, if no frame has a stack or package.

    The argument that the error names begins with ``sign``.
    """
    packages = {name for frame in frames for name in frame.packages}
    stacks = {name for frame in frames for name in frame.stacks.items}
    if package is not None and package not in packages:
        hint = nearest_hint(nearest_names(package, packages))
        reason = absent_name(package, hint, len(frames))
        raise InvalidArgument(f"{sign}package", reason)
    if stack is not None and stack not in stacks:
        reason = absent_name(stack, names_hint(stack, sorted(stacks)), len(frames))
        raise InvalidArgument(f"{sign}stack", reason)
