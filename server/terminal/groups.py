"""Groups of commands that say where the options of their commands stand."""

import click


class HintingGroup(click.Group):
    """A group that tells whoever writes an option before its command where it belongs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what stands before the command."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name
            if any(name in option.opts for it in self.commands.values() for option in it.params):
                behind = f"Write it behind the command: {ctx.command_path} COMMAND {name} ..."
                raise click.NoSuchOption(name, f"{error.message} {behind}", ctx=ctx) from None
            raise
