"""What a request may ask for, and take."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of every request, as an operator sets them; each is the largest value allowed."""

    max_document_bytes: int = 64_000
    """Bytes of a document, in UTF-8."""

    max_tokens: int = 2_000
    """Tokens of a document; GraphiQL's introspection query has some 500."""

    max_depth: int = 25
    """Selections within each other, those of fragments where they are spread."""

    max_aliases: int = 200
    """Aliases in an operation, with those of fragments each time they are spread."""

    max_root_fields: int = 50
    """Fields of the root, those of fragments each time they are spread."""

    max_selections: int = 1_000
    """Fields in an operation, those of fragments each time they are spread."""

    max_variable_bytes: int = 1_000_000
    """Bytes of the variables that the operation declares, as JSON: 2,000 specs of a lock file."""

    max_variable_depth: int = 10
    """Lists and objects within each other in a variable."""

    max_list_length: int = 2_000
    """Values in a list of a variable or of a document, such as ``nodes(ids:)`` has."""

    max_filter_values: int = 500
    """Values in all lists of a filter together."""

    max_text_length: int = 4_000
    """Characters of a text in a variable or document."""

    max_name_length: int = 100
    """Characters of a name in a document: of an alias, say."""

    max_cost: int = 500_000
    """Units of work, 0.3 microseconds each at the most; see ``schema.fields.cost``."""

    max_revisions: int = 10
    """Revisions whose contents a request may read."""

    max_answer_bytes: int = 64 << 20
    """Bytes of an answer's data."""

    max_seconds: float = 10.0
    """Seconds that a request may run, without the time in which revisions are loaded."""

    max_errors: int = 20
    """Errors in an answer; the others are counted."""
