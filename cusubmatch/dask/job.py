"""A job: questions handed to the workers, and what is done about workers that are lost.

Dask runs a task again when its worker is lost, and fails it when that has happened more often than `allowed-failures`
says. But it counts all tasks of the worker, also those that only waited or ran beside the one to blame. So a task that
was failed so is run again when no other task of the job runs: one that ends its worker then as well is the culprit, and
all others get their answers. The same is done with a query that ran out of memory beside others.

A question that is expected to take long is planned by one worker and shared by all as shards (`shards.py`). Short
ones go to a worker in batches (`question_batches.py`); what is left of a batch, or was lost with its worker, is asked
singly.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

from distributed import Client, Future, KilledWorker, as_completed

from cusubmatch.api.outcomes import DONE, ERROR, OUT_OF_MEMORY, TIME_LIMIT
from cusubmatch.dask.clients import threads_of
from cusubmatch.dask.cluster_error import ClusterError
from cusubmatch.dask.job_progress import JobProgress
from cusubmatch.dask.job_state import JobTask, Result, Sharing, result_of
from cusubmatch.dask.question_batches import answer_some, batches_of
from cusubmatch.dask.questions import Answer, Question, Shard
from cusubmatch.dask.shards import cut, factored_shares
from cusubmatch.dask.tasks import answer, matches_of
from cusubmatch.errors import TimeLimitExceeded

__all__ = ["Job"]

TRIES_ALONE = 2  # of a task whose workers were lost, with nothing else running
TIMES_FORGOTTEN = 3  # by the scheduler, of all tasks of a question, before it counts as lost
FEW_TASKS = 16  # are waited for one by one; of more, results are fetched at most so many seconds apart:
BATCH_S = 0.05
TO_COME = ("lost", "pending", "finished")  # states of a future whose result is not fetched yet
FORGOTTEN = object()  # in place of a result
LOST_SCHEDULER = "client: the scheduler was lost before the end of the job; if it has a folder, resume it"
BATCH_PRIORITY, SHARD_PRIORITY, SUM_PRIORITY = -1, 1, 2  # below and above questions that have not begun


class Job:
    """Questions, carried out by the workers of a client.

    Parameters
    ----------
    client : Client
    questions : list of Question
        In the order in which they are to begin.
    weights : list of float
        Their estimated seconds.
    progress : callable or None
    finished : callable
        finished(result) is called for each question, in the order in which they end.
    time_limit : float, optional
        Seconds for all of them.
    """

    def __init__(
        self,
        client: Client,
        questions: list[Question],
        weights: list[float],
        progress: Callable[[float, int], object] | None,
        finished: Callable[[Result], None],
        time_limit: float | None = None,
    ):
        self._client, self._questions, self._finished = client, questions, finished
        self._time_limit = time_limit
        self._weights = {question.number: weight for question, weight in zip(questions, weights, strict=True)}
        self._progress = JobProgress(progress, sum(weights))
        self._topic = questions[0].topic if questions else ""
        self._tasks: dict[Any, JobTask] = {}
        self._futures: dict[Any, Future] = {}
        self._alone: list[JobTask] = []
        self._sharing: dict[int, Sharing] = {}
        self._deaths: Counter[int] = Counter()
        self._forgotten: Counter[int] = Counter()
        self._numbers = 0
        self._matches = 0

    def run(self) -> None:
        """Have all questions answered.

        Raises
        ------
        TimeLimitExceeded
        ClusterError
            If the scheduler was lost.
        GraphError
            If the files of the graph have changed or cannot be seen.
        """
        self._completed = as_completed(raise_errors=False, timeout=self._time_limit)
        try:
            single, batched = batches_of(self._questions, self._weights, threads_of(self._client))
            self._submit([JobTask(question, question, answer) for question in single])
            self._submit([JobTask(batch, batch[0], answer_some) for batch in batched], BATCH_PRIORITY)
            while self._futures or self._alone:
                if not self._futures:
                    self._submit([self._alone.pop(0)])
                for batch in self._completed.batches():
                    self._batch_ended(batch)
            self._progress.end(self._matches)
        except TimeoutError:
            raise TimeLimitExceeded(f"time_limit: not finished within {self._time_limit} s", None) from None
        finally:
            if self._futures and self._client.status == "running":
                with contextlib.suppress(Exception):  # the error that led here is the one to tell
                    self._client.cancel(list(self._futures.values()), force=True)

    def attempts(self) -> Counter[int]:
        """How often each question was begun, as far as the workers could tell."""
        return Counter(number for _, number in self._client.get_events(self._topic))

    def _submit(self, tasks: list[JobTask], priority: int = 0) -> list[Any]:
        """Hand tasks of one kind to the workers, the first one first; their keys."""
        if not tasks:
            return []
        name = f"{self._topic}-{priority}-{self._numbers}"
        self._numbers += 1
        keys = [(name, i) for i in range(len(tasks))]
        kind = tasks[0].kind
        arguments = zip(*((task.work, *task.arguments) for task in tasks), strict=True)
        futures = self._client.map(kind, *map(list, arguments), key=keys, pure=False, priority=priority)
        for key, task, future in zip(keys, tasks, futures, strict=True):
            self._tasks[key], self._futures[key] = task, future
        self._completed.update(futures)
        return keys

    def _batch_ended(self, batch: list[Future]) -> None:
        """Fetch the results of tasks that have ended: of many at once, for each fetch costs a message to a worker."""
        if len(self._futures) > FEW_TASKS:
            time.sleep(BATCH_S)
            batch += self._completed.next_batch(block=False)
        wanted = [future for future in batch if future.key in self._futures]  # others are shards that were dropped
        finished = [future for future in wanted if future.status == "finished"]
        try:
            results = self._client.gather(finished, errors="skip") if finished else []
        except CancelledError:
            results = []
        if len(results) < len(finished):  # lost with their worker since: they are run again
            results = [self._result_of(future) for future in finished]
        for future, result in zip(finished, results, strict=True):
            if future.key in self._futures and result is not FORGOTTEN:
                self._ended(future, result)
        for future in wanted:
            if future.key in self._futures and future.status in TO_COME:
                self._completed.add(future)  # it was lost with its worker and is run again, or has been meanwhile
            elif future.key in self._futures:
                self._failed(future)

    def _result_of(self, future: Future) -> Any:
        """The result of one task, or why there is none."""
        try:
            return future.result()
        except KilledWorker as error:
            return error
        except CancelledError:
            return FORGOTTEN

    def _failed(self, future: Future) -> None:
        """Deal with a task without a result."""
        if future.status != "error":
            self._submit_again(future)
            return
        error = future.exception()
        if not isinstance(error, KilledWorker):
            raise error.with_traceback(None)
        del self._futures[future.key]
        self._lost(self._tasks.pop(future.key), error)

    def _submit_again(self, future: Future) -> None:
        """Hand a task to the workers that the scheduler no longer knows, though it is there.

        Raises
        ------
        ClusterError
            If the scheduler is lost.
        """
        task = self._tasks.pop(future.key)
        del self._futures[future.key]
        number = task.question.number
        self._forgotten[number] += 1
        if self._client.status != "running" or self._forgotten[number] > TIMES_FORGOTTEN:
            raise ClusterError(LOST_SCHEDULER)
        is_shard = isinstance(task.work, Shard)
        (key,) = self._submit([task], SHARD_PRIORITY if is_shard else 0)
        if is_shard:
            shards = self._sharing[number].open
            shards[key] = shards.pop(future.key)

    def _ended(self, future: Future, result: Any) -> None:
        """Note what came of a task."""
        task = self._tasks.pop(future.key)
        del self._futures[future.key]
        if isinstance(result, KilledWorker):
            self._lost(task, result)
        elif isinstance(task.work, tuple):
            self._submit([JobTask(question, question, answer) for question in task.work[len(result) :]])
            for question, found in zip(task.work, result, strict=False):
                self._answered(JobTask(question, question, answer), found)
        elif isinstance(task.work, Shard):
            self._shard_ended(task, future.key, result)
        elif isinstance(result, int):
            self._summed(task.question, result)
        else:
            self._answered(task, result)

    def _answered(self, task: JobTask, found: Answer) -> None:
        """Note the answer to a question, or let the workers share it."""
        if found.shared is not None:
            self._share(task.question, found)
        elif found.status == OUT_OF_MEMORY and not task.alone and self._shares_memory(found.worker):
            self._alone.append(dataclasses.replace(task, alone=True))
        else:
            self._end(result_of(task.question.number, found, found.seconds, found.absent))

    def _shares_memory(self, worker: str) -> bool:
        """Whether a worker runs several tasks at a time."""
        return self._client.nthreads().get(worker, 1) > 1

    def _share(self, question: Question, found: Answer) -> None:
        shared = found.shared
        assert shared is not None  # noqa: S101 - the caller looked
        sharing = Sharing(question, shared, time.monotonic(), seconds=found.seconds, absent=found.absent)
        self._sharing[question.number] = sharing
        ranges = cut(shared, factored_shares(threads_of(self._client), shared.estimate_s))
        ranges.sort(key=lambda part: -part.share)
        limits = [limit for limit in (question.options.time_limit, shared.patience_s) if limit is not None]
        limit_s = min(limits, default=None)
        shards = [Shard(question, shared.plan, part.tasks, shared.number_of_tasks, limit_s) for part in ranges]
        keys = self._submit([JobTask(shard, question, answer) for shard in shards], SHARD_PRIORITY)
        weight = self._weights[question.number]
        sharing.open = {key: weight * part.share for key, part in zip(keys, ranges, strict=True)}

    def _shard_ended(self, task: JobTask, key: Any, found: Answer) -> None:
        sharing = self._sharing[task.question.number]
        weight = sharing.open.pop(key)
        sharing.seconds += found.seconds
        limit, patience_s = task.question.options.time_limit, sharing.shared.patience_s
        late = limit is not None and time.monotonic() - sharing.begun > limit
        impatient = patience_s is not None and sharing.open and sharing.seconds > patience_s
        if patience_s is not None and not sharing.given_up and not late and (found.status == TIME_LIMIT or impatient):
            self._give_up(sharing)
            return
        if late and (found.status != DONE or sharing.open):
            reason = found.reason or f"time_limit: not finished within {limit} s"
            found = dataclasses.replace(found, value=None, status=TIME_LIMIT, reason=reason)
        if found.status != DONE:
            self._drop(sharing)
            self._end_shared(sharing, found)
        elif sharing.given_up:
            self._end_shared(sharing, found)
        else:
            assert found.value is not None  # noqa: S101 - it is done
            sharing.total += found.value
            self._progress.add(weight, 0)
            self._weights[task.question.number] -= weight
            if not sharing.open:
                task = JobTask(task.question, task.question, matches_of, (sharing.shared.plan, sharing.total))
                self._submit([task], SUM_PRIORITY)

    def _give_up(self, sharing: Sharing) -> None:
        """Count by the other strategy: walking takes much longer than was expected."""
        self._drop(sharing)
        sharing.given_up = True
        limit = sharing.question.options.time_limit
        left = None if limit is None else max(0.0, limit - (time.monotonic() - sharing.begun))
        shard = Shard(sharing.question, sharing.shared.plan, None, sharing.shared.number_of_tasks, left)
        (key,) = self._submit([JobTask(shard, sharing.question, answer)], SHARD_PRIORITY)
        sharing.open[key] = 0.0

    def _drop(self, sharing: Sharing) -> None:
        """Let the shards that are left not be run, and end those that run."""
        futures = [self._futures.pop(key) for key in sharing.open if key in self._futures]
        self._alone = [task for task in self._alone if task.question.number != sharing.question.number]
        sharing.open.clear()
        self._client.cancel(futures, force=True)

    def _summed(self, question: Question, matches: int) -> None:
        sharing = self._sharing[question.number]
        found = Answer(matches, DONE, "", 0.0, f"{len(self._client.nthreads())} workers")
        self._end_shared(sharing, found)

    def _end_shared(self, sharing: Sharing, found: Answer) -> None:
        del self._sharing[sharing.question.number]
        seconds = time.monotonic() - sharing.begun
        self._end(result_of(sharing.question.number, found, seconds, sharing.absent))

    def _lost(self, task: JobTask, error: KilledWorker) -> None:
        """Run a task again alone, or find it to blame; the questions of a batch each by itself."""
        if isinstance(task.work, tuple):
            self._submit([JobTask(question, question, answer) for question in task.work])
            return
        number = task.question.number
        self._deaths[number] += error.allowed_failures + 1
        if task.tries_alone < TRIES_ALONE:
            again = dataclasses.replace(task, alone=True, tries_alone=task.tries_alone + 1)
            if isinstance(task.work, Shard):
                self._lost_shard(task)
            else:
                self._alone.append(again)
            return
        reason = (
            f"{self._deaths[number]} workers were lost while they ran it, the last ones with no other query beside it; "
            "it may need more memory than a worker has"
        )
        self._end(Result(number, None, 0.0, error.last_worker.address, 1, ERROR, reason, lost=True))

    def _lost_shard(self, task: JobTask) -> None:
        """Ask the whole question alone: a shard that ends workers is looked at no further."""
        sharing = self._sharing.pop(task.question.number)
        self._drop(sharing)
        question = dataclasses.replace(task.question, whole_s=float("inf"))
        self._alone.append(JobTask(question, question, answer, alone=True, tries_alone=1))

    def _end(self, result: Result) -> None:
        self._matches += result.value or 0
        self._progress.add(self._weights[result.number], result.value or 0)
        self._finished(result)
