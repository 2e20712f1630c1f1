"""Phrases for causes, reasons and kinds of changes.

Terminal output, notes, feeds and pages use them; JSON and GraphQL use the values of the enums.
"""

from collections.abc import Iterator, Mapping, Sequence
from string import Formatter

import msgspec

from snapshots.changes.causes import CauseName
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.documents import COMPILER_DEPENDENCIES, COMPILER_FACTS
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.pairings import FieldChange
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.models import CauseKind
from snapshots.texts import in_words, short_hash, single_value

# -- causes


class CausePhrases(msgspec.Struct, frozen=True):
    """The phrases for a cause: as a title, as a singular noun, and as a clause ("... changed").

    Phrases are templates for ``filled``. Without a clause, the noun and "changed" form one.
    """

    title: str
    noun: str
    clause: str | None = None


_PHRASES = {
    CauseKind.VERSION: CausePhrases(
        "{package} {step}", "{package} {step}", "{package} went from {before} to {after}"
    ),
    CauseKind.RECIPE: CausePhrases(
        "recipe of {package} changed", "the recipe of {package}", "{package}'s recipe changed"
    ),
    CauseKind.REPOSITORY: CausePhrases(
        "{package} comes from {after}, before from {before}",
        "the repository of {package}{in_brackets}",
        "{package} comes from {after}, before from {before}",
    ),
    CauseKind.VARIANTS: CausePhrases(
        "{package} {step}",
        "a change of variants of {package}{in_brackets}",
        "variants of {package}{in_brackets} changed",
    ),
    CauseKind.COMPILER: CausePhrases(
        "compiler {before:none} → {after:none}", "the compiler{in_brackets}"
    ),
    CauseKind.TARGET: CausePhrases("{package} {step}", "the target of {package}{in_brackets}"),
    CauseKind.DEPENDENCY_ADDED: CausePhrases(
        "{package} now depends on {new}",
        "{package} newly depending on {new}",
        "{package} newly depends on {new}",
    ),
    CauseKind.DEPENDENCY_REMOVED: CausePhrases(
        "{package} no longer depends on {old}",
        "{package} no longer depending on {old}",
        "{package} no longer depends on {old}",
    ),
    CauseKind.PROVIDER: CausePhrases(
        "{package} with {new} in place of {old}",
        "{package} with {new} in place of {old}",
        "{package} uses {new} in place of {old}",
    ),
    CauseKind.EXTERNAL: CausePhrases(
        "external {package}: {before:?} → {after:?}", "external {package}{in_brackets}"
    ),
    CauseKind.ARCHITECTURE: CausePhrases(
        "architecture {before} → {after}", "the architecture{in_brackets}"
    ),
    CauseKind.FORMAT: CausePhrases(
        "Spack's format of specs {before} → {after}", "Spack's format of specs{in_brackets}"
    ),
    CauseKind.UNKNOWN: CausePhrases(
        "{package} changed for an unknown reason", "{package} for an unknown reason"
    ),
}
_SAME_DEPENDENCY = CausePhrases(
    "{package} depends on {new} in another way",
    "{package} depending otherwise on {new}",
    "{package} depends otherwise on {new}",
)
_SAME_DOCUMENTS = CausePhrases(
    "another Spack hashed equal documents",
    "another Spack's hashing of equal documents",
    "another Spack hashed equal documents",
)
_TARGET = CausePhrases(
    "target {target} is described otherwise (another archspec{details})",
    "the description of target {target} (another archspec{details})",
    "target {target} is described otherwise (another archspec{details})",
)
_COMPILERS = {
    COMPILER_FACTS: CausePhrases(
        "compilers became dependencies",
        "the step to compilers as dependencies",
        "compilers became dependencies",
    ),
    COMPILER_DEPENDENCIES: CausePhrases(
        "compilers are no longer dependencies",
        "the step from compilers as dependencies",
        "compilers are no longer dependencies",
    ),
}
_PATCHES = CausePhrases(
    "order of patches of {package}", "the order of patches of {package}{in_brackets}"
)
_WRITTEN = CausePhrases(
    "{package} is written otherwise: {before:as usual} → {after:as usual}",
    "the spelling of {package}{in_brackets}",
    "{package} is written otherwise ({before:as usual} → {after:as usual})",
)
_ALL_WRITTEN = CausePhrases(
    "specs are written otherwise: {before} → {after}",
    "another spelling of specs{in_brackets}",
    "specs are written otherwise ({before} → {after})",
)
_DEPENDENCIES = (CauseKind.DEPENDENCY_ADDED, CauseKind.DEPENDENCY_REMOVED)
_TITLE_VARIANTS = 60


