"""deploy/README.md: what it names is in the files beside it."""

import re

from tests.deploy.files import DEPLOY, manifests, own_services

TEXT = (DEPLOY / "README.md").read_text("utf-8")


def test_each_variable_of_compose_is_told() -> None:
    """With its default, and no other."""
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    wanted = re.findall(r"\$\{(\w+):([-?])([^}]*)\}", text)
    rows = re.findall(r"^\| (`.+?) \| (.*?)(?: |)\| [^|]+ \|$", TEXT, re.MULTILINE)
    told = {
        name: value.strip("`") for names, value in rows for name in re.findall(r"`(\w+)`", names)
    }
    assert told == {name: value if kind == "-" else "" for name, kind, value in wanted}


def test_what_it_names_is_there() -> None:
    """The cron job that is started by hand, the secret, and the files."""
    (job,) = re.findall(r"--from=cronjob/(\S+)", TEXT)
    assert job in {it["metadata"]["name"] for it in manifests() if it["kind"] == "CronJob"}
    (secret,) = re.findall(r"create secret generic (\S+)", TEXT)
    assert secret in (DEPLOY / "kubernetes.yaml").read_text("utf-8")
    for name in re.findall(r"deploy/([\w.]+)", TEXT):
        assert (DEPLOY / name).is_file()


def test_the_image_is_the_one_that_is_built() -> None:
    """Both deployments run it by the name that it is given."""
    (name,) = re.findall(r"docker build --tag (\S+) ", TEXT)
    assert {it["image"] for it in own_services().values()} == {f"{name}:latest"}
