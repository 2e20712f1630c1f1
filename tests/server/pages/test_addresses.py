"""The addresses of pages."""

import pytest

from server.pages.addresses import path_filled

COMPARE = "/compare/{base}...{head}"


@pytest.mark.parametrize(
    ("pattern", "given", "path"),
    [
        ("/hash/{hash}", {"hash": ["abc"]}, "/hash/abc"),
        ("/hash/{hash}", {"hash": ["x", " /abc\r\n"]}, "/hash/abc"),
        ("/hash/{hash}", {"hash": ["a/b?c#d"]}, "/hash/a%2Fb%3Fc%23d"),
        (COMPARE, {"base": ["v1"], "head": ["develop~1"]}, "/compare/v1...develop~1"),
        (COMPARE, {"base": ["{head}"], "head": ["b"]}, "/compare/%7Bhead%7D...b"),
        (COMPARE, {"base": ["v1"], "head": [""]}, None),
        (COMPARE, {"base": ["v1"]}, None),
        ("/hash/{hash}", {"hash": [" / "]}, None),
    ],
)
def test_a_form_fills_a_path(pattern: str, given: dict[str, list[str]], path: str | None) -> None:
    """What it gives stands in the path, escaped; without all names there is none."""
    assert path_filled(pattern, given) == path
