"""The hashes of a frame: 32 characters each, looked up and compared by packed keys."""

from collections.abc import Callable
from functools import cached_property
from secrets import randbits
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from snapshots.arrays import Fingerprints, Mask, Rows
from snapshots.frames.columns import Image

WIDTH = 32
"""Number of characters of a hash."""

NUM_WORDS = WIDTH // 8
"""Number of 64-bit numbers that a hash is stored as."""

_MANY = 16
"""Few hashes are searched among this many times as many; otherwise, both are merged."""

_KEY_CHARACTERS = 12
_BITS = 5


# The value of each character. Packed keys sort in the same order as the texts: digits first.
_ALPHABET = b"234567abcdefghijklmnopqrstuvwxyz"
_VALUES = np.zeros(256, np.uint64)
_VALUES[np.frombuffer(_ALPHABET, np.uint8)] = np.arange(len(_ALPHABET), dtype=np.uint64)


class Hashes:
    """The hashes of all rows.

    A key packs the first 12 characters (60 bits). Sorting and matching keys is about twenty times
    faster than sorting and matching texts. If keys collide, which is very rare, the full texts are
    compared.

    ``raw`` has the characters; ``keys`` are computed unless they are passed.
    """

    def __init__(self, raw: bytes | Fingerprints, keys: Fingerprints | None = None) -> None:
        words = np.frombuffer(raw, np.uint64) if isinstance(raw, bytes) else raw
        self._words = words.reshape(-1, NUM_WORDS)
        self._keys = _pack(self._words.view(np.uint8)) if keys is None else keys
        self._mapped: dict[Any, list[Any]] = {}

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def keys(self) -> Fingerprints:
        """The prefix of each hash as a number."""
        return self._keys

    @property
    def words(self) -> Fingerprints:
        """The hashes as four numbers per row, which numpy copies and compares fast."""
        return self._words

    @property
    def num_bytes(self) -> int:
        """Memory used by the hashes once their texts exist, plain and quoted, in bytes."""
        arrays = WIDTH + 8 + 8 + 4
        texts = 2 * 8 + 2 * 50 + 2 * WIDTH
        return (arrays + texts) * len(self)

    def at(self, row: int) -> str:
        """Return the hash of a row."""
        text: bytes = self._words[row].tobytes()
        return text.decode()

    @property
    def texts(self) -> list[str]:
        """All hashes as text; cached, so that lists of specs need no decoding."""
        return self._images(str)

    def texts_at(self, rows: Rows) -> list[str]:
        """Return the hash of each row as text."""
        return self.mapped_at(str, rows)

    def mapped_at(self, function: Callable[[str], Image], rows: Rows) -> list[Image]:
        """Apply a function to the hash of each row.

        The results for all hashes are cached by function: pass module-level functions only.
        """
        return list(map(self._images(function).__getitem__, rows.tolist()))

    def _images(self, function: Callable[[str], Image]) -> list[Image]:
        if function not in self._mapped:
            texts = texts_of(self.words)
            self._mapped[function] = texts if function is str else list(map(function, texts))
        return self._mapped[function]

    def reordered(self, rows: Rows) -> "Hashes":
        """Return the hashes with their rows in this order; ``rows`` is a permutation."""
        hashes = Hashes(self.words.take(rows, axis=0), self.keys.take(rows))
        places = np.empty_like(rows)
        places[rows] = np.arange(len(rows), dtype=rows.dtype)
        hashes.order = places[self.order]
        return hashes

    @cached_property
    def order(self) -> Rows:
        """The rows in ascending order of hash."""
        order = np.argsort(self.keys).astype(np.int32)
        keys = self.keys[order]
        if (keys[1:] == keys[:-1]).any():
            order = np.argsort(self._texts_array, kind="stable").astype(np.int32)
        return order

    @cached_property
    def sorted_keys(self) -> Fingerprints:
        """The keys in ascending order."""
        return self.keys[self.order]

    @property
    def _texts_array(self) -> npt.NDArray[np.bytes_]:
        return np.frombuffer(self.words.tobytes(), f"S{WIDTH}")

    def match(self, head: "Hashes") -> Rows:
        """Return for each row the row in ``head`` with the same hash, or -1."""
        if len(self) > _MANY * len(head):
            found = head.match(self)
            are_found = found != -1
            partners = np.full(len(self), -1, np.int32)
            partners[found[are_found]] = np.flatnonzero(are_found)
            return partners
        if len(head) > _MANY * len(self):
            places = np.searchsorted(head.sorted_keys, self.keys)
            partners = head.order[np.minimum(places, len(head) - 1)]
            same_keys = head.keys_at(partners) == self.keys
            if (same_keys == (head.words_at(partners) == self.words).all(axis=1)).all():
                return np.where(same_keys, partners, np.int32(-1))
            return self._match_texts(head)
        keys = np.concatenate([self.sorted_keys, head.sorted_keys])
        order = np.argsort(keys, kind="stable")  # merges the two runs, those of head last
        in_order = keys[order]
        places = np.flatnonzero(in_order[1:] == in_order[:-1])
        ours, theirs = order[places], order[places + 1] - len(self)
        if len(places) and (ours.max() >= len(self) or theirs.min() < 0):
            return self._match_texts(head)  # a key occurs twice on one side
        rows, partner_rows = self.order[ours], head.order[theirs]
        if not np.array_equal(self.words_at(rows), head.words_at(partner_rows)):
            return self._match_texts(head)
        partners = np.full(len(self), -1, np.int32)
        partners[rows] = partner_rows
        return partners

    def _match_texts(self, head: "Hashes") -> Rows:
        """Match the hashes by their full texts, because keys collide."""
        rows = {text: row for row, text in enumerate(head.texts)}
        return np.array([rows.get(text, -1) for text in self.texts], np.int32)

    def keys_at(self, rows: npt.NDArray[np.integer]) -> Fingerprints:
        """Return the keys of rows."""
        return self._keys.take(rows)

    def words_at(self, rows: npt.NDArray[np.integer]) -> Fingerprints:
        """Return the hashes of rows as four numbers each."""
        return self._words.take(rows, axis=0)

    def at_rows(self, rows: Rows) -> "Hashes":
        """Return the hashes of rows."""
        return Hashes(self.words_at(rows), self.keys_at(rows))

    def find(self, text: str) -> int | None:
        """Return the row of a hash; None if there is no such hash."""
        if len(text) != WIDTH:
            return None
        return next(iter(self.with_prefix(text).tolist()), None)

    def with_prefix(self, prefix: str) -> Rows:
        """Return the rows whose hash has this prefix, in ascending order of hash."""
        if not is_beginning(prefix):
            return np.empty(0, np.int32)
        beginning = prefix.encode()
        low, high = (
            _pack(np.frombuffer(beginning.ljust(WIDTH, filler), np.uint8).reshape(1, WIDTH))[0]
            for filler in (b"2", b"z")
        )
        start = np.searchsorted(self.sorted_keys, low, "left")
        stop = np.searchsorted(self.sorted_keys, high, "right")
        rows = self.order[start:stop]
        if len(beginning) > _KEY_CHARACTERS:
            rows = np.array([row for row in rows if self.at(row).startswith(prefix)], np.int32)
        return rows


