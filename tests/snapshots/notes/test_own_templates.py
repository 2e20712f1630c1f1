"""Templates of one's own: sandboxed, strict, bounded, with errors that name file and line."""

import io
import json
import pickle
import re
import resource
import sys
from pathlib import Path

import pytest
from hypothesis import given

from snapshots.errors import SourceError
from snapshots.models import Spec
from snapshots.notes import own_templates
from snapshots.notes.own_templates import EXAMPLES, render_example, render_own
from tests.expensive import FEWER_EXAMPLES
from tests.snapshots.factories import SPECS, a_spec
from tests.snapshots.notes.stories import BASE, HEAD, told
from tests.snapshots.notes.test_rendering import assert_tidy

LOG = told(BASE, HEAD)

LONGEST_RELEASE = 125_000
"""How many characters GitHub takes for the text of a release."""


def fill(folder: Path, text: str, name: str = "own.md.jinja", longest: int = 1_000) -> str:
    """Fill in a template with this text in this process."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return own_templates._rendered(LOG, file, longest)


def fill_apart(folder: Path, text: str) -> str:
    """Fill in a template in a process of its own, as the command does."""
    file = folder / "own.md.jinja"
    file.write_text(text, encoding="utf-8")
    return render_own(LOG, file)


def test_variables_are_the_names_of_the_json_notes(tmp_path: Path) -> None:
    """Whoever knows the document knows the variables."""
    text = (
        "{{ format }} {{ base.tag }} {{ head.taken_at | day }} {{ summary.specs_added }} "
        "{% for package in packages.added %}{{ package.name | code_span }} {% endfor %}"
        "{% for cell in no_longer_available.coverage %}{{ cell.values | join('/') }}{% endfor %}"
    )
    filled = fill(tmp_path, text)
    assert filled == "2 v0.21.0 4 February 2025 8 `lib2` `lib10` e4s/x86_64_v3"


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a\n\n{{ nothing }}", 3, "'nothing' is undefined"),
        ("a\n{{ base.nothing }}", 2, "has no attribute 'nothing'"),
        ("a\n{% for x in packages %}", 2, "Unexpected end of template"),
        ("{{ 1 / 0 }}", 1, "ZeroDivisionError: division by zero"),
        ("{{ ''.__class__ }}", 1, "access to attribute '__class__' of 'str' object is unsafe"),
        ("{{ causes.append(1) }}", 1, "access to attribute 'append' of 'list' object is unsafe"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", 1, "RecursionError"),
        ("\n{% include 'beside.md' %}", 2, "there is no template 'beside.md'"),
        ("\n{% include '../own.md.jinja' %}", 2, "there is no template '../own.md.jinja'"),
        ("{{ 'a' * 999 }}bc", None, "writes more than 1,000 characters"),
        ("{{ '\\ud800' }}", None, "writes what is not a character: U+D800"),
    ],
)
def test_errors_name_file_line_and_reason(
    tmp_path: Path, text: str, line: int | None, reason: str
) -> None:
    """The error has the file, the line from 1, and what is wrong there."""
    with pytest.raises(SourceError) as caught:
        fill(tmp_path, text)
    assert (caught.value.location, caught.value.line) == (str(tmp_path / "own.md.jinja"), line)
    assert reason in caught.value.reason


def test_files_that_cannot_be_filled_in(tmp_path: Path) -> None:
    """The error has the system's reason, the byte at fault, or the included file with its line."""
    (tmp_path / "latin").write_bytes("grün".encode("latin-1"))
    (tmp_path / "part.md").write_text("\n\n{{ nothing }}")
    (tmp_path / "whole.md").write_text("{% include 'part.md' %}")
    for name, place, reason in (
        ("nothing", ("nothing", None), "No such file or directory"),
        ("", ("", None), "Is a directory"),
        ("latin", ("latin", None), "is not UTF-8 at byte 3"),
        ("whole.md", ("part.md", 3), "'nothing' is undefined"),
    ):
        with pytest.raises(SourceError, match=reason) as caught:
            own_templates._rendered(LOG, tmp_path / name, 1_000)
        assert (caught.value.location, caught.value.line) == (str(tmp_path / place[0]), place[1])


