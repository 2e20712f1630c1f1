"""Entries of a site: packages, stacks, specs and hashes that have pages; and its search index."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from sys import maxsize
from typing import Any
from urllib.parse import unquote

import msgspec
import orjson

from server.pages.addresses import path_of
from server.site.queries import Role, SiteRevisions
from snapshots.models import RevisionInfo
from snapshots.texts import counted, versioned

INDEX_FILE = "search-index.js"
"""The file of the search index: a script, because pages on a disk can load only scripts."""

_PAGE_SIZE = 1_000
_MAX_NAME_LENGTH = 200
_PAGE = "pageInfo { hasNextPage endCursor }"
_PACKAGES = f"""query ($first: Int!, $after: String) {{
  packages(first: $first, after: $after) {{
    {_PAGE} nodes {{ name isGone best {{ versions lastSeen {{ tag }} }} }}
  }}
}}"""
_PACKAGES_OF_REVISION = f"""query ($ref: String!, $first: Int!, $after: String) {{
  revision(ref: $ref) {{ packages(first: $first, after: $after) {{ {_PAGE} nodes {{ name }} }} }}
}}"""
_STACKS = "query ($ref: String!) { revision(ref: $ref) { stackNodes { name numSpecs } } }"
_SPECS = f"""query ($ref: String!, $first: Int!, $after: String) {{
  revision(ref: $ref) {{
    specs(first: $first, after: $after) {{ {_PAGE} nodes {{ hash name version target }} }}
  }}
}}"""
_REMOVED = f"""query ($base: String!, $head: String!, $first: Int!, $after: String) {{
  compare(base: $base, head: $head) {{
    specs(kinds: [REMOVED], first: $first, after: $after) {{
      {_PAGE} nodes {{ hash before {{ name version target }} }}
    }}
  }}
}}"""

_COMMITS = f"""query ($base: String!, $head: String!, $first: Int!, $after: String) {{
  compare(base: $base, head: $head) {{
    commits(first: $first, after: $after) {{ {_PAGE} nodes {{ commit {{ oid }} }} }}
  }}
}}"""

Query = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Returns the single root field of the answer to a document with variables; None if missing."""


class SiteEntry(msgspec.Struct, frozen=True):
    """A subject with pages at ``addresses``, described by ``kind``, ``value`` and ``detail``.

    The search index links to the first address. It omits entries without a ``value``.
    """

    addresses: list[str]
    kind: str = ""
    value: str = ""
    detail: str = ""


async def entries(query: Query, chosen: SiteRevisions, limit: int) -> list[SiteEntry]:
    """Return the entries of a site, at most ``limit`` of each kind except commits.

    These are the packages of the catalog; the packages, stacks and specs of the newest revision of
    each series; the hashes that its comparisons removed; and the commits that explain them.
    """
    revisions = chosen.revisions
    newest = {of_series[0].digest: of_series[0].tag for of_series in revisions.values()}
    refs = [{"ref": digest} for digest in newest]
    pairs = [{"base": pair[Role.BASE], "head": pair[Role.HEAD]} for pair in chosen.comparisons]
    listed = [*_series(chosen)]
    listed += [_package(node) async for node in _nodes(query, _PACKAGES, [{}], limit)]
    listed += [
        SiteEntry([path_of("r", node["ref"], "packages", node["name"])])
        async for node in _nodes(query, _PACKAGES_OF_REVISION, refs, limit)
    ]
    for digest, tag in newest.items():
        stacks = (await query(_STACKS, {"ref": digest}) or {}).get("stackNodes") or ()
        listed += [_stack(stack, digest, tag) for stack in stacks[:limit]]
    listed += [
        _hash(node["hash"], node, path_of("r", node["ref"], "specs", node["hash"]))
        async for node in _nodes(query, _SPECS, refs, limit)
    ]
    listed += [
        _hash(node["hash"], node["before"]) async for node in _nodes(query, _REMOVED, pairs, limit)
    ]
    listed += [
        SiteEntry([path_of("commits", node["commit"]["oid"])])
        async for node in _nodes(query, _COMMITS, pairs, maxsize)
    ]
    return [entry for entry in listed if _can_be_files(entry.addresses)]


def index_script(found: Iterable[tuple[SiteEntry, str]]) -> bytes:
    """Return the search index as a script, from entries and the links to their pages."""
    rows = {
        entry.addresses[0]: [entry.kind, entry.value, entry.detail, link] for entry, link in found
    }
    return b"globalThis.searchIndex = " + orjson.dumps(list(rows.values())) + b";\n"


def _can_be_files(addresses: Iterable[str]) -> bool:
    """Return whether names in addresses are valid file names: sources choose names of stacks."""
    names = [unquote(part) for address in addresses for part in address.split("/")[1:]]
    return all(
        0 < len(name.encode()) <= _MAX_NAME_LENGTH
        and name.strip(".")
        and name.isprintable()
        and "/" not in name
        for name in names
    )


async def _nodes(
    query: Query, text: str, each: Iterable[Mapping[str, Any]], limit: int
) -> AsyncIterator[dict[str, Any]]:
    """Yield the nodes of the list in a document, for each set of variables in turn.

    A node also contains the variables with which it was queried.
    """
    for variables in each:
        after = None
        while limit > 0:
            page = {"first": min(limit, _PAGE_SIZE), "after": after}
            answer = await query(text, {**variables, **page})
            for name in ("packages", "specs", "commits"):
                answer = (answer or {}).get(name, answer)
            if answer is None:
                break  # data that cannot be read have no pages
            for node in answer["nodes"]:
                limit -= 1
                yield {**variables, **node}
            after = answer["pageInfo"]["endCursor"]
            if not answer["pageInfo"]["hasNextPage"]:
                break


def _series(chosen: SiteRevisions) -> Iterator[SiteEntry]:
    """Yield the entries of a site's series, and of its tags with their newest revisions."""
    by_tag: dict[str, RevisionInfo] = {}
    for name, revisions in chosen.revisions.items():
        detail = counted(len(revisions), "revision")
        yield SiteEntry([path_of("series", name)], "series", name, detail)
        by_tag |= {revision.tag: revision for revision in reversed(revisions)}
    for tag, revision in by_tag.items():
        detail = counted(revision.num_specs, "spec")
        yield SiteEntry([path_of("r", revision.digest)], "revision", tag, detail)


def _package(node: Mapping[str, Any]) -> SiteEntry:
    name, best = node["name"], node["best"]
    what = "removed, last" if node["isGone"] else best["versions"][0]
    addresses = [path_of("packages", name), path_of("packages", name, "availability")]
    return SiteEntry(addresses, "package", name, f"{what} in {best['lastSeen']['tag']}")


def _stack(node: Mapping[str, Any], digest: str, tag: str) -> SiteEntry:
    detail = f"{counted(node['numSpecs'], 'spec')} in {tag}"
    return SiteEntry([path_of("r", digest, "stacks", node["name"])], "stack", node["name"], detail)


def _hash(digest: str, spec: Mapping[str, Any], *others: str) -> SiteEntry:
    detail = f"{versioned(spec['name'], spec['version'])} for {spec['target']}"
    return SiteEntry([path_of("hash", digest), *others], "hash", digest, detail)
