"""Small catalogs for queries, with the records that were published in them."""

import random
from base64 import b32encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from hashlib import sha1
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Any

import orjson
from msgspec.structs import replace
from strawberry.utils.str_converters import to_camel_case

from schema.api import OperationResult
from schema.context import Context
from schema.fields.gql import rfc3339
from schema.node import key_of, node_id
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.contents import Content, Snapshot
from snapshots.models import Dependency, RevisionInfo, Source, Spec
from snapshots.spack.names import ROOT_STACK
from tests.model import states as model
from tests.schema.default_api import api

STATES = (
    ("develop-2025-01-05", datetime(2025, 1, 5, tzinfo=UTC)),
    ("v0.22.0", datetime(2025, 1, 8, 6, tzinfo=UTC)),
    ("develop-2025-01-12", datetime(2025, 1, 12, tzinfo=UTC)),
    ("v0.22.1", datetime(2025, 1, 15, 12, 30, tzinfo=UTC)),
    ("develop", datetime(2025, 1, 19, 23, 59, 59, tzinfo=UTC)),
    ("develop", datetime(2025, 1, 20, 0, 0, 0, 125_000, tzinfo=UTC)),
)
"""The tags of the revisions of such a catalog, oldest first, and their times."""

_NAMES = ("zlib", "hdf5", "py-numpy", "Lib10", "lib2", "openmpi")
_VERSIONS = ("1.2", "1.10", "1.2rc1", "develop", "2024.1", "1.2.1")
_COMPILERS = (None, "gcc@9.4.0", "gcc@13.2.0", "clang@16.0.6")
_MACHINES = (
    ("linux", "ubuntu22.04", "x86_64_v3"),
    ("linux", "rhel8", "neoverse_v2"),
    ("darwin", "ventura", "m1"),
)
_VARIANTS = ("+mpi", "+shared", "build_type=Release", 'cflags="-O2 -g"', "patches=26090f4,b231fcc")
_STACKS = ("e4s", "hep", "tutorial", "gpu-tests")
_SIZES = (None, 0, 1_000, 7_000_000_000)


@dataclass(frozen=True)
class State:
    """A published revision, with its records."""

    info: RevisionInfo
    specs: tuple[Spec, ...]


@dataclass(frozen=True)
class World:
    """A catalog whose records are available: ``states`` are its revisions, oldest first."""

    catalog: Catalog
    library: Library
    states: tuple[State, ...] = field(repr=False)

    def ask(self, query: str, /, **variables: Any) -> dict[str, Any]:
        """Return the response to a query, including errors."""
        return plain(api.execute(query, variables, context=self.context()))

    def data(self, query: str, /, **variables: Any) -> Any:
        """Return the data of the response to a query that must have no errors."""
        response = self.ask(query, **variables)
        assert "errors" not in response, response["errors"]
        return response["data"]

    def error(self, query: str, /, **variables: Any) -> dict[str, Any]:
        """Return the error of a query that must have exactly one."""
        (error,) = self.ask(query, **variables)["errors"]
        assert isinstance(error, dict)
        return error

    def is_permanent(self, query: str, /, **variables: Any) -> bool:
        """Return whether the response to a query that must have no errors is permanent."""
        context = self.context()
        assert not api.execute(query, variables, context=context).errors
        return context.is_permanent

    def context(self) -> Context:
        """Return the context of a new request."""
        return Context(self.catalog, self.library)

    @property
    def newest(self) -> State:
        """The newest revision."""
        return self.states[-1]


def shown(record: Any, paths: str) -> dict[str, Any]:
    """Return attributes of a record in the API form, by their last names; see ``_shown``."""
    return {
        to_camel_case(path.rpartition(".")[2]): _shown(attrgetter(path)(record))
        for path in paths.split()
    }


def counts(record: Any, names: str) -> dict[str, int]:
    """Return attributes of a record that are numbers, by their names in the API: numSpecsAdded."""
    return {to_camel_case(f"num_{name}"): getattr(record, name) for name in names.split()}


def _shown(value: Any) -> Any:
    """Return a value as the API returns it: a revision as tag and digest, a member as its name."""
    if isinstance(value, RevisionInfo):
        return {"tagName": value.tag, "digest": value.digest}
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, tuple):
        return [*value]
    return value.name if isinstance(value, Enum) else value


