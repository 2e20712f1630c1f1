"""What pages under digests say stays true, however the catalog grows."""

from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from server.pages.routes import TABS
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.demo import history
from tests.server.servers import application

_FACTS = """
{
  revisions(first: 2) { nodes { digest } }
  revision { stacks { name } specs(first: 1) { nodes { hash name } } }
}
"""


def test_what_is_kept_for_ever_stays_as_it_is(tmp_path: Path) -> None:
    """No page that browsers keep without asking is another one later.

    Other tags of the same contents come, before and after, and new neighbours.
    """
    earlier, later, newest = history(revisions=3, packages=8, specs=30)
    catalog = Catalog(str(tmp_path))
    catalog.publish([earlier, later])
    with application(Settings(catalog=str(tmp_path))) as client:
        facts = client.post("/graphql", json={"query": _FACTS}).json()["data"]
        head, base = (it["digest"] for it in facts["revisions"]["nodes"])
        revision = facts["revision"]
        (spec,) = revision["specs"]["nodes"]
        of_head = ("", f"/stacks/{revision['stacks'][0]['name']}", f"/packages/{spec['name']}")
        pair = f"/compare/{base}...{head}"
        addresses = [pair + tab for tab in TABS]
        addresses += [f"{pair}:{revision['stacks'][0]['name']}{tab}" for tab in ("", "/coverage")]
        addresses += [f"/r/{head}{rest}" for rest in (*of_head, f"/specs/{spec['hash']}")]
        addresses += [f"/search?in={head}&q={spec['name']}", f"/compare?base={base}"]
        pages = {it: client.get(it) for it in addresses}
    assert earlier.taken_at
    assert later.taken_at
    catalog.publish(
        [
            replace(later, tag="later", taken_at=datetime(2035, 1, 1, tzinfo=UTC)),
            replace(earlier, tag="earlier", taken_at=datetime(2015, 1, 1, tzinfo=UTC)),
            replace(later, taken_at=datetime(2036, 1, 1, tzinfo=UTC)),
            newest,
        ]
    )
    with application(Settings(catalog=str(tmp_path))) as client:
        now = {it: client.get(it).text for it in addresses}
    kept = [it for it in addresses if "immutable" in pages[it].headers["cache-control"]]
    assert {pair + tab for tab in ("", "/packages", "/stacks", "/coverage")} <= {*kept}
    assert [it for it in kept if pages[it].text != now[it]] == []
    others = [it for it in addresses if it not in kept]
    assert [it for it in others if pages[it].text != now[it]] != []
