"""Indexes of database version 8 converted to version 9: format 6, with new hashes.

A hash is the sha1 of a node's JSON without its key ``hash`` and without white space, its keys in
their order, in base32 and lower case (Spack 1.1, ``Spec.spec_hash``).
"""

import base64
import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping
from graphlib import TopologicalSorter
from typing import Any

FORMAT = 6
"""The format of spec nodes in which ``provided_virtuals`` is part of the hash."""

VERSION = "9"
"""The database version whose nodes have that format."""


def dag_hash(node: Mapping[str, Any]) -> str:
    """Return the hash of a node's content, regardless of its key ``hash``."""
    content = {key: value for key, value in node.items() if key != "hash"}
    text = json.dumps(content, separators=(",", ":"))
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).digest()
    return base64.b32encode(digest).decode().lower()


def rehashed(database: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return an index of version 8 as version 9, and the new hash of each of its hashes.

    ``database`` is the complete document, ``{"database": {"version": "8", "installs": ...}}``, and
    is not changed. Nodes list the virtuals that edges to them name. A node that provides nothing,
    with no provider below it, keeps its hash and its format. Raises graphlib.CycleError.
    """
    installs = database["database"]["installs"]
    edges = {
        digest: install["spec"].get("dependencies", []) for digest, install in installs.items()
    }
    provided: defaultdict[str, set[str]] = defaultdict(set)
    for edge in (edge for of_node in edges.values() for edge in of_node):
        provided[edge["hash"]].update(edge["parameters"].get("virtuals", []))
    below = {digest: [edge["hash"] for edge in of_node] for digest, of_node in edges.items()}
    hashes: dict[str, str] = {}
    nodes: dict[str, dict[str, Any]] = {}
    for digest in TopologicalSorter(below).static_order():
        if digest not in installs:
            hashes[digest] = digest
            continue
        nodes[digest] = _rehashed_node(installs[digest]["spec"], provided[digest], hashes)
        hashes[digest] = nodes[digest]["hash"]
    entries = {
        hashes[install]: {**installs[install], "spec": nodes[install]} for install in installs
    }
    mapping = {digest: hashes[digest] for digest in installs}
    return {"database": {"version": VERSION, "installs": entries}}, mapping


def _rehashed_node(
    node: Mapping[str, Any], provided: set[str], hashes: Mapping[str, str]
) -> dict[str, Any]:
    """Return a node in format 6, with its dependencies' hashes replaced by ``hashes``."""
    content: dict[str, Any] = {}
    for key, value in node.items():
        if key == "dependencies":
            content[key] = [{**edge, "hash": hashes[edge["hash"]]} for edge in value]
        else:
            content[key] = value
        if key == "package_hash" and provided:
            content["provided_virtuals"] = sorted(provided)
    if content == node:
        return content
    if "annotations" in content:
        content["annotations"] = {**content["annotations"], "original_specfile_version": FORMAT}
    return content | {"hash": dag_hash(content)}
