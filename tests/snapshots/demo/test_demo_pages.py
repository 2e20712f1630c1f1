"""The made-up history as cache pages: the facts of a revision in the newest spelling."""

from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from snapshots.demo import history, write_pages
from snapshots.errors import InvalidArgument
from snapshots.models import Spec
from snapshots.spack.spelling import canonical_variants


def front_matter(page: Path) -> dict[str, str]:
    """Return the keys of a written page with their values as they are spelled."""
    first, *lines, last = page.read_text().split("\n")
    assert (first, last) == ("---", "---")
    return dict(line.split(": ", 1) for line in lines)


def spelled(spec: Spec) -> dict[str, Any]:
    """Return a spec as a cache page states it, variants in canonical spelling."""
    return {
        "hash": spec.hash,
        "versions": [spec.version],
        "compiler": "none" if spec.compiler is None else spec.compiler,
        "os": spec.operating_system,
        "platform": spec.platform,
        "target": spec.target,
        "variants": list(spec.variants),
        "stacks": list(spec.stacks),
        "size": "-",
    }


def test_pages_hold_what_the_snapshot_holds(tmp_path: Path) -> None:
    """Each package has its page, with its facts and a summary that agrees with them."""
    *_, snapshot, _ = history(revisions=4)
    assert write_pages(snapshot, tmp_path) == len(snapshot.content.packages)
    assert len(list(tmp_path.rglob("specs.md"))) == len(snapshot.content.packages) > 300
    multi_valued = 0
    for name, package in snapshot.content.packages.items():
        matter = front_matter(tmp_path / "v0.22.0" / name / "specs.md")
        details = orjson.loads(matter["spec_details"])
        for detail in details:
            multi_valued += sum(":=" in variant for variant in detail["variants"])
            assert list(detail) == sorted(detail)
            detail["variants"] = list(canonical_variants(detail["variants"]))
        assert details == [spelled(spec) for spec in sorted(package.specs, key=lambda s: s.hash)]
        assert orjson.loads(matter["meta"]) == {
            "versions": sorted({spec.version for spec in package.specs}),
            "compilers": sorted({detail["compiler"] for detail in details}),
            "oss": sorted({spec.operating_system for spec in package.specs}),
            "platforms": sorted({spec.platform for spec in package.specs}),
            "targets": sorted({spec.target for spec in package.specs}),
            "stacks": sorted(package.stacks),
            "num_specs": len(package.specs),
            "num_specs_by_stack": Counter(s for spec in package.specs for s in spec.stacks),
        }
    assert multi_valued


def test_pages_look_like_real_ones_but_say_that_they_are_not(tmp_path: Path) -> None:
    """The front matter has the keys of the newest pages and one that marks it as synthetic."""
    (snapshot,) = history(revisions=1, packages=1, specs=2)
    write_pages(snapshot, tmp_path)
    matter = front_matter(tmp_path / "develop" / "compiler-wrapper" / "specs.md")
    assert list(matter) == [*("title", "layout", "categories", "synthetic", "meta", "spec_details")]
    assert matter["title"] == '"compiler-wrapper"'
    assert matter["layout"] == "cache"
    assert matter["categories"] == "[package, develop]"
    assert matter["synthetic"] == "true"
    assert orjson.loads(matter["meta"])["compilers"] == ["none"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A file in the way of the folder is an error of the caller, not a traceback."""
    (tmp_path / "pages").write_text("in the way")
    (snapshot,) = history(revisions=1, packages=1, specs=1)
    with pytest.raises(InvalidArgument, match=r"folder: cannot write .*pages"):
        write_pages(snapshot, tmp_path / "pages")
