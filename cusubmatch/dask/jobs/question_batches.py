"""Several short questions in one task, since a task costs the scheduler, the client and a worker some milliseconds.

A batch is long enough that this does not matter; towards the end batches have a part of the work that is left ("guided
self-scheduling", Polychronopoulos and Kuck 1987), so that all workers end together. Estimates may be much too small, so
a worker returns what it has not begun of a batch that takes long.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from cusubmatch.dask.workers.on_worker import tell_begun
from cusubmatch.dask.workers.tasks import Answer, Question, answer_of

__all__ = ["answer_some", "batches_of"]

MOST_BATCHED = 32
BATCH_S = 0.2  # that a batch is expected to take, if there is enough work left
BATCHES_LEFT = 4  # a thread, of the work that is left
BATCH_LIMIT_S = 0.3  # after which a worker begins no further question of a batch


def batches_of(questions: Sequence[Question], weights: Sequence[float], threads: int) -> list[tuple[Question, ...]]:
    """Consecutive questions as batches; those that write files and those that are expected to take long are alone.

    Parameters
    ----------
    questions : sequence of Question
        In the order in which they are to begin.
    weights : sequence of float
        Their estimated seconds.
    threads : int
        How many tasks run at the same time.
    """
    if any(question.path is not None for question in questions):
        return [(question,) for question in questions]
    batches, batch, expected_s, left_s = [], list[Question](), 0.0, sum(weights)
    for question, weight in zip(questions, weights, strict=True):
        batch.append(question)
        expected_s += weight
        if len(batch) == MOST_BATCHED or expected_s >= min(BATCH_S, left_s / (BATCHES_LEFT * threads)):
            batches.append(tuple(batch))
            left_s -= expected_s
            batch, expected_s = [], 0.0
    return batches + [tuple(batch)] * bool(batch)


def answer_some(questions: Sequence[Question]) -> list[Answer]:
    """Carry out questions one after the other, for as long as a batch may take: at least the first one."""
    tell_begun(questions[0].topic, [question.number for question in questions])
    answers: list[Answer] = []
    begin = time.perf_counter()
    for question in questions:
        answers.append(answer_of(question))
        if time.perf_counter() - begin > BATCH_LIMIT_S:
            break
    return answers
