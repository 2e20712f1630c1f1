"""Errors of commands: invalid arguments and options, and catalogs that do not exist."""

import shlex
from pathlib import Path

import pytest

from tests.server.commands import fail

NO_HASH = "HASH: no revision has ever had one that begins with 'zzzz222'"
NO_SERIES = "--series: there is no series 'nope'; there are: develop"
PACKAGE_OR_HASH = "Write a package, or /HASH with the first characters of a hash."
TWO_SPECS = "Other options do not apply to two specs."

ERRORS = (
    # Unknown names: the argument, and the nearest existing names.
    ("log no-such", "PACKAGE: no revision of the series develop has ever had 'no-such'"),
    ("log hdf", "nearest: hdf5"),
    ("log develop", "ever had 'develop'; that is a series (--series develop)"),
    ("log develop-2025-01-05", "that is a tag (--tag develop-2025-01-05)"),
    ("log --tag v9", "--tag: there is no tag 'v9'; there are: "),
    ("log --series dev", "--series: there is no series 'dev'; nearest: develop"),
    ("log /zzzz222", NO_HASH),
    ("show develpo", "REF or PACKAGE: there is no tag develpo (nearest: develop), and no revision"),
    ("show develop~9", "no revision 'develop~9': "),
    ("show develop hdf", "PACKAGE: develop@2025-02-"),
    ("show /zzzz222", NO_HASH),
    ("packages --stack e4", "--stack: the revision does not have 'e4'"),
    ("revisions --tag nope", "--tag: there is no tag 'nope'; there are: "),
    ("diff devlop develop", "no revision 'devlop': there is no tag devlop; nearest: develop"),
    (
        "diff develop '~'",
        "ref: '~' is not one of TAG, TAG~N, TAG@DATE, TAG@TIME.DIGEST or a",
    ),
    ("diff /aaaa develop", "/aaaa: does not exist"),
    ("diff /aaaa /zzzz222", "HASH: "),
    ("notes develop develop --package hdf", "--package: neither revision has 'hdf'; nearest: hdf5"),
    ("notes develop develop --stack e4", "--stack: neither revision has 'e4'"),
    ("why develop develop hdf", "PACKAGE: neither revision has 'hdf'; nearest: hdf5"),
    ("why develop develop /zzz9", "HASH: no changed spec has a hash that begins with 'zzz9'"),
    ("why develop-2025-01-05..develop /a", "'a' begins "),
    ("find hdf", "no package 'hdf' in this revision or in the newest of any tag; nearest: hdf5"),
    ("twins --package hdf", "--package: the revision does not have 'hdf'"),
    ("impact hdf", "PACKAGE: the revision does not have 'hdf'; nearest: hdf5"),
    ("prune --keep '1 last' --series nope", NO_SERIES),
    ("causes --series nope", NO_SERIES),
    ("remove develop nope", "no revision 'nope'"),
    # Malformed values.
    ("demo --packages 9 --specs 8", "specs: 8 are too few for 9 packages"),
    ("demo --revisions 0", "revisions: must be at least 1, not 0"),
    ("notes develop develop --matching 'hdf5 ++'", "the name of a variant is missing at character"),
    ("export-site x --base-url example.org", "--base-url: 'example.org' is not one of http://"),
    ("export-site x --server-url https://x/?a=b", "--server-url: "),
    ("export-site x --server-url http://[x/", "--server-url: 'http://[x/' is not one of"),
    ("verify --cluster far", "--cluster: 'far' is not of the form ray://HOST:PORT"),
    # Missing files, and files that cannot be written.
    ("notes develop develop --template nothing.md", "nothing.md: No such file or directory"),
    ("keep-list --keep '1 last' --lock /nowhere/spack.lock", "/nowhere/spack.lock: does not exist"),
    ("plan develop --lock e4s=/nowhere", "/nowhere: does not exist"),
    ("import x --source-name '\t'", "--source-name: '\\t' has invisible characters"),
    ("import x --source-name /srv/mirror", "/srv/mirror' would be shown as 'mirror'"),
    ("impact A..B --recipes /nowhere", "/nowhere: does not exist"),
)

