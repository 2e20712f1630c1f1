"""The specs of a page as newer and older pages alike have them, read at once.

A page of the real catalog repeats a few texts over hundreds of specs. What many specs share stays
JSON here and is decoded and checked once for each distinct text. Whatever is not as usual is left
to ``snapshots.sources.pages.records``, which is slower and can say what is wrong.
"""

from collections.abc import Sequence
from functools import lru_cache

import msgspec
from msgspec import Raw

from snapshots.models import Spec
from snapshots.sources.pages.values import canonical_stacks, size_in_bytes
from snapshots.spack.names import (
    are_usual_urls,
    checked_compiler,
    checked_items,
    checked_variant,
    checked_version,
    checked_word,
)
from snapshots.spack.spelling import canonical_compiler, canonical_variants

_HASH_LENGTH = 32
_HASH_CHARACTERS = b"abcdefghijklmnopqrstuvwxyz234567"


class Detail(msgspec.Struct, gc=False):
    """One entry of ``spec_details``."""

    hash: str
    versions: Raw
    os: str
    platform: str
    target: str
    variants: Raw
    stacks: Raw
    compiler: str | None = None
    size: str | int | None = None
    tarball: str | None = None


DETAILS = msgspec.json.Decoder(list[Detail])
"""Decodes the value of ``spec_details``."""

_texts = msgspec.json.Decoder(tuple[str, ...])
_single_text = msgspec.json.Decoder(tuple[str])


def usual_specs(details: Sequence[Detail], name: str) -> tuple[Spec, ...] | None:
    """Return the specs of the package ``name``; None where something in them is not as usual."""
    hashes = [detail.hash for detail in details]
    if not _are_hashes(hashes):
        return None
    if not are_usual_urls([detail.tarball for detail in details if detail.tarball]):
        return None
    try:
        return tuple(
            [
                Spec(
                    hash=detail.hash,
                    name=name,
                    version=_version(bytes(detail.versions)),
                    compiler=_compiler(detail.compiler or "none"),
                    operating_system=checked_word(detail.os),
                    platform=checked_word(detail.platform),
                    target=checked_word(detail.target),
                    variants=_variants(bytes(detail.variants)),
                    stacks=_stacks(bytes(detail.stacks)),
                    size=None if detail.size == "-" else size_in_bytes(detail.size),
                    tarball=detail.tarball or None,
                )
                for detail in details
            ]
        )
    except ValueError:  # msgspec's errors are ValueErrors too
        return None


def _are_hashes(hashes: Sequence[str]) -> bool:
    """Tell whether all are DAG hashes, as ``snapshots.spack.names.is_hash`` does for one."""
    if not hashes:
        return True
    others = "".join(hashes).encode(errors="replace").translate(None, _HASH_CHARACTERS)
    return not others and set(map(len, hashes)) == {_HASH_LENGTH}


# Real pages have some thousand distinct versions and variant lists, and a hundred stack lists.


@lru_cache(maxsize=1 << 16)
def _version(text: bytes) -> str:
    (version,) = _single_text.decode(text)
    return checked_version(version)


@lru_cache(maxsize=1 << 16)
def _compiler(text: str) -> str | None:
    compiler = canonical_compiler(text)
    return compiler and checked_compiler(compiler)


@lru_cache(maxsize=1 << 16)
def _variants(text: bytes) -> tuple[str, ...]:
    return checked_items(canonical_variants(_texts.decode(text)), checked_variant)


@lru_cache(maxsize=1 << 14)
def _stacks(text: bytes) -> tuple[str, ...]:
    return canonical_stacks(_texts.decode(text))