def cause_phrases(
    kind: CauseKind, package: str | None, before: str | None, after: str | None
) -> CausePhrases:
    """Return the phrases for a cause."""
    phrases = _PHRASES[kind]
    if kind is CauseKind.FORMAT:
        return _format_phrases(package, before, after)
    if kind in _DEPENDENCIES and before == after:
        return _SAME_DEPENDENCY
    if kind is CauseKind.VERSION and None in (before, after):
        return CausePhrases(phrases.title, phrases.noun)
    if kind is CauseKind.EXTERNAL and before is after is None:
        return CausePhrases("{package} changed (outside the cache)", phrases.noun)
    return phrases


def _format_phrases(package: str | None, before: str | None, after: str | None) -> CausePhrases:
    if package is not None:
        is_order = before is not None and before.startswith("patches=")
        return _PATCHES if is_order else _WRITTEN
    if before is None or after is None:
        return _SAME_DOCUMENTS
    if before.startswith(_DESCRIBED):
        return _TARGET
    if before.isdigit() and after.isdigit():
        return _PHRASES[CauseKind.FORMAT]
    return _COMPILERS.get(before, _ALL_WRITTEN)


_DESCRIBED = "target="


def _description(before: str | None, after: str | None) -> tuple[str, str]:
    """Return the target that two sides describe, and what only one of them says of it."""
    parts = [(side or "").removeprefix(_DESCRIBED).partition(" ") for side in (before, after)]
    details = [text.replace("=", ": ") for _, _, text in parts if text]
    return parts[0][0], "".join(f"; {text}" for text in dict.fromkeys(details))


def filled(
    template: str, package: str | None, before: str | None, after: str | None
) -> Iterator[tuple[str, str]]:
    """Yield the parts of a template, each with the name of its field; literal text has none.

    Fields are ``package``, ``before`` and ``after``, or ``old`` and ``new`` if these are names of
    packages; the text after a colon replaces None. ``step`` is the value before and after, as far
    as they exist; ``in_brackets`` is the same in brackets. ``target`` and ``details`` are the parts
    of the description of a target.
    """
    step = "now {after}" if before is None else "{before} → {after}"
    if after is None:
        step = "" if before is None else "no longer {before}"
    template = template.replace("{in_brackets}", f" ({step})" if step else "")
    values = {"package": package, "before": before, "after": after, "old": before, "new": after}
    if "{target}" in template:
        values["target"], values["details"] = _description(before, after)
    for words, field, absent, _ in Formatter().parse(template.replace("{step}", step)):
        if words:
            yield words, ""
        if field:
            yield values[field] or absent or "", field


def cause_title(cause: CauseName) -> str:
    """Return a cause in one line: openssl 3.3.1 → 3.4.0."""
    before, after = cause.before, cause.after
    if cause.kind is CauseKind.VARIANTS:
        before, after = _few_variants(before), _few_variants(after)
    template = cause_phrases(cause.kind, cause.package, before, after).title
    return "".join(text for text, _ in filled(template, cause.package, before, after))


_OF_TWINS = {
    CauseKind.VERSION: "{package} {before:?} / {after:?}",
    CauseKind.RECIPE: "two recipes of {package}",
    CauseKind.VARIANTS: "{package} {before:without} / {after:without}",
    CauseKind.REPOSITORY: "{package} from {before:?} / {after:?}",
    CauseKind.COMPILER: "compiler {before:none} / {after:none}",
    CauseKind.TARGET: "{package} {before} / {after}",
    CauseKind.DEPENDENCY_ADDED: "{package} with and without {new}",
    CauseKind.PROVIDER: "{package} with {old} / {new}",
    CauseKind.EXTERNAL: "external {package}: {before:?} / {after:?}",
    CauseKind.ARCHITECTURE: "architecture {before} / {after}",
    CauseKind.FORMAT: "Spack's format of specs {before} / {after}",
    CauseKind.UNKNOWN: "{package}, for an unknown reason",
}


def twins_title(cause: CauseName) -> str:
    """Return a cause of twins, without its direction, in one line: zlib-ng 2.2.4 / 2.3.3."""
    before, after = cause.before, cause.after
    template = _OF_TWINS[cause.kind]
    if cause.kind is CauseKind.VARIANTS:
        before, after = _few_variants(before), _few_variants(after)
    elif cause.kind in _DEPENDENCIES and before == after:
        template = "{package} depends on {new} in two ways"
    elif cause.kind is CauseKind.FORMAT and not (before or "").isdigit():
        template = cause_phrases(cause.kind, cause.package, before, after).noun
    return "".join(text for text, _ in filled(template, cause.package, before, after))


def _few_variants(variants: str | None) -> str | None:
    """Return as many variants as fit into a line, or the beginning of the first one."""
    if variants is None or len(variants) <= _TITLE_VARIANTS:
        return variants
    beginning, _, _ = variants[:_TITLE_VARIANTS].rpartition(" ")
    return f"{beginning or variants[:_TITLE_VARIANTS]} …"


# -- packages


