"""Damaged inputs raise no errors other than cachelog's own."""

from pathlib import Path

import pytest

from tests.expensive import cases
from tests.fuzz.readers import READERS, attempt, folders

CASES = {"repositories": 40, "locations": 300, "pages of values": 500}
USUAL_CASES = 1_000


@pytest.mark.parametrize("reader", READERS)
def test_damaged_inputs(reader: str, tmp_path: Path) -> None:
    """Each input is accepted or refused, and both occur, or the cases would test nothing.

    ``python -m tests.fuzz --reader NAME --seed N`` repeats a failed case.
    """
    results = set()
    new = folders(tmp_path)
    for seed in range(cases(CASES.get(reader, USUAL_CASES))):
        try:
            results.add(attempt(reader, seed, next(new)))
        except Exception as error:
            error.add_note(f"python -m tests.fuzz --reader {reader!r} --seed {seed}")
            raise
    assert results == {True, False}
