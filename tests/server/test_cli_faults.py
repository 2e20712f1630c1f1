"""What each command says of words and options that are at fault, on a catalog that it can read."""

import shlex
from pathlib import Path

import pytest

from tests.server.commands import cachelog

NO_HASH = "HASH: no revision has ever had one that begins with 'zzzz222'"
NO_SERIES = "--series: there is no series 'nope'; nearest: develop"
NO_REVISION = "no revision 'develpo': there is no tag develpo; nearest: develop"
WORDS = "Write a package, or /HASH with the first characters of a hash."
CELLS = "--target, --stack and --version are of a package alone."
TOP = "Write packages, or --top N for those whose change costs most."
WHOLE = "Two specs are compared as a whole"
RANGE = "--recipes takes A..B, commits of that repository, alone."

FAULTS = (
    # Names that nothing has: the argument, and what there is instead.
    ("log no-such", "PACKAGE: no revision of the series develop has ever had 'no-such'"),
    ("log hdf", "nearest: hdf5"),
    ("log develop-DATE", "ever had 'develop-DATE'; that is a series (--series develop-DATE)"),
    ("log develop", "ever had 'develop'; that is a series (--series develop)"),
    ("log develop-2025-01-05", "that is a tag (--tag develop-2025-01-05)"),
    ("log --tag v9", "--tag: there is no tag 'v9'; nearest: "),
    ("log --series dev", "--series: there is no series 'dev'; nearest: develop"),
    ("log /zzzz222", NO_HASH),
    ("log /0189", "'0189' begins no hash"),
    ("log hdf55 --version 1", "PACKAGE: no revision has ever had 'hdf55'; nearest: hdf5"),
    ("show develpo", "REF or PACKAGE: there is no tag develpo (nearest: develop), and no revision"),
    ("show develop~9", "no revision 'develop~9': "),
    ("show develop hdf", "PACKAGE: develop of 2025-02-"),
    ("show v9 hdf5", "no revision 'v9'"),
    ("show /zzzz222", NO_HASH),
    ("show hdf5 --series nope", NO_SERIES),
    ("packages develpo", NO_REVISION),
    ("packages --stack e4", "--stack: the revision does not have 'e4'"),
    ("stacks develpo", NO_REVISION),
    ("revisions --tag nope", "--tag: there is no tag 'nope'; nearest: develop"),
    ("diff devlop develop", "no revision 'devlop': there is no tag devlop; nearest: develop"),
    ("diff develop '~'", "ref: '~' is not one of TAG, TAG~N, TAG@DATE or a digest"),
    ("diff /aaaa develop", "/aaaa: does not exist"),
    ("diff /aaaa /zzzz222", "HASH: "),
    ("notes devlop develop", "no revision 'devlop': there is no tag devlop; nearest: develop"),
    ("notes develop develop --package hdf", "--package: neither revision has 'hdf'; nearest: hdf5"),
    ("notes develop develop --stack e4", "--stack: neither revision has 'e4'"),
    ("why develop develop hdf", "PACKAGE: neither revision has 'hdf'; nearest: hdf5"),
    ("why develop develop --package hdf", "--package: neither revision has 'hdf'; nearest: hdf5"),
    ("why develop develop /zzz9", "HASH: no changed spec has a hash that begins with 'zzz9'"),
    ("find hdf", "no package 'hdf' in this revision or in the newest of any tag; nearest: hdf5"),
    ("find '*' --in nope", "no revision 'nope'"),
    ("twins --stack e4", "--stack: the revision does not have 'e4'"),
    ("twins --package hdf", "--package: the revision does not have 'hdf'"),
    ("impact hdf", "PACKAGE: the revision does not have 'hdf'; nearest: hdf5"),
    ("impact hdf5 --stack e4", "--stack: the revision does not have 'e4'"),
    ("impact hdf5 --in nope", "no revision 'nope'"),
    ("feed develop-DAT", "SERIES: there is no series 'develop-DAT'; nearest: develop"),
    ("feed develop hdf555", "PACKAGE: no revision of the series develop has ever had 'hdf555'"),
    ("prune --keep '1 last' --series nope", NO_SERIES),
    ("history fill --series nope", NO_SERIES),
    ("causes --series nope", NO_SERIES),
    ("remove develop nope", "no revision 'nope'"),
    # Texts that cannot be read.
    ("find '* ^mpi@3'", "mpi is a virtual package"),
    ("notes develop develop --matching 'hdf5 ++'", "the name of a variant is missing at character"),
    ("feed develop --base-url example.org", "--base-url: 'example.org' is not one of http://"),
    ("feed develop --server-url https://x/?a=b", "--server-url: "),
    ("verify --cluster far", "--cluster: 'far' is not of the form ray://HOST:PORT"),
    ("import x --cluster http://head", "--cluster: 'http://head' is not of the form ray://HOST:"),
    ("import x --source-name ''", "--source-name: '' has 0 characters"),
    ("import x --source-name '\t'", "--source-name: '\\t' holds characters that are not seen"),
    ("import x --source-name /srv/mirror", "/srv/mirror' would be shown as 'mirror'"),
    # Files that are not there, or cannot be written.
    ("notes develop develop --template nothing.md", "nothing.md: No such file or directory"),
    ("feed develop -o /dev/null/x", "/dev/null/x: cannot be written"),
    ("impact A..B --recipes /nowhere", "/nowhere: does not exist"),
    ("keep-list --keep '1 last' --lock /nowhere/spack.lock", "/nowhere/spack.lock: does not exist"),
    ("plan develop --lock e4s=/nowhere", "/nowhere: does not exist"),
)

