"""The limits of a request."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of every request; each is the largest value allowed."""

    max_document_bytes: int = 64_000
    """Size of a document in UTF-8, in bytes."""

    max_tokens: int = 2_000
    """Tokens of a document; GraphiQL's introspection query has some 500."""

    max_depth: int = 25
    """Depth of nested selections, including those of spread fragments."""

    max_aliases: int = 200
    """Aliases in an operation, including those of fragments each time they are spread."""

    max_selections: int = 1_000
    """Fields in an operation, including those of fragments each time they are spread."""

    max_variable_bytes: int = 1_000_000
    """Size of the variables that the operation declares, as JSON, in bytes: 2,000 specs of a lock
    file.
    """

    max_variable_depth: int = 10
    """Depth of nested lists and objects in a variable."""

    max_list_length: int = 2_000
    """Values in a list of a variable, for example of ``nodes(ids:)``."""

    max_filter_values: int = 500
    """Values in all lists of a filter, in total."""

    max_text_length: int = 4_000
    """Characters of a text in a variable or document."""

    max_cost: int = 500_000
    """Units of work of at most 0.3 microseconds each; see ``schema.fields.cost``."""

    max_revisions: int = 10
    """Revisions whose contents a request may read."""

    max_answer_bytes: int = 64 << 20
    """Size of the data of a response, in bytes."""

    max_seconds: float = 10.0
    """Time that a request may run, in seconds, without the time to load revisions."""

    max_errors: int = 20
    """Errors in a response; the others are only counted."""
