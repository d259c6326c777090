"""The matches of a pattern on disk, written by the workers of a cluster as a folder of parts.

Workers write parts that are complete or absent, and the client notes each. So a job goes on where it stopped, in
another process and on another cluster, until all parts are there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cusubmatch.api.argument_types import EdgesOption, EngineName, ProgressOption, Semantics
from cusubmatch.api.options import as_pattern
from cusubmatch.api.reports import reporting
from cusubmatch.dask.clients import client_of, threads_of
from cusubmatch.dask.cluster_graph import Graph
from cusubmatch.dask.counts import raise_failure
from cusubmatch.dask.folders.shared_files import check_shared
from cusubmatch.dask.jobs.job import Job
from cusubmatch.dask.jobs.job_state import Result
from cusubmatch.dask.jobs.manifest import JOB, JobFolder
from cusubmatch.dask.partitions import row_ranges
from cusubmatch.dask.query_jobs import checked_graph, checked_options, conditions_key, new_topic, warn_of
from cusubmatch.dask.workers.questions import Question, RowsShard
from cusubmatch.dask.workers.tasks import plan_rows
from cusubmatch.engines.runs import TaskRange
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.shared_plan import SharedPlan
from cusubmatch.execution.shared_rows import RowOutline
from cusubmatch.execution.shared_sums import SumOutline
from cusubmatch.io.publish import FOLDER, OutputPath
from cusubmatch.io.targets import check_folder, check_rows, folder_named
from cusubmatch.pattern import Pattern

__all__ = ["write_matches"]

MANIFEST = "_manifest.json"  # a name that readers of Parquet folders pass over


def write_matches(
    G: Graph,
    P: Pattern | str,
    path: str | os.PathLike[str],
    *,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    edge_id: Any = None,
    engine: EngineName = "auto",
    limit: int | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    npartitions: int | None = None,
    resume: bool = False,
    progress: ProgressOption = None,
    client: Any = None,
) -> int:
    """Find the matches of a pattern on a cluster and let the workers write them to a folder of Parquet parts.

    The folder appears under its name when it is complete. Until then the parts are in a hidden folder beside it, which
    stays there if the job ends before.

    Parameters
    ----------
    G : Graph
        A graph of `cusubmatch.dask`.
    P : Pattern or str
        The pattern, or its text such as ``"(a)-->(b)"``.
    path : str or os.PathLike
        The folder, which all workers see under this path and which must not exist yet or be empty. It gets the files
        ``part-00000.parquet``, ``part-00001.parquet``, ... and ``_manifest.json``.
    semantics : {"monomorphism", "induced", "homomorphism"}
        What a match is. Monomorphism: vertices are mapped to different vertices, and G may have more edges between
        them. Induced: G has no more edges between them. Homomorphism: any mapping that keeps the edges.
    unique : bool, optional
        One match per subgraph (per orbit of the pattern's automorphisms) rather than every embedding. Default True; for
        homomorphisms False, and True is an error.
    params : mapping of str to value, optional
        The value of each ``$parameter`` of the conditions: a number, a text, a bool, None, a date, a time, a duration,
        or for ``IN`` a list, an array or a column.
    candidates : mapping of name to ids, optional
        Ids that the images of some pattern vertices must be among: lists, arrays or columns of any library.
    touching : ids, optional
        A match must have at least one of these ids among its vertices.
    edges : {"any", "each"}
        "any": a match is its vertices; it counts if rows of the edge table exist that fulfil all conditions together.
        "each": every named edge is bound to a row, different names to different rows; each combination is a match.
    edge_id : column name, optional
        With ``edges="each"``, the column of the edge table that the result has for each named edge; default the row's
        position in the table: of several files, one after the other in the order of their names.
    engine : {"auto", "cpu", "gpu"}
        What a worker searches with. "auto": its current GPU, if it has one and the graph is worth the copy.
    limit : int, optional
        Stop at this many rows, in one part. Which ones is not promised.
    time_limit : float, optional
        Seconds for all parts. Default: no limit.
    memory_limit : int, optional
        Bytes of memory that a part may take on its worker, beside the graph. Default: its share of three quarters of
        what the worker may take and does not use.
    npartitions : int, optional
        The parts that are wanted; there are fewer where the search cannot be divided so often. Default: by the expected
        number of rows and time.
    resume : bool, default False
        Go on with a job of the same graph, pattern and options that ended before its time: parts that are complete are
        kept. Without such a job, begin one.
    progress : callable or bool, optional
        Called as ``progress(fraction_done, matches_so_far)``. True draws a line on stderr, in a notebook under the
        cell.
    client : dask.distributed.Client, optional
        Default: the current one.

    Returns
    -------
    int
        The rows written.

    Raises
    ------
    TimeLimitExceeded
        The parts that are complete stay for `resume`.
    MemoryError
        If a part passed its memory.
    PatternError
        If the pattern cannot be read, names no vertex, or does not suit the graph.
    GraphError
        If the files of the graph have changed, or no graph can be made of them.
    ClusterError
        If there is no client, it has no workers, a worker cannot see the folder, or the scheduler was lost.
    OSError
        If the disk is full (``errno.ENOSPC``) or fails otherwise.
    TypeError, ValueError
        If an argument makes no sense.

    Warns
    -----
    AbsentIdWarning
        If some of the ids of an argument are not in the graph; the warning says how many.
    AbsentLabelWarning
        If the pattern asks for a label that nothing in the graph has; the warning names the nearest ones.

    See Also
    --------
    subgraph_match : Return the matches as a Dask dataframe.
    match_many : Write the matches of a query set.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> G = Graph.from_edgelist(pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]}), client=client)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = write_matches(G, "(a)--(b)--(c)", f"{folder}/paths", client=client)
    ...     rows, len(pd.read_parquet(f"{folder}/paths", columns=["a"]))
    (5, 5)
    """
    graph, pattern = checked_graph(G), as_pattern(P, "pattern", conditions=True, parts=True, edges=edges)
    options = QueryOptions(
        semantics,
        unique,
        engine,
        time_limit,
        False,
        limit,
        memory_limit,
        progress,
        by_trial=False,
        params=params,
        candidates=candidates,
        touching=touching,
        edges=edges,
        edge_id=edge_id,
    )
    options = checked_options(options)
    if npartitions is not None:
        check_rows("npartitions", npartitions)
    target = folder_named("path", path) if resume else check_folder(path, "path")
    about: dict[str, Any] = {
        "kind": "parts",
        "graph": graph.source.key,
        "pattern": repr(pattern),
        "semantics": semantics,
        "unique": options.one_per_orbit,
        "limit": limit,
        **conditions_key(options),
    }
    if resume and (rows := _rows_of_complete(target, about)) is not None:
        return rows
    connected = client_of(client)
    question = Question(graph.source, 0, pattern, options, new_topic())
    shared, _, absent = connected.submit(plan_rows, question, pure=False).result()
    warn_of(absent)
    hidden = target.path.with_name(f".{target.path.name}.job")
    if not resume:
        shutil.rmtree(hidden, ignore_errors=True)
    ranges = _ranges_there(hidden)
    if ranges is None:
        ranges = row_ranges(shared, 1 if limit is not None else npartitions, threads_of(connected))
    about |= {"plan": _digest(shared), "ranges": [list(tasks) for tasks in ranges]}
    with JobFolder(OutputPath(target.name, hidden, FOLDER), about, resume) as folder:
        check_shared(connected, folder.path, JOB)
        with reporting(progress, "matching") as report:
            _write_parts(connected, question, shared, ranges, folder, report)
        parts = [{"file": _part(number), "rows": folder.done[number]["rows"]} for number in range(len(ranges))]
        total = sum(part["rows"] for part in parts)
        manifest = {**about, "rows": total, "parts": parts}
        folder.write_whole(MANIFEST, json.dumps(manifest, indent=1).encode())
        folder.publish(target.path)
    return total


def _write_parts(
    client: Any,
    question: Question,
    shared: SharedPlan,
    ranges: list[TaskRange],
    folder: JobFolder,
    report: Any,
) -> None:
    """Have the parts written that are not there yet."""
    part = RowsShard.of_plan(question, shared)
    missing = [number for number in range(len(ranges)) if number not in folder.done]
    shards = [part.of(ranges[number], number, str(folder.path / _part(number))) for number in missing]

    def finished(result: Result) -> None:
        folder.note(result.number, rows=raise_failure(result))

    if shards:
        Job(client, list(shards), [1.0] * len(shards), report, finished, question.options.time_limit).run()
    folder.flush()


def _part(number: int) -> str:
    return f"part-{number:05d}.parquet"


def _digest(shared: SharedPlan) -> str:
    """What says that two plans number the same tasks and find the same rows in them."""
    terms = shared.plan.terms if isinstance(shared.plan, SumOutline) else (shared,)
    about = "".join(repr(_about(term.plan, term.number_of_tasks)) for term in terms)
    return hashlib.blake2b(about.encode()).hexdigest()[:32]


def _about(plan: Any, tasks: int) -> tuple:
    """What of a plan decides which rows its tasks have."""
    if isinstance(plan, RowOutline):
        return tasks, plan
    order = [(level.vertex, level.bounds, level.deferred_restrictions) for level in plan.levels]
    return tasks, plan.engine, order, plan.ascending, plan.columns, plan.factor


def _ranges_there(hidden: Path) -> list[TaskRange] | None:
    """The ranges of a job that ended before its time."""
    try:
        return [TaskRange(*ends) for ends in json.loads((hidden / JOB).read_text(encoding="utf-8"))["ranges"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _rows_of_complete(target: OutputPath, about: dict[str, Any]) -> int | None:
    """The rows of a folder that is complete; None if there is nothing yet."""
    if not target.path.is_dir() or not any(target.path.iterdir()):
        return None
    try:
        manifest = json.loads((target.path / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise ValueError(f"path: the folder {target.name!r} is not empty and holds no job to resume") from None
    differing = [key for key, value in about.items() if manifest.get(key) != value]
    if differing:
        raise ValueError(f"path: {target.name!r} holds another job, which differs in {', '.join(sorted(differing))}")
    return int(manifest["rows"])
