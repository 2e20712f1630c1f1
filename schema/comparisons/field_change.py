"""Facts that differ."""

import strawberry
from strawberry.scalars import JSON

from schema.fields.cost import Cost

FIELDS = Cost(weight=5, items=10)
"""The facts of a spec that can differ."""


@strawberry.type(
    description="A fact that differs: path as in stacks, compiler, variants; before and after as "
    "JSON."
)
class FieldChange:
    """A field change."""

    path: str = strawberry.field(description="The field that differs.")
    before: JSON | None = strawberry.field(description="Its value in base.")
    after: JSON | None = strawberry.field(description="Its value in head.")
