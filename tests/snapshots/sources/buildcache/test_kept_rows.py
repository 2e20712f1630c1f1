"""Documents that later runs need not fetch again: which are there, and which are forgotten."""

from pathlib import Path

import pytest

from snapshots.sources.downloads import KeptDocuments
from snapshots.sources.reports import Report


def keeping(folder: Path | None, bound: int = 1000) -> KeptDocuments:
    """Open the documents of a folder."""
    return KeptDocuments(folder, bound, Report())


def test_documents_are_written_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is killed loses no more than what it kept last."""
    monkeypatch.setattr("snapshots.sources.downloads._BATCH", 2)
    with keeping(tmp_path) as documents:
        for number in range(3):
            documents.keep(str(number), b"text")
        with keeping(tmp_path) as others:
            assert [others.find(str(number)) for number in range(3)] == [b"text", b"text", None]


def test_documents_beyond_the_bound_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were written longest ago."""
    for moment, key in enumerate("abac"):
        monkeypatch.setattr("time.time", lambda moment=moment: 1e9 + moment)
        with keeping(tmp_path, bound=10) as documents:
            documents.keep(key, b"12345")
    with keeping(tmp_path) as documents:
        assert [documents.find(key) for key in "abc"] == [b"12345", None, b"12345"]