def test_memory_is_bounded(tmp_path: Path) -> None:
    """An expression that requires any amount of memory ends its own process."""
    with pytest.raises(SourceError, match="takes more than 1,024 MiB of memory") as caught:
        fill_apart(tmp_path, "\n{{ 'a'.ljust(9999999999) }}")
    assert (caught.value.location, caught.value.line) == (str(tmp_path / "own.md.jinja"), 2)


def test_what_it_computes_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One expression that computes for ever, and a process that waits: both end in an error."""
    monkeypatch.setattr(own_templates, "MAX_SECONDS", 1)
    with pytest.raises(SourceError, match="takes longer than 1 s"):
        fill_apart(tmp_path, "{% set x = 9 %}{{ x ** 999999999 }}")
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(own_templates, "MAX_SECONDS", 0.05)
    with pytest.raises(SourceError, match=r"takes longer than 0\.05 s"):
        fill_apart(tmp_path, "x")


def test_a_process_that_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed, failed or never begun, the error names the template and says which."""
    for script, reason in (
        ("kill -KILL $$", "was ended by SIGKILL, as happens where memory is short"),
        ("echo a >&2; echo b >&2; exit 3", "its process failed: b"),
        ("exit 3", "its process failed: status 3"),
    ):
        program = tmp_path / "program"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(program))
        with pytest.raises(SourceError, match=reason):
            fill_apart(tmp_path, "x")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    with pytest.raises(SourceError, match="no process can be started for it: No such file"):
        fill_apart(tmp_path, "x")


def test_modules_in_the_current_folder_are_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process imports cachelog, whatever lies where cachelog was called."""
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "snapshots" / "__init__.py").write_text("raise SystemExit('trapped')")
    monkeypatch.chdir(tmp_path)
    assert fill_apart(tmp_path, "{{ base.tag }}") == "v0.21.0"


def test_the_process_of_a_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It bounds itself first, then writes the text, or the error with its place."""
    limits: list[int] = []
    monkeypatch.setattr("resource.setrlimit", lambda limit, _: limits.append(limit))
    file = tmp_path / "own.md.jinja"

    def outcome(template: str) -> object:
        file.write_text(template, encoding="utf-8")
        task = pickle.dumps((LOG, file, 10, 1, 1 << 30))
        with (
            monkeypatch.context() as patch,
            io.TextIOWrapper(io.BytesIO(task)) as read,
            io.TextIOWrapper(io.BytesIO()) as written,
        ):
            patch.setattr(sys, "stdin", read)
            patch.setattr(sys, "stdout", written)
            own_templates._main()
            return json.loads(written.buffer.getvalue())

    def out_of_memory(*_: object) -> str:
        raise MemoryError

    assert outcome("{{ format }}") == "2"
    assert limits == [resource.RLIMIT_CPU, resource.RLIMIT_CORE, resource.RLIMIT_DATA]
    assert outcome("\n{{ nothing }}") == [str(file), "'nothing' is undefined", 2]
    monkeypatch.setattr(own_templates, "_rendered", out_of_memory)
    assert outcome("") == [str(file), "takes more than 1,024 MiB of memory", None]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.html", "&lt;b&gt; <code>&lt;i&gt;</code> \\x1b"),
        ("a.HTML.jinja", "&lt;b&gt; <code>&lt;i&gt;</code> \\x1b"),
        ("a.md", "<b> `<i>` \x1b"),
        ("a.txt.jinja", "<b> `<i>` \x1b"),
    ],
)
def test_templates_of_html_escape(tmp_path: Path, name: str, expected: str) -> None:
    """By the template's name; what is not seen is written out there, too."""
    text = "{{ '<b>' }} {{ '<i>' | code_span }} {% for it in ['\x1b'] %}{{ it }}{% endfor %}"
    assert fill(tmp_path, text, name) == expected


