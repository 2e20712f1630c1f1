"""Errors: complete messages."""

import pytest

from snapshots.errors import (
    CachelogError,
    CatalogError,
    ConstraintSyntaxError,
    EmptyCatalog,
    ForeignPackage,
    InvalidArgument,
    NoCatalog,
    NothingToPublish,
    OutputError,
    RevisionNotFound,
    SourceError,
    TagNeeded,
    UnknownPackage,
)

TEXTS = {
    "a place": (
        SourceError("a.md", "is bad", line=3, key="hash"),
        "a.md, line 3, hash: is bad",
    ),
    "a tag": (TagNeeded("a.md"), "a.md: does not name a tag; name one with --tag"),
    "a catalog": (CatalogError("here", "is away"), "catalog here: is away"),
    "no catalog": (
        NoCatalog("here"),
        "there is no catalog at here; create one with 'cachelog import PATH', or with synthetic "
        "data by 'cachelog demo'",
    ),
    "an empty catalog": (
        EmptyCatalog("here"),
        "the catalog at here is empty; fill it with 'cachelog import PATH', or with synthetic "
        "data by 'cachelog demo'",
    ),
    "nothing": (NothingToPublish(), "nothing could be read, so nothing was published"),
    "a file": (OutputError("a.md", "No space"), "a.md: cannot be written: No space"),
    "another package": (
        ForeignPackage("schema", "/x/schema"),
        "the package 'schema' at /x/schema is not cachelog's own: install cachelog in an "
        "environment of its own, with 'uv tool install' or 'pipx install'",
    ),
    "half a package": (
        ForeignPackage("schema", None),
        "the package 'schema' lacks its first file: install cachelog in an environment of its "
        "own, with 'uv tool install' or 'pipx install'",
    ),
    "no revision": (RevisionNotFound("", "there is none yet"), "no revision: there is none yet"),
    "no package": (
        UnknownPackage("zlob", ["zlib", "glib"]),
        "no package 'zlob' in this revision or in the newest of any tag; nearest: zlib, glib",
    ),
}


@pytest.mark.parametrize(("error", "text"), TEXTS.values(), ids=TEXTS)
def test_messages(error: CachelogError, text: str) -> None:
    """A message states what is wrong, and what to do if there is a remedy."""
    assert str(error) == text


HOSTILE = "\x1b[2J\u202e\n" + "x" * 5_000

QUOTING = {
    "an argument": InvalidArgument("--tag", HOSTILE),
    "a query": ConstraintSyntaxError(HOSTILE, 3, HOSTILE),
    "a revision": RevisionNotFound(HOSTILE, "there is none"),
    "a package": UnknownPackage(HOSTILE),
    "a place": SourceError("a.md", HOSTILE, key=HOSTILE),
}


@pytest.mark.parametrize("error", QUOTING.values(), ids=QUOTING)
def test_quoted_input_is_bounded(error: CachelogError) -> None:
    """Input in messages is bounded and has no control characters; only a caret has its own line."""
    first, *caret = str(error).split("\n")
    assert first.isprintable()
    assert len(first) < 3_000
    assert "".join(caret).strip() in ("", "^")
