"""Release notes by a template of one's own, in a sandbox, and the examples that come along."""

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from jinja2 import ChoiceLoader, FileSystemLoader, PackageLoader, TemplateNotFound
from jinja2.exceptions import TemplateSyntaxError

from snapshots.errors import SourceError
from snapshots.notes.document import Changelog
from snapshots.notes.environments import is_html, sandbox
from snapshots.notes.variables import variables

EXAMPLES = ("chat", "github-release")
"""The names of the templates that come along, to be used as they are or to be copied."""

LONGEST = 1 << 24
"""How many characters a template may write."""


def example_file(name: str) -> Path:
    """Return the file of an example."""
    return Path(__file__).parent / "templates" / "examples" / f"{name}.md.jinja"


def render_own(log: Changelog, file: Path) -> str:
    """Render release notes by the template in a file.

    It may include others from its folder, and import from cachelog's own. It writes HTML, with all
    that is printed escaped, where its name ends in .html, or .html.jinja. Raises SourceError, with
    the file and the line, for a template that cannot be read or that fails.
    """
    _require_text(file)
    loaders = [FileSystemLoader(file.parent), PackageLoader("snapshots.notes")]
    environment = sandbox(ChoiceLoader(loaders), html=is_html(file.name))
    try:
        pieces = environment.get_template(file.name).generate(variables(log))
        return _bounded(pieces, file)
    except SourceError:
        raise
    except TemplateSyntaxError as error:
        reason = error.message or "is no template"
        raise SourceError(error.filename or str(file), reason, line=error.lineno) from None
    except Exception as error:  # noqa: BLE001 - templates can fail in every way
        place = _place(error.__traceback__) or (str(file), None)
        raise SourceError(place[0], _reason(error), line=place[1]) from None


def _require_text(file: Path) -> None:
    """Raise SourceError with the reason where a file cannot be read, or is no text."""
    try:
        file.read_bytes().decode()
    except OSError as error:
        raise SourceError(str(file), error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise SourceError(str(file), f"is not UTF-8 at byte {error.start + 1}") from None


def _bounded(pieces: Iterable[str], file: Path) -> str:
    """Return the pieces as one text; raise SourceError where it gets too long."""
    kept, room = [], LONGEST
    for piece in pieces:
        room -= len(piece)
        if room < 0:
            raise SourceError(str(file), f"writes more than {LONGEST:,} characters")
        kept.append(piece)
    return "".join(kept)


def _reason(error: Exception) -> str:
    if isinstance(error, TemplateNotFound):
        return f"there is no template {error.name!r} beside it"
    text = str(error)
    if type(error).__module__.startswith("jinja2"):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _place(traceback: TracebackType | None) -> tuple[str, int | None] | None:
    """Return the file and the line of a template that an error came from, if it came from one.

    Jinja puts frames of the templates into the traceback, which hold the exception under a name.
    """
    place: tuple[str, int | None] | None = None
    while traceback is not None:
        frame = traceback.tb_frame
        if "__jinja_exception__" in frame.f_globals:
            place = frame.f_code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next
    return place
