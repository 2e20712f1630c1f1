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
from snapshots.notes.changelog import Changelog
from snapshots.notes.own_templates import EXAMPLES, render_example, render_own
from tests.expensive import FEWER_EXAMPLES
from tests.snapshots.factories import SPECS, a_spec
from tests.snapshots.notes.stories import BASE, HEAD, told
from tests.snapshots.notes.test_rendering import assert_tidy

LOG = told(BASE, HEAD)

LONGEST_RELEASE = 125_000
"""How many characters GitHub takes for the text of a release."""


def fill(folder: Path, text: str, name: str = "own.md.jinja", log: Changelog = LOG) -> str:
    """Render notes by a template with this text."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return render_own(log, file)


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
    ("text", "line", "said"),
    [
        ("a\n\n{{ nothing }}", 3, "'nothing' is undefined"),
        ("a\n{{ base.nothing }}", 2, "has no attribute 'nothing'"),
        ("{% if %}", 1, "Expected an expression"),
        ("a\n{% for x in packages %}", 2, "Unexpected end of template"),
        ("{{ 1 / 0 }}", 1, "ZeroDivisionError: division by zero"),
        ("{{ base | nothing }}", 1, "No filter named 'nothing'"),
        ("{{ ''.__class__ }}", 1, "access to attribute '__class__' of 'str' object is unsafe"),
        ("{{ causes.append(1) }}", 1, "access to attribute 'append' of 'list' object is unsafe"),
        ("{{ told.__globals__ }}", 1, "'told' is undefined"),
        ("{{ base.__struct_fields__ }}", 1, "is unsafe"),
        ("{% set x = 10 %}{{ x ** 100000 }}", 1, "Exceeds the limit (4300 digits)"),
        ("{{ range(1000000) | list }}", 1, "Range too big"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", 1, "RecursionError"),
        ("\n{% include 'beside.md' %}", 2, "there is no template 'beside.md'"),
        ("\n{% include '../own.md.jinja' %}", 2, "there is no template '../own.md.jinja'"),
    ],
)
def test_errors_name_file_line_and_reason(tmp_path: Path, text: str, line: int, said: str) -> None:
    """No traceback: the file, the line from 1, and what is wrong there."""
    file = tmp_path / "own.md.jinja"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError) as caught:
        own_templates._rendered(LOG, file, own_templates.LONGEST)
    error = caught.value
    assert (error.location, error.line) == (str(file), line)
    assert said in error.reason


@pytest.mark.parametrize(
    "text", ["\n{{ 'a'.ljust(9999999999) }}", "\n{{ '{:9999999999}'.format(1) }}"]
)
def test_what_it_takes_is_bounded(tmp_path: Path, text: str) -> None:
    """One expression that calls for any amount of memory ends its own process."""
    with pytest.raises(SourceError, match="takes more than 1,024 MiB of memory") as caught:
        fill(tmp_path, text)
    assert (caught.value.location, caught.value.line) == (str(tmp_path / "own.md.jinja"), 2)


def test_an_error_in_an_included_template_names_that_one(tmp_path: Path) -> None:
    """A template may include those in its folder; where one of them fails, it is named."""
    (tmp_path / "part.md").write_text("\n\n{{ nothing }}")
    with pytest.raises(SourceError) as caught:
        fill(tmp_path, "{% include 'part.md' %}")
    assert (caught.value.location, caught.value.line) == (str(tmp_path / "part.md"), 3)


def test_files_that_are_no_templates(tmp_path: Path) -> None:
    """What cannot be read is said with the operating system's reason, or the byte at fault."""
    with pytest.raises(SourceError, match="No such file or directory"):
        render_own(LOG, tmp_path / "nothing")
    with pytest.raises(SourceError, match="Is a directory"):
        render_own(LOG, tmp_path)
    (tmp_path / "latin").write_bytes("grün".encode("latin-1"))
    with pytest.raises(SourceError, match="is not UTF-8 at byte 3"):
        render_own(LOG, tmp_path / "latin")