def plain(answer: OperationResult) -> dict[str, Any]:
    """Return a result as a client decodes it."""
    body: dict[str, Any] = orjson.loads(orjson.dumps(answer.body()))
    return body


def demo_world(folder: Path) -> World:
    """Publish six generated revisions of about 36 specs each in a folder."""
    contents = _contents(random.Random(0), 36)
    snapshots = [
        Snapshot(tag=tag, content=Content.of(specs), source=SOURCE, taken_at=taken_at)
        for (tag, taken_at), specs in zip(STATES, contents, strict=False)
    ]
    published = Catalog(str(folder)).publish(snapshots)
    return opened(
        folder,
        [
            State(publication.revision, tuple(snapshot.content.specs()))
            for publication, snapshot in zip(published, snapshots, strict=True)
        ],
    )


def published(folder: Path, *snapshots: Snapshot) -> World:
    """Publish snapshots in a folder, and open it."""
    Catalog(str(folder)).publish(snapshots)
    return opened(folder)


def snapshots_of(*states: model.State) -> Iterator[Snapshot]:
    """Yield states as revisions of develop, one day apart."""
    for number, state in enumerate(states, 1):
        outside = [spec for key, spec in state.nodes.items() if key not in state.specs]
        content = Content.of(state.specs.values(), outside)
        moment = datetime(2025, 3, number, tzinfo=UTC)
        yield Snapshot(tag="develop", content=content, source=SOURCE, taken_at=moment)


def opened(folder: Path, states: Sequence[State] = ()) -> World:
    """Open the catalog in a folder as a new server process does."""
    catalog = Catalog(str(folder))
    catalog.refresh(missing_ok=True)
    return World(catalog, Library(catalog), tuple(states))


SOURCE = Source(
    kind="pages",
    location="/somewhere/pages",
    version="0123abcd",
    importer="cachelog of a test",
    synthetic=True,
)


def _contents(draw: random.Random, num_specs: int) -> Iterator[list[Spec]]:
    """Yield contents that each have most of the specs of the previous one.

    Each removes a package and a stack; removed ones may return. Only the first four list all
    dependencies.
    """
    removed_package, removed_stack = _NAMES[0], _STACKS[0]
    specs: list[Spec] = []
    for number in count():
        specs = [
            _successor(spec, draw, removed_stack)
            for spec in specs
            if spec.name != removed_package and draw.random() < 0.9
        ]
        while len(specs) < num_specs:
            spec = _spec(draw)
            if spec.name != removed_package:
                spec = replace(spec, dependencies=_dependencies(specs, draw, is_listed=number < 4))
                specs.append(_without_stack(spec, removed_stack))
        yield specs
        removed_package, removed_stack = draw.choice(_NAMES), draw.choice(_STACKS)


def _spec(draw: random.Random) -> Spec:
    platform, operating_system, target = draw.choice(_MACHINES)
    digest = sha1(draw.randbytes(8), usedforsecurity=False).digest()
    rare = random.Random(digest)  # independent of the other facts
    return Spec(
        hash=b32encode(digest).decode().lower(),
        name=draw.choice(_NAMES),
        version=draw.choice(_VERSIONS),
        compiler=draw.choice(_COMPILERS),
        platform=platform,
        operating_system=operating_system,
        target=target,
        variants=_some(_VARIANTS, draw),
        stacks=tuple(sorted({*_some(_STACKS, draw), ROOT_STACK})),
        size=draw.choice(_SIZES),
        tarball=draw.choice((None, f'https://cache.example/a "b" ü/{draw.randrange(9)}.spack')),
        namespace=draw.choice((None, "builtin")),
        package_hash=draw.choice((None, "2345abcd")),
        patches=draw.choice((None, (), ("b231fcc4", "26090f41"))),
        provided_virtuals=rare.choice((None, (), ("libgfortran@5", "zlib-api"))),
        external_path=rare.choice((None, None, "/usr")),
        external_modules=rare.choice((None, None, (), ("gcc/13.2.0",))),
        build_spec=rare.choice((None, None, f"zlib-ng/{'a' * 32}")),
        spec_format=rare.choice((None, 5, 6)),
        explicit=rare.choice((None, False, True)),
        installed_at=rare.choice((None, "2025-03-30T12:00:00Z")),
        checksum=rare.choice((None, f"sha256:{'a' * 64}", f"sha256:{'b' * 64}")),
    )


