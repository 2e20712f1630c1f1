"""Mutate inputs for a time: ``python -m tests.fuzz --seconds 600``."""

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter
from itertools import count
from pathlib import Path
from shutil import rmtree

from tests.fuzz.readers import READERS, attempt


def main() -> int:
    """Run cases until the time is over; print each failure, and return 1 if there is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long; 60 by default")
    parser.add_argument("--reader", choices=sorted(READERS), help="only this one")
    parser.add_argument("--seed", type=int, help="only this case, or the first of many")
    options = parser.parse_args()
    readers = [options.reader] if options.reader else list(READERS)
    only_one = options.reader is not None and options.seed is not None
    # By default other cases than those of the tests.
    first = time.time_ns() // 1_000_000 if options.seed is None else options.seed
    end = time.monotonic() + options.seconds
    results: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as parent:
        for seed in count(first):
            for reader in readers:
                results[_outcome(reader, seed, Path(parent))] += 1
            if only_one or time.monotonic() > end:
                break
    summary = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(results.items()))
    print(f"{results.total():,} cases from seed {first}: {summary}")
    return 1 if results["failed"] else 0


def _outcome(reader: str, seed: int, parent: Path) -> str:
    folder = parent / "case"
    folder.mkdir()
    started = time.monotonic()
    try:
        return "read" if attempt(reader, seed, folder) else "refused"
    except Exception:  # noqa: BLE001 - any other error is a failure
        print(f"python -m tests.fuzz --reader {reader!r} --seed {seed}")
        traceback.print_exc(limit=-4, file=sys.stdout)
        return "failed"
    finally:
        if time.monotonic() - started > 10:
            print(f"slow: --reader {reader!r} --seed {seed}")
        rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
