"""The errors that users of cachelog see: one base class, and one subclass for each situation.

Each message is complete without a traceback. Data that callers use is in attributes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from snapshots import texts

_EXCERPT_LENGTH = 60
_LONGEST_KEY = 500
_MAX_ERRORS = 20
_MAX_NAMED = 5
_LONGEST_REASON = 2_000
_LONGEST_SYNTAX_REASON = 140  # with the excerpt 200


class CachelogError(Exception):
    """Base class of errors in the data or the request, as opposed to errors in cachelog.

    - code: The kind of error, for programs; subclasses inherit it.
    """

    code: ClassVar[str] = "BAD_USER_INPUT"

    def extensions(self) -> dict[str, Any]:
        """Return the data of the error for programs, as JSON: what the API shows beside the code.

        Texts and lists in it can be of any length.
        """
        return {}

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle all data, regardless of the constructor's arguments."""
        return type(self).__new__, (type(self), *self.args), self.__dict__


class SourceError(CachelogError):
    """A part of the input cannot be read.

    ``location`` is the file or URL, ``reason`` describes the error; ``line`` (from 1) and ``key``
    state the position, if known.
    """

    def __init__(
        self, location: str, reason: str, *, line: int | None = None, key: str | None = None
    ) -> None:
        self.location = location
        self.reason = texts.shortened(reason, _LONGEST_REASON)
        self.line = line
        self.key = None if key is None else texts.shortened(key, _LONGEST_KEY)
        place = location
        if line is not None:
            place += f", line {line}"
        if key is not None:
            place += f", {self.key}"
        super().__init__(texts.visible(f"{place}: {self.reason}"))


class RulesError(CachelogError):
    """A file of rules cannot be used; ``errors`` has all errors in the file, in order."""

    def __init__(self, errors: Sequence[SourceError]) -> None:
        self.errors = tuple(errors)
        shown = [str(error) for error in self.errors[:_MAX_ERRORS]]
        if len(self.errors) > _MAX_ERRORS:
            shown.append(f"... and {len(self.errors) - _MAX_ERRORS:,} more")
        super().__init__("\n".join(shown))


class RuleUnusable(CachelogError):
    """A rule cannot be checked with the available data.

    ``rule`` is its name, ``key`` is the key that causes the error.
    """

    def __init__(self, rule: str, key: str, reason: str, *, line: int | None = None) -> None:
        self.rule = rule
        self.key = key
        self.reason = reason
        self.line = line
        super().__init__(texts.visible(f"rule {texts.quoted(rule)}, {key}: {reason}"))


class RefusedByRules(CachelogError):
    """The data to publish breaks rules, which are in the file at ``location``."""

    def __init__(self, location: str) -> None:
        super().__init__(f"{location}: rules are broken, so nothing was published")


class TagNeeded(CachelogError):
    """Neither the input nor the caller names the tag."""

    def __init__(self, location: str) -> None:
        super().__init__(f"{location}: does not name a tag; name one with --tag")


