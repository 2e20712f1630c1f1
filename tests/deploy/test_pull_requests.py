"""The GitHub action and the GitLab component for pull requests are valid and work."""

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import yaml

from snapshots.catalog.catalog import Catalog
from tests.deploy.files import DEPLOY, is_valid
from tests.snapshots.factories import a_snapshot, a_spec
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Server,
    document,
    send,
    serving,
)
from tests.snapshots.sources.lockfiles.locks import as_bytes, small_lock_file

ACTION = DEPLOY / "github" / "action.yml"
COMPONENT = DEPLOY / "gitlab" / "plan.yml"
TOKEN = {"GH_TOKEN": "t"}
GH = """
if [ "$2" = user ]; then [ -n "$GH_USER" ] && echo "$GH_USER"; exit; fi
printf "%s\\n" "$*" >> "$CALLS"
if [ "$2" = --paginate ]; then cat "$OLD"; fi
if [ "$2" = --silent ]; then exit "${GH_STATUS:-0}"; fi
"""
"""The tool of GitHub; the usual token may not ask for its user."""

MARK = "<!-- cachelog plan -->"


def component(**inputs: str) -> dict[str, Any]:
    """Return the job of the component, with inputs filled in as by GitLab."""
    head, job = COMPONENT.read_text("utf-8").split("\n---\n")
    declared = yaml.safe_load(head)["spec"]["inputs"]
    for name, declaration in declared.items():
        job = job.replace(f"$[[ inputs.{name} ]]", inputs.get(name, declaration.get("default", "")))
    assert "$[[" not in job
    loaded: dict[str, Any] = yaml.safe_load(job)
    return loaded


def test_action_conforms_to_the_schema() -> None:
    """The one that editors use for GitHub."""
    assert is_valid("vendor.github-actions", ACTION)


def test_action_passes_inputs_only_in_variables() -> None:
    """Text from a pull request is never part of a script."""
    for step in yaml.safe_load(ACTION.read_text("utf-8"))["runs"]["steps"]:
        assert "${{" not in step["run"]


def test_component_conforms_to_the_schema(tmp_path: Path) -> None:
    """GitLab's schema, which rejects an invalid script."""
    file = tmp_path / ".gitlab-ci.yml"
    file.write_text(yaml.safe_dump(component(catalog="s3://bucket/catalog")))
    assert is_valid("vendor.gitlab-ci", file)
    file.write_text(yaml.safe_dump({"cachelog": {"script": 5}}))
    assert not is_valid("vendor.gitlab-ci", file)


def test_documented_examples_are_valid(tmp_path: Path) -> None:
    """They conform to the schemas, and their inputs exist."""
    text = (ACTION.parents[1] / "README.md").read_text("utf-8")
    workflow, pipeline = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    for schema, example in (("github-workflows", workflow), ("gitlab-ci", pipeline)):
        file = tmp_path / f"{schema}.yml"
        file.write_text(example, "utf-8")
        assert is_valid(f"vendor.{schema}", file)
    (step,) = [step for step in yaml.safe_load(workflow)["jobs"]["plan"]["steps"] if "with" in step]
    assert step["with"].keys() <= yaml.safe_load(ACTION.read_text("utf-8"))["inputs"].keys()
    (include,) = yaml.safe_load(pipeline)["include"]
    assert "$[[" not in str(component(**include["inputs"]))


class Project:
    """A repository with a lock file, a catalog, and rules that it breaks or passes."""

    def __init__(self, folder: Path, catalog: Path) -> None:
        self.folder = folder
        self.catalog = catalog
        (folder / "spack.lock").write_bytes(as_bytes(small_lock_file()))
        for name, most in (("strict", 0), ("lax", 100)):
            rule = f'[[rule]]\nname = "Few"\nlimit = "specs-added"\nat-most = {most}\n'
            (folder / f"{name}.toml").write_text(rule)
        tools = folder / "bin"
        tools.mkdir()
        self._tool(tools / "cachelog", f'exec {sys.executable} -m server "$@"\n')
        self._tool(tools / "gh", GH)
        self.calls = folder / "calls"
        self.path = f"{tools}{os.pathsep}{os.environ['PATH']}"

    def _tool(self, file: Path, text: str) -> None:
        file.write_text(f"#!/bin/bash\n{text}")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a script as CI does."""
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.folder,
            env={
                "PATH": self.path,
                "PYTHONPATH": str(DEPLOY.parent),
                "CACHELOG_CATALOG": str(self.catalog),
                "CALLS": str(self.calls),
                **variables,
            },
            capture_output=True,
            text=True,
        )


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog with one spec; tests only read it."""
    folder = tmp_path_factory.mktemp("catalog")
    spec = a_spec("zlib", name="zlib", version="1.3.1", stacks=("e4s",))
    Catalog(str(folder)).publish([a_snapshot([spec], "develop")])
    return folder


@pytest.fixture
def project(tmp_path: Path, catalog: Path) -> Project:
    """Return a project."""
    return Project(tmp_path, catalog)


# -- GitHub


