"""One tool on one graph, in a child process: its CPU and wall seconds, with a limit on both, and its memory bounded.

CPU seconds are those of the whole child (`time.process_time`: all its threads), taken around the build of the graph
and around each count. A count is repeated while that is cheap, and its least figure stands: on a shared machine the
others measure the neighbours. The limit is CPU seconds too, kept by the operating system (RLIMIT_CPU), so that it cuts
all tools at the same work however loaded the machine is; a generous limit on the wall ends what waits for others.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import resource
import time
from multiprocessing.connection import Connection
from typing import NamedTuple

from cases import Case, load_edges, load_labels
from peers import TOOLS

__all__ = ["Figure", "measure"]

REPEATS = 5
REPEAT_SECONDS = 3.0  # CPU seconds after which no third or further count begins
BUILD_FACTOR = 3  # limits are as many times longer while the graph is built
WALL_FACTOR = 4
WARM_UP_SECONDS = 300.0  # wall seconds for imports and for compiling what is not cached
MEMORY = 8 << 30  # bytes of address space


class Figure(NamedTuple):
    """What one tool took: seconds of the build and of the best count, the count, and why figures are missing."""

    build_cpu: float | None = None
    build_wall: float | None = None
    cpu: float | None = None
    wall: float | None = None
    count: int | None = None
    missing: str = ""


def measure(tool: str, case: Case, limit: float) -> Figure:
    """Build the graph and count the case with `tool`, in a child process; each count has `limit` CPU seconds."""
    if not TOOLS[tool].can(case):
        return Figure(missing="-")
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(theirs, tool, case, limit), daemon=True)
    child.start()
    theirs.close()
    figure = Figure(missing=f"build > {BUILD_FACTOR * limit:g}")
    wall_limit = WARM_UP_SECONDS + WALL_FACTOR * BUILD_FACTOR * limit
    with contextlib.suppress(EOFError):  # the child's end, by itself or by the operating system
        while ours.poll(wall_limit):
            what, *values = ours.recv()
            if what == "built":
                figure = Figure(*values, missing=f"> {limit:g}")
            elif what == "counted":
                cpu, wall, count = values
                if figure.cpu is None or cpu < figure.cpu:
                    figure = figure._replace(cpu=cpu, wall=wall, count=count, missing="")
            else:
                figure = figure._replace(missing=values[0])
            wall_limit = WALL_FACTOR * limit
    child.kill()
    child.join()
    return figure


def _work(connection: Connection, tool, case, limit):
    face = TOOLS[tool]
    try:
        edges, labels, queries = load_edges(case.graph), load_labels(case.graph), case.load()
        face.warm_up()
        if face.bounded:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        _limit_cpu(BUILD_FACTOR * limit)
        cpu, wall = time.process_time(), time.perf_counter()
        graph = face.build(edges, labels)
        connection.send(("built", time.process_time() - cpu, time.perf_counter() - wall))
        spent = 0.0
        for turn in range(REPEATS):
            _limit_cpu(limit)
            cpu, wall = time.process_time(), time.perf_counter()
            count = sum(face.count(graph, case.name, query, f"{turn}.{i}") for i, query in enumerate(queries))
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            connection.send(("counted", cpu, wall, count))
            spent += cpu
            if turn and spent > REPEAT_SECONDS:
                break
    except MemoryError:
        connection.send(("failed", "memory"))
    except Exception as error:  # a tool's own exception is a result of the comparison
        memory = "memory" in f"{type(error).__name__} {error}".lower()
        connection.send(("failed", "memory" if memory else f"{type(error).__name__}: {error}"[:60]))


def _limit_cpu(seconds):
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), hard))
