"""The real data of the repository is whole; a folder that the environment names is read instead."""

from pathlib import Path

import pytest

from tests import real_data
from tests.model.real import STACKS


def test_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test of real data finds its part in a clone alone."""
    monkeypatch.delenv("CACHELOG_TEST_DATA", raising=False)
    folder = real_data.folder()
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {
        "index/database-v7.json",
        "index/database-v8.json",
        "pages/develop/py-safetensors/specs.md",
        "pages/develop/py-tokenizers/specs.md",
        "pages-more/develop-2025-03-23/rocblas/specs.md",
        "pages-more/develop-2025-03-30/cp2k/specs.md",
        "pages-more/develop-2025-03-30/rocblas/specs.md",
        "pages-more/develop-2025-07-13/cp2k/specs.md",
        "pages-more/v0.18.1/aml/specs.md",
        "recipes/2026-06-20..2026-06-27.jsonl",
        "spack-queries/answers.jsonl",
        "spack-queries/index.json",
        *(f"spack-history/{date}/recipes.txt" for date in ("2026-06-20", "2026-06-27")),
        *(
            f"spack-history/{date}/{stack}/{name}"
            for date in ("2026-06-20", "2026-06-27")
            for stack in STACKS
            for name in ("index.json", "spack.lock")
        ),
    }


def test_a_folder_of_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Who has all of the data tests with all of it."""
    monkeypatch.setenv("CACHELOG_TEST_DATA", str(tmp_path))
    assert real_data.folder() == tmp_path