class Job:
    """A job of GitHub that runs the steps of the action."""

    def __init__(self, project: Project, old_comment: str = "") -> None:
        self.project = project
        self.files = {
            name: project.folder / name.lower()
            for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "OLD")
        }
        for name, file in self.files.items():
            file.write_text(old_comment if name == "OLD" else "")

    def step(
        self, name: str, *, gh_user: str = "", gh_status: str = "0", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a step with the values of its variables, and those of the tool of GitHub."""
        steps = yaml.safe_load(ACTION.read_text("utf-8"))["runs"]["steps"]
        (step,) = (it for it in steps if it["name"] == name)
        assert {*variables} == {*step["env"]} - {"CACHELOG_CATALOG"}
        shared = {
            "RUNNER_TEMP": str(self.project.folder),
            "GITHUB_REPOSITORY": "spack/spack-packages",
            "GH_USER": gh_user,
            "GH_STATUS": gh_status,
            **{name: str(file) for name, file in self.files.items()},
        }
        return self.project.run(step["run"], **shared, **variables)

    def plan(self, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the step that creates the plan."""
        usual = {"BASE": "develop", "LOCKS": "e4s=spack.lock\n\n", "RULES": ""}
        return self.step("Plan", **{**usual, "RECIPES": "", "COMMITS": "", **variables})

    @property
    def outputs(self) -> dict[str, str]:
        """The outputs of the steps."""
        lines = self.files["GITHUB_OUTPUT"].read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)


def test_action_comments_before_it_fails(project: Project) -> None:
    """A broken rule fails only the last step."""
    job = Job(project)
    done = job.plan(RULES="strict.toml")
    assert done.returncode == 0, done.stderr
    assert job.outputs["size-label"] == "1-10"
    assert job.outputs["status"] == "1"
    comment = Path(job.outputs["comment"]).read_text()
    assert comment.startswith(MARK)
    assert "error" in comment
    assert job.files["GITHUB_STEP_SUMMARY"].read_text() == comment
    for status in (0, 1):
        assert job.step("Check the plan", STATUS=str(status)).returncode == status


@pytest.mark.parametrize(
    ("old", "call"),
    [
        ("", "--method POST repos/spack/spack-packages/issues/7/comments"),
        ("5\n6\n", "--method PATCH repos/spack/spack-packages/issues/comments/5"),
    ],
)
def test_action_replaces_its_earlier_comment(project: Project, old: str, call: str) -> None:
    """The first run creates the comment; those of other users are left alone."""
    job = Job(project, old)
    for user, login in (("", "github-actions[bot]"), ("someone", "someone")):
        project.calls.write_text("")
        variables = {**TOKEN, "NUMBER": "7", "COMMENT": "plan.md"}
        done = job.step("Comment on the pull request", gh_user=user, **variables)
        assert done.returncode == 0, done.stderr
        listed, written = project.calls.read_text().splitlines()
        assert MARK in listed
        assert f'select(.user.login == "{login}")' in listed
        assert written == f"api --silent {call} --field body=@plan.md"


def test_action_sets_one_label(project: Project) -> None:
    """It removes those of the other sizes."""
    variables = {**TOKEN, "GH_REPO": "a/b", "NUMBER": "7", "PREFIX": "rebuild: "}
    done = Job(project).step("Label the pull request", SIZE="11-100", **variables)
    assert done.returncode == 0, done.stderr
    calls = project.calls.read_text().splitlines()
    assert len([call for call in calls if "--remove-label" in call]) == 5
    assert calls[-1] == "pr edit 7 --add-label rebuild: 11-100"


def test_action_applies_rules_to_a_revision(project: Project) -> None:
    """With the exit codes of ``cachelog gate``."""
    for rules, code in (("lax.toml", 0), ("none.toml", 2)):
        variables = {"BASE": "develop", "HEAD": "develop", "RULES": rules}
        assert Job(project).step("Check a revision", **variables).returncode == code


# -- GitLab


NOTES = "/projects/1/merge_requests/7/notes"


@pytest.fixture
def gitlab() -> Iterator[Server]:
    """Serve the notes of a merge request, the new one of which has the id 4."""
    with serving() as server:
        notes = [{"id": 3, "body": f"{MARK} of another user", "author": {"id": 1}}]

        def write(request: BaseHTTPRequestHandler) -> None:
            assert request.headers["PRIVATE-TOKEN"] == "token"
            note = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
            notes[1:] = [{"id": 4, "body": note["body"], "author": {"id": 2}}]
            send(request, 200, b"{}", {"Content-Length": "2"})

        server["/user"] = document({"id": 2})
        server[f"{NOTES}?per_page=100&page=1"] = lambda request: document(notes)(request)
        server[f"{NOTES}?per_page=100&page=2"] = document([])
        server[NOTES] = server[f"{NOTES}/4"] = write
        yield server


def writes(gitlab: Server) -> list[str]:
    """Return the requests that write notes."""
    return [request for request in gitlab.requests if not request.startswith("GET ")]


def run_component(
    project: Project, gitlab: Server, **inputs: str
) -> subprocess.CompletedProcess[str]:
    """Run the job of the component."""
    job = component(catalog=str(project.catalog), **inputs)["cachelog"]
    variables = {
        "CI_API_V4_URL": gitlab.url,
        "CI_PROJECT_ID": "1",
        "CI_MERGE_REQUEST_IID": "7",
        "PLAN_NOTE_TOKEN": "token",
    }
    (script,) = job["script"]
    own = {name: str(value or "") for name, value in job["variables"].items()}
    return project.run(script, **variables | own)


def test_component_writes_one_note(project: Project, gitlab: Server) -> None:
    """The next run replaces it, also if a broken rule fails the job."""
    done = run_component(project, gitlab, locks="e4s=spack.lock ml=spack.lock")
    assert done.returncode == 0, done.stderr
    assert "of 2 specs to build" in done.stdout
    assert writes(gitlab) == [f"POST {NOTES}"]
    done = run_component(project, gitlab, locks="e4s=spack.lock", rules="strict.toml")
    assert done.returncode == 1, done.stderr
    assert writes(gitlab) == [f"POST {NOTES}", f"PUT {NOTES}/4"]
