"""A query set answered by a cluster: what `count_many` and `match_many` have in common.

With a folder, each answer is noted when it is there, so that another process can go on. The table comes at the end.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import pickle
import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Any

from cusubmatch.api.ids import warn_absent_ids
from cusubmatch.api.options import check_options
from cusubmatch.api.options_of_each import options_of_each
from cusubmatch.api.outcomes import DONE
from cusubmatch.api.reports import reporting
from cusubmatch.dask.clients import client_of, threads_of
from cusubmatch.dask.cluster_graph import Graph
from cusubmatch.dask.folders.shared_files import check_shared
from cusubmatch.dask.jobs.job import Job
from cusubmatch.dask.jobs.job_state import Result
from cusubmatch.dask.jobs.manifest import JOB, JobFolder
from cusubmatch.dask.query_set import NamedQuery, longest_first, queries_of
from cusubmatch.dask.workers.questions import Absent, Question
from cusubmatch.engines.registry import ENGINES
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.frames import Family, family_named
from cusubmatch.frames.count_table import count_table
from cusubmatch.graph.labels import warn_absent
from cusubmatch.graph.stored_graph import is_usable
from cusubmatch.io.publish import OutputPath
from cusubmatch.io.targets import check_folder, folder_named

__all__ = [
    "answer_all",
    "checked_graph",
    "checked_options",
    "conditions_key",
    "family_of_tables",
    "new_topic",
    "table_of",
    "warn_of",
]

RESULTS = "results.parquet"
WHOLE_S = 20.0  # a query of a set that is expected to take longer is shared by the workers


def checked_graph(G: Any) -> Graph:
    """The graph of a cluster that G is."""
    if isinstance(G, Graph):
        return G
    if type(G).__module__.startswith("cusubmatch."):
        raise TypeError(
            "G: this Graph lies in the memory of one process; for a cluster, save it by G.save(folder) and open it by "
            "cusubmatch.dask.Graph.load(folder), or make one with cusubmatch.dask.Graph.from_edgelist"
        )
    raise TypeError(
        "G: expected a cusubmatch.dask.Graph; make one with its from_parquet, from_edgelist or load, got "
        f"{type(G).__module__.partition('.')[0]}.{type(G).__name__}"
    )


def checked_options(options: QueryOptions) -> QueryOptions:
    """Refuse options that no call can take; whether an engine can run is for the workers to say."""
    if options.engine not in ENGINES:
        raise ValueError(f"engine: expected one of {', '.join(ENGINES)}, got {options.engine!r}")
    check_options(dataclasses.replace(options, engine="auto"))
    time_limit = None if options.time_limit is None else float(options.time_limit)
    return dataclasses.replace(options, time_limit=time_limit, progress=None, warn_of_absent_labels=False)


def warn_of(absent: Absent, argument: str = "pattern") -> None:
    """Warn of what the graph lacks."""
    warn_absent({argument: absent.labels})
    warn_absent_ids(absent.ids)


def conditions_key(options: QueryOptions) -> dict[str, str]:
    """What tells jobs with other conditions apart; nothing where none are given."""
    given = options.params, options.candidates, options.touching, options.edges, options.edge_id
    if given == (None, None, None, "any", None):
        return {}
    return {"conditions": hashlib.blake2b(pickle.dumps(given, 5)).hexdigest()[:32]}


def new_topic() -> str:
    """A name for the tasks of a job that no other job has."""
    return f"cusubmatch-{uuid.uuid4().hex[:12]}"


def answer_all(
    client: Any,
    G: Any,
    queries: Any,
    options: QueryOptions,
    path: str | os.PathLike[str] | None,
    resume: bool,
    write: bool,
) -> tuple[Graph, list[NamedQuery], dict[int, Result]]:
    """Have all queries of a set answered; their results by number.

    Parameters
    ----------
    options : QueryOptions
        As the caller gave them.
    path : path or None
        The folder of the job.
    write : bool
        Whether each query's matches are written to a file of the folder; else they are counted.
    """
    graph, asked, progress = checked_graph(G), queries_of(queries, options.edges), options.progress
    options = checked_options(options)
    readable = [query for query in asked if query.read.status == DONE]
    each = options_of_each([query.read.value for query in readable], options)
    own = {query.number: one for query, (_, one) in zip(readable, each, strict=True)}
    if resume and path is None:
        raise ValueError("resume: name the folder of the job by path=")
    connected = client_of(client)
    about = {} if path is None else _about(graph, asked, options, write)
    with _folder(path, about, resume) as folder, reporting(progress, "queries") as report:
        if write and folder is not None:
            check_shared(connected, folder.path, JOB)
        results = {query.number: _unread(query) for query in asked if query.read.status != DONE}
        done = {} if folder is None else folder.done
        results |= {number: Result(number, **facts) for number, facts in done.items()}
        measured = graph.summary(connected)
        unanswered = [query for query in asked if query.number not in results]
        open_queries = longest_first(unanswered, measured)
        whole_s = WHOLE_S if threads_of(connected) > 1 else float("inf")
        topic = new_topic()
        questions = [
            Question(
                graph.source,
                query.number,
                query.read.value,
                own[query.number],
                topic,
                str(folder.path / file_of(query)) if write and folder is not None else None,
                whole_s,
            )
            for query, _ in open_queries
        ]

        def finished(result: Result) -> None:
            results[result.number] = result
            if folder is not None:
                facts = dataclasses.asdict(result)
                folder.note(facts.pop("number"), **facts)

        if questions:
            job = Job(connected, questions, [seconds for _, seconds in open_queries], report, finished)
            job.run()
            results |= _with_attempts(results, job.attempts())
        lacking = {f"queries[{query.name!r}]": Absent(*(results[query.number].absent or ())) for query in asked}
        warn_absent({name: absent.labels for name, absent in lacking.items()})
        warn_absent_ids("; ".join(dict.fromkeys(absent.ids for absent in lacking.values() if absent.ids)) or None)
        if folder is not None:
            _keep(folder, table_of(family_named("arrow"), asked, results, write))
    return graph, asked, results


def _about(graph: Graph, asked: list[NamedQuery], options: QueryOptions, write: bool) -> dict[str, Any]:
    """What tells a job from others."""
    return {
        "kind": "matches" if write else "counts",
        "graph": graph.source.key,
        "semantics": options.semantics,
        "unique": options.one_per_orbit,
        "limit": options.limit,
        "queries": hashlib.blake2b(repr([(query.name, query.text) for query in asked]).encode()).hexdigest()[:32],
        **conditions_key(options),
    }


def file_of(query: NamedQuery) -> str:
    """The name of the file of a query's matches."""
    return f"matches-{query.number:05d}.parquet"


