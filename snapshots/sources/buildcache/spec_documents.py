"""Specs that are read one by one, each from a document of its own, where no index has them all.

Source: the documents that ``spack buildcache push`` writes, ``{"spec": {"_meta": {"version"},
"nodes": [...]}}``. The first node is the spec itself, the others are what it depends on, near and
far; a node has the same form as in an index.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Raw

from snapshots.errors import SourceError
from snapshots.models import UnprovenReason
from snapshots.sources.buildcache import specs
from snapshots.sources.buildcache.databases import NEWEST_FORMAT, Install, Node
from snapshots.sources.buildcache.decoding import decode_json
from snapshots.sources.buildcache.proof import record_proof, unproven_reason
from snapshots.sources.buildcache.specs import IndexSpecs, Place
from snapshots.sources.reports import Report
from snapshots.wording import quoted

FORMATS = range(2, NEWEST_FORMAT + 1)
"""The versions of the format that can be read."""


class _Meta(msgspec.Struct):
    version: int


class _Nodes(msgspec.Struct):
    meta: _Meta = msgspec.field(name="_meta")
    nodes: list[Raw]


class _Document(msgspec.Struct):
    spec: _Nodes


class SpecDocuments:
    """The specs of many documents, put together as an index would have them.

    ``location`` names all of them in warnings, as the folder or the registry that they lie in.
    With ``proof`` the hashes of nodes are computed anew.
    """

    def __init__(self, location: str, report: Report, *, proof: bool = True) -> None:
        self._location = location
        self._report = report
        self._proof = proof
        self._unproven: dict[str, UnprovenReason | None] = {}
        self._installs: dict[str, Install] = {}
        self._places: dict[str, Place] = {}
        self._seen: set[bytes] = set()

    def add(self, digest: str, document: bytes | bytearray, location: str) -> None:
        """Take in the document of the spec with the hash ``digest``; ``location`` names it.

        A node that other documents have too counts once: as its own document has it, otherwise as
        the first one. Raises SourceError, with nothing taken in, for what is no such document, is
        of another format, or is that of another spec or of one that has a document already, or
        where a node has another hash than it says.
        """
        spec = decode_json(document, _Document, location).spec
        if spec.meta.version not in FORMATS:
            known = f"{FORMATS[0]} to {FORMATS[-1]}"
            reason = f"{spec.meta.version} is not a format of specs that can be read: {known}"
            raise SourceError(location, reason, key="spec._meta.version")
        new = self._new_nodes(spec.nodes, location)
        own = new.get(0)
        if own is None or own.hash != digest:
            stated = "nothing" if own is None else quoted(own.hash or "")
            reason = f"is {stated}, but the document is published as that of {quoted(digest)}"
            raise SourceError(location, reason, key="spec.nodes[0].hash")
        if digest in self._installs and self._installs[digest].in_buildcache:
            first = self._places[digest].location
            raise SourceError(location, f"holds the spec {digest}, which {first} holds, too")
        unproven = {
            node.hash or "": unproven_reason(
                bytes(spec.nodes[index]),
                node.hash or "",
                spec.meta.version,
                location,
                f"spec.nodes[{index}]",
            )
            for index, node in new.items()
            if self._proof
        }
        for index, node in new.items():
            self._take(node, Place(location, *[f"spec.nodes[{index}]"] * 2), is_own=index == 0)
        self._seen.update(map(bytes, spec.nodes))
        for node_hash, why in unproven.items():
            record_proof(self._unproven, node_hash, why)

    def specs(self) -> IndexSpecs:
        """Return the records of all that was added: as in the cache, and as outside of it.

        A spec that cannot be read goes to ``report.bad``.
        """
        return specs.gather(
            self._installs,
            self._location,
            self._report,
            self._places.__getitem__,
            self._unproven,
        )

    def _new_nodes(self, raws: list[Raw], location: str) -> Mapping[int, Node]:
        """Return the nodes by their position: the spec itself, and those not met before."""
        nodes = {}
        for index, raw in enumerate(raws):
            text = bytes(raw)
            if index == 0 or text not in self._seen:
                key = f"spec.nodes[{index}]"
                nodes[index] = node = decode_json(text, Node, location, key)
                if node.hash is None:
                    raise SourceError(location, "is missing", key=f"{key}.hash")
        return nodes

    def _take(self, node: Node, place: Place, *, is_own: bool) -> None:
        digest = node.hash or ""
        if is_own:
            self._installs[digest] = Install(in_buildcache=True, spec=node)
            self._places[digest] = place
        elif digest not in self._installs:
            self._installs[digest] = Install(in_buildcache=False, spec=node)
            self._places[digest] = place
