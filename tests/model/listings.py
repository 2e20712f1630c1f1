"""Expected results of the API, computed from plain lists of records in the most obvious way."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from strawberry.utils.str_converters import to_camel_case

from snapshots.models import SHOWN_FACTS, SPEC_FACTS, Spec
from snapshots.spack.names import ROOT_STACK, natural_key
from snapshots.spack.notation import compiler_key
from snapshots.spack.versions import version_key

Json = dict[str, Any]

PLAIN_FACTS = [name for name in SHOWN_FACTS if name not in ("dependencies", "stacks")]
"""The facts of a spec that are fields of the same name, without arguments."""

# -- specs


def own_order(specs: Iterable[Spec]) -> list[Spec]:
    """Return the specs by package, newest version first, then by hash."""
    by_hash = sorted(specs, key=lambda spec: spec.hash)
    newest_first = sorted(by_hash, key=lambda spec: _age(spec.version), reverse=True)
    # Sorting in reverse is stable, so hashes are ascending within a version.
    return sorted(newest_first, key=lambda spec: spec.name)


ORDERS: Mapping[str, Callable[[Spec], Any]] = {
    "PACKAGE": lambda _spec: 0,
    "VERSION": lambda spec: _age(spec.version),
    "HASH": lambda spec: spec.hash,
    "COMPILER": lambda spec: (spec.compiler is not None, compiler_key(spec.compiler or "")),
    "TARGET": lambda spec: spec.target,
    "SIZE": lambda spec: -1 if spec.size is None else spec.size,
}


def ordered(specs: Iterable[Spec], field: str = "PACKAGE", direction: str = "ASC") -> list[Spec]:
    """Return the specs in an order of the API."""
    rising = sorted(own_order(specs), key=ORDERS[field])
    return rising if direction == "ASC" else rising[::-1]


LISTED: Mapping[str, Callable[[Spec], str]] = {
    "packages": lambda spec: spec.name,
    "versions": lambda spec: spec.version,
    "operatingSystems": lambda spec: spec.operating_system,
    "platforms": lambda spec: spec.platform,
    "targets": lambda spec: spec.target,
}


def matches(spec: Spec, conditions: Json) -> bool:
    """Return whether a spec meets a SpecFilter; variants and compilers in canonical form."""
    for name, value in conditions.items():
        if value is None:
            continue
        if name in LISTED and LISTED[name](spec) not in value:
            return False
        if name == "compilers" and not _has_compiler(spec, value):
            return False
        if name == "stacks" and not set(spec.stacks) & set(value):
            return False
        if name == "variants" and not set(value) <= set(spec.variants):
            return False
        if name == "search" and value.lower() not in spec.name.lower():
            return False
        if name == "hashPrefix" and not spec.hash.startswith(value):
            return False
    return True


def spec_json(spec: Spec) -> Json:
    """Return a spec with all scalar fields."""
    values = {name: getattr(spec, name) for name in PLAIN_FACTS}
    facts = {
        to_camel_case(name): list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
    }
    return {**facts, "short": spec.short}


def _has_compiler(spec: Spec, compilers: Sequence[str]) -> bool:
    if spec.compiler is None:
        return False
    return bool({spec.compiler, spec.compiler.split("@")[0]} & set(compilers))


def _age(version: str) -> Any:
    return version_key(version), version


# -- packages, stacks, facets

FACETS: Mapping[str, tuple[Callable[[Spec], Iterable[str | None]], Callable[[str], Any]]] = {
    "packages": (lambda spec: [spec.name], str),
    "versions": (lambda spec: [spec.version], _age),
    "compilers": (lambda spec: [spec.compiler], compiler_key),
    "operatingSystems": (lambda spec: [spec.operating_system], str),
    "platforms": (lambda spec: [spec.platform], str),
    "targets": (lambda spec: [spec.target], str),
    "stacks": (lambda spec: spec.stacks, str),
}


def counts(specs: Iterable[Spec], name: str) -> list[tuple[str, int]]:
    """Return how many specs have each value, by value."""
    values, key = FACETS[name]
    counted = Counter(value for spec in specs for value in values(spec) if value is not None)
    return [(value, counted[value]) for value in sorted(counted, key=key)]


def facets_json(specs: Sequence[Spec]) -> Json:
    """Return all facets, largest first."""
    return {
        name: [
            {"value": value, "numSpecs": count}
            for value, count in sorted(counts(specs, name), key=lambda pair: -pair[1])
        ]
        for name in FACETS
    }


def coverage_json(specs: Iterable[Spec]) -> list[Json]:
    """Return the number of specs of a package in each version and stack, without root."""
    counted = Counter(
        (spec.version, stack) for spec in specs for stack in spec.stacks if stack != ROOT_STACK
    )
    cells = sorted(counted, key=lambda cell: (_age(cell[0]), natural_key(cell[1]), cell[1]))
    return [{"values": list(cell), "numSpecs": counted[cell]} for cell in cells]


def dependent_packages_json(name: str, specs: Sequence[Spec]) -> list[Json] | None:
    """Return the packages that depend on one, those with most specs first; None if unknown."""
    if all(spec.dependencies is None for spec in specs):
        return None
    hashes = {spec.hash for spec in specs if spec.name == name}
    counted = Counter(
        spec.name for spec in specs if hashes & {edge.hash for edge in spec.dependencies or ()}
    )
    ordered = sorted(counted, key=lambda name: (-counted[name], name))
    return [{"value": name, "numSpecs": counted[name]} for name in ordered]


def package_json(name: str, specs: Sequence[Spec]) -> Json:
    """Return a package with all scalar fields and its values."""
    mine = [spec for spec in specs if spec.name == name]
    values = {key: [value for value, _ in counts(mine, key)] for key in FACETS}
    stacks = values["stacks"] if num_stacks(specs) is not None else None
    return {
        "name": name,
        "versions": values["versions"][::-1],
        "targets": values["targets"],
        "stackNames": stacks,
        "stacks": stack_nodes(stacks),
        "numSpecs": len(mine),
        "totalSize": total_size(mine),
        "coverage": coverage_json(mine),
        "dependentPackages": dependent_packages_json(name, specs),
    }


def num_stacks(specs: Iterable[Spec]) -> int | None:
    """Return the number of stacks of a revision without root; None if it states none."""
    stacks = {stack for spec in specs for stack in spec.stacks} - {ROOT_STACK}
    return len(stacks) if stacks or not specs else None


def stack_nodes(names: Sequence[str] | None) -> list[Json] | None:
    """Return stacks as objects with their names."""
    return None if names is None else [{"name": name} for name in names]


def stack_json(name: str, specs: Iterable[Spec]) -> Json:
    """Return a stack with all scalar fields."""
    mine = in_stack(specs, name)
    return {
        "name": name,
        "numPackages": len(names(mine)),
        "numSpecs": len(mine),
        "totalSize": total_size(mine),
    }


PACKAGE_ORDERS: Mapping[str, Callable[[str, Iterable[Spec]], int]] = {
    "NAME": lambda _name, _specs: 0,
    "NUM_SPECS": lambda name, specs: sum(spec.name == name for spec in specs),
    "SIZE": lambda name, specs: -1 if (size := _size_of(name, specs)) is None else size,
}


def _size_of(name: str, specs: Iterable[Spec]) -> int | None:
    return total_size(spec for spec in specs if spec.name == name)


def names(specs: Iterable[Spec]) -> list[str]:
    """Return the packages of the specs, by name."""
    return sorted({spec.name for spec in specs})


def in_stack(specs: Iterable[Spec], stack: str) -> list[Spec]:
    """Return the specs of a stack."""
    return [spec for spec in specs if stack in spec.stacks]


def total_size(specs: Iterable[Spec]) -> int | None:
    """Return the sum of the known sizes; None if none is known."""
    sizes = [spec.size for spec in specs if spec.size is not None]
    return sum(sizes) if sizes else None


# -- comparisons


def changed_fields(before: Spec, after: Spec) -> list[Json]:
    """Return the facts that differ, by name."""
    changes = []
    for path in _COMPARED:
        old, new = _plain(before, path), _plain(after, path)
        unknown = path in _MAY_BE_UNKNOWN and None in (old, new)
        if old != new and not unknown:
            changes.append({"path": path, "before": old, "after": new})
    return changes


_COMPARED = sorted(name for name, fact in SPEC_FACTS.items() if fact.is_compared)
_MAY_BE_UNKNOWN = {name for name, fact in SPEC_FACTS.items() if fact.may_be_unknown}


def _plain(spec: Spec, path: str) -> Any:
    value = getattr(spec, path)
    if path == "stacks":
        return [stack for stack in value if stack != ROOT_STACK]
    return list(value) if isinstance(value, tuple) else value


def package_kind(before: Sequence[Spec], after: Sequence[Spec]) -> str | None:
    """Return the kind of change of a package; None if it is unchanged."""
    kind = kind_by_versions(before, after)
    if kind != "DOWNGRADED":
        return kind
    places = [_versions_by_place(side) for side in (before, after)]
    fell = any(
        newest_of(places[1][place]) < newest_of(places[0][place])
        for place in places[0].keys() & places[1].keys()
        if not any(is_plain_ref(max(side[place], key=_age)) for side in places)
    )
    return kind if fell else "VERSIONS_CHANGED"


def is_plain_ref(version: str) -> bool:
    """Return whether a version is a git ref without a version, which is neither newer nor older."""
    return version.startswith("git.") and "=" not in version


def newest_of(versions: Iterable[str]) -> Any:
    """Return the sort key of the newest version."""
    return max(map(version_key, versions))


def _versions_by_place(specs: Sequence[Spec]) -> dict[object, set[str]]:
    """Return the versions for each architecture, and in each stack."""
    versions: dict[object, set[str]] = {}
    for spec in specs:
        architecture = (spec.platform, spec.operating_system, spec.target)
        for place in (architecture, *(stack for stack in spec.stacks if stack != ROOT_STACK)):
            versions.setdefault(place, set()).add(spec.version)
    return versions


def kind_by_versions(before: Sequence[Spec], after: Sequence[Spec]) -> str | None:
    """Return the kind of change of a package by versions alone; None if it is unchanged."""
    if not before or not after:
        return "ADDED" if after else "REMOVED"
    newest = [max((spec.version for spec in side), key=_age) for side in (before, after)]
    newest_keys = list(map(version_key, newest))
    if newest_keys[0] != newest_keys[1] and not any(map(is_plain_ref, newest)):
        return "UPGRADED" if newest_keys[1] > newest_keys[0] else "DOWNGRADED"
    old, new = ({spec.hash: spec for spec in side} for side in (before, after))
    if {spec.version for spec in before} != {spec.version for spec in after}:
        return "VERSIONS_CHANGED"
    if old.keys() != new.keys():
        added, removed = new.keys() - old.keys(), old.keys() - new.keys()
        if added and removed:
            return "BUILDS_CHANGED"
        return "MORE_BUILDS" if added else "FEWER_BUILDS"
    return "CHANGED" if any(changed_fields(old[key], new[key]) for key in old) else None