WRONG_USAGE = (
    ("diff /a /b --stat", WHOLE),
    ("diff /a /b --spec hdf5", WHOLE),
    ("diff /a /b --package hdf5", WHOLE),
    ("log --tag develop --series develop-DATE", "The tag develop is not in the series develop-DAT"),
    ("log /", WORDS),
    ("log ' '", WORDS),
    ("log --since soon", "2025-03-30T12:00:00Z, or '1 week ago'"),
    ("log --since '99999 years ago'", "before the year 1"),
    ("log --oneline --commits", "--oneline prints one line per entry; leave --commits out."),
    ("log --target a", CELLS),
    ("log /a --stack a", CELLS),
    ("log hdf5 --version 1 --commits", CELLS),
    ("show develop hdf5 zlib", "There is one argument too many: zlib"),
    ("show /", WORDS),
    ("show ''", WORDS),
    ("show develop hdf5 --series develop", "leave REF out"),
    ("show /abc --series develop", "leave REF out"),
    (
        "notes develop develop --template chat --format html",
        "--template says how notes are written",
    ),
    ("feed", "Name a SERIES, or write all feeds with --all."),
    ("feed --all", "name a folder with --output"),
    ("feed develop hdf5 --all -o x", "leave PACKAGE out"),
    ("impact", TOP),
    ("impact hdf5 --top 3", TOP),
    ("impact A..B", "A..B names commits of --recipes, which is missing"),
    ("impact hdf5 --recipes .", RANGE),
    ("impact A..B hdf5 --recipes .", RANGE),
    ("impact --top 3 --recipes .", RANGE),
    ("impact ..HEAD --recipes .", "Write two revisions with dots between them: BASE..HEAD."),
    ("keep-list", "Missing option '--keep'"),
    ("keep-list --keep '0 daily'", "'0 daily' keeps nothing"),
    ("keep-list --keep '14 dayly'", "'14 dayly' is not a rule: write a number"),
    ("keep-list --keep '1 last' --check x", "--check is part of what the rest is; add --impact."),
    (
        "prune --keep '2 dayly'",
        "Invalid value for '--keep': '2 dayly' is not a rule: write a number",
    ),
    ("vacuum --older-than 0", "Invalid value for '--older-than'"),
    ("vacuum --older-than 0", "still needs what was just removed"),
    ("vacuum --older-than 0", "--nothing-runs"),
    ("blame hdf5 --limit 0", "0 is not in the range x>=1"),
    (
        "causes --by nothing",
        "Invalid value for '--by': 'nothing' is not one of package, kind, commit",
    ),
    ("check x --series develop", "--series says where --best looks; add --best."),
    ("check x --best --in develop", "--in names one revision, --best looks in many"),
    ("plan develop --lock e4s=x --commits A..B", "--commits names commits of --recipes"),
    ("plan develop --lock spack.lock", "'spack.lock' is not written as STACK=FILE"),
    ("plan develop --lock =spack.lock", "'=spack.lock' is not written as STACK=FILE"),
    ("plan develop --lock e4s=x --json --format text", "prints one document; leave --format out."),
    ("gate develop", "Missing option '--rules'"),
    ("gate develop.. --rules x", "Write two revisions with dots between them: BASE..HEAD."),
    ("gate develop develop --rules x --format xml", "'xml' is not one of 'text', 'json'"),
    ("import x --recipes-commit abc", "--recipes-commit names a commit of --recipes"),
    ("import --git x --view tools", "--view does not go with --git"),
)


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [(line, code, text) for code, rows in ((1, FAULTS), (2, WRONG_USAGE)) for line, text in rows],
)
def test_a_fault(demo_catalog: Path, line: str, code: int, message: str) -> None:
    """It is named by its argument or option, in one line or below the usage; nothing is printed."""
    done = cachelog(*shlex.split(line), catalog=demo_catalog)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert done.err.startswith("cachelog: " if code == 1 else "Usage: ")