def test_cachelogs_own_lines_can_be_imported(tmp_path: Path) -> None:
    """So that a template need not write anew what a list says of a package."""
    text = (
        '{% from "lines.jinja" import package_line %}'
        '{% for it in packages.upgraded %}{{ package_line(it, "upgraded") }}{% endfor %}'
    )
    assert fill(tmp_path, text) == "`boost` 1.85.0 → 1.86.0 (also 1.84.0 → 1.86.0)"


CHAT = """\
**Spack build cache: v0.21.0 → v0.22.0**

- Of 14 specs, 1 was rebuilt unchanged, 3 replace different ones and 4 are new; \
3 were removed without a replacement.
- Of the packages, 2 were added (`lib2` and `lib10`), 1 was removed (`abinit`), \
1 went up (`boost` 1.85.0 → 1.86.0) and 1 went down (`cmake` 3.29.0 → 3.28.0).
- Of the stacks, `hep` was added and `old` was removed.
- Three changes reached only their own packages.
- 7 hashes are gone, and with them one package; one other package is no longer built everywhere; \
`cmake` 3.29.0 was replaced by 3.28.0 (older) and `doxygen` 1.9.0 was replaced by 1.8.0 (older).
- Packages that are gone: `abinit`
"""


def test_the_example_for_a_chat() -> None:
    """The highlights, and what is gone."""
    assert render_example(LOG, "chat") == CHAT


def test_a_message_for_a_chat_is_a_few_lines_whatever_changed() -> None:
    """Long lists are cut, with how many more there are."""
    old = [a_spec(f"o{n}", name=f"p{n % 50}", version=f"1.{n}") for n in range(400)]
    text = render_example(told(old, old[:25]), "chat")
    assert len(text.splitlines()) <= 10
    assert len(text) < 1_000
    assert "- Packages that are gone: `p25`, `p26`, `p27`, `p28`, `p29` and 20 more\n" in text
    assert " and 170 more\n" in text


@pytest.mark.parametrize("name", EXAMPLES)
@FEWER_EXAMPLES
@given(base=SPECS, head=SPECS)
def test_examples_of_any_contents(name: str, base: list[Spec], head: list[Spec]) -> None:
    """They are filled in without a fault, and tidy."""
    assert_tidy(render_example(told(base, head), name))


def test_a_release_on_github_tells_all_where_there_is_room() -> None:
    """Every package of every section, and nothing left out."""
    text = render_example(LOG, "github-release")
    assert text.startswith("Of 14 specs, ")
    names = {entry.name for entries in LOG.packages.values() for entry in entries}
    assert all(f"- `{name}` " in text or f"- `{name}`:" in text for name in names)
    assert "Left out" not in text


@pytest.mark.untraced
def test_a_release_on_github_stays_within_its_limit() -> None:
    """What matters most has room first, and what is left out is said with its number."""
    length, count = 150, 900
    names = [f"{'p' * length}{number}" for number in range(count)]
    old = [a_spec(f"o{n}", name=name, version="1") for n, name in enumerate(names)]
    old += [a_spec(f"g{n}", name=f"gone{n}", version="1") for n in range(100)]
    new = [a_spec(f"n{n}", name=name, version="2") for n, name in enumerate(names)]
    text = render_example(told(old, new), "github-release")
    assert 0.9 * LONGEST_RELEASE < len(text) <= LONGEST_RELEASE
    assert all(f"- `gone{n}` 1 (1 spec)\n" in text for n in range(100))
    assert text.count("<details>") == text.count("</details>") > 0
    shown = len(re.findall(r"^- `p+[0-9]+` 1 → 2$", text, re.M))
    (left_out,) = re.findall(r"([0-9,]+) packages? of “Upgraded packages”", text)
    assert shown + int(left_out.replace(",", "")) == count
    assert_tidy(text)
