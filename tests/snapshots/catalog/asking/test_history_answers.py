"""Answers of the history: cached until it changes; missing pairs are computed when needed."""

import shutil
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_answers import (
    _ANSWERS,
    About,
    HistoryAnswers,
    HistoryQuestion,
    HistoryTopic,
)
from snapshots.catalog.library import Library
from snapshots.catalog.past import fill, missing_pairs
from snapshots.catalog.specs_table import ContentReader
from snapshots.changes.kept_changes import KeptChanges
from snapshots.changes.sides import Side
from snapshots.contents import Content, Snapshot
from snapshots.errors import CatalogError, IncompleteHistory
from snapshots.frames.suggestions import SuggestionKind
from snapshots.history import Pair
from snapshots.models import Spec
from tests.snapshots.catalog.pasts import TABLES, forget
from tests.snapshots.factories import SOURCE, a_spec, day
from tests.snapshots.templates import copied

STATES = [
    [a_spec("a", version="1")],
    [a_spec("a", version="1"), a_spec("b", version="2")],
    [a_spec("c", version="3")],
    [a_spec("a", version="1"), a_spec("c", version="3")],
]
LINES = [
    *(("develop", taken, specs) for taken, specs in enumerate(STATES)),
    ("v0.22", 9, STATES[0]),
    ("v0.23", 10, STATES[3]),
]
HASH = a_spec("a").hash
REPLACING = Pair(Content.of(STATES[1]).digest, Content.of(STATES[2]).digest)
GROWTH = HistoryTopic(About.GROWTH, series="develop")
OF_HASH = HistoryTopic(About.HASH, HASH)
QUESTIONS: list[HistoryTopic] = [
    OF_HASH,
    HistoryTopic(About.HASHES, items=frozenset({(HASH, "hdf5")})),
    HistoryTopic(About.CONTENT, Content.of(STATES[3]).digest, frozenset({"hdf5"})),
    HistoryTopic(About.PACKAGES, items=frozenset({"hdf5", "nope"}), series="develop"),
    HistoryTopic(About.PACKAGE, "hdf5", series="develop"),
    HistoryTopic(About.ALL_PACKAGES),
    HistoryTopic(About.PACKAGE_CAUSES, items=frozenset({("hdf5", REPLACING)}), series="develop"),
    GROWTH,
    HistoryTopic(About.HOLDING, items=frozenset({HASH}), series="develop"),
]


def published(folder: Path, lines: Sequence[tuple[str, int, list[Spec]]] = LINES) -> Catalog:
    """Publish some states, and return the catalog."""
    catalog = Catalog(str(folder))
    for tag, taken, specs in lines:
        content = Content.of(specs)
        snapshot = Snapshot(tag=tag, content=content, source=SOURCE, taken_at=day(taken))
        catalog.publish([snapshot])
    return catalog


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish the states once for all tests."""
    return Path(published(tmp_path_factory.mktemp("template")).location)


@pytest.fixture(scope="module")
def whole(template: Path) -> Catalog:
    """Return a catalog with a complete history, for tests that only read it."""
    catalog = Catalog(str(template))
    catalog.refresh()
    return catalog


@pytest.fixture
def catalog(template: Path, tmp_path: Path) -> Catalog:
    """Return a copy of that catalog."""
    return copied(template, tmp_path)


@pytest.fixture
def older(template: Path, tmp_path: Path) -> Catalog:
    """Return a catalog in an older form: no changes are stored."""
    forget(copied(template, tmp_path), *TABLES)
    catalog = Catalog(str(tmp_path))
    catalog.refresh()
    return catalog


def answers_of(catalog: Catalog, **options: Any) -> HistoryAnswers:
    """Return the cache of answers of a catalog."""
    return HistoryAnswers(catalog, Library(catalog), **options)


def question(catalog: Catalog, topic: HistoryTopic) -> HistoryQuestion:
    """Return a query of the current history."""
    return HistoryQuestion(catalog.history, topic)


def value(answers: HistoryAnswers, catalog: Catalog, topic: HistoryTopic) -> Any:
    """Return the value of the answer to a topic."""
    return answers.get(question(catalog, topic)).value


def test_causes_of_packages(whole: Catalog) -> None:
    """Those of each; a package that did not change has none, and neither has another pair."""
    other = Pair("0" * 64, "1" * 64)
    items = frozenset({("hdf5", REPLACING), ("nope", REPLACING), ("hdf5", other)})
    found = value(answers_of(whole), whole, HistoryTopic(About.PACKAGE_CAUSES, items=items))
    assert found.keys() == {("hdf5", REPLACING), ("nope", REPLACING)}
    assert found["nope", REPLACING] == ()
    causes = found["hdf5", REPLACING]
    assert [(cause.before, cause.after, count) for cause, count in causes] == [("2", "3", 1)]


@pytest.mark.parametrize("topic", QUESTIONS, ids=lambda it: it.about.value)
def test_an_answer_is_made_once(
    whole: Catalog, topic: HistoryTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in memory from then on, counted in bytes."""
    answers, asked = answers_of(whole), question(whole, topic)
    assert answers.kept(asked) is None
    assert answers.is_whole(asked)
    answer = answers.get(asked)
    assert answer.value
    assert answers.num_bytes == answer.num_bytes > 0
    monkeypatch.setattr("snapshots.catalog.history_answers._ANSWERS", {})
    assert answers.get(asked) is answers.kept(asked) is answer


