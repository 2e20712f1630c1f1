"""One word, one number: whatever tells a fact of a comparison tells the same number of it.

Each reader returns the numbers that one place shows, by fact. It reads them as a person does, from
the text alone, so that a place that counts something else under the same words is found.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from html import unescape
from itertools import permutations
from pathlib import Path

import feedparser
import httpx
import pytest
from deltalake import DeltaTable
from msgspec.structs import replace

from server.pages.filters import MINUS
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.models import Spec
from tests.expensive import IS_QUICK
from tests.model import real
from tests.model.builds import Build, Need, state_of
from tests.model.changes import added_reasons
from tests.model.listings import changed_fields, package_kind
from tests.model.states import State
from tests.server.commands import cachelog, succeed
from tests.server.pages.page_reader import data_of, shown
from tests.server.servers import application
from tests.snapshots.factories import a_snapshot, day
from tests.snapshots.notes.stories import BASE, HEAD

Numbers = dict[str, int]
Specs = Sequence[Spec]

REFS = ("develop~1", "develop")
PAIR = "develop~1...develop"
LINK = (Need(0, ("link",)),)
OLD, NEW = ("old", "root"), ("hep", "root")

WORDS = {
    "added": "added",
    "removed": "removed",
    "upgraded": "upgraded",
    "downgraded": "downgraded",
    "versions_changed": "other versions",
    "builds_changed": "other builds",
    "more_builds": "more builds",
    "fewer_builds": "fewer builds",
    "changed": "other facts",
}
"""The words for each kind of package change."""

OUTCOMES = {
    "new": "new",
    "alone": "removed without a replacement",
    "replaced": "replaced",
    "rebuilt": "rebuilt",
    "facts": "with other facts",
}
"""The words for what became of specs."""


def every_kind() -> tuple[Specs, Specs]:
    """Return two contents between which there is a change of each kind."""
    base = [
        Build("zlib", "1.2"),
        Build("png", needs=LINK),
        Build("tiff", "4.5", needs=LINK),
        Build("tiff", "4.5", variants=("+x",)),
        Build("cmake", "3.30"),
        Build("gone", stacks=OLD),
        *(Build("same"), Build("more"), Build("moved"), Build("many", "1"), Build("many", "3")),
        *(Build("fewer"), Build("fewer", variants=("+a",))),
    ]
    head = [
        Build("zlib", "1.3"),
        Build("png", needs=LINK),
        Build("tiff", "4.6", needs=LINK),
        Build("tiff", "4.5", variants=("+y",)),
        Build("cmake", "3.29"),
        *(Build("new", stacks=NEW), Build("newer"), Build("same")),
        *(Build("more"), Build("more", variants=("+a",)), Build("fewer")),
        *(Build("moved", stacks=("e4s", "hep", "root")), Build("many", "2"), Build("many", "3")),
    ]
    before, after = (list(state_of(builds).specs.values()) for builds in (base, head))
    return _with_checksum(before, "a"), _with_checksum(after, "b")


def _with_checksum(specs: Specs, sign: str) -> Specs:
    return [replace(spec, checksum=sign * 64) if spec.name == "more" else spec for spec in specs]


def rebuilds_alone() -> tuple[Specs, Specs]:
    """Return two contents of which nearly all specs were rebuilt because of one."""
    above = [Build(f"user{number}", needs=LINK) for number in range(12)]
    base, head = (state_of([Build("zlib", recipe=recipe), *above]) for recipe in ("r1", "r2"))
    return list(base.specs.values()), list(head.specs.values())


def pairs() -> Iterator[tuple[str, Callable[[], tuple[Specs, Specs]]]]:
    """Yield the pairs by name: made ones and, with CACHELOG_TEST_DATA, one or all of real weeks."""
    yield "every kind", every_kind
    yield "back", lambda: every_kind()[::-1]
    yield "rebuilds", rebuilds_alone
    yield "no dependencies", lambda: (BASE, HEAD)
    yield "everything goes", lambda: (HEAD, [])
    if "CACHELOG_TEST_DATA" in os.environ:
        weeks = [*permutations(real.dates(), 2)]
        for dates in weeks[: 1 if IS_QUICK else None]:
            yield " ".join(dates), partial(real_weeks, *dates)


def real_weeks(before: str, after: str) -> tuple[Specs, Specs]:
    """Return the real contents of two dates."""
    return real.records(before)[0], real.records(after)[0]


def number(pattern: str, text: str) -> int:
    """Return the number before a pattern; 0 if the text has no such place."""
    found = re.search(rf"(?<![\d.,])([0-9][0-9,]*) {pattern}", text)
    return int(found[1].replace(",", "")) if found else 0


def signed(text: str) -> Numbers:
    """Return the numbers after signs: +9 -8 ≠2."""
    facts = {"+": "specs_added", "-": "specs_removed", "≠": "facts"}
    found = dict(re.findall(r"([-+≠])([0-9,]+)", text.replace(MINUS, "-")))
    return {fact: int(found.get(sign, "0").replace(",", "")) for sign, fact in facts.items()}


def outcomes(text: str) -> Numbers:
    """Return the numbers of what became of specs: 3 new, 5 replaced, 1 rebuilt."""
    return {
        fact: number(rf"(?:specs? )?{words}(?=,|\)|$)", text) for fact, words in OUTCOMES.items()
    }


def sentence(text: str) -> Numbers:
    """Return the numbers of the first sentences of notes and feeds."""
    found = {
        "rebuilt": "(?:was|were) rebuilt unchanged",
        "replaced": "(?:replace different ones|replaces a different one)",
        "new": "(?:is|are) new",
        "alone": "(?:was|were) removed without a replacement",
        "facts": "(?:has|have) other facts",
    }
    return {fact: number(f"(?:specs? )?{words}", text) for fact, words in found.items()}


# -- places


def of_model(base: Specs, head: Specs) -> Numbers:
    """Return the numbers by definition, computed naively."""
    before, after = State(base), State(head)
    old, new = before.specs, after.specs
    reasons = Counter(added_reasons(before, after).values())
    paired = reasons["rebuilt"] + reasons["replaces"]
    names = {spec.name for spec in (*base, *head)}
    kinds = Counter(package_kind(before.of_package(each), after.of_package(each)) for each in names)
    both = old.keys() & new.keys()
    tells = [(old[each].checksum, new[each].checksum) for each in both]
    stacks = Counter(stack for spec in head for stack in spec.stacks if stack != "root")
    stacks_before = Counter(stack for spec in base for stack in spec.stacks if stack != "root")
    told = before.states_stacks and after.states_stacks
    came, went = (stacks.keys() - stacks_before, stacks_before.keys() - stacks)
    return {
        "specs_added": len(new.keys() - old),
        "specs_removed": len(old.keys() - new),
        "facts": sum(bool(changed_fields(old[each], new[each])) for each in both),
        "rebuilt": reasons["rebuilt"],
        "replaced": reasons["replaces"],
        "replacements": paired,
        "new": len(new.keys() - old) - paired,
        "alone": len(old.keys() - new) - paired,
        "binaries": sum(None not in pair and pair[0] != pair[1] for pair in tells),
        **{f"packages_{name}": kinds[name.upper()] for name in WORDS},
        **({"stacks_added": len(came), "stacks_removed": len(went)} if told else {}),
        **({"specs_of_stacks": sum(stacks[each] for each in came)} if told else {}),
        **({"specs_of_gone": sum(stacks_before[each] for each in went)} if told else {}),
    }


def of_api(client: httpx.Client) -> Numbers:
    """Return the numbers of the summary of the API, and of its lists."""
    kinds = [kind.name for kind in PackageChangeKind]
    fields = [re.sub("_(.)", lambda it: it[1].upper(), f"num_packages_{name}") for name in WORDS]
    lists = [f"{kind}: packages(kinds: [{kind}]) {{ totalCount }}" for kind in kinds]
    specs = [
        f"{reason}: specs(reasons: [{reason}]) {{ totalCount }}"
        for reason in ("REBUILT", "REPLACES")
    ]
    of_specs = ("Added", "Removed", "Changed", "Rebuilt", "Replaced")
    summary = " ".join([*fields, *(f"numSpecs{name}" for name in of_specs)])
    text = f"""query($base: String!, $head: String!) {{ compare(base: $base, head: $head) {{
        summary {{ {summary} numBinariesReplaced numStacksAdded numStacksRemoved }}
        stackChanges {{ kind numSpecsBefore numSpecsAfter }}
        causeKinds {{ numSpecs }} {" ".join(lists)} {" ".join(specs)} }} }}"""
    data = data_of(client, text, base=REFS[0], head=REFS[1])["compare"]
    counts, changes = data["summary"], data["stackChanges"] or ()
    assert [counts[name] for name in fields] == [data[kind]["totalCount"] for kind in kinds]
    assert counts["numSpecsRebuilt"] == data["REBUILT"]["totalCount"]
    assert counts["numSpecsReplaced"] == data["REPLACES"]["totalCount"]
    of_stacks = {
        kind: sum(
            each["numSpecsBefore"] + each["numSpecsAfter"]
            for each in changes
            if each["kind"] == kind
        )
        for kind in ("ADDED", "REMOVED")
    }
    return {
        "specs_added": counts["numSpecsAdded"],
        "specs_removed": counts["numSpecsRemoved"],
        "facts": counts["numSpecsChanged"],
        "rebuilt": counts["numSpecsRebuilt"],
        "replaced": counts["numSpecsReplaced"],
        "replacements": sum(kind["numSpecs"] for kind in data["causeKinds"]),
        "binaries": counts["numBinariesReplaced"],
        **{f"packages_{name}": counts[field] for name, field in zip(WORDS, fields, strict=True)},
        "stacks_added": counts["numStacksAdded"] or 0,
        "stacks_removed": counts["numStacksRemoved"] or 0,
        "specs_of_stacks": of_stacks["ADDED"],
        "specs_of_gone": of_stacks["REMOVED"],
    }


def of_table(catalog: str) -> Numbers:
    """Return the numbers that the table ``comparisons`` has of the pair."""
    rows = DeltaTable(f"{catalog}/comparisons").to_pyarrow_table().to_pylist()
    history = Catalog(catalog).require_history()
    base, head = sorted(history.revisions, key=lambda revision: revision.taken_at)
    (row,) = [row for row in rows if (row["base"], row["head"]) == (base.digest, head.digest)]
    packages = row["packages"]
    kinds = Counter(package["kind"] for package in packages)
    assert row["num_rebuilt"] == sum(package["specs_rebuilt"] for package in packages)
    return {
        "specs_added": sum(package["specs_added"] for package in packages),
        "specs_removed": sum(package["specs_removed"] for package in packages),
        "facts": sum(package["specs_changed"] for package in packages),
        "rebuilt": row["num_rebuilt"],
        "replaced": sum(package["specs_replaced"] for package in packages),
        "new": sum(package["specs_new"] for package in packages),
        "replacements": sum(cause["num_specs"] for cause in row["causes"]),
        **{f"packages_{name}": kinds[name] for name in WORDS},
    }


def of_json(catalog: str) -> Numbers:
    """Return the numbers of ``diff`` as a document."""
    specs = succeed("diff", *REFS, "--json", catalog=catalog).json["compare"]["specs"]["nodes"]
    kinds = Counter(spec["kind"] for spec in specs)
    names = {"specs_added": "ADDED", "specs_removed": "REMOVED", "facts": "CHANGED"}
    return {name: kinds[kind] for name, kind in names.items()}


TITLES = {
    "added": "Added packages",
    "upgraded": "Upgraded packages",
    "downgraded": "Downgraded packages",
    "versions_changed": "Other version changes",
    "removed": "Removed packages",
    "builds_changed": "Packages with other builds",
    "more_builds": "Packages with more builds",
    "fewer_builds": "Packages with fewer builds",
    "changed": "Changed facts",
}


def of_markdown(text: str) -> Numbers:
    """Return the numbers of release notes in Markdown: highlights, table, headings."""
    highlights = text.split("\n\n")[1]
    cells = re.findall(r"^\| (Packages|Specs|Stacks) \| (.*) \|$", text, re.M)
    rows = {name: [int(it.replace(",", "")) for it in row.split(" | ")] for name, row in cells}
    heads = dict(re.findall(r"^## (.*) \(([0-9,]+)\)$", text, re.M))
    kinds = {name: int(heads.get(title, "0").replace(",", "")) for name, title in TITLES.items()}
    assert rows["Packages"][2:] == [
        kinds["added"],
        kinds["removed"],
        sum(kinds.values()) - kinds["added"] - kinds["removed"],
    ]
    stacks = rows.get("Stacks", [0] * 5)
    return {
        "specs_added": rows["Specs"][2],
        "specs_removed": rows["Specs"][3],
        "facts": rows["Specs"][4],
        "replacements": number(r"specs? replaced (?:others|another)[.]", text),
        "binaries": number(r"(?:binary was|binaries were) replaced", highlights),
        **sentence(highlights if "All " not in highlights else _all_named(highlights)),
        **{f"packages_{name}": count for name, count in kinds.items()},
        **({"stacks_added": stacks[2], "stacks_removed": stacks[3]} if "Stacks" in rows else {}),
    }


def _all_named(text: str) -> str:
    """Return a text in which "All 3 specs were" reads as "3 were"."""
    return re.sub(r"All ([0-9,]+) specs ", r"\1 ", text)


def of_html(text: str) -> Numbers:
    """Return the numbers of the sentences of release notes in HTML."""
    lead = unescape(
        re.sub(r"<[^>]+>", "", re.findall(r'<ul class="lead">(.*?)</ul>', text, re.S)[0])
    )
    return sentence(_all_named(lead)) | {
        "binaries": number(r"(?:binary was|binaries were) replaced", lead),
    }


def of_feed(client: httpx.Client) -> Numbers:
    """Return the numbers of the newest entry of the feed."""
    entry = feedparser.parse(client.get("/feeds/develop.atom").text).entries[0]
    packages = re.search(r"Of the packages, (.*?)\.(?= |$)", entry.summary)
    counts = packages[1] if packages else ""
    return sentence(_all_named(entry.summary)) | {
        f"packages_{name}": number(f"(?:was|were) {name}", counts)
        for name in ("added", "removed", "upgraded", "downgraded")
    }


def of_page(client: httpx.Client) -> Numbers:
    """Return the numbers of the pages of the comparison: totals, filters and tables."""
    page = shown(client, f"/compare/{PAIR}")
    figures = dict(zip(page.texts(".totals dt"), page.texts(".totals div"), strict=True))
    specs, packages = figures["Specs"], figures["Packages"]
    listed = shown(client, f"/compare/{PAIR}/packages").text(".choices")
    for words in WORDS.values():
        if words not in ("added", "removed"):
            assert number(f"(?:with )?{words}", packages) == _after(words, listed), words
    signs = signed(re.split(r" [\d,]+ → | [\d,]+ (?=[\d,]+ )", specs)[0])
    moved = {name: signed(figures[name]) for name in ("Packages", "Stacks")}
    return {
        "specs_added": signs["specs_added"],
        "specs_removed": signs["specs_removed"],
        "rebuilt": number("rebuilt", specs),
        "replaced": number("replaces? (?:others|another)", specs),
        "facts": number("with other facts", specs),
        "replacements": number("specs? replaced (?:others|another)", page.text("main")),
        "packages_added": moved["Packages"]["specs_added"],
        "packages_removed": moved["Packages"]["specs_removed"],
        **{
            f"packages_{name}": number(f"(?:with )?{words}", packages)
            for name, words in WORDS.items()
            if name not in ("added", "removed")
        },
        "stacks_added": moved["Stacks"]["specs_added"],
        "stacks_removed": moved["Stacks"]["specs_removed"],
    }


def _after(words: str, text: str) -> int:
    found = re.search(rf"{words} ([0-9,]+)", text)
    return int(found[1].replace(",", "")) if found else 0


def of_diff(catalog: str) -> Numbers:
    """Return the numbers of ``diff``: of its last line, which those of its packages add up to."""
    lines = succeed("diff", *REFS, "--stat", catalog=catalog).lines[1:]
    stacks = [line for line in lines if re.match("[-+] stack ", line)]
    *packages, last = lines[len(stacks) :]
    totals = Counter[str]()
    for line in packages:
        totals.update(outcomes(line.rpartition("(")[2]))
    assert dict(totals) == outcomes(last) or not packages
    kinds = Counter(_kind_told(line) for line in packages)
    full = succeed("diff", *REFS, catalog=catalog).lines
    assert full[-1] == last
    signs = Counter(line[2] for line in full if re.match("  [-+~≠] ", line))
    assert signs["~"] == totals["rebuilt"] + totals["replaced"]
    assert signs["≠"] == totals["facts"]
    by_sign = {sign: [line for line in stacks if line[0] == sign] for sign in "+-"}
    return {
        **outcomes(last),
        **{f"packages_{name}": kinds[words] for name, words in WORDS.items()},
        "stacks_added": len(by_sign["+"]),
        "stacks_removed": len(by_sign["-"]),
        "specs_of_stacks": sum(number("specs?", line) for line in by_sign["+"]),
        "specs_of_gone": sum(number("specs?", line) for line in by_sign["-"]),
        "binaries": number(
            "(?:binary|binaries) replaced",
            succeed("diff", *REFS, "--binaries", catalog=catalog).lines[-1],
        ),
    }


def _kind_told(line: str) -> str:
    text = line.partition(": ")[2]
    return next(words for words in WORDS.values() if text.startswith(words))


def of_log(catalog: str) -> Numbers:
    """Return the numbers of ``log``, whose short form has the same."""
    text = succeed("log", "--series", "develop", "--limit", "1", catalog=catalog).out
    short = succeed("log", "--series", "develop", "--oneline", catalog=catalog).lines[1]
    rows = {sign: (number(words, line), line) for sign, words, line in _counted_lines(text)}
    counts = signed(short.partition(": ")[2])
    assert counts == {
        "specs_added": rows.get("+", (0,))[0],
        "specs_removed": rows.get("-", (0,))[0],
        "facts": rows.get("≠", (0,))[0],
    }
    added, removed = (rows.get(sign, (0, ""))[1] for sign in "+-")
    paired = number("with a replacement", removed)
    return counts | {
        "rebuilt": number("rebuilt", added),
        "replaced": number("replaced", added),
        "replacements": paired,
    }


def _counted_lines(text: str) -> Iterable[tuple[str, str, str]]:
    joined = re.sub(r"\n {8}", " ", text)
    words = {"+": "added", "-": "removed", "≠": "with other facts"}
    for line in joined.splitlines():
        if match := re.match(r"    ([-+≠]) ", line):
            yield match[1], words[match[1]], line


def of_why(catalog: str) -> Numbers:
    """Return the numbers of ``why``: its heading, and the sum of its causes."""
    lines = cachelog("why", *REFS, catalog=catalog).lines  # which may warn of unknown causes
    heading = next(line for line in lines if re.search("specs? replaced another", line))
    causes = [re.match(r" *([0-9,]+) ", line) for line in lines[lines.index(heading) + 2 :]]
    accounted = sum(int(cause[1].replace(",", "")) for cause in causes if cause)
    assert accounted == number("specs? replaced another", heading)
    return {
        "replacements": accounted,
        "rebuilt": number("rebuilt unchanged", heading),
        "replaced": number("whose own facts differ", heading),
    }


@pytest.mark.parametrize(("name", "pair"), [*pairs()])
def test_every_place_tells_the_same_numbers(
    name: str, pair: Callable[[], tuple[Specs, Specs]], tmp_path: Path
) -> None:
    """Those of the definitions, in API, tables, notes, feed, pages and commands."""
    base, head = pair()
    catalog = str(tmp_path / "catalog")
    Catalog(catalog).publish(
        [a_snapshot(specs, "develop", day(at)) for at, specs in enumerate((base, head))]
    )
    places = {
        "tables": of_table(catalog),
        "documents": of_json(catalog),
        "Markdown": of_markdown(succeed("notes", *REFS, catalog=catalog).out),
        "HTML": of_html(succeed("notes", *REFS, "--format", "html", catalog=catalog).out),
        "diff": of_diff(catalog),
        "log": of_log(catalog),
        "why": of_why(catalog),
    }
    with application(Settings(catalog=catalog)) as client:
        places |= {"API": of_api(client), "feed": of_feed(client), "pages": of_page(client)}
    expected = of_model(base, head)
    for place, numbers in places.items():
        wrong = {
            fact: (count, expected[fact])
            for fact, count in numbers.items()
            if count != expected.get(fact, 0)
        }
        assert not wrong, f"{name}: {place} tells another number than the definition: {wrong}"
    facts = {fact for numbers in places.values() for fact in numbers}
    assert expected.keys() <= facts


def test_pairs_have_every_fact() -> None:
    """No number is zero in all pairs, or the test above would not see it."""
    found = Counter[str]()
    for base, head in (every_kind(), (BASE, HEAD)):
        found.update(of_model(base, head))
    assert [fact for fact, count in found.items() if not count] == []
