"""The pictures that README.md shows: made by ``python -m tests.screenshots --readme``."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST = 120_000
"""How many bytes a picture may have, so that a page with both is there at once."""


def test_the_pictures_are_there_and_small() -> None:
    """README.md shows all of them, and no others."""
    pictures = {f"docs/pictures/{it.name}": it for it in (ROOT / "docs/pictures").iterdir()}
    assert set(re.findall(r"!\[[^]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text())) >= set(
        pictures
    )
    assert {name for name, it in pictures.items() if it.stat().st_size > MOST} == set()
