"""deploy/README.md: what it names is in the files beside it."""

import re

from tests.deploy.files import DEPLOY, ROOT, containers, manifest, manifests_of, own_services

TEXT = (DEPLOY / "README.md").read_text("utf-8")


def test_each_variable_of_compose_is_listed() -> None:
    """With its default, and no other."""
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    variables = re.findall(r"\$\{(\w+):([-?])([^}]*)\}", text)
    rows = re.findall(r"^\| (`.+?) \| (.*?)(?: |)\| [^|]+ \|$", TEXT, re.MULTILINE)
    listed = {
        name: value.strip("`") for names, value in rows for name in re.findall(r"`(\w+)`", names)
    }
    assert listed == {name: value if kind == "-" else "" for name, kind, value in variables}


def test_what_it_names_is_there() -> None:
    """The cron jobs that are started by hand, the secrets, and the files."""
    jobs = set(re.findall(r"--from=cronjob/([\w-]+)", TEXT))
    assert jobs
    assert jobs <= {job["metadata"]["name"] for job in manifests_of("CronJob")}
    secrets = set(re.findall(r"create secret (?:generic|tls) (\S+)", TEXT))
    (tls,) = manifest("Ingress")["spec"]["tls"]
    (source,) = (it["secretRef"] for it in containers()[0]["envFrom"] if "secretRef" in it)
    assert secrets == {tls["secretName"], source["name"]}
    policies = {policy["metadata"]["name"] for policy in manifests_of("NetworkPolicy")}
    assert set(re.findall(r"polic(?:y|ies) `(\S+)`", TEXT)) == policies
    for name in re.findall(r"deploy/([\w./]+)", TEXT):
        assert (DEPLOY / name).exists()


def test_the_image_is_the_one_that_is_built() -> None:
    """Both deployments run it by the name that it is given, which is pushed where it has to be."""
    on_one, on_kubernetes = re.findall(r"docker build --tag (\S+) ", TEXT)
    assert {it["image"] for it in own_services().values()} == {f"{on_one}:latest"}
    assert {it["image"] for it in containers()} == {on_kubernetes}
    assert re.findall(r"docker push (\S+)", TEXT) == [on_kubernetes]


def test_arguments_of_the_build_are_those_of_the_dockerfile() -> None:
    """An engine takes any other with a warning, and does nothing."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    named = re.findall(r"--build-arg (\w+)=", TEXT)
    assert {"CACHELOG_BUILD_OFFLINE", "VERSION"} <= set(named)
    assert set(named) <= set(re.findall(r"^ARG (\w+)", text, re.MULTILINE))
