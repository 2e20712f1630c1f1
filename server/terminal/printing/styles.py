"""Styles of terminal output; click omits them if standard output is not a terminal."""

from functools import partial

import click

digest = partial(click.style, fg="yellow")
name = partial(click.style, bold=True)
quiet = partial(click.style, dim=True)
added = partial(click.style, fg="green")
removed = partial(click.style, fg="red")
changed = partial(click.style, fg="cyan")
