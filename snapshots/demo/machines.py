"""The kinds of machine that Spack's public build cache builds for, and the stacks of each."""

from typing import NamedTuple


class Machine(NamedTuple):
    """A kind of machine; a compiler that is named twice is used twice as often."""

    platform: str
    operating_system: str
    target: str
    compilers: tuple[str, ...]
    stacks: tuple[str, ...]


MACHINES = (
    Machine(
        *("linux", "ubuntu24.04", "x86_64_v3"),
        compilers=("gcc@13.2.0", "gcc@13.2.0", "clang@17.0.6"),
        stacks=(
            "build_systems",
            "developer-tools-x86_64_v3-linux-gnu",
            "ml-linux-x86_64-cpu",
            "ml-linux-x86_64-cuda",
            "ml-linux-x86_64-rocm",
            "radiuss",
            "tutorial",
        ),
    ),
    Machine(
        *("linux", "ubuntu22.04", "x86_64_v3"),
        compilers=("gcc@11.4.0", "gcc@11.4.0", "oneapi@2025.1.0"),
        stacks=(
            "data-vis-sdk",
            "e4s",
            "e4s-oneapi",
            "e4s-rocm-external",
            "gpu-tests",
            "hep",
        ),
    ),
    Machine(
        *("linux", "ubuntu24.04", "aarch64"),
        compilers=("gcc@13.2.0",),
        stacks=(
            "developer-tools-aarch64-linux-gnu",
            "ml-linux-aarch64-cpu",
            "ml-linux-aarch64-cuda",
        ),
    ),
    Machine(
        *("darwin", "sequoia", "aarch64"),
        compilers=("apple-clang@16.0.0",),
        stacks=("bootstrap-aarch64-darwin", "ml-darwin-aarch64-mps"),
    ),
    Machine(
        *("linux", "ubuntu22.04", "neoverse_v2"),
        compilers=("gcc@11.4.0",),
        stacks=("e4s-neoverse-v2",),
    ),
    Machine(
        *("linux", "amzn2", "x86_64_v4"),
        compilers=("gcc@12.4.0", "oneapi@2025.1.0"),
        stacks=("aws-isc", "aws-pcluster-x86_64_v4", "radiuss-aws"),
    ),
    Machine(
        *("linux", "amzn2", "neoverse_v1"),
        compilers=("gcc@12.4.0",),
        stacks=("aws-isc-aarch64", "aws-pcluster-neoverse_v1", "radiuss-aws-aarch64"),
    ),
    Machine(
        *("linux", "rhel8", "zen4"),
        compilers=("cce@18.0.0", "gcc@12.4.0"),
        stacks=("e4s-cray-rhel",),
    ),
    Machine(
        *("darwin", "sequoia", "m1"),
        compilers=("apple-clang@16.0.0",),
        stacks=("developer-tools-darwin",),
    ),
    Machine(
        *("linux", "ubuntu24.04", "x86_64"),
        compilers=("gcc@13.2.0",),
        stacks=("bootstrap-x86_64-linux-gnu",),
    ),
)
"""The most used machines first."""

LINUX_MACHINES = tuple(machine for machine in MACHINES if machine.platform == "linux")
