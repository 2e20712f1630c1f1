"""Pages that compare a stack of a revision with another one."""

import httpx
import pytest

from server.pages.routes import TABS
from tests.server.pages.api_answers import asked
from tests.server.pages.demo_comparison import links
from tests.server.pages.page_reader import shown

_FACTS = """{
  revision(ref: "develop") { digest stacks { name } }
}"""


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_is_about_the_stacks(client: httpx.Client, tab: str) -> None:
    """They are named, and the permanent address has digests."""
    revision = asked(client, _FACTS)["revision"]
    first, second = (it["name"] for it in revision["stacks"][:2])
    page = shown(client, f"/compare/develop:{first}...develop:{second}{tab}")
    assert page.status == 200
    if tab.endswith(".md"):
        assert page.response.text.startswith(
            f"# Spack build cache: `develop:{first}` → `develop:{second}`"
        )
        return
    assert page.text("h1") == f"develop:{first} →to develop:{second}"
    digest = revision["digest"]
    pinned = f"/compare/{digest}:{first}...{digest}:{second}{tab}"
    (permanent,) = [it for it in links(page, "footer a") if digest in it and "graphiql" not in it]
    assert httpx.URL(permanent).path == pinned
    assert shown(client, pinned).status == 200
    for link in links(page, ".tabs a"):
        assert httpx.URL(link).path.startswith(f"/compare/develop:{first}...develop:{second}")


def test_an_unknown_stack_is_not_found(client: httpx.Client) -> None:
    """The page says which is near."""
    name = asked(client, _FACTS)["revision"]["stacks"][0]["name"]
    page = shown(client, f"/compare/develop:{name}x...develop")
    assert page.status == 404
    assert f"has no stack '{name}x'" in page.text()
    assert f":{name}" in page.text()


@pytest.mark.parametrize("path", ["%2Fetc%2Fpasswd", ".%2Fspack.lock", "spack.lock"])
def test_no_path_names_a_side(client: httpx.Client, path: str) -> None:
    """Files of the server's machine are nobody's business; uploads are at /check."""
    page = shown(client, f"/compare/{path}...develop")
    assert page.status == 404
    assert "No revision" in page.text()
