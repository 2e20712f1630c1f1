"""The entry points of the API."""

from typing import Annotated

import strawberry

from schema.comparison import Comparison
from schema.connections import After, Before, Connection, First, Last, PageArguments
from schema.context import Context, Info
from schema.node import Node, parse_node_id
from schema.package import Package
from schema.revision import Revision, Tag, revision_connection
from schema.scalars import given
from schema.spec import Spec
from schema.stack import stack_of
from snapshots.errors import InvalidArgument, RevisionNotFound
from snapshots.models import RevisionInfo

_REF = (
    "TAG (its newest revision), TAG~N (N before it in its series), TAG@DATE (the newest at or "
    "before a date), a digest, or an unambiguous prefix of one (6+ hex digits)."
)


@strawberry.type(description="What can be asked of the catalog.")
class Query:
    """The root of all questions."""

    @strawberry.field(description="An object by its id; null where there is none of that id.")
    def node(
        self,
        info: Info,
        id: Annotated[strawberry.ID, strawberry.argument(description="The object's id.")],
    ) -> Node | None:
        return find_node(info.context, id)

    @strawberry.field(description="Objects by their ids, in the same order; null where none is.")
    def nodes(
        self,
        info: Info,
        ids: Annotated[list[strawberry.ID], strawberry.argument(description="The objects' ids.")],
    ) -> list[Node | None]:
        return [_node_or_error(info.context, id) for id in ids]  # type: ignore[misc]

    @strawberry.field(
        description="Every tag of the catalog, in natural order: develop, then releases newest "
        "first, then dated snapshots newest first."
    )
    def tags(self, info: Info) -> list[Tag]:
        return [Tag(name=name) for name in info.context.changing_history().tags]

    @strawberry.field(description="A tag by its name.")
    def tag(
        self,
        info: Info,
        name: Annotated[str, strawberry.argument(description="The tag's name.")],
    ) -> Tag | None:
        known = info.context.changing_history().of_tag(name)
        return Tag(name=name) if known else None

    @strawberry.field(description="Published revisions, newest first.")
    def revisions(
        self,
        info: Info,
        tag: Annotated[
            str | None, strawberry.argument(description="Only those of this tag.")
        ] = strawberry.UNSET,
        first: First = strawberry.UNSET,
        after: After = strawberry.UNSET,
        last: Last = strawberry.UNSET,
        before: Before = strawberry.UNSET,
    ) -> Connection[Revision]:
        arguments = PageArguments.of(first, after, last, before)
        return revision_connection(info.context.changing_history(), given(tag), arguments)

    @strawberry.field(
        description=f"One revision. ref is one of: {_REF} Without ref: the newest revision of the "
        "catalog. An unknown ref gives null and an error with extensions.code REVISION_NOT_FOUND "
        "whose message names the nearest known refs."
    )
    def revision(
        self,
        info: Info,
        ref: Annotated[str | None, strawberry.argument(description=_REF)] = strawberry.UNSET,
    ) -> Revision | None:
        return Revision(info=_resolve(info.context, ref))

    @strawberry.field(description="What changed from base to head; refs as in revision(ref:).")
    def compare(
        self,
        info: Info,
        base: Annotated[str, strawberry.argument(description=_REF)],
        head: Annotated[str, strawberry.argument(description=_REF)],
    ) -> Comparison | None:
        resolve = info.context.resolve
        return Comparison(base_info=resolve(base), head_info=resolve(head))


def _node_or_error(context: Context, id: str) -> Node | InvalidArgument | None:
    """Return the object of an id, or the error to report at its place in a list."""
    try:
        return find_node(context, id)
    except InvalidArgument as error:
        return error


def _resolve(context: Context, ref: str | None) -> RevisionInfo:
    if ref is not None and ref is not strawberry.UNSET:
        return context.resolve(ref)
    revisions = context.changing_history().revisions
    if not revisions:
        raise RevisionNotFound("", "the catalog is empty")
    return revisions[0]


def find_node(context: Context, id: str) -> Node | None:
    """Return the object of an id; None where there is none. Raises InvalidArgument for no id."""
    kind, parts = parse_node_id(id)
    known = context.history.by_key
    match kind, parts:
        case "Revision", [_, key] if key in known:
            return Revision(info=known[key])
        case "Comparison", [_, _, base, head] if base in known and head in known:
            return Comparison(base_info=known[base], head_info=known[head])
        case (("Package" | "Spec" | "Stack"), [key, name]) if key in known:
            loaded = context.load(known[key])
            if kind == "Stack":
                return stack_of(loaded, name)
            if kind == "Package":
                code = loaded.frame.package.index.get(name)
                return None if code is None else Package(loaded=loaded, code=code)
            row = loaded.frame.hashes.find(name)
            return None if row is None else Spec(loaded=loaded, row=row)
        case (("Revision" | "Comparison" | "Package" | "Spec" | "Stack"), _):
            # Another replica may know a revision that this one has yet to see.
            context.is_permanent = False
            return None
    raise InvalidArgument("id", f"{id!r} is no id of this API")
