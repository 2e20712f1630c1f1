"""Causes in what the hash covers besides own facts: externals, and how documents are written.

Two nodes with equal own facts can have different hashes because their documents differ:

- The path, the modules or other attributes of an external spec: a cause of kind EXTERNAL.
- Spack's format of specs, the description of a target below its name, compilers that became
  dependencies: causes of kind FORMAT, each one cause for all packages, also of nodes whose own
  facts differ.
- The order or the spelling of values: of kind FORMAT if both sides have the same values, else
  VARIANTS. Virtual packages that a recipe declares otherwise are of kind RECIPE.
- Nothing: if the documents are equal, another Spack hashed them, a cause of kind FORMAT.

A source that has no whole documents states no ``spelling``; then only facts that both state differ.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.arrays import FactBits, Mask, Numbers
from snapshots.changes.cause_graph import PairGraph
from snapshots.changes.pairings import FieldChange
from snapshots.changes.sides import Side, became_dependencies, differ_in
from snapshots.frames.columns import Arrays
from snapshots.models import CauseKind
from snapshots.spack.notation import COMPILER_FLAGS, recorded_value

EXTERNAL_FACTS = ("external_path", "external_modules", "external_attributes")
_CONTENT = ("patches", "build_spec")
_WRITING = ("package_hash", "namespace", "spec_format", "provided_virtuals")
_DOCUMENT_FACTS = (*EXTERNAL_FACTS, *_CONTENT, *_WRITING, "spelling")

COMPILER_FACTS = "compilers as facts"
COMPILER_DEPENDENCIES = "compilers as dependencies"
"""Before and after of the cause of kind FORMAT if compilers became dependencies, or the reverse."""

_TARGET = "target="

Named = tuple[CauseKind, str | None, str | None, str | None]
"""A kind, a package, before and after."""


class Documents(Arrays, msgspec.Struct, frozen=True):
    """How the documents of the pairs of a graph differ.

    - formats: The spec formats differ.
    - targets: A target of one name is described differently.
    - compilers: The compiler is a fact of one node and a dependency of the other.
    - external: The path, the modules or the attributes of an external spec differ, and no own fact.
    - other: Something else in the documents differs, and no own fact.
    - are_whole: Both sources state the whole documents.
    """

    formats: Mask
    targets: Mask
    compilers: Mask
    external: Mask
    other: Mask
    are_whole: Mask

    @property
    def differ(self) -> Mask:
        """A mask of the pairs with any difference."""
        mask: Mask = self.formats | self.targets | self.compilers | self.external | self.other
        return mask


def compare_documents(base: Side, head: Side, graph: PairGraph, facts: FactBits) -> Documents:
    """Compare the documents of all pairs; ``facts`` are their differing own facts."""
    nodes = base, graph.base_nodes, head, graph.head_nodes
    is_stated = ~graph.is_external
    # Two specs that a reader compares can be of different packages.
    of_one_package = ~_differs("package", *nodes)
    formats = differ_in("spec_format", *nodes) & of_one_package
    compilers = became_dependencies(*nodes) & of_one_package
    spellings = [side.column("spelling") for side in (base, head)]
    are_whole = is_stated & of_one_package
    of_targets, of_rest = [], []
    for column, own in zip(spellings, (graph.base_nodes, graph.head_nodes), strict=True):
        codes = column.codes[own]
        are_whole &= column.known()[codes]
        split = np.array([_hashes(parts) for parts in column.values], np.int64).reshape(-1, 2)
        of_targets.append(split[codes, 0])
        of_rest.append(split[codes, 1])
    targets = are_whole & (of_targets[0] != of_targets[1])
    targets &= ~differ_in("target", *nodes)
    are_alike = is_stated & (facts == 0) & of_one_package
    external = are_alike & np.logical_or.reduce([_differs(name, *nodes) for name in EXTERNAL_FACTS])
    by_writer = formats | compilers
    other = of_rest[0] != of_rest[1]
    for name in _WRITING:
        other |= _differs(name, *nodes)
    other &= ~by_writer
    for name in _CONTENT:
        other |= _differs(name, *nodes)
    other &= are_whole & are_alike & ~external
    return Documents(formats, targets, compilers, external, other, are_whole)


def _hashes(parts: Sequence[str] | None) -> tuple[int, int]:
    """Return the hashes of the description of the target, and of the other parts."""
    if not parts:
        return 0, 0
    target = tuple(part for part in parts if part.startswith(_TARGET))
    rest = tuple(part for part in parts if not part.startswith(_TARGET))
    return hash(target) if target else 0, hash(rest) if rest else 0


def _differs(name: str, base: Side, base_nodes: Any, head: Side, head_nodes: Any) -> Mask:
    """Return where a fact differs, also if only one side has it."""
    before, after = base.column(name), head.column(name)
    mask: Mask = before.row_hashes(base_nodes) != after.row_hashes(head_nodes)
    return mask


# -- names


def groups_of(
    kind: str, base: Side, head: Side, nodes: Sequence[Numbers]
) -> list[npt.NDArray[Any]]:
    """Return the codes of all that the names of some pairs depend on; ``kind`` as in names_of."""
    names = {"targets": ("target", "spelling"), "external": ("name", *EXTERNAL_FACTS)}.get(
        kind, ("name", *_DOCUMENT_FACTS)
    )
    return [
        side.column("package" if name == "name" else name).codes[of_side]
        for side, of_side in zip((base, head), nodes, strict=True)
        for name in names
    ]


Values = Mapping[str, Any]
"""The facts of a node by name."""


def target_name(before: Values, after: Values) -> Named:
    """Return the cause of two descriptions of a target; both sides name what only they have."""
    name = before["target"]
    old, new = (_described(values) for values in (before, after))
    sides = []
    for own, other in ((old, new), (new, old)):
        items = [
            f"{key}={','.join(_only(value, other.get(key)))}"
            for key, value in own.items()
            if key != "name" and _only(value, other.get(key))
        ]
        sides.append(" ".join([f"{_TARGET}{name}", *items]))
    return CauseKind.FORMAT, None, sides[0], sides[1]


def _described(values: Values) -> dict[str, Any]:
    for part in values["spelling"] or ():
        if part.startswith(_TARGET):
            description = json.loads(part.removeprefix(_TARGET))
            return description if isinstance(description, dict) else {}
    return {}


def _only(value: object, other: object) -> list[str]:
    """Return the items of a list, or the value, that the other one does not have."""
    items, others = (
        list(map(str, some)) if isinstance(some, list) else [str(some)] for some in (value, other)
    )
    return [item for item in items if item not in others]


def external_name(before: Values, after: Values) -> Named:
    """Return the cause of an external spec; before and after are the values that differ."""
    sides: list[list[str]] = [[], []]
    path, modules, attributes = (
        [values[name] for values in (before, after)] for name in EXTERNAL_FACTS
    )
    if path[0] != path[1]:
        for side, value in zip(sides, path, strict=True):
            side += [value] if value else []
    if modules[0] != modules[1]:
        for side, value in zip(sides, modules, strict=True):
            side += [f"module {' '.join(value)}"] if value else []
    if attributes[0] != attributes[1]:
        for side, own, other in zip(sides, attributes, attributes[::-1], strict=True):
            side += sorted(set(own or ()) - set(other or ()))
    old, new = (", ".join(side) or None for side in sides)
    return CauseKind.EXTERNAL, before["name"], old, new


def other_name(before: Values, after: Values) -> Named:
    """Return the cause of two documents that differ in none of the above."""
    package = before["name"]
    if before["patches"] != after["patches"]:
        old, new = (_joined("patches", values["patches"]) for values in (before, after))
        is_order = sorted(before["patches"] or ()) == sorted(after["patches"] or ())
        return CauseKind.FORMAT if is_order else CauseKind.VARIANTS, package, old, new
    if before["build_spec"] != after["build_spec"]:
        old, new = (_joined("build_spec", values["build_spec"]) for values in (before, after))
        return CauseKind.VARIANTS, package, old, new
    for name in ("package_hash", "namespace", "spec_format"):
        old, new = before[name], after[name]
        if old != new:  # one of them is unknown, else they differ as own facts
            texts = [f"{'without' if value is None else 'with'} {name}" for value in (old, new)]
            return CauseKind.FORMAT, None, texts[0], texts[1]
    if before["provided_virtuals"] != after["provided_virtuals"]:
        return CauseKind.RECIPE, package, None, None
    old_parts, new_parts = (
        dict(part.split("=", 1) for part in values["spelling"] or ()) for values in (before, after)
    )
    name = min(
        name for name in old_parts.keys() | new_parts if old_parts.get(name) != new_parts.get(name)
    )
    return _spelled(package, name, old_parts.get(name), new_parts.get(name), (before, after))


def _spelled(
    package: str, part: str, old: str | None, new: str | None, sides: Sequence[Values]
) -> Named:
    """Return the cause of a part that is spelled differently; None if it is spelled as usual."""
    shown = part.removeprefix("parameters.")
    if old is None or new is None:
        usual = _usual(part, sides[old is not None])
        old, new = (usual if value is None else value for value in (old, new))
    is_same = not part.startswith("parameters.") or _values(old) == _values(new)
    old, new = (None if value is None else f"{shown}={value}" for value in (old, new))
    return CauseKind.FORMAT if is_same else CauseKind.VARIANTS, package, old, new


def _usual(part: str, values: Values) -> str | None:
    """Return the usual spelling of a parameter that a variant represents; None for other parts."""
    _, _, name = part.partition("parameters.")
    for variant in values["variants"]:
        if variant in (f"+{name}", f"~{name}"):
            return json.dumps(variant[0] == "+")
        if name and variant.startswith(f"{name}="):
            text = recorded_value(variant.removeprefix(f"{name}="))
            if name in COMPILER_FLAGS:
                return json.dumps(text.split(" "))
            return json.dumps(text.split(",") if "," in text else text)
    return None


def _values(text: str | None) -> list[str]:
    """Return the values of a parameter in JSON, in order."""
    value = None if text is None else json.loads(text)
    return sorted(map(str, value if isinstance(value, list) else [value]))


def _joined(name: str, values: Sequence[str] | str | None) -> str | None:
    text = values if isinstance(values, str) else ",".join(values or ())
    return f"{name}={text}" if text else None


EQUAL: Named = (CauseKind.FORMAT, None, None, None)
"""The cause of equal documents with different hashes."""


def document_changes(before: Values, after: Values) -> list[FieldChange]:
    """Return the differing facts of two documents; of lists, what only one side has."""
    changes = []
    for name in _DOCUMENT_FACTS:
        old, new = before[name], after[name]
        if old == new:
            continue
        if isinstance(old, tuple) and isinstance(new, tuple) and {*old} != {*new}:
            old, new = (
                [item for item in own if item not in o] for own, o in ((old, new), (new, old))
            )
        changes.append(
            FieldChange(name, *(list(v) if isinstance(v, tuple) else v for v in (old, new)))
        )
    return changes
