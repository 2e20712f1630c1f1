"""Plans: the specs that have to be built for concrete specs, and the causes."""

from collections.abc import Mapping, Sequence
from typing import Any

import strawberry

from schema.comparisons.changes import load_comparison
from schema.comparisons.comparison import ComparisonType
from schema.comparisons.explanations import SpecChangeType, spec_change_connection
from schema.context import Info, PlannedInfo
from schema.fields import gql, many, relay
from schema.fields.cost import Cost, resolver
from schema.revisions.lookup import MAX_DEPENDENCIES, ConcreteSpecInput
from schema.revisions.revision import Ref
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.plans import Plan, StackLock
from snapshots.errors import InvalidArgument
from snapshots.frames.dependencies import DependencyType
from snapshots.models import SPEC_FACTS, Dependency, Spec
from snapshots.sources.buildcache.database import cycle_reason, cycles
from snapshots.spack.names import checked_hash, checked_name, checked_variant
from snapshots.spack.notation import canonical_variants

PLANNING = Cost(weight=50_000, values=60)
"""Reading an entire revision, and comparing its specs of some stacks with the given ones."""

_UNKNOWN = "unknown"
_PLACES = ("operating_system", "platform", "target")


def stack_locks(
    inputs: Sequence[ConcreteSpecInput], stack_names: Sequence[str] = ()
) -> list[StackLock]:
    """Return the specs grouped by stack, including the stacks in ``stack_names``.

    Raises InvalidArgument with the index of an invalid spec, and for cycles.
    """
    named: list[str | None] = []
    for number, name in enumerate(stack_names):
        try:
            named.append(checked_name(name))
        except ValueError as error:
            raise InvalidArgument(f"stacks[{number}]", str(error)) from None
    inside: dict[str | None, list[Spec]] = {}
    external: dict[str | None, list[Spec]] = {}
    by_hash: dict[str, Spec] = {}
    for number, planned in enumerate(inputs):
        values = {
            name: value for name, value in gql.input_values(planned).items() if value is not None
        }
        try:
            stack = checked_name(values["stack"]) if "stack" in values else None
            spec = by_hash[planned.hash] = _spec(values)
        except ValueError as error:
            raise InvalidArgument(f"specs[{number}]", str(error)) from None
        of_stack = external if values.get("is_external") else inside
        of_stack.setdefault(stack, []).append(spec)
    for cycle in cycles(by_hash):
        raise InvalidArgument("specs", f"{cycle[0].hash} {cycle_reason(cycle)}")
    stacks = dict.fromkeys((*named, *inside, *external)) or [None]
    return [StackLock(name, inside.get(name, ()), external.get(name, ())) for name in stacks]


def _spec(values: Mapping[str, Any]) -> Spec:
    """Return the spec of the values of an input in the form of a content. Raises ValueError."""
    if "version" not in values:
        raise ValueError("version: is not given")
    facts: dict[str, Any] = {"package_hash": None} | dict.fromkeys(_PLACES, _UNKNOWN)
    for name in ("hash", "name", "version", *_PLACES, "package_hash"):
        if name in values:
            facts[name] = SPEC_FACTS[name].check(values[name])  # type: ignore[misc] # each has one
    variants = map(checked_variant, values.get("variants", ()))
    dependencies = _dependencies(values.get("dependencies"))
    return Spec(
        **facts,
        compiler=None,
        variants=canonical_variants([*variants]),
        stacks=(),
        size=None,
        tarball=None,
        dependencies=dependencies,
    )


def _dependencies(edges: Sequence[Mapping[str, Any]] | None) -> tuple[Dependency, ...] | None:
    if edges is None:
        return None
    if len(edges) > MAX_DEPENDENCIES:
        raise ValueError(f"dependencies: there are more than {MAX_DEPENDENCIES:,}")
    return tuple(sorted({edge["hash"]: _dependency(edge) for edge in edges}.values()))


def _dependency(edge: Mapping[str, Any]) -> Dependency:
    types = [DependencyType(getattr(each, "value", each)) for each in edge.get("types") or ()]
    return Dependency(
        checked_name(edge["name"]),
        checked_hash(edge["hash"]),
        tuple(sorted((each.name or "").lower() for each in {*types})),
        tuple(sorted({checked_name(name) for name in edge.get("virtuals") or ()})),
    )


@gql.object_type
class PlanType:
    """The specs that have to be built for given specs, and the causes. Specs whose hashes are in
    base, in any of its stacks, are reused. The others are compared with the specs of the same
    stacks in base.

    - num_specs: Number of given specs, counting each hash once, without external ones.
    - num_reused: Number of these specs that base has.
    - num_external: Number of external specs, which are not built.
    - num_to_build: Number of specs that have to be built.
    - size_label: The class of the number of specs to build, one of the labels of nixpkgs' pull
      requests: 0, 1-10, 11-100, 101-500, 501-1000, 1001+.
    """

    plan: strawberry.Private[Plan]
    base_info: strawberry.Private[PlannedInfo]
    head_info: strawberry.Private[PlannedInfo]

    num_specs = many.attribute("plan.num_specs", int)
    num_reused = many.attribute("plan.num_reused", int)
    num_external = many.attribute("plan.num_external", int)
    num_to_build = many.attribute("plan.to_build", int, make=len)
    size_label = many.attribute("plan.size_label", str)

    @resolver()
    def unknown_stacks(self) -> list[str]:
        """The stacks that base does not have."""
        return self.plan.unknown_stacks()

    @resolver()
    def comparison(self) -> ComparisonType:
        """The comparison of base, restricted to these stacks, with the given specs. Its ids are
        valid only in this response.
        """
        return ComparisonType(base_info=self.base_info, head_info=self.head_info)

    @relay.connection_field()
    def to_build(
        self, info: Info, stack: str | None = None, *, page: relay.PageArguments
    ) -> relay.Connection[SpecChangeType] | None:
        """The specs that have to be built, ordered by package and hash.

        - stack: Only specs of this stack.
        """
        comparison = load_comparison(info.context, self.base_info, self.head_info)
        table = comparison.changes.specs.select([SpecChangeKind.ADDED])
        if stack is not None:
            table = table.take(self.plan.head.frame.in_stack(stack)[table.after])
        return spec_change_connection(comparison, table, page)


@resolver(PLANNING)
def plan_field(
    self: Any,  # noqa: ARG001 - the root
    info: Info,
    base: Ref,
    specs: list[ConcreteSpecInput],
    stacks: list[str] | None = None,
) -> PlanType | None:
    """The specs that have to be built for some concrete specs, such as those of lock files, and the
    causes; base as in compare(base:).

    - specs: The specs of the lock files. A hash that is given for two stacks counts once, and
      belongs to both.
    - stacks: The stacks of the lock files, in addition to those that the specs name: needed for
      lock files without specs. Without any stack, the specs are compared with the entire base.
    """
    side, locks = info.context.resolve_side(base), stack_locks(specs, stacks or ())
    plan, before, after = info.context.plan(side, locks)
    return PlanType(plan=plan, base_info=before, head_info=after)
