"""Arguments and options that commands of the command line share, with what `--help` says of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from cusubmatch import __version__

__all__ = [
    "By",
    "Candidates",
    "Destination",
    "Devices",
    "Directed",
    "Distinct",
    "EachEdge",
    "EdgeId",
    "EdgeLabel",
    "Edges",
    "EngineChoice",
    "HowToMatch",
    "InputFormat",
    "JobOutput",
    "Limit",
    "MinCount",
    "Output",
    "Params",
    "PatternText",
    "PrintAs",
    "PrintRowsAs",
    "Printed",
    "PrintedPlan",
    "Queries",
    "Resume",
    "RowsPerFile",
    "Scheduler",
    "Semantics",
    "ShowProgress",
    "Sort",
    "Source",
    "Time",
    "TimeLimit",
    "Touching",
    "Unique",
    "Version",
    "Vertex",
    "VertexLabel",
    "Vertices",
    "WarmArchitectures",
    "WarmCpu",
    "Where",
    "WhichEngine",
    "WhichIds",
    "WorkerCount",
    "WriteMatches",
    "device_argument",
]


class Semantics(StrEnum):
    """What a match is."""

    MONOMORPHISM = "monomorphism"
    INDUCED = "induced"
    HOMOMORPHISM = "homomorphism"


class EngineChoice(StrEnum):
    """What does the work."""

    AUTO = "auto"
    CPU = "cpu"
    GPU = "gpu"


class Printed(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class PrintedPlan(StrEnum):
    """How a plan is printed."""

    TABLE = "table"
    JSON = "json"


class TableFormat(StrEnum):
    """How a table is written."""

    PARQUET = "parquet"
    CSV = "csv"
    TSV = "tsv"


class Ids(StrEnum):
    """What the ids of vertices are."""

    TEXT = "text"
    INT = "int"


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


Edges = Annotated[
    str, typer.Argument(metavar="EDGES", help="Parquet, CSV or TSV file (text also as .gz), or -; one row an edge.")
]
InputFormat = Annotated[
    TableFormat | None, typer.Option(metavar="FORMAT", help="parquet, csv, tsv.  [default: as seen]")
]
WhichIds = Annotated[
    Ids | None, typer.Option("--ids", metavar="text|int", help="What ids are.  [default: int if lossless]")
]
PatternText = Annotated[str, typer.Argument(metavar="PATTERN", help="Pattern text or a generator such as clique:4.")]
Source = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of EDGES.  [default: source, or src]")]
Destination = Annotated[str | None, typer.Option(metavar="COLUMN", help="Likewise.  [default: destination, or dst]")]
Directed = Annotated[bool | None, typer.Option("--directed/--undirected", help="[default: as the pattern]")]
EdgeLabel = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of EDGES with edge labels.")]
Vertices = Annotated[str | None, typer.Option(metavar="FILE", help="Such a file with one row a vertex.")]
Vertex = Annotated[str, typer.Option(metavar="COLUMN", help="Its column with the ids.")]
VertexLabel = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of --vertices with vertex labels.")]
HowToMatch = Annotated[Semantics, typer.Option(help="What a match is.")]
Unique = Annotated[
    bool | None,
    typer.Option("--unique/--no-unique", help="One a subgraph.  [default: by semantics]"),
]
Distinct = Annotated[list[str] | None, typer.Option(metavar="A,B", help="Vertices to keep apart; repeatable.")]
Where = Annotated[str | None, typer.Option(metavar="CONDITION", help="As after WHERE in PATTERN: 'a.risk > 3'.")]
Params = Annotated[
    list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="Of a $NAME in a condition; repeatable.")
]
Candidates = Annotated[
    list[str] | None, typer.Option(metavar="A=FILE", help="Ids that vertex A is one of; repeatable.")
]
Touching = Annotated[str | None, typer.Option(metavar="FILE", help="Ids of which each match has at least one.")]
By = Annotated[str | None, typer.Option(metavar="A,B", help="Count by the images of these vertices, a row each.")]
MinCount = Annotated[int, typer.Option(metavar="N", min=1, help="With --by: leave out rows of fewer matches.")]
EachEdge = Annotated[bool, typer.Option("--each-edge", help="Each named edge takes a row of EDGES.")]
EdgeId = Annotated[
    str | None,
    typer.Option("--edge-id", metavar="COLUMN", help="With --each-edge: what names a row."),
]
Time = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of EDGES with the time of each edge.")]
WhichEngine = Annotated[EngineChoice, typer.Option(help="What does the work.")]
WarmArchitectures = Annotated[
    list[str] | None,
    typer.Option(
        "--arch", metavar="ARCH", help="As sm_90, which need not be here; repeatable.  [default: the GPUs here]"
    ),
]
WarmCpu = Annotated[bool, typer.Option("--cpu/--no-cpu", help="The CPU engine's code, too.")]
Devices = Annotated[
    str | None,
    typer.Option(metavar="all|N|N,N", help="GPUs: all, how many, or which (1, is one)."),
]
TimeLimit = Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="Give up after so long.")]
Limit = Annotated[int | None, typer.Option(metavar="ROWS", min=0, help="Stop after so many matches.")]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="PATH", help="A .parquet, .csv, .tsv, .csv.gz, folder, -."),
]
Queries = Annotated[
    str,
    typer.Argument(metavar="QUERIES", help="Columns pattern and query (its name), or a .txt with a pattern a line."),
]
JobOutput = Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="A new folder; workers see it, too.")]
WriteMatches = Annotated[bool, typer.Option("--matches", help="Write each query's matches to a file of the folder.")]
Scheduler = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Of a Dask cluster, as tcp://host:8786.")]
WorkerCount = Annotated[
    int | None,
    typer.Option(
        "--workers", metavar="N", min=1, help="Of a cluster on this machine.  [default: one a GPU, or a core]"
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the job in the folder.")]
PrintAs = Annotated[Printed, typer.Option("--format", help="Of what is printed.")]
PrintRowsAs = Annotated[
    Printed | None, typer.Option("--format", metavar="table|json|csv", help="Of what is printed; JSON: a line a row.")
]
RowsPerFile = Annotated[int | None, typer.Option(metavar="ROWS", min=1, help="Most of a part.  [default: 2**26]")]
Sort = Annotated[bool, typer.Option("--sort", help="Rows in the order of the ids.")]
ShowProgress = Annotated[bool | None, typer.Option("--progress/--no-progress", help="[default: on a terminal]")]
Version = Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")]


def device_argument(text: str) -> str | int | list[int]:
    """The argument `devices` that the text of an option stands for."""
    if text == "all":
        return text
    try:
        numbers = [int(number) for number in text.split(",") if number.strip()]
    except ValueError:
        raise ValueError(f"devices: expected all, a number of GPUs, or their numbers as 0,2; got {text!r}") from None
    return numbers if "," in text else numbers[0] if numbers else []
