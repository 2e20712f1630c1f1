"""``load``: a revision from the store into memory, and how its cost grows with the catalog."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from shutil import copytree
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from unittest import mock

from snapshots.catalog.asking.library import Library
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.contents import bases, specs_table
from snapshots.contents import Content, Snapshot
from snapshots.models import Source, Spec
from tests.benchmarks.churn import LivingCache
from tests.benchmarks.measuring import Measurement, Target, measure, milliseconds, summary
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import in_fresh_process

FLAT_TARGET = Target(1.3)
"""How much dearer a catalog of many contents may be than one of few."""

_LAID = 5
_LOADS = 5
_MB = 1_000_000
_LEFT_OUT = ("digest", "dependencies")


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure single loads, contents that share rows, and catalogs of few contents and of many."""
    yield from _single(plan)
    yield from _laid(plan)
    yield from _growing(plan)


def _single(plan: Plan) -> Iterator[Measurement]:
    """Measure; the first load of a process pays for what libraries do once, so both count."""
    catalog = plan.data.catalog
    first, second = plan.data.digests()
    yield from measure(
        "load",
        f"a revision of {plan.data.specs:,} specs",
        {
            "pyarrow: read the same Parquet, the next one": partial(
                in_fresh_process, _read_parquet, catalog, first, second
            ),
            "cachelog: the next one": partial(in_fresh_process, _load, catalog, first, second),
            "cachelog: the first of a process": partial(in_fresh_process, _load, catalog, second),
        },
        unit="ms",
        rounds=plan.rounds,
    )


def _load(folder: Path, *digests: str) -> float:
    """Return the milliseconds that the last of the loads takes."""
    catalog = Catalog(str(folder))
    catalog.refresh()
    library = Library(catalog)
    for digest in digests:
        started = perf_counter()
        library.frames.get(digest)
    return (perf_counter() - started) * 1_000


def _read_parquet(folder: Path, *digests: str) -> float:
    """Return the milliseconds that the last of the readings takes."""
    from pyarrow import parquet

    from snapshots.tables import SPECS

    columns = [name for name in SPECS.names if name not in _LEFT_OUT]
    catalog = Catalog(str(folder))
    catalog.refresh()
    tables = []
    for digest in digests:
        files = [str(folder / "specs" / file.path) for file in catalog.files_of(digest)]
        started = perf_counter()
        tables += [parquet.ParquetFile(file).read(columns) for file in files]
    return (perf_counter() - started) * 1_000


def _laid(plan: Plan) -> Iterator[Measurement]:
    """Measure contents that are laid over another beside the same ones whole."""
    cache = LivingCache(plan.specs_of_years)
    states = [cache.snapshot()]
    for _ in range(_LAID):
        cache.live()
        states.append(cache.snapshot())
    first, *_, last = (it.content.digest for it in states)
    subject = f"a revision of {plan.specs_of_years:,} specs, with 5 % churn"
    of = partial(summary, "load", subject)
    least_bytes = {"whole": 1 << 62, "laid over another": bases.LEAST_BYTES}
    with TemporaryDirectory(dir=plan.data.cache) as folder:
        sizes, times = {}, {}
        for name, least in least_bytes.items():
            catalog = Catalog(str(Path(folder, name)))
            with mock.patch.object(bases, "LEAST_BYTES", least):
                times[name] = [milliseconds(partial(catalog.publish, [it])) for it in states][1:]
            files = [catalog.files_of(it.content.digest)[-1] for it in states]
            sizes[name] = sum(file.size for file in files) / len(files) / _MB
        for name in least_bytes:
            ratio = sizes[name] / sizes["whole"]
            yield of(f"{name}: on the average", unit="MB", values=[sizes[name]], ratio=ratio)
            ratio = median(times[name]) / median(times["whole"])
            yield of(f"{name}: publish", unit="ms", values=times[name], ratio=ratio)
        yield from measure(
            "load",
            subject,
            {
                f"{name}: load": partial(in_fresh_process, _load, Path(folder, name), first, last)
                for name in least_bytes
            },
            unit="ms",
            rounds=plan.rounds,
        )
        yield from _tails(plan, Path(folder, "laid over another"), last)


