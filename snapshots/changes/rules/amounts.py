"""How much a rule allows or asks for: a number, a percentage, or a size."""

import re
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import msgspec

from snapshots.wording import quoted

_NUMBER = r"[0-9]{1,15}(\.[0-9]{1,6})?"
SIZES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
"""The units of sizes, in bytes."""

NUMBER = r"^[0-9]{1,15}$"
PERCENTAGE = rf"^{_NUMBER} ?%$"
SIZE = rf"^{_NUMBER} ?({'|'.join(SIZES)})$"
"""How amounts are written in texts, as regular expressions that JSON Schema knows, too."""


class Unit(Enum):
    """What an amount counts: things one by one, hundredths of all of them, or bytes."""

    NUMBER = "number"
    PERCENTAGE = "percentage"
    BYTES = "bytes"


class Amount(msgspec.Struct, frozen=True):
    """An amount, exactly as it was written; ``text`` is for people."""

    value: Decimal
    unit: Unit
    text: str

    def share_of(self, whole: int) -> Fraction:
        """Return how much of a whole the amount is: a percentage of it, else the value itself."""
        value = Fraction(self.value)
        return value * whole / 100 if self.unit is Unit.PERCENTAGE else value


def read_amount(value: int | str) -> Amount:
    """Return the amount that a number or a text stands for; raises ValueError for no amount."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value < 10**15:
            raise ValueError("is no number from 0 to 999,999,999,999,999")
        return Amount(Decimal(value), Unit.NUMBER, f"{value:,}")
    text = str(value)
    if re.fullmatch(NUMBER[1:-1], text):
        return read_amount(int(text))
    if re.fullmatch(PERCENTAGE[1:-1], text):
        return Amount(Decimal(text.rstrip(" %")), Unit.PERCENTAGE, f"{text.rstrip(' %')} %")
    if (match := re.fullmatch(f"(?P<number>{_NUMBER}) ?(?P<unit>{'|'.join(SIZES)})", text)) is None:
        raise ValueError(f"{quoted(text)} is no amount")
    in_bytes = Decimal(match["number"]) * SIZES[match["unit"]]
    return Amount(in_bytes, Unit.BYTES, f"{match['number']} {match['unit']}")
