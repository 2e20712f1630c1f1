"""The kinds of machine that Spack's public build cache builds for, their stacks and compilers.

Compilers are outside the cache, as those are that a site has already.
"""

from base64 import b32encode
from collections.abc import Collection
from hashlib import sha1

import msgspec
import orjson

from snapshots.models import Dependency, Spec
from snapshots.spack.virtuals import LANGUAGES_OF_COMPILERS


class Machine(msgspec.Struct, frozen=True):
    """A kind of machine; operating system and target together tell it from the others."""

    platform: str
    operating_system: str
    target: str
    compilers: tuple[str, ...]
    stacks: tuple[str, ...]

    @property
    def architecture(self) -> tuple[str, str, str]:
        """Platform, operating system and target."""
        return self.platform, self.operating_system, self.target


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


# -- compilers


class Compilers:
    """The compilers of all machines at one moment; the label is part of what every hash covers."""

    def __init__(self, label: str) -> None:
        self._label = label
        self.num_upgrades = 0
        self._specs = {
            (machine, compiler): self._spec(machine, compiler)
            for machine in MACHINES
            for compiler in machine.compilers
        }
        """By machine, and by the compiler that its recipes name: that of the first revision."""

    def on(self, machine: Machine, compiler: str) -> tuple[str, Dependency]:
        """Return the current name and version of a compiler, and the edge to it."""
        spec = self._specs[machine, compiler]
        languages = tuple(sorted(LANGUAGES_OF_COMPILERS[spec.name]))
        edge = Dependency(spec.name, spec.hash, ("build",), languages)
        return f"{spec.name}@{spec.version}", edge

    def among(self, hashes: Collection[str]) -> list[Spec]:
        """Return the compilers whose hash is in ``hashes``."""
        return [spec for spec in self._specs.values() if spec.hash in hashes]

    def upgrade(self, compiler: str) -> None:
        """Replace a compiler by its next minor version, on all machines that have it."""
        self.num_upgrades += 1
        name, _, version = compiler.partition("@")
        major, minor, *_ = version.split(".")
        newer = f"{name}@{major}.{int(minor) + 1}.0"
        for (machine, original), spec in self._specs.items():
            if (spec.name, spec.version) == (name, version):
                self._specs[machine, original] = self._spec(machine, newer)

    def _spec(self, machine: Machine, compiler: str) -> Spec:
        name, _, version = compiler.partition("@")
        facts = orjson.dumps([self._label, name, version, machine.architecture])
        return Spec(
            hash=base32(sha1(facts, usedforsecurity=False).digest()),
            name=name,
            version=version,
            compiler=None,
            operating_system=machine.operating_system,
            platform=machine.platform,
            target=machine.target,
            variants=("build_system=generic",),
            stacks=(),
            namespace="builtin",
            dependencies=(),
        )


def base32(digest: bytes) -> str:
    """Return a digest as Spack spells it."""
    return b32encode(digest).decode().lower()