def _tails(plan: Plan, catalog: Path, digest: str) -> Iterator[Measurement]:
    """Measure what it takes to leave the dependencies unread; the content is laid over another."""
    subject = "a content whose dependencies are left unread"
    opened = Catalog(str(catalog))
    opened.refresh()
    files = opened.files_of(digest)
    sizes = {
        "files read whole": sum(file.size for file in files),
        "tails": sum(file.size - (file.tail.start if file.tail else 0) for file in files),
    }
    for name, size in sizes.items():
        ratio = size / sizes["files read whole"]
        yield summary("load", subject, f"{name}: read", unit="MB", values=[size / _MB], ratio=ratio)
    yield from measure(
        "load",
        subject,
        {
            f"{name}: processor time": partial(_median_processor_time, opened, digest, load)
            for name, load in {"files read whole": _load_whole, "tails": Catalog.load}.items()
        },
        unit="ms",
        rounds=plan.rounds,
    )


def _load_whole(catalog: Catalog, digest: str) -> None:
    with mock.patch.object(specs_table, "has_all_of", return_value=False):
        catalog.load(digest)


def _median_processor_time(
    catalog: Catalog, digest: str, load: Callable[[Catalog, str], object]
) -> float:
    times = []
    for _ in range(_LOADS):
        started = process_time()
        load(catalog, digest)
        times.append((process_time() - started) * 1_000)
    return median(times)


def _growing(plan: Plan) -> Iterator[Measurement]:
    """Measure a catalog of one tiny content beside one of many, each published on its own."""
    with TemporaryDirectory(dir=plan.data.cache) as folder:
        many = plan.contents
        few = Path(folder, "few")
        opened = Catalog(str(few))
        opened.publish([_tiny(0)])
        grown = Path(folder, "many")
        copytree(few, grown)
        growing = Catalog(str(grown))
        for number in range(1, many):
            growing.publish([_tiny(number)])
        catalogs = {"1 content": opened, f"{many:,} contents": growing}
        targets = {f"cachelog: {many:,} contents": FLAT_TARGET}
        yield from measure(
            "load",
            "a tiny content, by the number of others in the catalog",
            {
                f"cachelog: {name}": partial(_median_load, it, plan.calls)
                for name, it in catalogs.items()
            },
            unit="ms",
            rounds=plan.rounds,
            targets=targets,
        )
        numbers = count(many)
        # Those that are measured grow by a few contents, which the smaller must not: it is copied.
        yield from measure(
            "load",
            "publish a tiny content, by the number of others in the catalog",
            {
                "cachelog: 1 content": partial(
                    _median_publish_anew, few, Path(folder), numbers, plan.calls
                ),
                f"cachelog: {many:,} contents": partial(
                    _median_publish, growing, numbers, plan.calls
                ),
            },
            unit="ms",
            rounds=plan.rounds,
            targets=targets,
        )


def _tiny(number: int) -> Snapshot:
    spec = Spec(
        hash=f"{number:a>32}",
        name="zlib",
        version=str(number),
        compiler=None,
        operating_system="ubuntu22.04",
        platform="linux",
        target="x86_64_v3",
        variants=(),
        stacks=(),
    )
    return Snapshot(
        tag="develop",
        content=Content.of([spec]),
        source=Source(kind="demo", location="benchmark", importer="benchmark", synthetic=True),
        taken_at=datetime(2025, 1, 1, tzinfo=UTC) + timedelta(hours=number),
    )


def _median_load(catalog: Catalog, calls: int) -> float:
    digest = catalog.history.revisions[-1].digest
    return median(milliseconds(lambda: catalog.load(digest)) for _ in range(calls))


def _median_publish(catalog: Catalog, numbers: Iterator[int], calls: int) -> float:
    return median(
        milliseconds(lambda: catalog.publish([_tiny(next(numbers))])) for _ in range(calls)
    )


def _median_publish_anew(catalog: Path, folder: Path, numbers: Iterator[int], calls: int) -> float:
    with TemporaryDirectory(dir=folder) as copied:
        copytree(catalog, copied, dirs_exist_ok=True)
        return _median_publish(Catalog(copied), numbers, calls)
