"""How hypothesis runs: a slow machine, or a module that is imported late, is no failure."""

from hypothesis import settings

settings.register_profile("cachelog", deadline=None)
settings.load_profile("cachelog")
