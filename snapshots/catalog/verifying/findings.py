"""What a verification finds: where, what is wrong, and what to do about it."""

import msgspec

VACUUM = "'cachelog vacuum' deletes it in time"
LIST_AGAIN = "'cachelog vacuum' lists it again"
IMPORT_AGAIN = "what was published is there; import again what was not"
FILL = "'cachelog history fill' compares them"


class Finding(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One thing that was found; what is no damage is worth knowing, and does no harm."""

    place: str
    reason: str
    advice: str
    is_damage: bool = True

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}; {self.advice}"
