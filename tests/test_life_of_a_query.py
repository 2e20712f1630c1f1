"""docs/life-of-a-query.md: the modules it names exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "life-of-a-query.md").read_text("utf-8")
FLOORS = ("snapshots", "schema", "server")


def test_each_module_is_there() -> None:
    """By its path, or by its name or the end of its path where the room was named before."""
    modules = {
        str(path.relative_to(ROOT)) for floor in FLOORS for path in (ROOT / floor).rglob("*.py")
    }
    folders = {f"{Path(module).parent}/" for module in modules}
    named = re.findall(r"`([\w/]+(?:\.py|/))`", TEXT)
    assert len(named) > 30
    for name in named:
        assert any(f"/{there}".endswith(f"/{name}") for there in modules | folders), name