PACKAGE_KINDS = {
    PackageChangeKind.ADDED: "added",
    PackageChangeKind.REMOVED: "removed",
    PackageChangeKind.UPGRADED: "upgraded",
    PackageChangeKind.DOWNGRADED: "downgraded",
    PackageChangeKind.VERSIONS_CHANGED: "other versions",
    PackageChangeKind.BUILDS_CHANGED: "other builds",
    PackageChangeKind.MORE_BUILDS: "more builds",
    PackageChangeKind.FEWER_BUILDS: "fewer builds",
    PackageChangeKind.CHANGED: "other facts",
}
"""What happened to a package. With "other versions", the newest version is the same; with other,
more or fewer builds, all versions are."""


# -- specs


_COUNTED: dict[SpecChangeReason, tuple[str, str]] = {
    SpecChangeReason.REBUILT: ("rebuilt", "rebuilt"),
    SpecChangeReason.REPLACES: ("replaced", "replaced"),
    SpecChangeReason.RETURNED: ("returned", "returned"),
    SpecChangeReason.NEW_PACKAGE: ("of a new package", "of new packages"),
    SpecChangeReason.NEW_STACK: ("of a new stack", "of new stacks"),
    SpecChangeReason.NEW_VERSION: ("of a new version", "of new versions"),
    SpecChangeReason.NEW_TARGET: ("for a new target", "for new targets"),
    SpecChangeReason.NEW_BUILD: ("more build", "more builds"),
    SpecChangeReason.REPLACED: ("with a replacement", "with a replacement"),
    SpecChangeReason.PACKAGE_GONE: ("of a removed package", "of removed packages"),
    SpecChangeReason.STACK_GONE: ("of a removed stack", "of removed stacks"),
    SpecChangeReason.VERSION_GONE: ("of a removed version", "of removed versions"),
    SpecChangeReason.TARGET_GONE: ("for a removed target", "for removed targets"),
    SpecChangeReason.BUILD_GONE: ("build less", "builds less"),
    SpecChangeReason.FACTS: ("with other facts", "with other facts"),
}
"""The text after the number of specs that have a reason: singular and plural."""


def counted_reasons(kind: SpecChangeKind, reasons: Mapping[SpecChangeReason, int]) -> str:
    """Return the reasons of one kind of change: 605 of new packages, 1 of a new version."""
    return ", ".join(
        f"{reasons[reason]:,} {reason_phrase(reason, reasons[reason])}"
        for reason in REASONS
        if reasons.get(reason) and _kind_of(reason) is kind
    )


def reason_phrase(reason: SpecChangeReason, count: int) -> str:
    """Return the text after a number of specs that have a reason: of new packages."""
    return _COUNTED[reason][count > 1]


def counts_by_outcome(
    *, added: int, removed: int, changed: int, rebuilt: int, replaced: int
) -> list[tuple[int, str]]:
    """Return how many specs came to each end, with its name; each pair of counterparts counts once.

    The ``added`` and ``removed`` specs include those ``rebuilt`` and ``replaced``.
    """
    pairs = rebuilt + replaced
    return [
        (added - pairs, "new"),
        (removed - pairs, "removed without a replacement"),
        (replaced, "replaced"),
        (rebuilt, "rebuilt"),
        (changed, "with other facts"),
    ]


def _kind_of(reason: SpecChangeReason) -> SpecChangeKind:
    if reason is SpecChangeReason.FACTS:
        return SpecChangeKind.CHANGED
    is_gone = reason is SpecChangeReason.REPLACED or reason.value.endswith("_gone")
    return SpecChangeKind.REMOVED if is_gone else SpecChangeKind.ADDED


# -- differences of two specs


def difference_phrase(names: Sequence[str], change: FieldChange) -> str:
    """Return a phrase for a difference of a spec: version 2.8.1 → 2.8.2, +mpi → ~mpi.

    ``names`` is the path within the spec; if it is empty, only one of the two specs reaches it.
    """
    before, after = change.before, change.after
    match names:
        case []:
            return "only below the second" if before is None else "only below the first"
        case ["variants", name]:
            return arrow(variant_text(name, before), variant_text(name, after))
        case ["dependencies", name]:
            if before is None or after is None:
                return f"{'now' if before is None else 'no longer'} depends on {name}"
            return f"needs {name} for {arrow(before, after)}"
        case ["package_hash"]:
            return f"recipe {arrow(short_hash(before), short_hash(after))}"
    return f"{' '.join(map(in_words, names))} {arrow(before, after)}"


def arrow(before: object, after: object) -> str:
    """Return the change of a value in one line; a missing value is written as a word."""
    return " → ".join(
        "nothing" if value is None else single_value(value) for value in (before, after)
    )


def variant_text(name: str, value: bool | str | None) -> str | None:
    """Return a variant in Spack's notation: +mpi, ~mpi, api=v2; None if there is none."""
    if value is None:
        return None
    return f"{'+' if value else '~'}{name}" if isinstance(value, bool) else f"{name}={value}"
