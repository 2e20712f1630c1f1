"""Why hashes come and go, as an enum of the API."""

from schema.fields.enums import describe_enum
from snapshots.catalog.asking.returned import MOST_CONTENTS
from snapshots.changes.reasons import SpecChangeReason

__all__ = ["SpecChangeReason"]

describe_enum(
    SpecChangeReason,
    "Why a hash came, went or changed: the first that applies, in this order.",
    {
        SpecChangeReason.REBUILT: "Added: it took the place of a spec with the same facts of its "
        "own; only dependencies differ, or nothing that the source tells.",
        SpecChangeReason.REPLACES: "Added: it took the place of a spec whose own facts differ.",
        SpecChangeReason.RETURNED: "Added: an earlier revision of the series had the hash; where "
        f"the history is not complete, one of the newest {MOST_CONTENTS}.",
        SpecChangeReason.NEW_PACKAGE: "Added: base has no spec of the package.",
        SpecChangeReason.NEW_STACK: "Added: all its stacks but root are new.",
        SpecChangeReason.NEW_VERSION: "Added: base has the package, not the version.",
        SpecChangeReason.NEW_TARGET: "Added: base has the version, but nothing of the package for "
        "this platform, operating system and target.",
        SpecChangeReason.NEW_BUILD: "Added: one more build of a version that base has.",
        SpecChangeReason.REPLACED: "Removed: another spec took its place.",
        SpecChangeReason.PACKAGE_GONE: "Removed: head has no spec of the package.",
        SpecChangeReason.STACK_GONE: "Removed: head has none of its stacks but root.",
        SpecChangeReason.VERSION_GONE: "Removed: head has the package, not the version.",
        SpecChangeReason.TARGET_GONE: "Removed: head has the version, but nothing of the package "
        "for this platform, operating system and target.",
        SpecChangeReason.BUILD_GONE: "Removed: one build less of a version that head has.",
        SpecChangeReason.FACTS: "Changed: the same hash, other facts.",
    },
)
