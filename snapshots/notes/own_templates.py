"""Release notes rendered from user-supplied templates in a sandbox, and the included examples.

A single expression in a template can use any amount of memory or time, such as
``'a'.ljust(10**10)``. For this reason, user-supplied templates are rendered in a separate process
with limited memory and time. Run as a program, this module is that process.
"""

import os
import pickle
import resource
import subprocess
import sys
from collections.abc import Iterable
from math import ceil
from pathlib import Path
from signal import SIGXCPU, Signals
from time import process_time
from traceback import walk_tb
from types import TracebackType

import msgspec
from jinja2 import ChoiceLoader, FileSystemLoader, PackageLoader, TemplateNotFound
from jinja2.exceptions import TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from snapshots.errors import SourceError
from snapshots.notes.changelog import Changelog
from snapshots.notes.templates import environment_of, markup_of, variables

EXAMPLES = ("chat", "github-release")
"""Names of the included templates, which can be used directly or copied."""

LONGEST = 1 << 24
"""Maximum number of characters that a template may write."""

MAX_SECONDS = 20
"""Maximum CPU time of a template in seconds; half of the maximum wall-clock time."""

MAX_MEMORY = 1 << 30
"""Maximum memory of the process of a template, in bytes."""


def example_file(name: str) -> Path:
    """Return the path of an example."""
    return Path(__file__).parent / "templates" / "examples" / f"{name}.md.jinja"


def render_example(log: Changelog, name: str) -> str:
    """Render release notes with an included template, in this process."""
    return _rendered(log, example_file(name))


def render_own(log: Changelog, file: Path) -> str:
    """Render release notes with the template in a file, in a separate process.

    The template may include others from its folder, and import cachelog's templates. The output is
    HTML, with all printed values escaped, if the file's name ends in .html or .html.jinja. Raises
    SourceError, with the file and the line, if the template cannot be read, if it fails, or if it
    exceeds the limits of time or memory.
    """
    # Without -P, Python would import modules from the current folder instead of cachelog.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        process = subprocess.run(  # noqa: S603 - this very module
            [sys.executable, "-P", "-m", __name__],
            input=pickle.dumps((log, file, MAX_SECONDS)),
            capture_output=True,
            env=environment,
            timeout=2 * MAX_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SourceError(str(file), _too_slow()) from None
    except OSError as error:
        reason = f"no process can be started for it: {error.strerror or error}"
        raise SourceError(str(file), reason) from None
    if process.returncode:
        raise SourceError(str(file), _exit_reason(process.returncode, process.stderr))
    outcome = msgspec.json.decode(process.stdout)
    if isinstance(outcome, str):
        return outcome
    location, reason, line = outcome
    raise SourceError(location, reason, line=line)


def _too_slow() -> str:
    return f"takes longer than {MAX_SECONDS} s"


def _exit_reason(code: int, stderr: bytes) -> str:
    """Return why the process of a template exited without a result."""
    if code == -SIGXCPU:
        return _too_slow()
    if code < 0:
        return f"its process was ended by {Signals(-code).name}, perhaps for lack of memory"
    last = stderr.decode(errors="replace").strip().rpartition("\n")[2]
    return f"its process failed: {last or f'status {code}'}"


def _main() -> None:
    """Render the template that the standard input names, within limits.

    Write the text to the standard output as JSON, or the location, reason and line of an error.
    """
    outcome: object
    log, file, seconds = pickle.load(sys.stdin.buffer)  # noqa: S301 - render_own's
    seconds += ceil(process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))
    try:
        outcome = _rendered(log, file)
    except MemoryError:  # while joining its text
        outcome = str(file), _too_large(), None
    except SourceError as error:
        outcome = error.location, error.reason, error.line
    sys.stdout.buffer.write(msgspec.json.encode(outcome))


def _rendered(log: Changelog, file: Path) -> str:
    try:
        file.read_bytes().decode()
    except OSError as error:
        raise SourceError(str(file), error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise SourceError(str(file), f"is not UTF-8 at byte {error.start + 1}") from None
    loaders = [FileSystemLoader(file.parent), PackageLoader("snapshots.notes")]
    # The sandbox gives access to nothing harmful, but limits neither memory nor time.
    environment = environment_of(
        ImmutableSandboxedEnvironment, ChoiceLoader(loaders), markup_of(file.name)
    )
    try:
        pieces = environment.get_template(file.name).generate(variables(log))
        return _bounded(pieces, file)
    except SourceError:
        raise
    except TemplateSyntaxError as error:
        reason = error.message or "is not a template"
        raise SourceError(error.filename or str(file), reason, line=error.lineno) from None
    except Exception as error:  # noqa: BLE001 - templates can fail in every way
        place = _place(error.__traceback__) or (str(file), None)
        raise SourceError(place[0], _reason(error), line=place[1]) from None


def _bounded(pieces: Iterable[str], file: Path) -> str:
    """Join the pieces; raise SourceError if the text is too long or contains invalid characters."""
    pieces_read, remaining = [], LONGEST
    for piece in pieces:
        remaining -= len(piece)
        if remaining < 0:
            raise SourceError(str(file), f"writes more than {LONGEST:,} characters")
        pieces_read.append(piece)
    text = "".join(pieces_read)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        reason = f"writes what is not a character: U+{ord(text[error.start]):04X}"
        raise SourceError(str(file), reason) from None
    return text


def _too_large() -> str:
    return f"takes more than {MAX_MEMORY >> 20:,} MiB of memory"


def _reason(error: Exception) -> str:
    if isinstance(error, TemplateNotFound):
        return f"there is no template {error.name!r} beside it"
    if isinstance(error, MemoryError):
        return _too_large()
    text = str(error)
    if type(error).__module__.startswith("jinja2"):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _place(traceback: TracebackType | None) -> tuple[str, int] | None:
    """Return the file and line of the template that raised an error, if a template did.

    Jinja adds frames of the templates to the traceback; their globals contain the exception.
    """
    places = [
        (frame.f_code.co_filename, line)
        for frame, line in walk_tb(traceback)
        if "__jinja_exception__" in frame.f_globals
    ]
    return places[-1] if places else None


if __name__ == "__main__":
    _main()
