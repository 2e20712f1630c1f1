"""What templates show of an answer, and the files that pages load."""

from pathlib import Path

import pytest
from markupsafe import Markup

from server.asgi.static_folder import STATIC
from server.pages import renderer
from server.pages.addresses import Address
from server.pages.error_pages import Nearest
from server.pages.renderer import VENDOR, Renderer, assets, labelled, seen


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, é", "plain, é"),
        ("two\nlines\r\n\tmore", "two\nlines\r\n\tmore"),
        ("\x00\x1b\u202ea\u202e", r"\x00\x1b\u202ea\u202e"),
        ("blank\u3164", r"blank\u3164"),
        (None, None),
        (7, 7),
    ],
)
def test_what_is_not_seen_is_written_out(text: object, shown: object) -> None:
    """Marks that turn, hide or feign what stands there; line breaks and tabs stay."""
    assert seen(text) == shown


def test_cells_say_what_they_are() -> None:
    """By the heads of their columns, as far as those say anything; heads of rows do not."""
    table = Markup(
        '<thead><tr><th scope="col">Spec</th><th scope="col"><a href="?">Size '
        '<span aria-hidden="true">\u2193</span></a></th><th scope="col" aria-label="Changes">+ '
        '\u2212</th><th></th></tr></thead>\n<tbody>\n  <tr>\n    <th scope="row">a</th>\n'
        '    <td class="number">1</td><td>2</td><td>3</td></tr>\n'
        '  <tr><th>b</th><td colspan="2">4</td><td>5</td></tr>\n</tbody>'
    )
    head, _, body = labelled(table).partition("</thead>")
    assert head == table.partition("</thead>")[0]
    assert body == (
        '\n<tbody>\n<tr>\n<th scope="row">a</th>\n<td class="number" data-label="Size">1</td>'
        '<td data-label="Changes">2</td><td>3</td></tr>\n'
        '<tr><th>b</th><td colspan="2" data-label="Size">4</td><td>5</td></tr>\n</tbody>'
    )


def test_each_character_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of a million marks takes no longer than another."""
    looked_at: list[str] = []

    def look(char: str) -> str:
        looked_at.append(char)
        return "?"

    monkeypatch.setattr(renderer, "visible", look)
    assert seen("\u202e\x00" * 1_000) == "??" * 1_000
    assert sorted(looked_at) == ["\x00", "\u202e"]


def test_files_are_named_with_their_contents() -> None:
    """Each file that a page loads is there, so that browsers may keep it for a year."""
    found = assets()
    assert {"look.css", "pages.js", "icon.svg"} <= found.keys()
    for link in found.values():
        path, _, digest = link.removeprefix("static/").partition("?v=")
        assert len(digest) == 12
        folder = STATIC if path.startswith("vendor/") else renderer.STATIC
        assert (folder / path.removeprefix("pages/")).is_file()


def test_a_build_without_npm_has_plainer_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They load what is cachelog's own, and nothing from anywhere else."""
    assert set(assets(tmp_path)) == assets().keys() - {*VENDOR}
    monkeypatch.setattr(renderer, "VENDOR", ())
    monkeypatch.setattr(renderer, "_environment", renderer._environment.__wrapped__)
    page = (
        Renderer()
        .error(Address("/a/b", {}), 404, "Not found", {"message": "m"}, Nearest())
        .decode()
    )
    assert 'href="../static/pages/plain.css?v=' in page
    assert "//" not in page.replace("<!doctype html>", "")
    assert not [name for name in VENDOR if name in page]
