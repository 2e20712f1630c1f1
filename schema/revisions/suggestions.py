"""Suggestions that complete a name or a hash."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Annotated, Any

import strawberry

from schema.context import Context, Info, LoadedRevision
from schema.fields import gql, relay
from schema.fields.cost import Cost, Work, resolver
from schema.node import page_path
from schema.revisions.revision import OfRef
from snapshots.catalog.history_queries import HistoryQueries
from snapshots.catalog.library import names_of_history
from snapshots.errors import AmbiguousHash, CachelogError, CatalogError, InvalidArgument
from snapshots.frames.suggestions import HASH_MIN, TYPO, TYPO_MIN, Suggestion, SuggestionKind
from snapshots.history import History
from snapshots.models import RevisionInfo
from snapshots.spack.names import is_name
from snapshots.texts import counted, day, shortened, versioned

SUGGESTED_DEFAULT, SUGGESTED_MAX = 10, 100

SUGGESTING = Cost(weight=4_000, work=Work.LOADING)
"""Comparing all names of a revision with a text."""

SUGGEST = (
    "Names that are similar to a text, the most similar first: equal names, names that start "
    "with the text, names with a word that starts with it, and names that contain it. If there "
    f"are none, names that differ from it by a single typo, for texts of at least {TYPO_MIN} "
    "characters. Equally similar names are ordered by kind (packages, stacks, series, tags, "
    "...), then the most used first. They are followed by hashes that start with the text, if it "
    f"has at least {HASH_MIN} characters. Versions are suggested for a text such as `hdf5@1`. "
    "Names and hashes are those of the revision that `ref` names. Without `ref`, names are those "
    "of the newest revision of every series, each with its number of specs in the first series "
    "that has it, the main one before the others; hashes are those of all revisions. Packages "
    "and stacks that are gone follow, with the last tag that had them."
)

_LONGEST = 200
_ORDER = {kind: place for place, kind in enumerate(SuggestionKind)}

gql.describe_enum(SuggestionKind)

FirstSuggestions = Annotated[
    int, strawberry.argument(f"Maximum number of suggestions, up to {SUGGESTED_MAX}.")
]


@gql.object_type
class SuggestionType:
    """A name or a hash that is similar to a text.

    - kind: What the name refers to.
    - value: The name or the hash.
    - detail: A short description: `1.14.3, 12 specs`.
    - url: The path of its page on the server: `/packages/hdf5`, or, with `ref`,
      `/r/develop/packages/hdf5`.
    """

    kind: SuggestionKind
    value: str
    detail: str
    url: str


@resolver(SUGGESTING, gql.Omittable(), description=SUGGEST)
def suggest_field(
    self: Any,  # noqa: ARG001 - the root
    info: Info,
    text: str,
    ref: OfRef = None,
    kinds: list[SuggestionKind] | None = None,
    first: FirstSuggestions = SUGGESTED_DEFAULT,
) -> list[SuggestionType] | None:
    """Return names and hashes that are similar to a text: the field ``Query.suggest``.

    Raises InvalidArgument, and the errors of History.resolve.

    - text: The text to complete: a part of a name, or a prefix of a hash.
    - kinds: Only suggestions of these kinds; by default, all kinds.
    """
    relay.check_size("first", first, SUGGESTED_MAX)
    context = info.context
    history = context.changing_history()
    info_of_ref = context.resolve(ref)
    revisions = _readable(context, [info_of_ref] if ref is not None else _newest(history))
    text = shortened(text.strip(), _LONGEST)
    among = frozenset(SuggestionKind if kinds is None else kinds)
    ranked = context.names(revisions).like(text, among, first)
    ranked += names_of_history(history).like(text, among, first)
    if ref is None:
        with suppress(CachelogError):  # suggestions do not need a history
            ranked += context.of_history(HistoryQueries.gone_names).like(text, among, first)
    ranked = [each for each in ranked if each[0] < TYPO] or ranked
    ranked.sort(key=lambda each: (each[0], _ORDER[each[1].kind]))  # stable within a kind
    chosen = [name for _, name in ranked[:first]]
    if SuggestionKind.HASH in among:
        most = first - len(chosen)
        chosen += (
            _hashes_of_any(context, text, most)
            if ref is None
            else _hashes(context.load(info_of_ref), text, most)
        )
    tags = {revision.digest: revision.tag for revision in reversed(revisions)}
    return [
        SuggestionType(
            kind=name.kind,
            value=name.value,
            detail=_detail(name, history),
            url=_url(name.kind, name.value, ref, name.last_in or tags.get(name.content, "")),
        )
        for name in chosen
    ]


def _newest(history: History) -> list[RevisionInfo]:
    """Return the newest revision of every series, that of the main series first."""
    main = history.main_series
    names = sorted(history.series_names, key=lambda name: name != main)
    return [history.of_series(name)[0] for name in names]


_HASH = re.compile(r"/?[a-z2-7]{7,32}|/[a-z2-7]{1,32}", re.IGNORECASE)
_OID = re.compile(r"[0-9a-f]{7,40}", re.IGNORECASE)
_PULL_REQUEST = re.compile(r"(?:.*/pull/|[\w./-]*#)(?P<number>\d{1,9})")

DESTINATION = Cost(weight=5_000, work=Work.HISTORIES)


@resolver(
    DESTINATION,
    description="The path of the page that a text leads to, if it is exactly one thing: a package "
    "that any revision ever had, a series, a tag or another ref of a revision, a stack, a target "
    "or a family of targets, a hash or its beginning, a commit of the recipe repository or its "
    "beginning, or a pull request (`#5277`); null otherwise.",
)
def destination_field(
    self: Any,  # noqa: ARG001 - the root
    info: Info,
    text: str,
) -> str | None:
    """Return the path of the page that an exact text leads to: the field ``Query.destination``.

    - text: What somebody looks for.
    """
    context, text = info.context, shortened(text.strip(), _LONGEST)
    history = context.changing_history()
    if is_name(text) and context.of_package(text) is not None:
        return page_path("packages", text)
    if text in history.series_names:
        return page_path("series", text)
    if text in history.tags:
        return page_path("r", text)
    if "~" in text or "@" in text:
        with suppress(CachelogError):
            return page_path("r", history.resolve(text).ref)
    newest = _newest(history)
    tags = {revision.digest: revision.tag for revision in reversed(newest)}
    kinds = {SuggestionKind.STACK, SuggestionKind.TARGET}
    names = context.names(newest).like(text, kinds, 2)
    with suppress(CachelogError):
        names += context.of_history(HistoryQueries.gone_names).like(text, kinds, 1)
    for _, name in names:
        if name.value == text:
            return _url(name.kind, text, None, name.last_in or tags[name.content])
    recipes = context.catalog.recipes
    commits = recipes.commits(text.lower()) if _OID.fullmatch(text) else []
    if match := _PULL_REQUEST.fullmatch(text):
        commits = recipes.of_pull_request(int(match["number"]))
    if len(commits) == 1:
        return page_path("commits", commits[0][1].oid)
    if _HASH.fullmatch(text):
        with suppress(AmbiguousHash, InvalidArgument):
            found = context.of_history(HistoryQueries.hash_history, text.removeprefix("/").lower())
            if found is not None:
                return page_path("hash", found.hash)
    return None


def _readable(context: Context, revisions: Sequence[RevisionInfo]) -> Sequence[RevisionInfo]:
    """Return the revisions without those whose contents cannot be read, if there are others."""
    try:
        context.names(revisions)
    except CatalogError:
        if len(revisions) == 1:
            raise
        return [info for info in revisions if _is_readable(context, info)]
    return revisions


def _is_readable(context: Context, info: RevisionInfo) -> bool:
    try:
        context.names([info])
    except CatalogError:
        return False
    return True


def _hashes_of_any(context: Context, text: str, most: int) -> Iterator[Suggestion]:
    """Yield some hashes of any revision that start with a text; none without a complete history."""
    prefix = text.removeprefix("/").lower()
    if len(prefix) < HASH_MIN or most <= 0:
        return
    titles: Mapping[str, str] = {}
    try:
        found = context.of_history(HistoryQueries.hash_history, prefix)
        titles = {} if found is None else {found.hash: versioned(found.name, found.version)}
    except AmbiguousHash as error:
        titles = error.candidates
    except CachelogError:
        pass  # suggestions do not need a history
    for hash, title in islice(titles.items(), most):
        yield Suggestion(SuggestionKind.HASH, hash, 1, title)


def _hashes(loaded: LoadedRevision, text: str, most: int) -> Iterator[Suggestion]:
    prefix = text.removeprefix("/").lower()
    if len(prefix) < HASH_MIN or most <= 0:
        return
    frame = loaded.frame
    for row in frame.hashes.with_prefix(prefix)[:most].tolist():
        spec = frame.spec(row)
        title = f"{spec.name}@{spec.version}"
        yield Suggestion(SuggestionKind.HASH, spec.hash, 1, title, loaded.info.digest)


def _detail(suggestion: Suggestion, history: History) -> str:
    if suggestion.last_in:
        last = history.resolve(suggestion.last_in)
        return f"gone, last in {last.tag} of {day(last.taken_at)}"
    match suggestion.kind:
        case SuggestionKind.SERIES:
            return counted(suggestion.count, "revision")
        case SuggestionKind.TAG:
            newest = history.of_tag(suggestion.value)[0]
            return f"{counted(newest.num_specs, 'spec')}, of {day(newest.taken_at)}"
        case SuggestionKind.HASH:
            return suggestion.newest
        case SuggestionKind.PACKAGE:
            return f"{suggestion.newest}, {counted(suggestion.count, 'spec')}"
    return counted(suggestion.count, "spec")


def _url(kind: SuggestionKind, value: str, ref: str | None, tag: str) -> str:
    """Return the path of a page in the requested revision, or in that of a tag."""
    revision = ref or tag
    match kind:
        case SuggestionKind.PACKAGE:
            return page_path(*(() if ref is None else ("r", ref)), "packages", value)
        case SuggestionKind.STACK:
            return page_path("r", revision, "stacks", value)
        case SuggestionKind.SERIES:
            return page_path("series", value)
        case SuggestionKind.TAG:
            return page_path("r", value)
        case SuggestionKind.VERSION:
            package, _, version = value.partition("@")
            return page_path("r", revision, "packages", package, versions=version)
        case SuggestionKind.COMPILER:
            return page_path("r", revision, compilers=value)
        case SuggestionKind.TARGET:
            return page_path("r", revision, targets=value)
        case SuggestionKind.VARIANT:
            return page_path("search", **{"q": value, "in": revision})
        case SuggestionKind.HASH:
            return page_path("hash", value) if ref is None else page_path("r", ref, "specs", value)
