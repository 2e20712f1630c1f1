"""Cache pages of many tags, a week apart: the states of ``tests.benchmarks.churn``."""

import shutil
import tempfile
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

from snapshots.demo.revisions import write_pages
from tests.benchmarks.churn import FIRST_DAY, LivingCache
from tests.benchmarks.plans import ROOT

# What decides the pages; where it changes, or the number, they are made anew.
_DECIDING = ("snapshots/demo/revisions.py", "tests/benchmarks/churn.py")


def tagged_pages(cache: Path, *, tags: int, specs: int) -> Path:
    """Return the folder of the pages, TAG/PACKAGE/specs.md each, below ``cache``."""
    digest = sha256()
    for name in _DECIDING:
        digest.update((ROOT / name).read_bytes())
    folder = cache / f"tagged-pages-{tags}-{specs}-{digest.hexdigest()[:12]}"
    if folder.exists():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    for outdated in cache.glob(f"tagged-pages-{tags}-{specs}-*"):
        shutil.rmtree(outdated)
    # Renamed when it is whole, so that a run that is stopped half way leaves no half data.
    with tempfile.TemporaryDirectory(dir=cache) as unfinished:
        made = Path(unfinished, "pages")
        living = LivingCache(specs)
        for number in range(tags):
            day = FIRST_DAY + timedelta(weeks=number)
            write_pages(living.snapshot(f"develop-{day:%Y-%m-%d}"), made)
            living.live()
        made.rename(folder)
    return folder
