"""The pictures that README.md shows: made by ``python -m tests.screenshots --readme``."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST = 120_000
"""How many bytes a picture may have."""


def test_the_pictures_are_there_and_small() -> None:
    """README.md shows each of them, and each loads at once."""
    pictures = {f"docs/pictures/{it.name}": it for it in (ROOT / "docs/pictures").iterdir()}
    shown = set(re.findall(r"!\[[^]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text()))
    assert set(pictures) <= shown
    assert {name for name, it in pictures.items() if it.stat().st_size > MOST} == set()
