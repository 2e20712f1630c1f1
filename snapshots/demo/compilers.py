"""The demo's compilers: they are outside the cache, as those are that a site has already."""

from collections.abc import Collection
from hashlib import sha1

import orjson

from snapshots.demo.machines import MACHINES, Machine
from snapshots.demo.names import base32
from snapshots.models import Dependency, Spec
from snapshots.spack.virtuals import LANGUAGES_OF_COMPILERS


class Compilers:
    """The compilers of all machines at one moment; the label goes into every hash."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._specs = {
            (machine, compiler): self._spec(machine, compiler)
            for machine in MACHINES
            for compiler in machine.compilers
        }
        """By machine, and by the compiler that its recipes ask for: that of the first revision."""

    def on(self, machine: Machine, compiler: str) -> tuple[str, Dependency]:
        """Return what stands for a compiler now: its name and version, and the edge to it."""
        spec = self._specs[machine, compiler]
        languages = tuple(sorted(LANGUAGES_OF_COMPILERS[spec.name]))
        edge = Dependency(spec.name, spec.hash, ("build",), languages)
        return f"{spec.name}@{spec.version}", edge

    def among(self, hashes: Collection[str]) -> list[Spec]:
        """Return those compilers whose hash is among the given ones."""
        return [spec for spec in self._specs.values() if spec.hash in hashes]

    def upgrade(self, compiler: str) -> None:
        """Put the next minor version in the place of a compiler, on all machines that have it."""
        name, _, version = compiler.partition("@")
        major, minor, *_ = version.split(".")
        newer = f"{name}@{major}.{int(minor) + 1}.0"
        for (machine, asked), spec in self._specs.items():
            if (spec.name, spec.version) == (name, version):
                self._specs[machine, asked] = self._spec(machine, newer)

    def _spec(self, machine: Machine, compiler: str) -> Spec:
        name, _, version = compiler.partition("@")
        facts = orjson.dumps([self._label, name, version, machine[:3]])
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
