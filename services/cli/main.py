"""The command `canopy`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from services.cli.commands.apply import apply
from services.cli.commands.demo import demo
from services.cli.commands.down import down
from services.cli.commands.edge import edge
from services.cli.commands.migrate import migrate
from services.cli.commands.records import households, persons
from services.cli.commands.status import status
from services.cli.commands.token import token
from services.cli.commands.up import up
from services.cli.stack.home import DEFAULT_HOME, Home
from services.cli.stack.process import StackError
from services.cli.terminal import Failure, Terminal


class Program(click.Group):
    """Turns the failures that a person can do something about into one line, without a traceback."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take --json wherever it stands: people write it last."""
        end = args.index("--") if "--" in args else len(args)
        if "--json" in args[:end]:
            args = ["--json", *(word for word in args[:end] if word != "--json"), *args[end:]]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except StackError as error:
            raise Failure(str(error)) from error


@click.group(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 failed, 2 not understood, 3 the stack does not run, 4 a part of it is not ready.",
)
@click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(DEFAULT_HOME),
    envvar="CANOPY_HOME",
    show_default=True,
    show_envvar=True,
    help="Folder that holds the stack's data, secrets and logs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.version_option(package_name="canopy", message="%(prog)s %(version)s")
@click.pass_context
def program(context: click.Context, home: Path, *, as_json: bool) -> None:
    """Canopy: the backbone of a public-benefits agency, on one machine."""
    context.obj = Terminal(home=Home.at(home), as_json=as_json)


for command in (demo, up, down, status, apply, persons, households, token, migrate, edge):
    program.add_command(command)


def main() -> None:
    """Run the command line; the exit codes are those of `services.cli.terminal.Exit`."""
    sys.exit(program(prog_name="canopy"))


if __name__ == "__main__":
    main()
