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

import dataclasses
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from distributed import Client, KilledWorker

from cusubmatch.api.outcomes import DONE, ERROR, OUT_OF_MEMORY, TIME_LIMIT
from cusubmatch.dask.clients import threads_of
from cusubmatch.dask.jobs.job_futures import JobFutures
from cusubmatch.dask.jobs.job_progress import JobProgress
from cusubmatch.dask.jobs.job_state import JobTask, Result, Sharing, result_of
from cusubmatch.dask.jobs.question_batches import answer_some, batches_of
from cusubmatch.dask.jobs.shards import cut, factored_shares
from cusubmatch.dask.workers.questions import Answer, Question, Shard
from cusubmatch.dask.workers.tasks import answer, matches_of
from cusubmatch.errors import TimeLimitExceeded

__all__ = ["Job"]

TRIES_ALONE = 2  # of a task whose workers were lost, with nothing else running
FIRST_PRIORITY, SHARD_PRIORITY, SUM_PRIORITY = -1, 1, 2  # below and above what is run again


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
        self._futures = JobFutures(client, self._topic, self._renamed)
        self._alone: list[JobTask] = []
        self._sharing: dict[int, Sharing] = {}
        self._deaths: Counter[int] = Counter()
        self._returned: Counter[int] = Counter()  # by workers that did not begin them
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
        self._futures.begin(self._time_limit)
        try:
            threads = threads_of(self._client)
            weights = [self._weights[question.number] for question in self._questions]
            tasks = list(map(_task_of, batches_of(self._questions, weights, threads)))
            self._futures.submit(tasks[:threads], FIRST_PRIORITY)  # workers begin while others are handed over
            self._futures.submit(tasks[threads:], FIRST_PRIORITY)
            while self._futures or self._alone:
                if not self._futures:
                    self._futures.submit([self._alone.pop(0)])
                for batch in self._futures.batches():
                    for task, key, result in self._futures.results(batch):
                        self._ended(task, key, result)
            self._progress.end(self._matches)
        except TimeoutError:
            raise TimeLimitExceeded(f"time_limit: not finished within {self._time_limit} s", None) from None
        finally:
            self._futures.drop_all()

    def attempts(self) -> Counter[int]:
        """How often each question, or the batch that it was in, was begun, as far as the workers could tell."""
        begun = Counter(number for _, numbers in self._client.get_events(self._topic) for number in numbers)
        return begun - self._returned

    def _renamed(self, task: JobTask, key: Any, new: Any) -> None:
        """Note the new key of a task, if it is a shard's."""
        if isinstance(task.work, Shard):
            shards = self._sharing[task.question.number].open
            shards[new] = shards.pop(key)

    def _ended(self, task: JobTask, key: Any, result: Any) -> None:
        """Note what came of a task."""
        if isinstance(result, KilledWorker):
            self._lost(task, result)
        elif isinstance(task.work, tuple):
            if rest := task.work[len(result) :]:
                self._returned.update(question.number for question in rest)
                self._futures.submit([_task_of(rest)])
            for question, reply in zip(task.work, result, strict=False):
                self._answered(_task_of((question,)), reply)
        elif isinstance(task.work, Shard):
            self._shard_ended(task, key, result)
        elif isinstance(result, int):
            self._summed(task.question, result)
        else:
            self._answered(task, result)

    def _answered(self, task: JobTask, reply: Answer) -> None:
        """Note the answer to a question, or let the workers share it."""
        if reply.shared is not None:
            self._share(task.question, reply)
        elif reply.status == OUT_OF_MEMORY and not task.alone and self._shares_memory(reply.worker):
            self._alone.append(dataclasses.replace(task, alone=True))
        else:
            self._end(result_of(task.question.number, reply, reply.seconds, reply.absent))

    def _shares_memory(self, worker: str) -> bool:
        """Whether a worker runs several tasks at a time."""
        return self._client.nthreads().get(worker, 1) > 1

    def _share(self, question: Question, reply: Answer) -> None:
        shared = reply.shared
        assert shared is not None  # noqa: S101 - the caller looked
        sharing = Sharing(question, shared, time.monotonic(), seconds=reply.seconds, absent=reply.absent)
        self._sharing[question.number] = sharing
        ranges = cut(shared, factored_shares(threads_of(self._client), shared.estimate_s))
        ranges.sort(key=lambda part: -part.share)
        limits = [limit for limit in (question.options.time_limit, shared.patience_s) if limit is not None]
        limit_s = min(limits, default=None)
        shards = [Shard(question, shared.plan, part.tasks, shared.number_of_tasks, limit_s) for part in ranges]
        keys = self._futures.submit([JobTask(shard, question, answer) for shard in shards], SHARD_PRIORITY)
        weight = self._weights[question.number]
        sharing.open = {key: weight * part.share for key, part in zip(keys, ranges, strict=True)}

    def _shard_ended(self, task: JobTask, key: Any, reply: Answer) -> None:
        sharing = self._sharing[task.question.number]
        weight = sharing.open.pop(key)
        sharing.seconds += reply.seconds
        limit, patience_s = task.question.options.time_limit, sharing.shared.patience_s
        late = limit is not None and time.monotonic() - sharing.begun > limit
        impatient = patience_s is not None and sharing.open and sharing.seconds > patience_s
        if patience_s is not None and not sharing.given_up and not late and (reply.status == TIME_LIMIT or impatient):
            self._give_up(sharing)
            return
        if late and (reply.status != DONE or sharing.open):
            reason = reply.reason or f"time_limit: not finished within {limit} s"
            reply = dataclasses.replace(reply, value=None, status=TIME_LIMIT, reason=reason)
        if reply.status != DONE:
            self._drop(sharing)
            self._end_shared(sharing, reply)
        elif sharing.given_up:
            self._end_shared(sharing, reply)
        else:
            assert reply.value is not None  # noqa: S101 - it is done
            sharing.total += reply.value
            self._progress.add(weight, 0)
            self._weights[task.question.number] -= weight
            if not sharing.open:
                task = JobTask(task.question, task.question, matches_of, (sharing.shared.plan, sharing.total))
                self._futures.submit([task], SUM_PRIORITY)

    def _give_up(self, sharing: Sharing) -> None:
        """Count by the other strategy: walking takes much longer than was expected."""
        self._drop(sharing)
        sharing.given_up = True
        limit = sharing.question.options.time_limit
        left = None if limit is None else max(0.0, limit - (time.monotonic() - sharing.begun))
        shard = Shard(sharing.question, sharing.shared.plan, None, sharing.shared.number_of_tasks, left)
        (key,) = self._futures.submit([JobTask(shard, sharing.question, answer)], SHARD_PRIORITY)
        sharing.open[key] = 0.0

    def _drop(self, sharing: Sharing) -> None:
        """Let the shards that are left not be run, and end those that run."""
        self._futures.drop(list(sharing.open))
        self._alone = [task for task in self._alone if task.question.number != sharing.question.number]
        sharing.open.clear()

    def _summed(self, question: Question, matches: int) -> None:
        sharing = self._sharing[question.number]
        reply = Answer(matches, DONE, "", 0.0, f"{len(self._client.nthreads())} workers")
        self._end_shared(sharing, reply)

    def _end_shared(self, sharing: Sharing, reply: Answer) -> None:
        del self._sharing[sharing.question.number]
        seconds = time.monotonic() - sharing.begun
        self._end(result_of(sharing.question.number, reply, seconds, sharing.absent))

    def _lost(self, task: JobTask, error: KilledWorker) -> None:
        """Run a task again alone, or find it to blame; the questions of a batch each by itself."""
        if isinstance(task.work, tuple):
            self._futures.submit([_task_of((question,)) for question in task.work])
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


def _task_of(questions: tuple[Question, ...]) -> JobTask:
    """The task of a question, or of a batch of them."""
    if len(questions) > 1:
        return JobTask(questions, questions[0], answer_some)
    return JobTask(questions[0], questions[0], answer)
