"""Real cache pages: the API has all their facts."""

from pathlib import Path
from typing import Any

import orjson

from tests import real_data
from tests.schema.worlds import opened
from tests.server.commands import cachelog

QUERY = """query ($package: String!) { revision(ref: "develop") {
  numPackages numSpecs
  package(name: $package) {
    versions compilers oss: operatingSystems platforms targets stacks: stackNames
    num_specs: numSpecs
    num_specs_by_stack: stackCounts { stack numSpecs }
    specs(first: 1000) { nodes {
      hash versions compiler os: operatingSystem platform target variants stacks: stackNames size
    } }
  }
} }"""


def page_values(page: Path) -> dict[str, Any]:
    """Return the values of a page that are JSON on one line."""
    values = {}
    for line in page.read_text("utf-8").splitlines():
        key, _, value = line.partition(": ")
        if value.startswith(("{", "[{", '"')):
            values[key] = orjson.loads(value)
    return values


def test_facts_of_real_pages_are_complete(tmp_path: Path) -> None:
    """The API has the values of each package and its specs."""
    folder = real_data.folder() / "pages"
    pages = {page["title"]: page for page in map(page_values, folder.rglob("specs.md"))}
    total = sum(page["meta"]["num_specs"] for page in pages.values())
    catalog = tmp_path / "catalog"
    assert cachelog("import", str(folder), catalog=str(catalog)).code == 0
    world = opened(catalog)
    for title, page in pages.items():
        revision = world.data(QUERY, package=title)["revision"]
        assert (revision["numPackages"], revision["numSpecs"]) == (len(pages), total)
        package = revision["package"]
        specs, by_stack = package.pop("specs")["nodes"], package.pop("num_specs_by_stack")
        counts = {count["stack"]: count["numSpecs"] for count in by_stack}
        assert counts == page["meta"]["num_specs_by_stack"]
        assert package == {key: page["meta"][key] for key in package}
        assert specs == [
            {key: spec[key] for key in specs[0]} | {"size": None} for spec in page["spec_details"]
        ]
