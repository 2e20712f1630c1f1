"""The dimensions of coverage, as an enum of the API."""

from schema.fields.enums import describe_enum
from snapshots.changes.coverage import CoverageDimension

__all__ = ["CoverageDimension"]

describe_enum(
    CoverageDimension,
    "What packages are looked at in combination with.",
    {
        CoverageDimension.STACK: "The stack; root is none.",
        CoverageDimension.TARGET: "The target.",
        CoverageDimension.OPERATING_SYSTEM: "The operating system.",
        CoverageDimension.PLATFORM: "The platform.",
        CoverageDimension.COMPILER: "The compiler with its version.",
        CoverageDimension.COMPILER_NAME: "The compiler, whatever its version.",
        CoverageDimension.VERSION: "The version.",
    },
)
