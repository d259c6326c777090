"""The tasks of a job on the cluster: handed to the workers, and their results fetched.

A result may be lost with its worker after its task has ended: the task is run again and waited for anew. A task that
the scheduler no longer knows, though it is there, is handed over again a few times.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import CancelledError
from typing import Any

from distributed import Client, Future, KilledWorker, as_completed
from distributed.protocol import pickle

from cusubmatch.dask.jobs.job_state import JobTask
from cusubmatch.errors import ClusterError

__all__ = ["JobFutures"]

TIMES_FORGOTTEN = 3  # by the scheduler, of all tasks of a question, before it counts as lost
FEW_TASKS = 16  # are waited for one by one; of more, results are fetched at most so many seconds apart:
FETCH_S = 0.1
TO_COME = ("lost", "pending", "finished")  # states of a future whose result is not fetched yet
FORGOTTEN = object()  # in place of a result
LOST_SCHEDULER = "client: the scheduler was lost before the end of the job; if it has a folder, resume it"


class JobFutures:
    """The tasks that are on the cluster.

    Parameters
    ----------
    client : Client
    topic : str
        What their keys begin with.
    renamed : callable
        renamed(task, key, new key) is called where a task was handed over again.
    """

    def __init__(self, client: Client, topic: str, renamed: Callable[[JobTask, Any, Any], None]):
        self._client, self._topic, self._renamed = client, topic, renamed
        self._tasks: dict[Any, tuple[JobTask, int]] = {}  # with their priorities
        self._futures: dict[Any, Future] = {}
        self._forgotten: Counter[int] = Counter()
        self._submitted = 0

    def __len__(self) -> int:
        return len(self._futures)

    def begin(self, time_limit: float | None) -> None:
        """Begin to wait; `TimeoutError` is raised after so many seconds."""
        self._completed = as_completed(raise_errors=False, timeout=time_limit)

    def submit(self, tasks: list[JobTask], priority: int = 0) -> list[Any]:
        """Hand tasks to the workers, the first one first; their keys.

        They travel as bytes, which the scheduler passes on as they are.
        """
        if not tasks:
            return []
        name = f"{self._topic}-{priority}-{self._submitted}"
        self._submitted += 1
        keys = [(name, i) for i in range(len(tasks))]
        packed = [pickle.dumps((task.kind, task.work, *task.arguments)) for task in tasks]
        futures = self._client.map(_carried_out, packed, key=keys, pure=False, priority=priority)
        for key, task, future in zip(keys, tasks, futures, strict=True):
            self._tasks[key], self._futures[key] = (task, priority), future
        self._completed.update(futures)
        return keys

    def batches(self) -> Iterator[list[Future]]:
        """The futures that have ended, as they end."""
        yield from self._completed.batches()

    def results(self, batch: list[Future]) -> Iterator[tuple[JobTask, Any, Any]]:
        """(task, key, result) of tasks that have ended; the result of a task that lost its workers is `KilledWorker`.

        Results of many tasks are fetched at once, for each fetch costs a message to a worker.

        Raises
        ------
        ClusterError
            If the scheduler is lost.
        """
        if len(self._futures) > FEW_TASKS:
            time.sleep(FETCH_S)
            batch += self._completed.next_batch(block=False)
        wanted = [future for future in batch if future.key in self._futures]  # others were dropped
        finished = [future for future in wanted if future.status == "finished"]
        for future, result in zip(finished, self._fetched(finished), strict=True):
            if future.key in self._futures and result is not FORGOTTEN:
                yield self._taken(future.key), future.key, result
        for future in wanted:
            if future.key in self._futures and future.status in TO_COME:
                self._completed.add(future)  # it was lost with its worker and is run again, or has been meanwhile
            elif future.key in self._futures and future.status != "error":
                self._submit_again(future)
            elif future.key in self._futures:
                error = future.exception()
                if not isinstance(error, KilledWorker):
                    raise error.with_traceback(None)
                yield self._taken(future.key), future.key, error

    def drop(self, keys: Collection[Any]) -> None:
        """Let tasks that have not begun not be run, and end those that run."""
        futures = [self._futures.pop(key) for key in keys if key in self._futures]
        self._client.cancel(futures, force=True)

    def drop_all(self) -> None:
        """The same of all tasks, as well as it can be done."""
        if self._futures and self._client.status == "running":
            with contextlib.suppress(Exception):  # the error that led here is the one to tell
                self._client.cancel(list(self._futures.values()), force=True)

    def _taken(self, key: Any) -> JobTask:
        del self._futures[key]
        return self._tasks.pop(key)[0]

    def _fetched(self, finished: list[Future]) -> list[Any]:
        """The results of tasks that have ended, or why there is none."""
        try:
            results = self._client.gather(finished, errors="skip") if finished else []
        except CancelledError:
            results = []
        if len(results) < len(finished):  # lost with their worker since: they are run again
            results = list(map(_result_of, finished))
        return results

    def _submit_again(self, future: Future) -> None:
        """Hand over a task that the scheduler has forgotten."""
        task, priority = self._tasks.pop(future.key)
        del self._futures[future.key]
        number = task.question.number
        self._forgotten[number] += 1
        if self._client.status != "running" or self._forgotten[number] > TIMES_FORGOTTEN:
            raise ClusterError(LOST_SCHEDULER)
        (key,) = self.submit([task], priority)
        self._renamed(task, future.key, key)


def _carried_out(packed: bytes) -> Any:
    kind, *arguments = pickle.loads(packed)
    return kind(*arguments)


def _result_of(future: Future) -> Any:
    try:
        return future.result()
    except KilledWorker as error:
        return error
    except CancelledError:
        return FORGOTTEN
