"""Errors: complete messages."""

import pytest

from snapshots import errors

TEXTS = {
    "a place": (
        errors.SourceError("a.md", "is bad", line=3, key="hash"),
        "a.md, line 3, hash: is bad",
    ),
    "a tag": (errors.TagNeeded("a.md"), "a.md: does not name a tag; name one with --tag"),
    "a catalog": (errors.CatalogError("here", "is away"), "catalog here: is away"),
    "no catalog": (
        errors.NoCatalog("here"),
        "there is no catalog at here; create one with 'cachelog import PATH', or with synthetic "
        "data by 'cachelog demo'",
    ),
    "an empty catalog": (
        errors.EmptyCatalog("here"),
        "the catalog at here is empty; fill it with 'cachelog import PATH', or with synthetic "
        "data by 'cachelog demo'",
    ),
    "nothing": (errors.NothingToPublish(), "nothing could be read, so nothing was published"),
    "a file": (errors.OutputError("a.md", "No space"), "a.md: cannot be written: No space"),
    "another package": (
        errors.ForeignPackage("schema", "/x/schema"),
        "the package 'schema' at /x/schema is not cachelog's own: install cachelog in an "
        "environment of its own, with 'uv tool install' or 'pipx install'",
    ),
    "half a package": (
        errors.ForeignPackage("schema", None),
        "the package 'schema' lacks its first file: install cachelog in an environment of its "
        "own, with 'uv tool install' or 'pipx install'",
    ),
    "no revision": (
        errors.RevisionNotFound("", "there is none yet"),
        "no revision: there is none yet",
    ),
    "no package": (
        errors.UnknownPackage("zlob", ["zlib", "glib"]),
        "no package 'zlob' in this revision or in the newest of any tag; nearest: zlib, glib",
    ),
}


@pytest.mark.parametrize(("error", "text"), TEXTS.values(), ids=TEXTS)
def test_messages(error: errors.CachelogError, text: str) -> None:
    """A message states what is wrong, and what to do if there is a remedy."""
    assert str(error) == text


def test_codes_are_inherited() -> None:
    """A more specific error has the code of its kind, and an error of no kind blames the input."""
    assert errors.NoCatalog("here").code == "CATALOG_UNAVAILABLE"
    assert errors.StackNotFound("develop", "hep", []).code == "REVISION_NOT_FOUND"
    assert errors.NothingToPublish().code == "BAD_USER_INPUT"


HOSTILE = "\x1b[2J\u202e\n" + "x" * 5_000

QUOTING = {
    "an argument": errors.InvalidArgument("--tag", HOSTILE),
    "a query": errors.ConstraintSyntaxError(HOSTILE, 3, HOSTILE),
    "a revision": errors.RevisionNotFound(HOSTILE, "there is none"),
    "a package": errors.UnknownPackage(HOSTILE),
    "a place": errors.SourceError("a\x1b[2J.md", HOSTILE, key=HOSTILE),
}


@pytest.mark.parametrize("error", QUOTING.values(), ids=QUOTING)
def test_quoted_input_is_bounded(error: errors.CachelogError) -> None:
    """Input in messages is bounded and has no control characters; only a caret has its own line."""
    first, *caret = str(error).split("\n")
    assert first.isprintable()
    assert len(first) < 3_000
    assert "".join(caret).strip() in ("", "^")
