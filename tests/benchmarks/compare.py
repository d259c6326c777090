"""CPU and wall seconds of cusubmatch on one thread beside networkx, igraph and DuckDB in the same run, counts compared.

    python tests/benchmarks/compare.py [--graphs NAME,...] [--patterns NAME,...] [--peers NAME,...]
                                       [--limit SECONDS] [--json FILE]

Every figure is the least of a few repeats in a child process of its own; figures are CPU seconds, in brackets wall
seconds. `> 20` was ended after 20 CPU seconds. Rows `(build)` are the making of each tool's own graph from a dataframe.
Labelled queries are given as seconds per 12 million embeddings. The exit status is 1 if a count is wrong.
"""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from cases import CASES, GRAPHS
from measure import Figure, measure
from peers import TOOLS
from rich.console import Console
from rich.table import Table

OURS = "cusubmatch"
PEERS = tuple(name for name in TOOLS if name != OURS)
PATTERNS = tuple(dict.fromkeys(case.name for case in CASES))
WIDTH = 170  # of the table, where the output is no terminal


def main(
    graphs: Annotated[str, typer.Option(help="Comma-separated: " + ", ".join(GRAPHS))] = ",".join(GRAPHS),
    patterns: Annotated[str, typer.Option(help="Comma-separated: " + ", ".join(PATTERNS))] = ",".join(PATTERNS),
    peers: Annotated[str, typer.Option(help="Comma-separated: " + ", ".join(PEERS))] = ",".join(PEERS),
    limit: Annotated[float, typer.Option(help="CPU seconds that one count may take.", min=1)] = 20,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the figures to this file.")] = None,
):
    """Compare cusubmatch with its peers."""
    chosen_graphs = _chosen("--graphs", graphs, GRAPHS)
    chosen_patterns = _chosen("--patterns", patterns, PATTERNS)
    tools = [OURS, *_chosen("--peers", peers, PEERS)]
    cases = [case for case in CASES if case.graph in chosen_graphs and case.name in chosen_patterns]
    if not cases:
        raise typer.BadParameter("no pattern of --patterns is counted on a graph of --graphs")
    load = [os.getloadavg()]
    progress, rows = Console(stderr=True), []
    for case in cases:
        figures = {}
        for tool in tools:
            progress.print(f"{case.graph} {case.name}: {tool} ...", style="dim")
            figures[tool] = measure(tool, case, limit)
        rows.append((case, figures))
    load.append(os.getloadavg())
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(_table(rows, tools))
    processor, loads = platform.processor() or platform.machine(), " -> ".join(f"{one:.1f}" for one, _, _ in load)
    console.print(f"{processor}, {os.cpu_count()} cores, load average {loads} (on an idle machine: 0 -> 1)")
    wrong = [problem for case, figures in rows for problem in _disagreements(case, figures)]
    for problem in wrong:
        console.print(f"WRONG: {problem}", style="bold red")
    if not wrong:
        console.print("Every count is the recorded one.")
    if json_file is not None:
        json_file.write_text(json.dumps(_record(rows, load, limit, wrong), indent=1) + "\n", encoding="utf-8")
    raise typer.Exit(1 if wrong else 0)


def _chosen(option, text, names):
    chosen = [name.strip() for name in text.split(",") if name.strip()]
    for name in chosen:
        if name not in names:
            raise typer.BadParameter(f"{option}: {name!r} is none of {', '.join(names)}")
    return chosen


def _table(rows, tools):
    table = Table(title="CPU seconds (wall seconds), one thread")
    table.add_column("graph", no_wrap=True)
    table.add_column("pattern", no_wrap=True)
    table.add_column("matches", justify="right", no_wrap=True)
    table.add_column("target", justify="right")
    for tool in tools:
        table.add_column(tool, justify="right", no_wrap=True)
    table.add_column("verdict")
    last = None
    for case, figures in rows:
        if case.graph != last:
            builds = [
                _seconds(figures[tool].build_cpu, figures[tool].build_wall, figures[tool].missing) for tool in tools
            ]
            table.add_row(case.graph, "(build)", "", "", *builds, "", style="dim")
        last = case.graph
        factor = _factor(case)
        cells = [_cell(figures[tool], factor) for tool in tools]
        target = "" if case.target is None else f"{case.target:g}"
        table.add_row("", case.name, f"{case.count:,}", target, *cells, _verdict(case, figures[OURS], factor))
    return table


def _factor(case):
    """What seconds are multiplied by, so that they stand for the number of embeddings that the target names."""
    return case.per / case.count if case.per else 1.0


def _cell(figure: Figure, factor):
    if figure.cpu is None:
        return figure.missing
    return _seconds(figure.cpu * factor, figure.wall * factor, "")


def _seconds(cpu, wall, missing):
    return missing if cpu is None else f"{_digits(cpu)} ({_digits(wall)})"


def _digits(seconds):
    return f"{seconds:.4f}" if seconds < 0.1 else f"{seconds:.3f}" if seconds < 1 else f"{seconds:.2f}"


def _verdict(case, figure, factor):
    if case.target is None:
        return ""
    return "pass" if figure.cpu is not None and figure.cpu * factor <= case.target else "[bold red]miss"


def _disagreements(case, figures):
    for tool, figure in figures.items():
        if figure.count is not None and figure.count != case.count:
            yield f"{case.graph} {case.name}: {tool} counts {figure.count:,}, expected {case.count:,}"
        if tool == OURS and figure.count is None:
            yield f"{case.graph} {case.name}: {tool} gave no count: {figure.missing}"


def _record(rows, load, limit, wrong):
    tools = {"cusubmatch": "cusubmatch", "networkx": "networkx", "igraph": "igraph", "DuckDB": "duckdb"}
    return {
        "machine": {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count(), "load": load},
        "versions": {"python": platform.python_version()}
        | {name: _version(package) for name, package in tools.items()},
        "limit_cpu_s": limit,
        "wrong": wrong,
        "rows": [
            {
                "graph": case.graph,
                "pattern": case.name,
                "matches": case.count,
                "target_cpu_s": case.target,
                "target_is_for_embeddings": case.per,
                "pass": None if case.target is None else _verdict(case, figures[OURS], _factor(case)) == "pass",
                "tools": {tool: figure._asdict() for tool, figure in figures.items()},
            }
            for case, figures in rows
        ],
    }


def _version(package):
    try:
        return version(package)
    except ImportError:  # run from a checkout that is not installed
        import cusubmatch

        return cusubmatch.__version__ if package == "cusubmatch" else None


if __name__ == "__main__":
    typer.run(main)
