"""Release notes from user-supplied templates in Jinja's sandbox, and the included examples.

The sandbox keeps a template from reading anything but its variables and other templates. It limits
neither memory nor time: the template is the user's own, and runs on the user's machine.
"""

from pathlib import Path
from traceback import walk_tb
from types import TracebackType

from jinja2 import ChoiceLoader, FileSystemLoader, PackageLoader, TemplateNotFound
from jinja2.exceptions import TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from snapshots.errors import SourceError
from snapshots.notes.changelog import Changelog
from snapshots.notes.templates import environment_of, values

EXAMPLES = ("chat", "github-release")
"""Names of the included templates, which can be used directly or copied."""


def example_file(name: str) -> Path:
    """Return the path of an example."""
    return Path(__file__).parent / "templates" / "examples" / f"{name}.md.jinja"


def render_example(log: Changelog, name: str) -> str:
    """Render release notes with an included template."""
    return render_own(log, example_file(name))


def render_own(log: Changelog, file: Path) -> str:
    """Render release notes with the template in a file.

    The template may include others from its folder, and import cachelog's templates. Raises
    SourceError, with the file and the line, if the template cannot be read, if it fails, or if its
    output cannot be encoded.
    """
    try:
        file.read_bytes().decode()
    except OSError as error:
        raise SourceError(str(file), error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise SourceError(str(file), f"is not UTF-8 at byte {error.start + 1}") from None
    loaders = [FileSystemLoader(file.parent), PackageLoader("snapshots.notes")]
    environment = environment_of(ImmutableSandboxedEnvironment, ChoiceLoader(loaders))
    try:
        text = environment.get_template(file.name).render(values(log))
        text.encode()
    except TemplateSyntaxError as error:
        reason = error.message or "is not a template"
        raise SourceError(error.filename or str(file), reason, line=error.lineno) from None
    except UnicodeEncodeError as error:
        reason = f"writes what is not a character: U+{ord(error.object[error.start]):04X}"
        raise SourceError(str(file), reason) from None
    except Exception as error:  # noqa: BLE001 - templates can fail in every way
        place = _place(error.__traceback__) or (str(file), None)
        raise SourceError(place[0], _reason(error), line=place[1]) from None
    return text


def _reason(error: Exception) -> str:
    if isinstance(error, TemplateNotFound):
        return f"there is no template {error.name!r} beside it"
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
