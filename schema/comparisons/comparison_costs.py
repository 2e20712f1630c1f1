"""What the fields of a comparison cost."""

from schema.fields.cost import COMPARING, COVERING, EXPLAINING, ArgumentCost, Cost

NOTES = Cost(weight=180_000, once=EXPLAINING, num_bytes=15_000_000)
"""Release notes, made anew each time. Two formats of them may be asked for at once.

Those of revisions months apart are long, as JSON most.
"""

CHANGES = Cost(
    weight=1_000,
    each=20,
    once=COMPARING,
    arguments={
        "kinds": ArgumentCost(weight=100, each=50),
        "reasons": ArgumentCost(weight=5_000, each=50, once=EXPLAINING),
        "search": ArgumentCost(weight=1_000),
        "orderBy": ArgumentCost(weight=500),
        "filter": ArgumentCost(weight=3_000, each=60),
    },
)
"""A page of the changes of a comparison."""

CAUSES = Cost(
    weight=1_500,
    each=20,
    once=EXPLAINING,
    arguments={
        "kinds": ArgumentCost(weight=100, each=50),
        "package": ArgumentCost(weight=100),
    },
)
"""A page of causes."""

COVERAGE = Cost(
    weight=COVERING,
    each=10,
    once=COMPARING,
    arguments={
        "by": ArgumentCost(each=20_000),
        "kinds": ArgumentCost(weight=100, each=50),
        "search": ArgumentCost(weight=1_000),
    },
)
"""A page of lost and gained cells."""

ONE_CAUSE = Cost(weight=100, once=EXPLAINING)
"""A cause by its name."""

WHY_UNKNOWN = Cost(weight=10, once=EXPLAINING, num_bytes=150)
"""What the sources of a comparison do not tell."""