def test_hashes_of_a_content_are_those_of_its_packages(whole: Catalog) -> None:
    """Each with its whole history; of another package there are none."""
    answers, digest = answers_of(whole), Content.of(STATES[3]).digest
    topic = HistoryTopic(About.CONTENT, digest, frozenset({"hdf5", "nope"}))
    found = value(answers, whole, topic)
    assert found.keys() == {"hdf5", "nope"}
    assert found["nope"] == {}
    assert found["hdf5"].keys() == {HASH, a_spec("c").hash}
    assert found["hdf5"][HASH] == value(answers, whole, OF_HASH)


@pytest.mark.parametrize(
    ("series", "names"), [("v0", ["hdf5"]), ("develop", ["a" * 201, "is not a name", "nope"])]
)
def test_packages_that_were_never_there(whole: Catalog, series: str, names: list[str]) -> None:
    """They have no timelines."""
    topic = HistoryTopic(About.PACKAGES, items=frozenset(names), series=series)
    assert value(answers_of(whole), whole, topic) == {}


def test_no_more_is_kept_than_is_allowed(whole: Catalog) -> None:
    """What alone is too large is answered, and made again."""
    answers = answers_of(whole, max_bytes=10)
    assert len(value(answers, whole, GROWTH)) == 4
    assert answers.num_bytes == 0


@pytest.mark.parametrize(
    "topic_of",
    [
        lambda text: HistoryTopic(About.HASHES, items=frozenset({(HASH, text)})),
        lambda text: HistoryTopic(About.CONTENT, Content.of(STATES[3]).digest, frozenset({text})),
        lambda text: HistoryTopic(About.PACKAGES, items=frozenset({text}), series="develop"),
        lambda text: HistoryTopic(About.PACKAGE, text, series="develop"),
        lambda text: HistoryTopic(About.PACKAGE, "hdf5", series=text),
        lambda text: HistoryTopic(About.GROWTH, series=text),
        lambda text: HistoryTopic(About.HOLDING, items=frozenset({HASH}), series=text),
    ],
)
def test_texts_of_clients_are_counted(
    whole: Catalog, topic_of: Callable[[str], HistoryTopic]
) -> None:
    """What is kept of ever other long texts stays within the bound, and so much fits in it."""
    answers = answers_of(whole, max_bytes=100_000)
    questions = [question(whole, topic_of(f"{number:03}" + "a" * 3_997)) for number in range(40)]
    for each in questions:
        answers.get(each)
    kept = [it for it in questions if answers.kept(it) is not None]
    assert 4_000 * len(kept) <= answers.num_bytes <= 100_000
    assert 10 < len(kept) < 25


def test_answers_go_with_their_history(catalog: Catalog) -> None:
    """A question to the next one drops them; one that began before is still answered."""
    answers = answers_of(catalog)
    before = question(catalog, GROWTH)
    assert len(answers.get(before).value) == 4
    published(Path(catalog.location), [("develop", 20, STATES[0])])
    catalog.refresh()
    after = question(catalog, GROWTH)
    assert answers.kept(before) is not None, "nobody has read an answer of the next one"
    assert answers.kept(after) is None
    assert len(answers.get(after).value) == 5
    assert answers.kept(before) is None
    assert len(answers.get(before).value) == 4
    assert answers.kept(after) is not None


# -- what is missing


@pytest.mark.parametrize(("topic", "num_left"), [(OF_HASH, 0), (GROWTH, 1)])
def test_missing_pairs_are_made_and_kept(
    older: Catalog, topic: HistoryTopic, num_left: int
) -> None:
    """The first question fills an older catalog; of a series, only its pairs."""
    answers = answers_of(older)
    assert not any(answers.is_whole(question(older, it)) for it in QUESTIONS)
    assert value(answers, older, topic)
    assert answers.is_whole(question(older, topic))
    left = missing_pairs(older, older.history)
    assert len(left) == num_left
    again = Catalog(older.location)
    again.refresh()
    assert missing_pairs(again, again.history) == left
    for other in QUESTIONS:
        is_answered = not left or other.needs is not None
        assert answers.is_whole(question(older, other)) == is_answered


