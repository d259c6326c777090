"""The command line: `cusubmatch count|match|explain|info|batch|warm-up`, files in, a number, a table or a file out.

It says what the Python functions say, in the same words. Results go to stdout, messages to stderr; bad input ends with
one line and exit code 2, work that could not be finished (time limit, memory, full disk, missing engine) with one line
and exit code 1. An output appears under its name only when it is complete; SIGTERM, as Ctrl-C, leaves nothing of it
behind. Heavy modules are imported inside the commands, so that `--help` is immediate.
"""

from __future__ import annotations

import typer

from cusubmatch.cli.arguments import Version
from cusubmatch.cli.commands.inspection import explain, info
from cusubmatch.cli.commands.precompilation import warm_up
from cusubmatch.cli.commands.query_sets import batch
from cusubmatch.cli.commands.search import count, match
from cusubmatch.cli.signals import ended_by_signals
from cusubmatch.cli.terminal import OneLineGroup

__all__ = ["app", "main"]

EPILOG = """\b
Examples:
  cusubmatch count friends.parquet clique:4
  cusubmatch count payments.csv "(a)-->(m)-->(b)" --by a,b --min-count 4
  cusubmatch match payments.csv "(a)-->(b)-->(c)-->(a)" --source payer --destination payee -o rings.parquet
  cusubmatch explain payments.csv cycle:5:directed
  cusubmatch info payments.csv --directed --format json
  cusubmatch batch friends.parquet queries.csv -o answers --workers 4
  cusubmatch warm-up --arch sm_90
  zcat payments.csv.gz | cusubmatch match - cycle:4 -o - | head
\b
PATTERN is text such as "(a:Account)-[:PAYS]->(b), (b)--(c)" or a generator: clique:4, cycle:5, path:3, star:6;
cycle, path and star take :directed. `cusubmatch COMMAND --help` lists the options.
"""


app = typer.Typer(
    cls=OneLineGroup,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


@app.callback(invoke_without_command=True)
def _start(context: typer.Context, _version: Version = False) -> None:
    """Find every copy of a small pattern in a large graph, given as a table of edges."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command(
    epilog='\b\nExample:\n  cusubmatch count payments.csv "(a)-->(b)-->(c)-->(a)" --source payer --destination payee'
)(count)
app.command(
    epilog='\b\nExample:\n  cusubmatch match friends.parquet "(me)--(friend)--(other)" --limit 1000 -o chains.csv'
)(match)
app.command(epilog='\b\nExample:\n  cusubmatch explain payments.csv "(a)-->(b)-->(c)-->(a)" --semantics induced')(
    explain
)
app.command(
    epilog="\b\nExample:\n  cusubmatch info payments.csv --directed --vertices accounts.csv --vertex-label kind"
)(info)
app.command(
    epilog="\b\nExample:\n  cusubmatch batch friends.parquet queries.csv -o answers --workers 4 --time-limit 60"
)(batch)
app.command("warm-up", epilog="\b\nExample:\n  cusubmatch warm-up --arch sm_80 --arch sm_90")(warm_up)


def main() -> None:
    """Run the command line; the entry point of the `cusubmatch` script."""
    with ended_by_signals():
        app()
