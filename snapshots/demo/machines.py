"""The kinds of machine that Spack's public build cache builds for, and the stacks of each."""

from typing import NamedTuple


class Machine(NamedTuple):
    """A kind of machine; operating system and target together tell it from the others."""

    platform: str
    operating_system: str
    target: str
    compilers: tuple[str, ...]
    stacks: tuple[str, ...]


_TABLE = """
linux-ubuntu24.04-x86_64_v3: gcc@13.2.0 llvm@17.0.6: build_systems radiuss tutorial \
developer-tools-x86_64_v3-linux-gnu ml-linux-x86_64-cpu ml-linux-x86_64-cuda ml-linux-x86_64-rocm
linux-ubuntu22.04-x86_64_v3: gcc@11.4.0 intel-oneapi-compilers@2025.1.0: data-vis-sdk e4s \
e4s-oneapi e4s-rocm-external gpu-tests hep
linux-ubuntu24.04-aarch64: gcc@13.2.0: developer-tools-aarch64-linux-gnu ml-linux-aarch64-cpu \
ml-linux-aarch64-cuda
darwin-sequoia-aarch64: apple-clang@16.0.0: bootstrap-aarch64-darwin ml-darwin-aarch64-mps
linux-ubuntu22.04-neoverse_v2: gcc@11.4.0: e4s-neoverse-v2
linux-amzn2-x86_64_v4: gcc@12.4.0 intel-oneapi-compilers@2025.1.0: aws-isc \
aws-pcluster-x86_64_v4 radiuss-aws
linux-amzn2-neoverse_v1: gcc@12.4.0: aws-isc-aarch64 aws-pcluster-neoverse_v1 radiuss-aws-aarch64
linux-rhel8-zen4: cce@18.0.0 gcc@12.4.0: e4s-cray-rhel
darwin-sequoia-m1: apple-clang@16.0.0: developer-tools-darwin
linux-ubuntu24.04-x86_64: gcc@13.2.0: bootstrap-x86_64-linux-gnu
"""


def _machine(line: str) -> Machine:
    architecture, compilers, stacks = line.split(": ")
    platform, operating_system, target = architecture.split("-")
    return Machine(
        platform, operating_system, target, tuple(compilers.split()), tuple(stacks.split())
    )


MACHINES = tuple(map(_machine, _TABLE.split("\n")[1:-1]))
"""The most used machines first."""
