"""Damaged inputs raise no errors other than cachelog's own."""

from pathlib import Path

import pytest

from tests.expensive import cases
from tests.fuzz.readers import READERS, attempt

CASES = {"repositories": 40, "locations": 300, "pages of values": 500}
USUAL_CASES = 1_000


@pytest.mark.parametrize("reader", READERS)
def test_damaged_inputs(reader: str, tmp_path: Path) -> None:
    """Each input is accepted or refused, and both occur, or the cases would test nothing.

    ``python -m tests.fuzz --reader NAME --seed N`` repeats a failed case.
    """
    results = set()
    for seed in range(cases(CASES.get(reader, USUAL_CASES))):
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            results.add(attempt(reader, seed, folder))
        except Exception as error:
            error.add_note(f"python -m tests.fuzz --reader {reader!r} --seed {seed}")
            raise
    assert results == {True, False}
