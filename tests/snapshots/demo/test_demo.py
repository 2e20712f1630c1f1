"""The made-up history: reproducible, valid, and changing in every way that the real cache does."""

import hashlib
from collections import Counter, defaultdict
from datetime import timedelta
from graphlib import TopologicalSorter
from itertools import islice, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest

from snapshots.contents import Snapshot
from snapshots.demo import develop_history, history, write_pages
from snapshots.demo.draws import Draw
from snapshots.demo.machines import MACHINES
from snapshots.demo.packages import make_recipe, package_names
from snapshots.errors import InvalidArgument
from snapshots.models import Spec
from snapshots.refs import series, tag_date
from snapshots.spack.names import ROOT_STACK, is_hash, is_name
from snapshots.spack.notation import canonical_compiler, canonical_variants
from snapshots.spack.versions import version_key


def small(*, revisions: int = 4, packages: int = 30, specs: int = 200, seed: int = 0) -> list[str]:
    """Return the digests of a small history's contents."""
    snapshots = history(revisions=revisions, packages=packages, specs=specs, seed=seed)
    return [snapshot.content.digest for snapshot in snapshots]


def by_hash(snapshot: Snapshot) -> dict[str, Spec]:
    """Return the specs of a revision by their hashes."""
    return {spec.hash: spec for spec in snapshot.content.specs()}


def test_the_history_is_the_same_for_ever() -> None:
    """No clock, process, hash seed or Python version has a part in it: its digest is pinned."""
    facts = attrgetter("hash", "version", "variants", "stacks", "size", "dependencies")
    digest = hashlib.sha256()
    for snapshot in history(packages=260, specs=1500):
        specs = [facts(spec) for spec in snapshot.content.specs()]
        digest.update(msgspec.json.encode((snapshot.tag, snapshot.taken_at, specs)))
    assert digest.hexdigest() == "c486c1dffd4cf9cb6f27d8b77c7c26d91166e967d323a1d38e52c3c0714fd5a4"


@pytest.mark.parametrize("changed", [{"seed": 1}, {"packages": 31}, {"specs": 201}])
def test_other_arguments_give_other_content(changed: dict[str, int]) -> None:
    """No revision is shared between two histories, and neither is a hash."""
    assert not set(small()) & set(small(**changed))


def test_more_revisions_leave_the_earlier_ones_as_they_are() -> None:
    """A longer history begins with the shorter one."""
    assert small(revisions=6)[:4] == small(revisions=4)


@pytest.mark.untraced
def test_tags_and_dates(revisions: list[Snapshot]) -> None:
    """Releases rise among weekly snapshots; develop comes last; all say that they are made up."""
    assert [snapshot.tag for snapshot in revisions] == [
        "develop-2025-01-05",
        "develop-2025-01-12",
        "v0.22.0",
        "develop-2025-01-26",
        "develop-2025-02-02",
        "develop-2025-02-09",
        "v0.23.0",
        "develop",
    ]
    moments = [snapshot.taken_at for snapshot in revisions]
    assert all(a and b and b - a == timedelta(weeks=1) for a, b in pairwise(moments))
    for snapshot in revisions:
        source = snapshot.source
        assert (source.kind, source.synthetic) == ("demo", True)
        assert source.location == "demo: 300 packages, 6000 specs, seed 0"
        if series(snapshot.tag) == "develop-DATE":
            assert snapshot.taken_at == tag_date(snapshot.tag)


def test_develop_has_every_week_and_each_has_a_second_tag() -> None:
    """The history of develop has the contents of the other, and the same content under two tags."""
    numbers = {"revisions": 12, "packages": 40, "specs": 200}
    made_up = list(develop_history(**numbers))
    beside, develop = made_up[::2], made_up[1::2]
    assert {it.tag for it in develop} == {"develop"}
    assert [msgspec.structs.replace(it, tag="develop") for it in beside] == develop
    singly = list(history(**numbers))
    assert [it.tag for it in beside[:-1]] == [it.tag for it in singly[:-1]]
    assert beside[-1].tag == "develop-2025-03-23"
    assert [it.content.digest for it in develop] == [it.content.digest for it in singly]
    assert [it.taken_at for it in develop] == [it.taken_at for it in singly]


@pytest.mark.untraced
def test_years_grow_linearly() -> None:
    """Some 2 % of the first packages a week, whatever has come since."""
    weeks = [it.content for it in history(revisions=140, packages=40, specs=80)]
    first, second = (len(weeks[end].packages) - len(weeks[end - 69].packages) for end in (70, 139))
    assert 0.5 * first < second < 1.5 * first
    assert len(weeks[-1].packages) < 40 * (1 + 0.03 * len(weeks))


@pytest.mark.untraced
def test_sizes_stay_near_the_arguments(revisions: list[Snapshot]) -> None:
    """The first revision is exact, the later ones are larger by some percent, or smaller once."""
    assert len(revisions[0].content) == 6000
    assert len(revisions[0].content.packages) == 300
    for number, snapshot in enumerate(revisions):
        assert 280 < len(snapshot.content.packages) <= 300 * 1.025**number
        assert 5600 < len(snapshot.content) < 6300 * 1.025**number


