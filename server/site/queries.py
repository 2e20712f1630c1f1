"""The queries of a site: its documents, and the revisions that determine their variables."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum, auto
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import graphql
import msgspec
import orjson

from schema.api import sdl
from server.pages.documents import values_of
from snapshots.errors import InvalidArgument
from snapshots.history import History
from snapshots.models import RevisionInfo
from snapshots.texts import quoted


class Role(Enum):
    """The meaning of a variable of a document."""

    SERIES = auto()
    REVISION = auto()
    BASE = auto()
    HEAD = auto()
    AFTER = auto()


Subject = Mapping[Role, str]
"""The subject of a page or an answer: the name of a series, and refs of revisions."""


class SiteRevisions(msgspec.Struct, frozen=True):
    """The revisions of a site by the names of their series, newest first."""

    history: History
    revisions: Mapping[str, Sequence[RevisionInfo]]

    @property
    def subjects(self) -> list[Subject]:
        """The revisions as subjects."""
        return [
            {Role.SERIES: name, Role.REVISION: revision.ref}
            for name, revisions in self.revisions.items()
            for revision in revisions
        ]

    @property
    def comparisons(self) -> list[Subject]:
        """The pairs of a revision and its predecessor in its series, if their contents differ."""
        subjects: list[Subject] = []
        for name, revisions in self.revisions.items():
            for head in revisions:
                base = self.history.previous(head)
                if base is not None and base.digest != head.digest:
                    sides = {Role.BASE: base.ref, Role.HEAD: head.ref}
                    subjects.append({Role.SERIES: name, Role.REVISION: head.ref, **sides})
        return subjects


def choose(
    history: History,
    series: Sequence[str] = (),
    *,
    since: datetime | None = None,
    last: int | None = None,
) -> SiteRevisions:
    """Return the newest revisions of some or all series; series without any are omitted."""
    chosen = {}
    for name in dict.fromkeys(series or history.series_names):
        revisions = [
            revision
            for revision in history.of_series(name)
            if since is None or revision.taken_at >= since
        ]
        if revisions[:last]:
            chosen[name] = revisions[:last]
    return SiteRevisions(history, chosen)


_SAFE_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
"""Ids that are valid folder names on all systems."""


_ROLES = {
    ("series", "name"): Role.SERIES,
    ("revisions", "series"): Role.SERIES,
    ("revision", "ref"): Role.REVISION,
    ("compare", "base"): Role.BASE,
    ("compare", "head"): Role.HEAD,
}
"""The roles of variables, by the root fields and arguments that use them."""


class SiteDocument(msgspec.Struct, frozen=True):
    """A document with the roles of its variables; variables without a role have their defaults."""

    id: str
    name: str
    text: str
    roles: Mapping[str, Role]

    def requests(self, chosen: SiteRevisions) -> Iterator["SiteRequest"]:
        """Yield the requests for the document for the chosen revisions."""
        roles = set(self.roles.values())
        subjects: Sequence[Subject] = [{}]
        if roles & {Role.BASE, Role.HEAD}:
            subjects = chosen.comparisons
        elif Role.REVISION in roles:
            subjects = chosen.subjects
        elif Role.SERIES in roles:
            subjects = [{Role.SERIES: name} for name in chosen.revisions]
        for subject in subjects:
            named = self.roles.items()
            variables = {name: subject[role] for name, role in named if role in subject}
            yield SiteRequest(self, variables)


class SiteRequest(msgspec.Struct, frozen=True):
    """A document with values for its variables."""

    document: SiteDocument
    variables: Mapping[str, Any]

    @property
    def file(self) -> str:
        """The path of the answer in a site, which clients can compute without an index.

        The name is the SHA-256 of the variables as JSON in UTF-8, with sorted names and without
        whitespace.
        """
        text = orjson.dumps(self.variables, option=orjson.OPT_SORT_KEYS)
        return f"graphql/{self.document.id}/{sha256(text).hexdigest()}.json"

    def after(self, cursor: str) -> "SiteRequest":
        """Return the request for the part of the list after a cursor."""
        cursors = [name for name, role in self.document.roles.items() if role is Role.AFTER]
        return msgspec.structs.replace(self, variables={**self.variables, cursors[0]: cursor})

    def next_cursor(self, answer: Any) -> str:
        """Return the cursor of the next part of the answer's list; empty if there is none.

        If a document has several cursor variables or several lists, none of them is followed.
        """
        if list(self.document.roles.values()).count(Role.AFTER) != 1:
            return ""
        pages = [page for page in values_of(answer, "pageInfo") if page]
        if len(pages) != 1 or not pages[0].get("hasNextPage"):
            return ""
        return pages[0].get("endCursor") or ""


def built_in_documents() -> list[SiteDocument]:
    """Return the documents that are part of cachelog; their ids are the SHA-256 of their texts."""
    folder = files("server.site") / "documents"
    texts = sorted(
        file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(".graphql")
    )
    return documents_of({sha256(text.encode()).hexdigest(): text for text in texts})


def documents_of(texts: Mapping[str, str]) -> list[SiteDocument]:
    """Return the documents of texts by id; raise InvalidArgument for one that is unsuitable."""
    return [_document(_schema(), id_, text) for id_, text in texts.items()]


@cache
def _schema() -> graphql.GraphQLSchema:
    return graphql.build_schema(sdl())


def _document(schema: graphql.GraphQLSchema, id_: str, text: str) -> SiteDocument:
    def refusal(reason: str) -> InvalidArgument:
        return InvalidArgument("--documents", f"the document {quoted(id_)}: {reason}")

    if not _SAFE_ID.fullmatch(id_):
        raise refusal("its id cannot be the name of a folder: letters, digits, '.', '_', '-'")
    try:
        parsed = graphql.parse(text)
    except graphql.GraphQLError as error:
        raise refusal(error.message) from None
    for fault in graphql.validate(schema, parsed, max_errors=1):
        raise refusal(fault.message)
    operations = [
        node for node in parsed.definitions if isinstance(node, graphql.OperationDefinitionNode)
    ]
    if len(operations) != 1 or operations[0].operation is not graphql.OperationType.QUERY:
        raise refusal("it must have one operation, a query")
    (operation,) = operations
    roles = _roles(schema, parsed, refusal)
    for declared in operation.variable_definitions or ():
        name = declared.variable.name.value
        is_required = (
            isinstance(declared.type, graphql.NonNullTypeNode) and declared.default_value is None
        )
        if is_required and roles.get(name) in (None, Role.AFTER):
            raise refusal(
                f"${name} has no default, and is not one of a series' name, a revision's ref, and "
                "the base and head of a comparison"
            )
    if (Role.BASE in roles.values()) is not (Role.HEAD in roles.values()):
        raise refusal("a comparison must have variables for both base and head")
    return SiteDocument(id_, operation.name.value if operation.name else "", text, roles)


def _roles(
    schema: graphql.GraphQLSchema, parsed: graphql.DocumentNode, refusal: Any
) -> dict[str, Role]:
    info = graphql.TypeInfo(schema)
    roles: dict[str, Role] = {}
    root = schema.query_type
    assert root is not None  # noqa: S101 - the API has queries
    names = {id(field): name for name, field in root.fields.items()}

    class Uses(graphql.Visitor):
        """Determines the roles of the variables that are used as arguments."""

        def enter_argument(self, node: Any, *_: Any) -> None:
            """Assign a role to the variable of an argument, if it has one."""
            parent, field = info.get_parent_type(), info.get_field_def()
            if not isinstance(node.value, graphql.VariableNode):
                return
            role = Role.AFTER if node.name.value == "after" else None
            if parent is root:
                role = _ROLES.get((names[id(field)], node.name.value), role)
            name = node.value.name.value
            if role is not None and roles.setdefault(name, role) is not role:
                raise refusal(f"${name} has two meanings")

    graphql.visit(parsed, graphql.TypeInfoVisitor(info, Uses()))
    return roles