class InvalidArgument(CachelogError):
    """A value from the caller is invalid; ``name`` is the name of the argument."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = texts.visible(texts.shortened(reason, _LONGEST_REASON))
        super().__init__(f"{name}: {self.reason}")


class CursorExpired(InvalidArgument):
    """A cursor is one of a list of another content than the list that is read now."""

    code = "CURSOR_EXPIRED"


class ConstraintSyntaxError(CachelogError):
    """A spec query that cannot be parsed.

    ``position`` is the index in ``text`` of the invalid character. The message counts from 1,
    quotes the context, and has a caret below the character in its second line.
    """

    def __init__(self, text: str, position: int, reason: str) -> None:
        self.text = text
        self.position = position
        self.reason = reason = texts.legible(reason, _LONGEST_SYNTAX_REASON)
        start = max(0, min(position - _EXCERPT_LENGTH // 2, len(text) - _EXCERPT_LENGTH))
        end = start + _EXCERPT_LENGTH
        excerpt = "".join(char if texts.is_plain(char) else " " for char in text[start:end])
        before = f"{reason} at character {position + 1}: {'...' if start else ''}"
        after = "..." if end < len(text) else ""
        caret = " " * (len(before) + position - start) + "^"
        super().__init__(f"{before}{excerpt}{after}\n{caret}")

    def extensions(self) -> dict[str, Any]:
        """Return the position in the text, from 0."""
        return {"position": self.position}


class RevisionNotFound(CachelogError):
    """No revision matches a ref; ``nearest`` has existing refs that resemble it.

    ``ref`` is empty if the newest of all revisions was requested.
    """

    code = "REVISION_NOT_FOUND"

    def __init__(self, ref: str, reason: str, nearest: Sequence[str] = ()) -> None:
        self.ref = ref
        self.reason = reason
        self.nearest = tuple(nearest)
        hint = texts.nearest_hint(self.nearest)
        what = f"no revision {texts.quoted(ref)}" if ref else "no revision"
        super().__init__(f"{what}: {reason}{hint}")

    def extensions(self) -> dict[str, Any]:
        """Return the refs that resemble the requested one, if there are any."""
        return _similar(self.ref, self.nearest)


class StackNotFound(RevisionNotFound):
    """A revision does not have a stack; ``stacks`` are the stacks that it has.

    ``revision`` is the ref of the revision, ``ref`` includes the stack.
    """

    def __init__(self, revision: str, stack: str, stacks: Sequence[str]) -> None:
        self.revision = revision
        self.stack = stack
        self.stacks = tuple(stacks)
        ordered = sorted(stacks)
        near = texts.nearest_names(stack, ordered)
        reason = f"{revision} has no stack {texts.quoted(stack)}"
        if not stacks:
            reason = f"the source of {revision} does not list stacks"
        elif not near:
            reason += texts.names_hint(stack, ordered)
        refs = [f"{revision}:{name}" for name in near]
        super().__init__(f"{revision}:{stack}", reason, refs)


class AmbiguousRef(CachelogError):
    """A digest prefix matches several digests, which are ``candidates``."""

    code = "AMBIGUOUS_REF"

    def __init__(self, ref: str, candidates: Sequence[str]) -> None:
        self.ref = ref
        self.candidates = tuple(candidates)
        shown = ", ".join(texts.distinct_prefixes(self.candidates[:_MAX_NAMED]))
        super().__init__(f"{texts.quoted(ref)} begins {len(self.candidates)} digests: {shown}")


class AmbiguousHash(CachelogError):
    """A prefix matches several hashes in the history of the catalog.

    ``candidates`` maps some of them to the build that they identify: NAME@VERSION.
    """

    code = "AMBIGUOUS_HASH"

    def __init__(self, prefix: str, candidates: Mapping[str, str], num_fitting: int) -> None:
        self.candidates = candidates
        named = list(candidates)[:_MAX_NAMED]
        more = ", ..." if num_fitting > len(named) else ""
        super().__init__(
            f"{texts.quoted(prefix)} begins {num_fitting:,} hashes: {', '.join(named)}{more}"
        )

    def extensions(self) -> dict[str, Any]:
        """Return the candidates, each with its hash and title."""
        pairs = self.candidates.items()
        return {"candidates": [{"hash": digest, "title": title} for digest, title in pairs]}


class UnknownPackage(CachelogError):
    """A query names a package that neither its revision nor the newest revision of any tag has.

    ``nearest`` has existing names that resemble it.
    """

    def __init__(self, name: str, nearest: Sequence[str] = ()) -> None:
        self.name = name
        self.nearest = tuple(nearest)
        hint = texts.nearest_hint(self.nearest)
        super().__init__(
            f"no package {texts.quoted(name)} in this revision or in the newest of any tag{hint}"
        )

    def extensions(self) -> dict[str, Any]:
        """Return the names that resemble the requested one, if there are any."""
        return _similar(self.name, self.nearest)


class DependenciesUnknown(CachelogError):
    """A query depends on dependencies of a content whose source did not state all of them.

    Of ``unknown`` of its ``total`` specs, the dependencies are not known.
    """

    def __init__(self, digest: str, unknown: int, total: int) -> None:
        which = "any spec" if unknown == total else f"{unknown:,} of {total:,} specs"
        super().__init__(
            f"the revision {texts.short_digest(digest)} does not list the dependencies of {which}, "
            "so ^ cannot be evaluated"
        )


class EmptyCatalog(CachelogError):
    """The catalog has no revisions yet."""

    code = "REVISION_NOT_FOUND"

    def __init__(self, location: str) -> None:
        super().__init__(
            f"the catalog at {location} is empty; fill it with 'cachelog import PATH', "
            f"or with synthetic data by 'cachelog demo'"
        )


class CatalogError(CachelogError):
    """The catalog's store cannot be read or written."""

    code = "CATALOG_UNAVAILABLE"

    def __init__(self, location: str, reason: str) -> None:
        self.location = location
        self.reason = reason
        super().__init__(f"catalog {location}: {reason}")


