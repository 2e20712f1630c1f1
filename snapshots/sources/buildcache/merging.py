"""The indexes of one tag, a stack each, merged: each spec once, with the stacks that have it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from snapshots.errors import SourceError
from snapshots.models import SPEC_FACTS, ProofCounts, Spec, UnprovenReason
from snapshots.sources.buildcache.caches import Cache
from snapshots.sources.buildcache.layouts import Place
from snapshots.sources.buildcache.locations import link
from snapshots.sources.buildcache.packages import Package
from snapshots.sources.buildcache.proof import record_proof
from snapshots.sources.buildcache.specs import IndexSpecs
from snapshots.sources.reports import Report

_NONE: Mapping[str, Package] = {}


class Merged:
    """The specs of several indexes; what contradicts an earlier one goes to ``report.bad``.

    ``is_installation`` tells whether one of them is the database of an installation.
    ``packages`` has what is known of them already, by hash.
    """

    def __init__(self, report: Report) -> None:
        self.is_installation = False
        self._report = report
        self._specs: dict[str, Spec] = {}
        self._outside: dict[str, Spec] = {}
        self._homes: dict[str, Place] = {}
        self._stacks: defaultdict[str, set[str]] = defaultdict(set)
        self._unproven: dict[str, UnprovenReason | None] = {}
        self.packages: dict[str, Package] = {}

    def add(
        self,
        stack: str | None,
        specs: IndexSpecs,
        home: Place,
        packages: Mapping[str, Package] = _NONE,
    ) -> None:
        """Take in one index. Its ``packages`` are those that reading it told, by hash.

        What one index does not know of a spec, another one may. The package of a spec is that of
        the first one that told it, otherwise it is where the first one is that has the spec. Of a
        spec outside the cache the first index that states a fact counts.
        """
        self.is_installation |= specs.is_installation
        for digest, spec in specs.outside.items():
            known = self._outside.setdefault(digest, spec)
            self._outside[digest] = _completed(known, spec)
        for digest, spec in specs.in_cache.items():
            known = self._specs.setdefault(digest, spec)
            if known is spec:
                self._homes[digest] = home
            elif known != spec:
                completed = _completed(known, spec)
                if completed != _completed(spec, known):
                    self._report.bad(self._conflict(known, spec, home))
                    continue
                self._specs[digest] = completed
            if digest in packages and digest not in self.packages:
                self._homes[digest], self.packages[digest] = home, packages[digest]
            if stack is not None:
                self._stacks[digest].add(stack)
            if digest in specs.unproven:
                record_proof(self._unproven, digest, specs.unproven[digest])

    def proof(self) -> ProofCounts:
        """Return how many hashes were found right; one that one index proves is proven."""
        return ProofCounts.of(self._unproven.values())

    def add_to_all(self, stack: str) -> None:
        """Let every spec be in a stack."""
        for digest in self._specs:
            self._stacks[digest].add(stack)

    def by_cache(self) -> Mapping[Cache | None, Sequence[Spec]]:
        """Return the specs whose package is not known by the build cache that it lies in.

        None stands for an unknown one.
        """
        found: defaultdict[Cache | None, list[Spec]] = defaultdict(list)
        for digest, spec in self._specs.items():
            if digest not in self.packages:
                found[self._homes[digest].cache].append(spec)
        return found

    def specs(self, packages: Mapping[str, Package]) -> Iterator[Spec]:
        """Yield each spec with its stacks, and the size and URL of its package if known."""
        shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        for digest, spec in self._specs.items():
            stacks = tuple(sorted(self._stacks[digest]))
            cache = self._homes[digest].cache
            package = packages.get(digest)
            tarball = cache.tarball(spec) if cache else None
            if package and cache:
                tarball = link(cache.base, package.path)
            yield msgspec.structs.replace(
                spec,
                stacks=shared.setdefault(stacks, stacks),
                size=package.size if package else None,
                tarball=tarball,
            )

    def outside(self) -> Iterator[Spec]:
        """Yield what those in the cache depend on, near or far, without being there themselves.

        A spec that one index has in the cache is in the cache, whatever the others say.
        """
        seen: set[str] = set()
        pending = _ends(self._specs.values())
        while pending:
            seen |= pending
            found = [
                self._outside[digest]
                for digest in pending
                if digest in self._outside and digest not in self._specs
            ]
            yield from found
            pending = _ends(found) - seen

    def _conflict(self, known: Spec, spec: Spec, home: Place) -> SourceError:
        for field in Spec.__struct_fields__:
            before, now = getattr(known, field), getattr(spec, field)
            is_unknown = SPEC_FACTS[field].may_be_unknown and None in (before, now)
            if before != now and not is_unknown:
                break
        first = self._homes[spec.hash].location
        reason = f"{field} is {now!r}, but {before!r} in {first}"
        return SourceError(home.location, reason, key=f"installs.{spec.hash}")


def _completed(spec: Spec, other: Spec) -> Spec:
    """Return a spec with the facts of another record of it that its own does not know.

    Its hash covers neither who asked for it nor when it was installed, so that two installations
    may say other things: it is explicit where one of them says so, and there since the earlier
    moment.
    """
    known = {
        name: value
        for name, fact in SPEC_FACTS.items()
        if fact.may_be_unknown
        and getattr(spec, name) is None
        and (value := getattr(other, name)) is not None
    }
    if spec.explicit is not None and other.explicit is not None:
        known["explicit"] = spec.explicit or other.explicit
    if spec.installed_at is not None and other.installed_at is not None:
        known["installed_at"] = min(spec.installed_at, other.installed_at)
    return msgspec.structs.replace(spec, **known) if known else spec


def _ends(specs: Iterable[Spec]) -> set[str]:
    return {edge.hash for spec in specs for edge in spec.dependencies or ()}
