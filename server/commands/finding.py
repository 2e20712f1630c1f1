"""``cachelog find``: which specs of a revision a query in Spack's language asks for."""

from typing import Annotated, Any

import msgspec
import numpy as np
import typer

from server.console import DEFAULT_CATALOG, CatalogOption, JsonOption, note, say, say_json
from snapshots.catalog.catalog import Catalog
from snapshots.frames import matching
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.package_names import require_known
from snapshots.models import Spec, revision_facts


def find_command(
    spec: Annotated[
        list[str],
        typer.Argument(
            metavar="SPEC...",
            help="What to look for, in Spack's language: hdf5@1.12: +mpi %gcc@13 ^zlib. What "
            "stands behind % or ^ describes that dependency, so the spec's own facts come first. "
            "Write ~NAME for a variant that is off, or put the query in quotes.",
        ),
    ],
    ref: Annotated[
        str | None,
        typer.Option(
            "--in",
            metavar="REF",
            help="The revision to look in: TAG, TAG~N, TAG@DATE or a digest; by default the newest "
            "of the catalog.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=0, help="Print this many at the most; all by default.")
    ] = None,
    as_json: JsonOption = False,
    catalog: CatalogOption = DEFAULT_CATALOG,
) -> None:
    """Print the specs that match, by package, newest version first; none is no failure."""
    query = " ".join(spec)
    asked = matching.read(query)
    opened = Catalog(catalog)
    history = opened.require_history()
    revision = history.revisions[0] if ref is None else history.resolve(ref)
    frame = opened.load(revision.digest)

    def graph() -> DependencyGraph:
        return DependencyGraph(opened.load_dependencies(revision.digest), frame.hashes)

    rows = np.flatnonzero(matching.select(frame, asked, graph)).tolist()
    if not rows:
        require_known(asked, frame, graph, opened.package_names)
    found = [frame.spec(row) for row in rows[:limit]]
    if as_json:
        facts = {"revision": revision_facts(revision), "query": query, "total": len(rows)}
        say_json(facts | {"specs": list(map(_facts, found))})
        return
    title = f"{revision.tag} of {revision.taken_at:%Y-%m-%d} ({revision.digest[:12]})"
    if not rows:
        note(f"No spec of {title} matches {query}.")
        return
    for it in found:
        say(f"{it.hash} {it.short}")
    shown = f"{len(found):,} of " if len(found) < len(rows) else ""
    say(f"{shown}{len(rows):,} {'spec' if len(rows) == 1 else 'specs'} in {title}")


def _facts(spec: Spec) -> dict[str, Any]:
    facts: dict[str, Any] = msgspec.to_builtins(spec)
    # Not read here: a null would say that they are not known.
    del facts["dependencies"]
    return {"hash": facts.pop("hash"), "short": spec.short} | facts
