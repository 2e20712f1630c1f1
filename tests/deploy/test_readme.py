"""deploy/README.md agrees with the files that it describes."""

import re

from tests.deploy.files import DEPLOY, ROOT, containers, manifest, manifests_of, own_services

TEXT = (DEPLOY / "README.md").read_text("utf-8")


def test_all_variables_of_compose_are_documented() -> None:
    """With their defaults, and no other variables."""
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    variables = re.findall(r"\$\{(\w+):([-?])([^}]*)\}", text)
    rows = re.findall(r"^\| (`.+?) \| (.*?)(?: |)\| [^|]+ \|$", TEXT, re.MULTILINE)
    documented = {
        name: value.strip("`") for names, value in rows for name in re.findall(r"`(\w+)`", names)
    }
    assert documented == {name: value if kind == "-" else "" for name, kind, value in variables}


def test_named_objects_and_files_exist() -> None:
    """The cron jobs to start by hand, the secrets, the network policies and the files."""
    jobs = set(re.findall(r"--from=cronjob/([\w-]+)", TEXT))
    assert jobs
    assert jobs <= {job["metadata"]["name"] for job in manifests_of("CronJob")}
    secrets = set(re.findall(r"create secret (?:generic|tls) (\S+)", TEXT))
    (tls,) = manifest("Ingress")["spec"]["tls"]
    (keys,) = (
        source["secretRef"] for source in containers()[0]["envFrom"] if "secretRef" in source
    )
    assert secrets == {tls["secretName"], keys["name"]}
    policies = {policy["metadata"]["name"] for policy in manifests_of("NetworkPolicy")}
    assert set(re.findall(r"polic(?:y|ies) `(\S+)`", TEXT)) == policies
    for name in re.findall(r"deploy/([\w./]+\w)", TEXT):
        assert (DEPLOY / name).exists()


def test_deployments_use_the_documented_image() -> None:
    """Under the tags of the build commands; the one for Kubernetes is pushed."""
    for_compose, for_kubernetes = re.findall(r"docker build --tag (\S+) ", TEXT)
    assert {service["image"] for service in own_services().values()} == {f"{for_compose}:latest"}
    assert {container["image"] for container in containers()} == {for_kubernetes}
    assert re.findall(r"docker push (\S+)", TEXT) == [for_kubernetes]


def test_build_arguments_exist() -> None:
    """The Dockerfile declares them; a builder only warns about others."""
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    arguments = set(re.findall(r"--build-arg (\w+)=", TEXT))
    assert {"VERSION"} <= arguments
    assert arguments <= set(re.findall(r"^ARG (\w+)", dockerfile, re.MULTILINE))