def table_of(family: Family, queries: list[NamedQuery], results: dict[int, Result], write: bool) -> Any:
    """The results as a dataframe, one row a query in their order."""
    rows = [results[query.number] for query in queries]
    files = [file_of(query) if result.status == DONE else "" for query, result in zip(queries, rows, strict=True)]
    columns: dict[str, list[Any]] = {
        "query": [query.name for query in queries],
        "count": [result.value for result in rows],
        **({"file": files} if write else {}),
        "seconds": [result.seconds for result in rows],
        "worker": [result.worker for result in rows],
        "attempts": [result.attempts for result in rows],
        "status": [result.status for result in rows],
        "reason": [result.reason for result in rows],
    }
    return count_table(family, columns, nullable=True)


def family_of_tables(graph: Graph) -> Family:
    """The library of a table of results: that of the graph, where it is here."""
    name = getattr(graph.source, "family", "pandas")
    return family_named(name if is_usable(name) else "pandas")


@contextlib.contextmanager
def _folder(path: Any, about: dict[str, Any], resume: bool) -> Iterator[JobFolder | None]:
    """The folder of a job; None without a path."""
    if path is None:
        yield None
        return
    target: OutputPath = folder_named("path", path) if resume else check_folder(path, "path")
    with JobFolder(target, about, resume) as folder:
        yield folder


def _keep(folder: JobFolder, table: Any) -> None:
    """Write the table of results, complete or absent."""
    from pyarrow import BufferOutputStream, parquet

    sink = BufferOutputStream()
    parquet.write_table(table, sink)
    folder.flush()
    folder.write_whole(RESULTS, sink.getvalue().to_pybytes())


def _unread(query: NamedQuery) -> Result:
    return Result(query.number, None, 0.0, "", 0, query.read.status, query.read.reason)


def _with_attempts(results: dict[int, Result], begun: Counter[int]) -> dict[int, Result]:
    """The results of this job with how often each was begun."""
    return {
        number: dataclasses.replace(results[number], attempts=max(count, 1))
        for number, count in begun.items()
        if number in results
    }
