"""``cachelog import`` and ``demo``: commands that fill a catalog."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, TypedDict

import click

from server.terminal import console, parameters
from server.terminal.parameters import Cluster, Flag, Jobs, Recipes, argument, option
from snapshots.errors import InvalidArgument

_OF_GIT = ("since", "path")
_OF_LOCATIONS = ("taken_at", "sizes", "no_proof", "allow_empty")
"""Options that apply to imports of locations only; those of ``_OF_GIT`` apply to git only."""

NOT_NOTIFIED = 3
"""The exit code if everything was published but a receiver was not notified; 1 is an error."""


class ImportOptions(TypedDict):
    """The arguments and options of the command, which its help describes."""

    locations: Annotated[tuple[str, ...], argument("[LOCATION...]")]
    tags: Annotated[tuple[str, ...], option("--tag", metavar="TAG", multiple=True)]
    taken_at: Annotated[datetime | None, option(type=parameters.TIME, metavar="TIME")]
    sizes: Annotated[bool, option("--sizes", "--checksums", is_flag=True)]
    no_proof: Flag
    allow_empty: Flag
    git: Annotated[str | None, option(metavar="REPO")]
    path: Annotated[str | None, option(metavar="FOLDER")]
    since: Annotated[datetime | None, option(type=parameters.TIME, metavar="TIME")]
    gate: Annotated[str | None, option(type=click.Path(), metavar="FILE")]
    source_name: Annotated[str | None, option(metavar="NAME")]
    skip_bad: Flag
    receivers: Annotated[tuple[str, ...], option("--notify", metavar="URL", multiple=True)]
    recipes: Recipes
    recipes_commit: Annotated[str | None, option(metavar="COMMIT-OR-REF")]
    jobs: Jobs
    cluster: Cluster


@parameters.catalog_command("import")
def import_command(options: ImportOptions, *, catalog: str) -> None:
    """Publish the contents of a build cache.

    An import publishes everything or nothing. A history from git is published in batches: run the
    command again to continue after an interruption, or to add new commits.

    The exit code is 3 if everything was published, but a receiver of --notify could not be reached.

    - locations: Cache pages (files or folders), an index.json, a build cache, a list of tags and
      stacks of a public one, or the install tree of a Spack: a path, or an http(s)://, s3://,
      gs://, az:// or oci:// URL. Several in the form STACK=LOCATION are the stacks of one revision.
    - tags: Import only these tags (names or globs, repeatable). For a location without a tag, or
      with a single other one, the tag to publish it under.
    - taken_at: The time at which the cache had this state (RFC 3339). By default the date in the
      tag, or in the name of a folder of pages (TAG-DATE), or the current time.
    - sizes: Fetch the size and the checksum of each binary package from a build cache; both are in
      one manifest. Manifests in a bucket are fetched again if they changed since an earlier import,
      so that another binary under the same hash is reported.
    - no_proof: Trust the hashes of an index. By default they are recomputed if possible, and a spec
      with a different hash is rejected.
    - allow_empty: Publish an index without specs. By default it is refused, as it can be that of a
      failed upload.
    - git: Read the history of cache pages in a git repository (a path or clone URL): a revision
      for each commit that changed a tag.
    - path: With --git: the folder in the repository that has a folder of pages for each tag. By
      default _cache.
    - since: With --git: read only commits since this time.
    - gate: Publish only if no rule of this file is broken. As in 'cachelog gate', each revision is
      compared with the previous one of its series.
    - source_name: The name of the source in revisions, instead of the location. By default a URL,
      or a path, of which only the last part is public.
    - skip_bad: Omit and list the items that cannot be read.
    - receivers: Notify the receiver at this URL of each published revision (repeatable). By default
      the URLs in CACHELOG_NOTIFY.
    - recipes_commit: The commit of the recipes that the specs were concretized with. By default
      that of a ref with the name of the tag, or the last one before the time of the revision.
    - jobs: Read and compare with up to N processes; each uses up to 500 MB for 60,000 specs. By
      default 1; on a cluster, the number of cores.
    """
    _require_fitting(options)
    from server.commands.import_runs import ImportRun

    run = ImportRun(catalog, options)
    run.publish()
    if run.failures:
        click.get_current_context().exit(NOT_NOTIFIED)


def _require_fitting(options: Mapping[str, Any]) -> None:
    """Raise UsageError for options that the import would ignore."""
    locations, git = options["locations"], options["git"]
    if not locations and not git:
        raise click.UsageError("Name one LOCATION or more, or a repository with --git.")
    if "" in locations:
        raise click.UsageError("A LOCATION is empty.")
    if locations and git:
        raise click.UsageError("LOCATION and --git exclude each other: run two imports.")
    if options["recipes_commit"] and not options["recipes"]:
        raise click.UsageError("--recipes-commit names a commit of --recipes, which is missing.")
    for name in _OF_LOCATIONS if git else _OF_GIT:
        if options[name] not in (None, False):
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} {'excludes' if git else 'requires'} --git.")


@parameters.catalog_command("demo", has_json=False)
def demo_command(
    revisions: Annotated[int, option(default=30, metavar="N")],
    packages: Annotated[int, option(default=100, metavar="N")],
    specs: Annotated[int, option(default=1_500, metavar="N")],
    *,
    catalog: str,
) -> None:
    """Generate a synthetic history of a build cache.

    Each revision has a second tag, with its date or that of a release. All data is marked as
    synthetic.

    - revisions: Number of revisions of develop, at intervals of a week.
    - packages: Number of packages in the first revision.
    - specs: Number of specs in the first revision.
    """
    from server.terminal.printing.revisions import publication_lines
    from snapshots.catalog.catalog import Catalog
    from snapshots.demo import develop_history

    opened = Catalog(catalog)
    opened.refresh(missing_ok=True)
    if not all(info.source.synthetic for info in opened.history.revisions):
        reason = f"{opened.location} has real revisions: name another for synthetic ones"
        raise InvalidArgument("catalog", reason)
    made_up = develop_history(revisions=revisions, packages=packages, specs=specs)
    console.print_paged(publication_lines(opened.publish(made_up)))
