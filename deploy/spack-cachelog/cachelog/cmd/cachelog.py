"""``spack cachelog``: ask a cachelog server what a build cache has, what changed in it, and why.

It needs nothing beside Spack and its Python, 3.6 or newer.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

description = "ask a cachelog server what a build cache has, what changed, and why"
section = "packaging"
level = "long"

SERVER = "CACHELOG_SERVER"
BATCH = 1000
"""How many specs of a lock file a request has; servers take 2,000 by default."""
SECONDS = 60

WHY = """
query Why($base: String!, $head: String!, $first: Int!) {
  compare(base: $base, head: $head) {
    base { ref }
    head { ref }
    summary { numSpecsAdded numSpecsRemoved numSpecsRebuilt numSpecsReplaced }
    causes(first: $first) {
      totalCount
      nodes { title numSpecs numInvolved commits(first: 1) { nodes { commit { subject webUrl } } } }
    }
  }
}
"""

REVISIONS = """
query Revisions($series: String!, $first: Int!) {
  series(name: $series) {
    revisions(first: $first) {
      nodes { ref numSpecs growthPoint { numSpecsAdded numSpecsRemoved } }
    }
  }
}
"""

PACKAGE = """
query Package($series: String!, $name: String!, $first: Int!) {
  series(name: $series) {
    package(name: $name) {
      isCurrent
      lastSeen { ref }
      entries(first: $first) {
        nodes {
          revision { ref }
          kind
          versionsAdded
          versionsRemoved
          numSpecsAdded
          numSpecsRemoved
        }
      }
    }
  }
}
"""

CHECK = """
query Check($ref: String!, $specs: [ConcreteSpecInput!]!) {
  revision(ref: $ref) {
    ref
    lookup(specs: $specs) {
      numFound
      missing(first: 1000) {
        nodes {
          hash name version isRoot reason
          goneIn { ref }
          nearest { hash version }
          differences { path before after }
        }
      }
    }
  }
}
"""


class Failed(Exception):
    """The question has no answer; the text says why."""


def setup_parser(subparser):
    """Add the subcommands and their arguments."""
    subcommands = subparser.add_subparsers(metavar="SUBCOMMAND", dest="cachelog_command")
    why = subcommands.add_parser("why", help="why specs were replaced between two revisions")
    why.add_argument(
        "revisions",
        nargs="?",
        default="develop~1..develop",
        metavar="BASE..HEAD",
        help="two revisions (default: develop~1..develop)",
    )
    log = subcommands.add_parser("log", help="the revisions of a series, or what befell a package")
    log.add_argument("package", nargs="?", help="the name of a package")
    log.add_argument("--series", default="develop", help="the series (default: develop)")
    check = subcommands.add_parser("check", help="how much of an environment the cache has")
    check.add_argument(
        "lockfile",
        nargs="?",
        metavar="SPACK_LOCK",
        help="a spack.lock (default: that of the active environment)",
    )
    check.add_argument("--in", dest="ref", default="develop", help="a revision (default: develop)")
    for command, number in ((why, 10), (log, 20), (check, 20)):
        command.add_argument("--limit", type=int, default=number, help="how many lines")
        command.add_argument(
            "--server", default=os.environ.get(SERVER), help=f"the server's URL, or {SERVER}"
        )


def cachelog(_parser, args):
    """Run a subcommand; return its exit code: 0, 1 if ``check`` misses specs, or 2 on failure."""
    commands = {"why": _why, "log": _log, "check": _check}
    if args.cachelog_command not in commands:
        print("usage: spack cachelog why|log|check", file=sys.stderr)
        return 2
    try:
        return commands[args.cachelog_command](args)
    except Failed as error:
        print(f"cachelog: {error}", file=sys.stderr)
        return 2


def _why(args):
    base, dots, head = args.revisions.replace("...", "..").partition("..")
    if not (base and dots and head):
        raise Failed(f"{args.revisions} is not BASE..HEAD")
    compared = _ask(args.server, WHY, base=base, head=head, first=args.limit)["compare"]
    summary, causes = compared["summary"], compared["causes"]
    print(f"{compared['base']['ref']} -> {compared['head']['ref']}")
    print(
        f"{summary['numSpecsAdded']} specs added, {summary['numSpecsRemoved']} removed; "
        f"of these, {summary['numSpecsRebuilt']} were rebuilt unchanged, "
        f"{summary['numSpecsReplaced']} replace different ones"
    )
    for cause in causes["nodes"]:
        print(f"{cause['numSpecs']:6}  {_visible(cause['title'])}")
        for effect in (cause["commits"] or {"nodes": ()})["nodes"]:
            commit = effect["commit"]
            print("        {}  {}".format(_visible(commit["subject"]), commit["webUrl"] or ""))
    _print_more(causes["totalCount"] - len(causes["nodes"]), "causes")
    return 0


def _log(args):
    question = {"series": args.series, "first": args.limit}
    if not args.package:
        series = _ask(args.server, REVISIONS, **question)["series"]
        if series is None:
            raise Failed(f"there is no series {args.series}")
        for line in series["revisions"]["nodes"]:
            grown = line["growthPoint"] or {}
            changes = f"+{grown.get('numSpecsAdded', 0)} -{grown.get('numSpecsRemoved', 0)}"
            print(f"{line['ref']}  {line['numSpecs']} specs  {changes}")
        return 0
    series = _ask(args.server, PACKAGE, name=args.package, **question)["series"]
    if series is None or series["package"] is None:
        raise Failed(f"{args.package} was never in the series {args.series}")
    package = series["package"]
    if not package["isCurrent"]:
        print("{} is gone; last seen in {}".format(args.package, package["lastSeen"]["ref"]))
    for entry in package["entries"]["nodes"]:
        versions = ["+" + it for it in entry["versionsAdded"]]
        versions += ["-" + it for it in entry["versionsRemoved"]]
        kind = entry["kind"].lower().replace("_", " ")
        numbers = f"specs +{entry['numSpecsAdded']} -{entry['numSpecsRemoved']}"
        line = "  ".join([entry["revision"]["ref"], kind, numbers, *versions])
        print(_visible(line))
    return 0


def _check(args):
    specs = _locked(args.lockfile or _active_lockfile())
    num_found, missing, revision = 0, [], None
    ref = args.ref
    for start in range(0, len(specs), BATCH):
        batch = specs[start : start + BATCH]
        revision = _ask(args.server, CHECK, ref=ref, specs=batch)["revision"]
        ref = revision["ref"]  # all batches ask the same revision
        num_found += revision["lookup"]["numFound"]
        missing += revision["lookup"]["missing"]["nodes"]
    if revision is None:
        raise Failed("the lock file has no specs")
    print(f"{num_found} of {len(specs)} specs are in {revision['ref']}")
    missing.sort(key=lambda it: not it["isRoot"])
    for spec in missing[: args.limit]:
        name = f"{spec['name']}@{spec['version'] or 'unknown'} /{spec['hash'][:7]}"
        print(_visible(f"- {name}{_story(spec)}"))
    _print_more(len(missing) - args.limit, "missing specs")
    return 1 if missing else 0


def _story(spec):
    """Return when and why a spec went, and what is nearest to it."""
    parts = []
    if spec["goneIn"]:
        reason = (spec["reason"] or "unknown").lower().replace("_", " ")
        parts.append("gone in {}: {}".format(spec["goneIn"]["ref"], reason))
    if spec["nearest"]:
        differences = ", ".join(
            "{} {} instead of {}".format(it["path"], it["after"] or "-", it["before"] or "-")
            for it in spec["differences"]
        )
        parts.append(
            "nearest: /{} ({})".format(spec["nearest"]["hash"][:7], differences or "alike")
        )
    return "".join("; " + part for part in parts)


def _locked(path):
    """Return the specs of a lock file as the API takes them, externals left out."""
    try:
        document = json.loads(Path(path).read_text("utf-8"))
        roots = {root["hash"] for root in document["roots"]}
        return [
            {
                "hash": dag_hash,
                "name": node["name"],
                "version": node.get("version"),
                "isRoot": dag_hash in roots,
            }
            for dag_hash, node in document["concrete_specs"].items()
            if not node.get("external")
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failed(f"{path} cannot be read as a spack.lock: {error!r}") from error


def _active_lockfile():
    import spack.environment  # only there within Spack

    environment = spack.environment.active_environment()
    if environment is None:
        raise Failed("there is no active environment: activate one, or name a spack.lock")
    return environment.lock_path


def _ask(server, document, **variables):
    """Return the data of an answer; raises Failed for an error of the server or of a field."""
    if not server:
        raise Failed(f"which server? Use --server URL, or the variable {SERVER}")
    if not server.startswith(("http://", "https://")):
        raise Failed(f"{server} is not the URL of a server")
    request = urllib.request.Request(  # noqa: S310
        server.rstrip("/") + "/graphql",
        json.dumps({"query": document, "variables": variables}).encode(),
        {"Content-Type": "application/json", "Accept": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310
            answer = json.loads(response.read().decode())
    except urllib.error.HTTPError as error:
        raise Failed(f"{server} answers {error}") from error
    except (OSError, ValueError) as error:
        raise Failed(f"{server} cannot be reached: {error}") from error
    if answer.get("errors"):
        raise Failed(_visible(answer["errors"][0]["message"]))
    return answer["data"]


def _visible(text):
    """Return a text without characters that control a terminal."""
    return "".join(it if it.isprintable() else "?" for it in text)


def _print_more(number, what):
    if number > 0:
        print(f"... and {number} more {what}")