def words_of(hashes: pa.ChunkedArray) -> Fingerprints:
    """Return Arrow texts of 32 characters as numbers, four per text."""
    whole = hashes.combine_chunks().cast(pa.binary()).cast(pa.binary(WIDTH))
    if not len(whole):
        return np.empty(0, np.uint64)
    _, data = whole.buffers()
    words = np.frombuffer(data, np.uint64)
    return words[whole.offset * NUM_WORDS :][: len(whole) * NUM_WORDS]


def texts_of(words: Fingerprints) -> list[str]:
    """Return the texts of hashes that are stored as four numbers each."""
    text = words.tobytes().decode()
    return [text[start : start + WIDTH] for start in range(0, len(text), WIDTH)]


def is_beginning(text: str) -> bool:
    """Return whether the text can be a prefix of a hash."""
    beginning = text.encode(errors="replace")
    return len(beginning) <= WIDTH and all(byte in _ALPHABET for byte in beginning)


def _pack(table: npt.NDArray[np.uint8]) -> Fingerprints:
    keys = np.zeros(len(table), np.uint64)
    for position in range(_KEY_CHARACTERS):
        keys = (keys << np.uint64(_BITS)) | _VALUES[table[:, position]]
    return keys


# -- sets of hashes


# Odd, so that multiplication is invertible, and random, so that no one can create hashes that
# collide.
_FIRST, _SECOND, _THIRD = (np.uint64(randbits(64) | 1) for _ in range(3))


class HashSet:
    """The hashes of a content, for membership tests.

    The set stores eight bytes of each hash, so that the sets of many contents fit into memory.
    These 64 bits are mixed with secret numbers of this process. The probability that one of a
    million tests against a million hashes is wrong is about one in ten million.
    """

    def __init__(self, hashes: pa.ChunkedArray) -> None:
        self._keys = np.sort(_mixed(words_of(hashes)))

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def num_bytes(self) -> int:
        """Memory used by the set, in bytes."""
        return self._keys.nbytes + 200

    def having(self, others: Hashes) -> Mask:
        """Return a mask of those of the other hashes that are in the set."""
        if not len(self):
            return np.zeros(len(others), np.bool_)
        keys = _mixed(others.words)
        places = np.minimum(np.searchsorted(self._keys, keys), len(self) - 1)
        mask: Mask = self._keys[places] == keys
        return mask


def _mixed(words: npt.NDArray[np.uint64]) -> Fingerprints:
    """Return 64 bits for each hash, which depend on all of its characters."""
    of_hashes = words.reshape(-1, NUM_WORDS)
    keys = np.zeros(len(of_hashes), np.uint64)
    for word in of_hashes.T:
        keys ^= word
        for factor, shift in ((_FIRST, 32), (_SECOND, 29), (_THIRD, 32)):
            keys *= factor
            keys ^= keys >> np.uint64(shift)
    return keys