@pytest.mark.parametrize(("packages", "specs"), [(1, 1), (20, 90)])
def test_small_caches_neither_die_out_nor_explode(packages: int, specs: int) -> None:
    """Where chance has few packages to act on, it does not get the better of the sizes."""
    for snapshot in history(revisions=40, packages=packages, specs=specs):
        assert packages - packages // 12 <= len(snapshot.content.packages) <= packages
        assert len(snapshot.content.packages) <= len(snapshot.content) <= 3 * specs


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"revisions": 0}, "revisions"),
        ({"packages": 0}, "packages"),
        ({"specs": -1}, "specs"),
        ({"packages": 10, "specs": 9}, "specs"),
    ],
)
def test_bad_numbers_are_refused_at_once(arguments: dict[str, int], name: str) -> None:
    """The call itself fails, before any revision is made."""
    for made_up in (history, develop_history):
        with pytest.raises(InvalidArgument) as caught:
            made_up(**arguments)
        assert caught.value.name == name


@pytest.mark.untraced
def test_every_spec_is_canonical_and_has_all_facts(revisions: list[Snapshot]) -> None:
    """Specs are spelled as the readers spell them, on machines that have their stacks."""
    machines = {(m.platform, m.operating_system, m.target): m for m in MACHINES}
    for snapshot in revisions:
        specs = list(snapshot.content.specs())
        assert len({spec.hash for spec in specs}) == len(specs)
        for spec in specs:
            machine = machines[spec.platform, spec.operating_system, spec.target]
            assert is_hash(spec.hash)
            assert is_name(spec.name)
            assert spec.variants == canonical_variants(spec.variants)
            assert spec.stacks == tuple(sorted(set(spec.stacks)))
            assert ROOT_STACK in spec.stacks
            assert {*machine.stacks, ROOT_STACK} >= set(spec.stacks)
            assert 2 <= len(spec.stacks) <= 5
            if spec.compiler is not None:
                assert canonical_compiler(spec.compiler) == spec.compiler
                names = {compiler.partition("@")[0] for compiler in machine.compilers}
                assert spec.compiler.partition("@")[0] in names
            assert spec.size is not None
            assert spec.size > 0
            assert spec.namespace == "builtin"


@pytest.mark.untraced
def test_dependencies_are_there_and_have_no_cycles(revisions: list[Snapshot]) -> None:
    """Edges lead to specs on the same kind of machine: of the revision, or compilers outside."""
    for snapshot in revisions:
        present = by_hash(snapshot)
        compilers = {spec.hash: spec for spec in snapshot.content.outside.specs}
        graph: defaultdict[str, set[str]] = defaultdict(set)
        for spec in present.values():
            assert spec.dependencies is not None
            assert spec.dependencies == tuple(sorted(spec.dependencies))
            for edge in spec.dependencies:
                needed = compilers.get(edge.hash) or present[edge.hash]
                assert needed.name == edge.name
                assert needed.operating_system == spec.operating_system
                assert needed.target == spec.target
                graph[spec.hash].add(edge.hash)
        assert sum(map(len, graph.values())) > len(present)
        TopologicalSorter(graph).prepare()


def test_names_are_valid_and_different() -> None:
    """The supply of names does not run out."""
    names = list(islice(package_names(), 5000))
    assert len(set(names)) == len(names)
    assert all(map(is_name, names))


@pytest.mark.parametrize("seed", range(3))
def test_versions_rise_with_their_rungs(seed: int) -> None:
    """A higher rung is a newer version in Spack's order, for every way of numbering."""
    draw = Draw(seed)
    for name in islice(package_names(), 350):
        recipe = make_recipe(draw, name, ())
        keys = [version_key(recipe.version(rung)) for rung in range(60)]
        assert all(lower < higher for lower, higher in pairwise(keys))


# -- cache pages


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
    *_, snapshot, _ = history(revisions=4, packages=50, specs=500)
    assert write_pages(snapshot, tmp_path) == len(snapshot.content.packages)
    assert len(list(tmp_path.rglob("specs.md"))) == len(snapshot.content.packages) > 40
    multi_valued = 0
    for name, package in snapshot.content.packages.items():
        matter = front_matter(tmp_path / "v0.22.0" / name / "specs.md")
        assert orjson.loads(matter.pop("title")) == name
        assert matter.pop("layout") == "cache"
        assert matter.pop("categories") == "[package, v0.22.0]"
        assert matter.pop("synthetic") == "true"
        assert list(matter) == ["meta", "spec_details"]
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


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A file in the way of the folder is an error of the caller, not a traceback."""
    (tmp_path / "pages").write_text("in the way")
    (snapshot,) = history(revisions=1, packages=1, specs=1)
    with pytest.raises(InvalidArgument, match=r"folder: cannot write .*pages"):
        write_pages(snapshot, tmp_path / "pages")