class NoCatalog(CatalogError):
    """There is no catalog at the location, not even an empty one."""

    def __init__(self, location: str) -> None:
        super().__init__(location, "does not exist")
        self.args = (
            f"there is no catalog at {location}; create one with 'cachelog import PATH', "
            f"or with synthetic data by 'cachelog demo'",
        )


class NewerCatalog(CatalogError):
    """The format of a catalog, ``number``, is newer than ``latest``.

    ``latest`` is the newest format that this program reads.
    """

    def __init__(self, location: str, number: str, latest: int) -> None:
        super().__init__(
            location,
            f"its format is {texts.legible(number, _EXCERPT_LENGTH)}, and this cachelog reads "
            f"formats up to {latest}: it needs a newer cachelog",
        )


class OlderCatalog(CatalogError):
    """A catalog of cachelog 0.2 or earlier, which stored contents differently."""

    def __init__(self, location: str) -> None:
        super().__init__(location, "an earlier cachelog wrote it: import its sources again")


class IncompleteHistory(CachelogError):
    """The history cannot be queried yet, because the changes of some neighbours are not computed.

    - num_missing: The number of pairs of neighbours to which this applies.
    - num_pairs: The number of pairs that the query needs.
    """

    code = "HISTORY_INCOMPLETE"

    def __init__(self, num_missing: int, num_pairs: int) -> None:
        self.num_missing = num_missing
        self.num_pairs = num_pairs
        super().__init__(
            f"the history is not complete: {num_missing:,} of {num_pairs:,} pairs of neighbours "
            "are not compared; run 'cachelog upkeep'"
        )

    def extensions(self) -> dict[str, Any]:
        """Return the numbers of missing pairs and of all pairs."""
        return {"numMissing": self.num_missing, "numPairs": self.num_pairs}


class NothingToPublish(CachelogError):
    """An import omitted all requested inputs."""

    def __init__(self) -> None:
        super().__init__("nothing could be read, so nothing was published")


class OutputError(CachelogError):
    """A file cannot be written; ``reason`` is from the operating system."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(f"{file}: cannot be written: {reason}")


class ForeignPackage(CachelogError):
    """Python finds another package under the name of one of cachelog's packages.

    ``location`` is the path of the other package; None if it was removed again together with files
    of cachelog's package.
    """

    def __init__(self, name: str, location: str | None) -> None:
        what = f"at {location} is not cachelog's own" if location else "lacks its first file"
        super().__init__(
            f"the package {name!r} {what}: install cachelog in an environment of its own, with "
            "'uv tool install' or 'pipx install'"
        )


def _similar(sought: str, nearest: Sequence[str]) -> dict[str, Any]:
    return {"nearest": [*nearest], "sought": sought} if nearest else {}
