"""Several short questions in one task, since a task costs the scheduler and the client some milliseconds."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from cusubmatch.dask.tasks import Answer, Question, answer

__all__ = ["answer_some", "batches_of"]

MOST_BATCHED = 8
LEAST_BATCHES = 16  # a thread, so that all end together
BATCH_LIMIT_S = 0.2  # after which a worker begins no further question of a batch


def batches_of(
    questions: list[Question], weights: Mapping[int, float], threads: int
) -> tuple[list[Question], list[tuple[Question, ...]]]:
    """The questions that are tasks of their own, and batches of the counts that are expected to take little of all."""
    batches = LEAST_BATCHES * max(threads, 1)
    size = min(MOST_BATCHED, len(questions) // batches)
    most = sum(weights.values()) / batches / max(size, 1)
    short = [question for question in questions if question.path is None and weights[question.number] <= most]
    if size < 2 or len(short) < size:
        return questions, []
    numbers = {question.number for question in short}
    single = [question for question in questions if question.number not in numbers]
    return single, [tuple(short[begin : begin + size]) for begin in range(0, len(short), size)]


def answer_some(questions: Sequence[Question]) -> list[Answer]:
    """Carry out questions one after the other, for as long as a batch may take: at least the first one."""
    answers: list[Answer] = []
    begin = time.perf_counter()
    for question in questions:
        answers.append(answer(question))
        if time.perf_counter() - begin > BATCH_LIMIT_S:
            break
    return answers
