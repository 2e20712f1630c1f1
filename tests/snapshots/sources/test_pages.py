"""Cache pages of every generation, and errors of bad pages."""

from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from msgspec.structs import replace

from snapshots.errors import SourceError
from snapshots.models import Spec
from snapshots.sources.pages.cache_page import CachePage, parse_page, tag_in_path
from snapshots.sources.reports import Report
from tests.snapshots.factories import hash_of
from tests.snapshots.sources.page_trees import detail, page_of

PAGES = Path(__file__).parent / "pages"

OPENMP = Spec(
    hash="26u3hyivudy5u3yqgrvw7pxc7yrtjkxa",
    name="kokkos",
    version="4.4.00",
    compiler="gcc@11.4.0",
    operating_system="ubuntu22.04",
    platform="linux",
    target="x86_64_v3",
    variants=(
        "+openmp",
        "build_system=cmake",
        "build_type=Release",
        "cxxstd=17",
        "patches=145619e,37a2b17",
        "~rocm",
    ),
    stacks=("e4s", "root"),
)
ROCM = replace(
    OPENMP,
    hash="ae7mbmjs3rkgrrfwlpzdgl2vsekgnqqj",
    version="4.3.01",
    compiler="rocmcc@6.1.2",
    variants=("+rocm", "amdgpu_target=gfx90a", "build_system=cmake", "build_type=Release"),
    stacks=("e4s-rocm-external", "root"),
)
FLAGS = replace(
    OPENMP,
    hash="lt2xq6k3pdhqatbb5wzmrvy4jnse7cuo",
    version="4.3.01",
    variants=("build_system=cmake", 'cflags="-O2 -g"', "~openmp"),
)


def page(*details: Any, **keys: Any) -> bytes:
    """Return a page with these specs; ``keys`` are added or replaced."""
    values = {"title": "hdf5", "categories": ["package", "develop"], "spec_details": details}
    return page_of(values | keys)


def parse(data: bytes, report: Report | None = None) -> CachePage:
    """Parse a page, by default without skipping bad specs."""
    return parse_page(data, "specs.md", report or Report())


def fixture(path: str) -> tuple[CachePage, Report]:
    """Parse one of the pages next to this file."""
    report = Report()
    return parse_page((PAGES / path).read_bytes(), path, report), report


@pytest.mark.parametrize("tag", ["develop", "v0.21.2"])
def test_generations_are_equal(tag: str) -> None:
    """The order of keys, specs and lists, and the spelling, do not matter."""
    cache_page, report = fixture(f"{tag}/kokkos/specs.md")
    assert (cache_page.name, cache_page.tag, cache_page.synthetic) == ("kokkos", tag, False)
    assert sorted(cache_page.specs, key=lambda spec: spec.hash) == [OPENMP, ROCM, FLAGS]
    assert not report.warnings


def test_page_without_tag() -> None:
    """Older pages have a category and no tag, and URLs of tarballs."""
    cache_page, report = fixture("untagged/e4s-23.05/kokkos/specs.md")
    assert cache_page.tag is None
    (spec,) = cache_page.specs
    assert spec.tarball is not None
    assert spec.tarball.endswith(f"kokkos-3.7.01-{spec.hash}.spack")
    assert not report.warnings


