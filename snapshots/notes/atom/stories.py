"""What changed between two revisions in the length of a feed's entry."""

from snapshots.changes.explanation import Explanation
from snapshots.history import Neighbours
from snapshots.notes import environments
from snapshots.notes.changelog import changelog
from snapshots.notes.document import Changelog
from snapshots.notes.variables import variables


def story(neighbours: Neighbours, explanation: Explanation) -> str:
    """Return the story of two neighbours as a piece of HTML, some 30,000 characters at most.

    It follows from their contents, and from whether these are made up: what came back to the series
    is not told apart. ``kept_stories.FORMAT`` rises where it says something else.
    """
    base = neighbours.base
    if base is None:
        raise ValueError("the first of a series has no story")
    return story_of(changelog(base, neighbours.head, explanation))


def story_of(log: Changelog) -> str:
    """Return the story of a changelog."""
    template = environments.shipped(html=True).get_template("story.html.jinja")
    return template.render(variables(log))
