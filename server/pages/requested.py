"""What a request for a page says: its path as it was sent, and its parameters."""

from urllib.parse import parse_qs

from starlette.types import Scope

from server.asgi.errors import BadRequest
from server.pages.addresses import Address

_MAX_PATH, _MAX_QUERY, _MAX_FIELDS = 8_192, 8_192, 200


def raw_path(scope: Scope) -> str:
    """Return the path of a request as it was sent; of one for ``*`` what is no page's, too."""
    raw: bytes | None = scope.get("raw_path")
    path: str = scope["path"] if raw is None else raw.decode("latin-1")
    return path if path.startswith("/") else f"/{path}"


def bare_address(scope: Scope) -> Address:
    """Return where a request is for, without what its query says."""
    return Address(raw_path(scope), {})


def without_slash(scope: Scope) -> str | None:
    """Return the link that leads from an address to the one without the slash at its end.

    None for an address that has none too many.
    """
    path = raw_path(scope)
    if path == "/" or not path.endswith("/"):
        return None
    query = scope["query_string"].decode("latin-1")
    return f"../{path[:-1].rpartition('/')[2]}" + (f"?{query}" if query else "")


def given(scope: Scope) -> dict[str, list[str]]:
    """Return what an address gives: in its path and in its query, of which the path counts.

    Raises BadRequest where either is longer than any that pages make.
    """
    query: bytes = scope["query_string"]
    for what, length, most in (
        ("path", len(raw_path(scope)), _MAX_PATH),
        ("query", len(query), _MAX_QUERY),
    ):
        if length > most:
            raise BadRequest(
                f"the {what} of the address has more than {most} bytes",
                status=414,
                code="URI_TOO_LONG",
            )
    try:
        parameters = parse_qs(query.decode("latin-1"), max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise BadRequest(f"the address has more than {_MAX_FIELDS} parameters") from None
    return parameters | {name: [value] for name, value in scope["path_params"].items()}
