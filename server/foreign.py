"""Whether the package ``schema`` is cachelog's own: PyPI has another one of that name.

In one environment each of the two overwrites or hides the other without a word from pip.
"""

from importlib.util import find_spec
from pathlib import Path

from snapshots.errors import ForeignPackage

_OWN = Path(__file__).resolve().parents[1] / "schema" / "__init__.py"
_FIRST_WORDS = b'"""The GraphQL API of cachelog'


def require_own_schema() -> None:
    """Raise ForeignPackage where ``import schema`` would run somebody else's code.

    Nothing is imported for it.
    """
    spec = find_spec("schema")
    origin = Path(spec.origin).resolve() if spec and spec.origin else None
    if origin is None:
        raise ForeignPackage("schema", None)
    if origin != _OWN or not origin.read_bytes().startswith(_FIRST_WORDS):
        raise ForeignPackage("schema", str(origin))
