"""What functions of texts remember."""

from snapshots.spack.versions import remembered


def test_usual_texts_are_remembered_and_few_long_ones() -> None:
    """Each is worked out once, as long as there are no more than there is room for."""
    asked: list[str] = []

    @remembered(1_000, longest=3)
    def reversed_text(text: str) -> str:
        """Return a text from its end."""
        asked.append(text)
        return text[::-1]

    usual = [f"{number:03}" for number in range(1_000)]
    long = [f"{number:04}" for number in range(1_000)]
    for text in (*usual, *usual, *long, *long, long[-1]):
        assert reversed_text(text) == text[::-1]
    assert asked == [*usual, *long, *long]
    assert reversed_text.__doc__ == "Return a text from its end."