def test_a_question_is_held_up_for_a_while_only(older: Catalog) -> None:
    """What could not be made says how much is left; each question makes some of it."""
    answers = answers_of(older, fill_seconds=0)
    left = []
    for _ in range(5):
        with pytest.raises(IncompleteHistory) as caught:
            answers.get(question(older, OF_HASH))
        assert (caught.value.num_pairs, caught.value.hindrance) == (5, None)
        left.append(caught.value.num_missing)
        if left[-1] == 1:
            break
    assert left == [4, 3, 2, 1]
    assert value(answers, older, OF_HASH)


def test_one_question_fills_at_a_time(older: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others wait for it, and find what it made: nothing is made twice."""
    loaded, lock, inside = list[str](), threading.Lock(), set[str]()
    load = ContentReader.side

    def watched(reader: ContentReader, digest: str) -> Side:
        with lock:
            inside.add(threading.current_thread().name)
            assert len(inside) == 1
            loaded.append(digest)
        time.sleep(0.02)
        side = load(reader, digest)
        inside.clear()
        return side

    monkeypatch.setattr(ContentReader, "side", watched)
    answers = answers_of(older, fill_seconds=20)
    kinds = [HistoryTopic(About.HASH, HASH[:n]) for n in range(20, 24)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda it: value(answers, older, it), kinds))
    assert all(it == found[0] for it in found)
    assert found[0]
    assert len(loaded) <= 8, "each content of each chain once"


def test_what_cannot_be_kept_is_not_made_again_and_again(
    older: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that may not write says so, at once from the second question on."""
    made: list[int] = []

    def refused(_catalog: Catalog, changes: Sequence[KeptChanges]) -> None:
        made.append(len(changes))
        raise CatalogError("here", "may not be written")

    monkeypatch.setattr(Catalog, "keep", refused)
    answers = answers_of(older)
    for _ in range(3):
        with pytest.raises(IncompleteHistory, match="may not write to the catalog") as caught:
            answers.get(question(older, GROWTH))
        assert caught.value.num_missing == caught.value.num_pairs == 4
    assert len(made) == 1


def test_a_content_that_cannot_be_read_is_left_out(older: Catalog) -> None:
    """The answer is as if it had never been published, says so, and is another one once mended."""
    digest = Content.of(STATES[1]).digest
    folder = Path(older.location) / "specs" / f"digest={digest}"
    shutil.move(folder, folder.with_name("away"))
    answers, without = answers_of(older), older.history.without([digest])
    for topic in [*QUESTIONS, QUESTIONS[0]]:
        answer = answers.get(question(older, topic))
        assert answer.left_out is not None
        assert answer.left_out.revisions == (f"develop@{digest[:12]}",)
        assert answers.kept(question(older, topic)) is None
        assert answer.value == _ANSWERS[topic.about](Library(older), without, topic)
    shutil.move(folder.with_name("away"), folder)
    fill(older, missing_pairs(older, older.history))
    for topic in QUESTIONS:
        answer = answers.get(question(older, topic))
        assert answer.left_out is None
        assert answer.value == _ANSWERS[topic.about](Library(older), older.history, topic)


def test_no_content_that_can_be_read(older: Catalog) -> None:
    """Where no revision of a series is left, there is no answer, and the error says how to see."""
    for state in STATES:
        folder = Path(older.location) / "specs" / f"digest={Content.of(state).digest}"
        shutil.rmtree(folder, ignore_errors=True)
    with pytest.raises(IncompleteHistory, match="cachelog verify") as caught:
        answers_of(older).get(question(older, GROWTH))
    assert older.location not in str(caught.value)


def test_names_to_suggest(whole: Catalog) -> None:
    """Of a content once for all; of the history series and tags, until it is another one."""
    library, history = Library(whole), whole.history
    assert history.latest is not None
    names = library.names.get(history.latest.digest)
    assert [name.value for _, name in names.like("hdf", [SuggestionKind.PACKAGE], 5)] == ["hdf5"]
    of_history = library.names_of_history(history)
    kinds = [SuggestionKind.SERIES, SuggestionKind.TAG]
    assert [name.value for _, name in of_history.like("v0", kinds, 5)] == ["v0.22", "v0.23"]
    assert [name.value for _, name in of_history.like("develop", kinds, 5)] == ["develop"]
    assert library.names_of_history(history) is of_history


def test_the_best_series_of_a_package(catalog: Catalog) -> None:
    """The main series where that has it; where it is gone, the one that had it last."""
    packages = Library(catalog).past.all_packages(catalog.history)
    assert [*packages] == ["hdf5"]
    assert packages["hdf5"].best.series == "develop"
    assert not packages["hdf5"].is_gone
    published(Path(catalog.location), [("develop", 20, [a_spec("x", name="x")])])
    catalog.refresh()
    packages = Library(catalog).past.all_packages(catalog.history)
    assert packages["hdf5"].best.series == "vX.Y.Z"