USAGE_ERRORS = (
    ("diff /a /b --stat", TWO_SPECS),
    ("diff /a /b --spec hdf5", TWO_SPECS),
    ("impact", "Name packages, or use --top N"),
    ("impact hdf5 --top 3", "Name packages, or use --top N"),
    ("impact A..B", "A..B names commits of --recipes, which is missing"),
    ("impact ..HEAD --recipes .", "Write two revisions with dots between them: BASE..HEAD."),
    ("log --tag develop --series develop-DATE", "The tag develop is not in the series develop-DAT"),
    ("log /", PACKAGE_OR_HASH),
    ("log --since soon", "2025-03-30T12:00:00Z, or '1 week ago'"),
    ("log --since '9999 years ago'", "is too early"),
    ("show develop hdf5 zlib", "There is one argument too many: zlib"),
    ("show /", PACKAGE_OR_HASH),
    ("notes a b --template chat --format html", "--template and --format exclude each"),
    ("keep-list", "Missing option '--keep'"),
    ("keep-list --keep '0 daily'", "'0 daily' keeps nothing"),
    ("prune --keep '2 dayly'", "'--keep': '2 dayly' is not a rule: write a number"),
    ("vacuum --older-than 0", "'--older-than': 0 is not in the range 1<=x<=168"),
    ("blame hdf5 --limit 0", "0 is not in the range x>=1"),
    ("causes --by nothing", "'--by': 'nothing' is not one of 'package', 'kind', 'commit'"),
    ("plan a --lock b=c --json --format markdown", "--format markdown exclude each other."),
    ("plan develop --lock e4s=x --commits A..B", "--commits names commits of --recipes"),
    ("plan develop --lock spack.lock", "'spack.lock' is not written as STACK=FILE"),
    ("gate develop", "Missing option '--rules'"),
    ("import x --recipes-commit abc", "--recipes-commit names a commit of --recipes"),
)


GENERIC_USAGE_ERRORS = (
    *("import", "import ''", "import x --git y", "import x --taken-at yesterday"),
    *("diff develop", "diff a..", "diff ..b", "diff a b --coverage nose"),
    *("diff a b --binaries --stat", "diff a b --coverage stack --stat"),
    *("why a..b c d", "why a..b ''", "why a b /", "why a b c --package d"),
    *("vacuum --older-than soon", "find zlib --limit -1", "serve --port 70000"),
    *("serve --workers 0", "check x --fail-under 101", "check x --fail-under 1.5"),
)
"""Usage errors with a common message."""


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        *((line, 1, text) for line, text in ERRORS),
        *((line, 2, text) for line, text in USAGE_ERRORS),
        *((line, 2, "\nError: ") for line in GENERIC_USAGE_ERRORS),
    ],
)
def test_errors_name_their_argument(demo_catalog: Path, line: str, code: int, message: str) -> None:
    """The message names the argument or option; standard output is empty."""
    error = fail(*shlex.split(line), code=code, catalog=demo_catalog)
    assert message in error
    assert error.startswith("cachelog: " if code == 1 else "Usage: ")


READERS = (
    *("revisions", "packages", "find x", "show", "log"),
    *("diff a..b", "notes a b", "upkeep --keep all"),
)
WRITERS = ("demo --revisions 1 --packages 2 --specs 4", "import pages")


@pytest.mark.parametrize("line", READERS)
def test_missing_catalog_is_an_error(line: str, tmp_path: Path) -> None:
    """The error states how to create a catalog; the command creates none."""
    for location in (str(tmp_path / "nowhere"), f"file://{tmp_path}/nowhere"):
        error = fail(*line.split(), "--catalog", location)
        assert error.startswith(f"cachelog: there is no catalog at {location}; create one with ")
        assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    assert fail(*line.split(), catalog=tmp_path).startswith("cachelog: there is no catalog at ")


@pytest.mark.parametrize("line", ["revisions", *WRITERS])
@pytest.mark.parametrize("location", ["s4://bucket", "http://host/x", "s3:/bucket", "s3:bucket"])
def test_mistyped_location_is_an_error(
    line: str, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error lists the valid forms; not even an import creates a folder of that name."""
    monkeypatch.chdir(tmp_path)
    error = fail(*line.split(), catalog=location)
    assert error.startswith(f"cachelog: catalog: '{location}' is ")
    assert "A catalog is a folder, or a URL that begins with " in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", [*READERS, *WRITERS])
def test_mistyped_variable_is_an_error(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command rejects it before it opens a catalog."""
    monkeypatch.chdir(tmp_path)
    error = "cachelog: CACHELOG_CATALOGUE: is not a setting; the nearest is CACHELOG_CATALOG\n"
    assert fail(*line.split(), catalogue=tmp_path / "other") == error
    assert list(tmp_path.iterdir()) == []
