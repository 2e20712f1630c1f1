"""docs/install.md: its program publishes the revisions of a catalog of 0.2 in a new one."""

import re
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from msgspec.structs import asdict, replace

from snapshots.catalog.catalog import Catalog
from snapshots.contents import Content
from snapshots.errors import OlderCatalog
from snapshots.models import RevisionInfo
from snapshots.tables import revisions_table
from tests.snapshots.factories import a_revision, a_spec, full_spec

TEXT = (Path(__file__).parents[1] / "docs" / "install.md").read_text("utf-8")

SPECS = [a_spec("a"), a_spec("b", name="zlib"), a_spec("c", name="cmake")]
FIRST = Content.of(SPECS, [full_spec("gcc")])
SECOND = Content.of([replace(SPECS[0], target="m1"), SPECS[2], a_spec("d")], [full_spec("gcc")])


def rows_of_old_catalog() -> pa.Table:
    """Return a whole content, and one that has the rows that differ from it.

    The second changed the row at place ``a``, and removed that at place ``b``.
    """
    whole, head = FIRST.table(), SECOND.table()
    place = {text: number for number, text in enumerate(whole["hash"].to_pylist())}
    own = head.filter(pa.array([row in (SECOND_A, SECOND_D) for row in head["hash"].to_pylist()]))
    changed = [place.get(text) for text in own["hash"].to_pylist()]
    gone = pa.table({"base_place": [place[SPECS[1].hash]]})
    layers = [
        (FIRST, whole, {"place": pa.array(range(len(whole)))}),
        (SECOND, own, {"base_place": pa.array(changed, pa.int64())}),
        (SECOND, gone, {}),
    ]
    tables = []
    for content, rows, columns in layers:
        for name, values in columns.items():
            rows = rows.append_column(name, values)
        rows = rows.append_column("digest", pa.repeat(content.digest, len(rows)))
        if content is SECOND:
            rows = rows.append_column("base", pa.repeat(FIRST.digest, len(rows)))
        tables.append(rows)
    return pa.concat_tables(tables, promote_options="default")


SECOND_A, SECOND_D = SPECS[0].hash, a_spec("d").hash


def row(number: int, content: Content) -> RevisionInfo:
    """Return the row of a content."""
    return replace(a_revision("develop", number), **asdict(content.summary()))


def test_program(tmp_path: Path) -> None:
    """The revisions are the same, with the same digests, and their history is complete."""
    old, new = tmp_path / "old", tmp_path / "new"
    revisions = [row(0, FIRST), row(1, SECOND)]
    write_deltalake(old / "specs", rows_of_old_catalog(), partition_by=["digest"])
    table = revisions_table(revisions).drop_columns(["num_proven", "unproven"])
    write_deltalake(old / "revisions", table)
    with pytest.raises(OlderCatalog, match=re.escape("docs/install.md")):
        Catalog(str(old)).refresh()
    (program,) = re.findall(r"^```python\n(.+?)^```", TEXT, re.M | re.S)
    program = program.replace('old, new = "old", "new"', f"old, new = {str(old)!r}, {str(new)!r}")
    exec(program, {})  # noqa: S102
    catalog = Catalog(str(new))
    history = catalog.require_history()
    assert [(it.digest, it.taken_at) for it in history.revisions[::-1]] == [
        (it.digest, it.taken_at) for it in revisions
    ]
    assert {*history.pairs} == {*catalog.changes.counts}