def _dependencies(
    others: Sequence[Spec], draw: random.Random, *, is_listed: bool
) -> tuple[Dependency, ...] | None:
    """Return dependencies on some of the others, and sometimes on a spec of no revision."""
    if not is_listed and draw.random() < 0.5:
        return None
    hashes = {other.name: other.hash for other in draw.choices(others, k=3)} if others else {}
    if draw.random() < 0.2:
        hashes["gcc"] = "a" * 32
    return tuple(
        Dependency(
            name,
            hashes[name],
            _some(("build", "link", "run", "test"), draw) or ("run",),
            ("mpi",) if name == "openmpi" else (),
        )
        for name in sorted(hashes)
    )


def _successor(spec: Spec, draw: random.Random, removed_stack: str) -> Spec:
    """Return the spec with the same hash and sometimes another fact."""
    spec = _without_stack(spec, removed_stack)
    if draw.random() < 0.8:
        return spec
    changes: tuple[dict[str, Any], ...] = (
        {"stacks": tuple(sorted({*_some(_STACKS, draw), ROOT_STACK} - {removed_stack}))},
        {"variants": _some(_VARIANTS, draw)},
        {"compiler": draw.choice(_COMPILERS)},
        {"size": 12},
        {"tarball": "https://cache.example/moved.spack"},
    )
    return replace(spec, **draw.choice(changes))


def _without_stack(spec: Spec, stack: str) -> Spec:
    return replace(spec, stacks=tuple(other for other in spec.stacks if other != stack))


def _some(values: Sequence[str], draw: random.Random) -> tuple[str, ...]:
    return tuple(value for value in values if draw.random() < 0.5)


def pools_of(world: World) -> dict[str, list[str]]:
    """Return meaningful values for the arguments of the API, by their names."""
    states = world.states
    specs = [spec for state in states for spec in state.specs]
    infos = [state.info for state in states]
    names = sorted({spec.name for spec in specs})
    stacks = sorted({stack for spec in specs for stack in spec.stacks})
    refs = [*(info.tag for info in infos), *(info.digest for info in infos), infos[0].digest[:9]]
    refs += ["develop~1", "develop~7", "v0.22.1~1", "develop@2025-01-19", "develop@never"]
    ids = [
        *map(revision_id, infos),
        node_id("Tag", "develop"),
        *(comparison_id(info, infos[-1]) for info in infos),
    ]
    for state in states[::2]:
        key = key_of(state.info)
        ids += [node_id("RevisionPackage", key, name) for name in names]
        ids += [node_id("Spec", key, spec.hash) for spec in state.specs[::6]]
        ids += [node_id("Stack", key, stack) for stack in stacks]
    cursors = [*names, *(spec.hash for spec in specs), *(info.ref for info in infos)]
    return {
        "ref": refs,
        "base": refs,
        "head": refs,
        "tag": [info.tag for info in infos],
        "series": ["develop", "vX.Y.Z"],
        "id": ids,
        "ids": ids,
        "hash": [spec.hash for spec in specs],
        "hashPrefix": [spec.hash[: number % 4] for number, spec in enumerate(specs)],
        "name": [*names, *stacks, *(info.tag for info in infos)],
        "names": names,
        "packages": names,
        "search": ["li", "LI", "0", "-"],
        "versions": sorted({spec.version for spec in specs}),
        "compilers": ["gcc", "gcc@13.2.0", "gcc@=9.4.0", "clang", "none"],
        "operatingSystems": sorted({spec.operating_system for spec in specs}),
        "platforms": sorted({spec.platform for spec in specs}),
        "targets": sorted({spec.target for spec in specs}),
        "stacks": stacks,
        "matching": ["hdf5", "hdf5@1.2: %gcc", "+mpi target=m1", "zlib ^hdf5", "%gcc@13 +"],
        "variants": ["+mpi", "~mpi", "build_type:=Release", "patches=b231fcc,26090f4"],
        "after": cursors,
        "before": cursors,
    }


def revision_id(info: RevisionInfo) -> str:
    """Return the id of a revision."""
    return node_id("Revision", key_of(info))


def comparison_id(base: RevisionInfo, head: RevisionInfo) -> str:
    """Return the id of the comparison of two revisions."""
    return node_id("Comparison", key_of(base), key_of(head))
