"""The metrics in documents exist, and the alerts are well-formed."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from server.metrics import REGISTRY, of_disk, of_runs, of_series
from snapshots.catalog.catalog import Catalog
from snapshots.history import History
from tests.test_docs import DOCUMENTS

RULES = Path(__file__).parents[1] / "deploy" / "rules.yml"

SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "gauge": ("",)}

FAMILIES = {
    family.name: family.type
    for family in (
        *REGISTRY.collect(),
        of_series(History()),
        *of_runs([]),
        *of_disk(Catalog(".")),
    )
    if family.name.startswith("cachelog_")
}

METRICS = {name + suffix for name, kind in FAMILIES.items() for suffix in SUFFIXES[kind]}
"""The names of all samples, as Prometheus stores them."""


def rules() -> list[dict[str, Any]]:
    """Return the alerts."""
    (group,) = yaml.safe_load(RULES.read_text("utf-8"))["groups"]
    listed: list[dict[str, Any]] = group["rules"]
    return listed


def test_documented_metrics_exist() -> None:
    """Queries use the names of samples; prose may use those of families."""
    text = "\n".join(DOCUMENTS.values())
    names = set(re.findall(r"\bcachelog_[a-z_]+", text)) - {"cachelog_client"}  # a package
    assert names
    assert names <= METRICS | FAMILIES.keys()
    for expression in re.findall(r"`([^`\n]*\w\([^`]*)`", text):
        assert set(re.findall(r"\bcachelog_\w+", expression)) <= METRICS


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_alerts_are_well_formed(rule: dict[str, Any]) -> None:
    """A name, an expression with balanced brackets over existing metrics, and a summary."""
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in ("critical", "warning")
    runbook = rule["annotations"]["runbook"]
    assert runbook == f"docs/runbook.md#{rule['alert'].lower()}"
    assert f"\n## {rule['alert']}\n" in DOCUMENTS["runbook.md"]
    expression = rule["expr"]
    for opening, closing in ("()", "[]", "{}"):
        assert expression.count(opening) == expression.count(closing) > -1
    assert set(re.findall(r"\bcachelog_\w+", expression)) <= METRICS
    assert re.search(r"(==|[<>]) ", expression)
    assert rule["annotations"]["summary"].endswith((".", "?"))


def test_alerts_are_accepted_by_prometheus() -> None:
    """Promtool checks the expressions, and the configuration with the file."""
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed")
    for kind, name in (("rules", "rules.yml"), ("config", "prometheus.yml")):
        command = ["promtool", "check", kind, name]
        result = subprocess.run(command, cwd=RULES.parent, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