def test_oldest_layout_is_refused() -> None:
    """Pages of 2022 have no hashes; the error differs from that of other files."""
    with pytest.raises(SourceError, match=r"^2022/kokkos.md: has the layout of 2022 .* no hashes"):
        fixture("2022/kokkos.md")
    with pytest.raises(SourceError, match=r"is not a cache page: it has no spec_details$"):
        parse(b"---\ntitle: x\n---\n")


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("hash", ..., "is missing"),
        ("hash", "A" * 32, f"'{'A' * 32}' is not a hash: 32 characters of a-z and 2-7"),
        ("versions", ..., "is missing"),
        ("versions", [], "one version is expected, 0 are there"),
        ("versions", ["1", "2"], "one version is expected, 2 are there"),
        ("versions", ["1 2"], "'1 2' is not a version"),
        ("compiler", "gcc 13", "'gcc 13' is not a compiler such as gcc@13.2.0"),
        ("os", "a b", "'a b' is not a single word of 200 letters or fewer"),
        ("stacks", ["a/b"], "'a/b' cannot name a stack"),
        ("size", -1, "'-1' is neither a number of bytes nor '-'"),
        ("size", "1 kB", "'1 kB' is neither a number of bytes nor '-'"),
        ("size", True, "expected `int | str | null`, got `bool`"),
        ("size", 1 << 40, f"'{1 << 40}' is neither a number of bytes nor '-'"),
        ("tarball", "javascript:x", "'javascript:x' is not a URL that begins with one of "),
    ],
)
def test_bad_specs(key: str, value: Any, reason: str) -> None:
    """A bad spec ends the import, or is listed and left out."""
    data = page(detail(), detail(**({"hash": hash_of("b")} | {key: value})))
    with pytest.raises(SourceError) as caught:
        parse(data)
    message = str(caught.value)
    assert message.startswith(f"specs.md, line 4, spec_details[1].{key}: {reason}")
    report = Report(skip_bad=True)
    assert [spec.hash for spec in parse(data, report).specs] == [hash_of("a")]
    assert list(map(str, report.skipped)) == [message]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"spec_details": [detail(), 1]},
            ", line 4, spec_details[1]: expected `object`, got `int`",
        ),
        ({"spec_details": [detail(stacks=[1])]}, ", line 4, spec_details[0].stacks[0]: expected "),
        ({"title": ...}, ", title: is missing"),
        ({"title": "../x"}, ", line 2, title: '../x' cannot name a package"),
        ({"spec_details": {}}, ", line 4, spec_details: expected `array`, got `object`"),
        ({"meta": []}, ", line 5, meta: expected `object | null`, got `array`"),
        ({"categories": ["package", 1]}, ", categories[1]: expected `str`, got `int`"),
        ({"categories": ["package", "../x"]}, ", line 3, categories: '../x' is not a tag: "),
    ],
)
def test_bad_pages(keys: dict[str, Any], message: str) -> None:
    """An error of an entire page names its key."""
    with pytest.raises(SourceError) as caught:
        parse(page(**keys))
    assert str(caught.value).startswith(f"specs.md{message}")


@pytest.mark.parametrize(
    ("size", "expected"), [(..., None), ("-", None), ("", None), ("5", 5), (5, 5), (0, 0)]
)
@pytest.mark.parametrize("more", [[], [{}]], ids=["at once", "value by value"])
def test_sizes(size: Any, expected: int | None, more: list[Any]) -> None:
    """A size is a number, possibly as a text, or unknown."""
    (spec,) = parse(page(detail(size=size), *more), Report(skip_bad=True)).specs
    assert spec.size == expected


META = {
    "versions": ["1.0"],
    "compilers": ["gcc@=11.4.0"],
    "oss": ["ubuntu22.04"],
    "platforms": ["linux"],
    "targets": ["x86_64_v3"],
    "stacks": ["root", "e4s"],
    "num_specs": 1,
    "num_specs_by_stack": {"root": 1, "e4s": 1},
}


def test_contradicting_summary() -> None:
    """A summary with another number of specs is a warning with both."""
    report = Report()
    parse(page(detail(), meta=META | {"num_specs": 2}), report)
    assert report.warnings == ["specs.md: meta.num_specs says 2, there are 1"]


@pytest.mark.parametrize(
    ("path", "tag"),
    [
        ("_cache/develop/hdf5/specs.md", "develop"),
        ("develop/hdf5/specs.md", "develop"),
        ("hdf5/specs.md", None),
        ("develop/hdf5/hdf5.md", None),
        ("develop/other/specs.md", None),
        ("develop/hdf5.md", None),
    ],
)
def test_tag_in_path(path: str, tag: str | None) -> None:
    """The path TAG/PACKAGE/specs.md states the tag."""
    assert tag_in_path(PurePosixPath(path), "hdf5") == tag
