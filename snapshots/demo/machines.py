"""The machines that Spack's public build cache builds for, with their stacks and compilers.

Compilers are externals, outside the cache, like those already installed at a site.
"""

from base64 import b32encode
from collections.abc import Collection
from hashlib import sha1

import msgspec
import orjson

from snapshots.demo.draws import data_of
from snapshots.models import Dependency, Spec
from snapshots.spack.virtuals import LANGUAGES_OF_COMPILERS


class Machine(msgspec.Struct, frozen=True):
    """A kind of machine, identified by its operating system and target."""

    platform: str
    operating_system: str
    target: str
    compilers: tuple[str, ...]
    stacks: tuple[str, ...]

    @property
    def architecture(self) -> tuple[str, str, str]:
        """Platform, operating system and target."""
        return self.platform, self.operating_system, self.target


def _machine(line: str) -> Machine:
    architecture, compilers, stacks = line.split(": ")
    platform, operating_system, target = architecture.split("-")
    return Machine(
        platform, operating_system, target, tuple(compilers.split()), tuple(stacks.split())
    )


MACHINES = tuple(map(_machine, data_of("machines.txt").splitlines()))
"""The machines, most used first."""


# -- compilers


class Compilers:
    """The compilers of all machines at one time; every hash covers the label."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._specs = {
            (machine, compiler): self._spec(machine, compiler)
            for machine in MACHINES
            for compiler in machine.compilers
        }
        """By machine, and by the compiler named in recipes: that of the first revision."""

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
    """Return a digest in Spack's encoding."""
    return b32encode(digest).decode().lower()