def test_what_is_written_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A template that writes without end is stopped."""
    monkeypatch.setattr(own_templates, "LONGEST", 1_000)
    endless = "{% for x in range(99999) %}{% for y in range(99999) %}x{% endfor %}{% endfor %}"
    with pytest.raises(SourceError, match="writes more than 1,000 characters"):
        fill(tmp_path, endless)
    assert len(fill(tmp_path, "{% for x in range(1000) %}x{% endfor %}")) == 1_000


def test_what_it_computes_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One expression that computes for ever, and a process that waits: both end in an error."""
    monkeypatch.setattr(own_templates, "MAX_SECONDS", 1)
    with pytest.raises(SourceError, match="takes longer than 1 s"):
        fill(tmp_path, "{% set x = 9 %}{{ x ** 999999999 }}")
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(SourceError, match="takes longer than 1 s"):
        fill(tmp_path, "x")


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
            fill(tmp_path, "x")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    with pytest.raises(SourceError, match="no process can be started for it: No such file"):
        fill(tmp_path, "x")


def test_a_text_that_is_none(tmp_path: Path) -> None:
    """Half a pair of surrogates cannot be written to any file."""
    with pytest.raises(SourceError, match=r"writes what is no character: U\+D800"):
        fill(tmp_path, "{{ '\\ud800' }}")


def test_modules_in_the_current_folder_are_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process imports cachelog, whatever lies where cachelog was called."""
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "snapshots" / "__init__.py").write_text("raise SystemExit('trapped')")
    monkeypatch.chdir(tmp_path)
    assert fill(tmp_path, "{{ base.tag }}") == "v0.21.0"


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

- Of 14 specs, 1 was rebuilt as it was, 3 replace others that differ and 4 are new; \
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
@pytest.mark.parametrize(("length", "count"), [(30, 3_500), (150, 900)])
def test_a_release_on_github_stays_within_its_limit(length: int, count: int) -> None:
    """What matters most has room first, and what is left out is said with its number."""
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


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        ("\n{{ nothing }}", "'nothing' is undefined", 2),
        ("{% if %}", "Expected an expression", 1),
        ("{{ 1 / 0 }}", "ZeroDivisionError: division by zero", 1),
        ("{% include 'other' %}", "there is no template 'other' beside it", 1),
        ("{{ 'a' * 20 }}", "writes more than 10 characters", None),
        ("{{ '\\ud800' }}", "writes what is no character: U+D800", None),
    ],
)
def test_the_process_of_a_template(
    text: str, reason: str, line: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It bounds itself first, then says what the template writes, or what is wrong and where."""
    limits: list[int] = []
    monkeypatch.setattr("resource.setrlimit", lambda limit, _: limits.append(limit))

    def said(template: str) -> dict[str, object]:
        file = tmp_path / "own.md.jinja"
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
            return dict(json.loads(written.buffer.getvalue()))

    assert said("{{ format }}") == {"text": "2", "location": "", "reason": "", "line": None}
    assert limits == [resource.RLIMIT_CPU, resource.RLIMIT_CORE, resource.RLIMIT_DATA]
    failed = said(text)
    assert failed["text"] == ""
    assert str(failed["location"]).startswith(str(tmp_path))
    assert reason in str(failed["reason"])
    assert failed["line"] == line


def test_a_template_that_cannot_be_read(tmp_path: Path) -> None:
    """The process names the file and the reason."""
    for file, reason in ((tmp_path / "none", "No such file"), (tmp_path / "bytes", "byte 2")):
        (tmp_path / "bytes").write_bytes(b"a\xff")
        with pytest.raises(SourceError, match=reason):
            own_templates._rendered(LOG, file, 10)


def test_a_process_without_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so where it can; where the system ends it, the signal is named."""

    def out_of_memory(*_: object) -> str:
        raise MemoryError

    monkeypatch.setattr("resource.setrlimit", lambda *_: None)
    monkeypatch.setattr(own_templates, "_rendered", out_of_memory)
    task = pickle.dumps((LOG, tmp_path / "own.md", 10, 1, 1 << 30))
    with io.TextIOWrapper(io.BytesIO(task)) as read, io.TextIOWrapper(io.BytesIO()) as written:
        monkeypatch.setattr(sys, "stdin", read)
        monkeypatch.setattr(sys, "stdout", written)
        own_templates._main()
        said = json.loads(written.buffer.getvalue())
        monkeypatch.undo()
    assert said["reason"] == "takes more than 1,024 MiB of memory"
    assert "ended by SIGKILL" in own_templates._ended(-9, b"")
