"""Shared parts of the commands: parameters, completion, console output and catalog access."""
