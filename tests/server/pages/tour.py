"""An address of each page, for any catalog with a history."""

import httpx

from tests.server.pages.page_reader import data_of, shown

_FACTS = """{
  revision(ref: "develop") {
    stacks { name }
    packages(first: 1, orderBy: {field: NUM_SPECS, direction: DESC}) {
      nodes { name targets specs(first: 1) { nodes { hash } } }
    }
  }
  compare(base: "develop~1", head: "develop") {
    removed: specs(first: 1, kinds: [REMOVED]) { nodes { before { hash } } }
    rebuilt: specs(first: 1, kinds: [ADDED], reasons: [REBUILT, REPLACES]) {
      nodes { hash name counterpart { hash } }
    }
    commits(first: 1) { nodes { commit { oid } } }
  }
}"""


def tour(client: httpx.Client) -> dict[str, str]:
    """Return the paths of all pages of a server, by name."""
    facts = data_of(client, _FACTS)
    revision = facts["revision"]
    largest = revision["packages"]["nodes"][0]
    package, target = largest["name"], largest["targets"][0]
    (spec,) = largest["specs"]["nodes"]
    removed = facts["compare"]["removed"]["nodes"][0]["before"]["hash"]
    compared = "/compare/develop~1...develop"
    stack = revision["stacks"][0]["name"]
    (rebuilt,) = facts["compare"]["rebuilt"]["nodes"]
    commits = facts["compare"]["commits"]
    cause, *_ = shown(client, compared).targets(".causes a[href*='/causes/']")  # the largest
    return {
        "home": "/",
        "series": "/series/develop",
        "series-causes": "/series/develop/causes",
        "revision": "/r/develop",
        "revision-filtered": f"/r/develop?stacks={stack}&order=NUM_SPECS",
        "package": f"/r/develop/packages/{package}",
        "packages": "/packages",
        "package-everywhere": f"/packages/{package}",
        "availability": f"/packages/{package}/availability?target={target}",
        "holes": "/r/develop/holes",
        "twins": "/r/develop/twins",
        "spec": f"/r/develop/specs/{spec['hash']}",
        "stack": f"/r/develop/stacks/{stack}",
        "search": f"/search?q={package}%40:",
        "search-empty": "/search",
        "search-unreadable": "/search?q=hdf5%40%40",
        "compare-pickers": "/compare",
        "compare": compared,
        **{
            f"compare-{tab}": f"{compared}/{tab}"
            for tab in ("packages", "specs", "stacks", "coverage", "commits", "notes")
        },
        "compare-stack": f"/compare/develop:{stack}...develop/packages",
        "compare-narrowed": f"{compared}/specs?package={rebuilt['name']}",
        "rebuilt-package": f"{compared}/packages/{rebuilt['name']}/commits",
        "rebuilt-spec": f"{compared}/specs/{rebuilt['hash']}/commits",
        **({"commit": f"/commits/{commits['nodes'][0]['commit']['oid']}"} if commits else {}),
        "cause": httpx.URL(cause).raw_path.decode(),
        "spec-pair-form": "/specs",
        "spec-pair": f"/specs/{rebuilt['counterpart']['hash']}...{rebuilt['hash']}",
        "hash": f"/hash/{removed}",
        "check": "/check",
        "plan": "/check/plan",
        "missing": "/r/no-such-tag",
    }
