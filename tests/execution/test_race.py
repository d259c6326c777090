"""A walk that takes too long loses against another way of counting, unless its time went to compilers."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from cusubmatch.engines.compile.compiler_thread import compiles_in_thread
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.strategies.race import GRACE_S, MOST_STARTS, Race


class Walk:
    """A walk that compiles in its first runs, and then needs so many seconds."""

    estimate = 0.0

    def __init__(self, seconds, compiling_runs=0):
        self.seconds, self.compiling_runs, self.runs, self.matches = seconds, compiling_runs, 0, 7
        self.compile = compiles_in_thread(SimpleNamespace(compile=lambda _signature: time.sleep(2 * GRACE_S))).compile

    def run(self, deadline, _progress):
        self.deadline, self.runs = deadline, self.runs + 1
        return self

    def count(self):
        if self.runs <= self.compiling_runs:
            self.compile(())
        if time.monotonic() + self.seconds > self.deadline:
            raise DeadlinePassed
        return "walked"


OTHER = SimpleNamespace(estimate=0.0, run=lambda *_: SimpleNamespace(count=lambda: "otherwise"))


@pytest.mark.parametrize(
    ("seconds", "compiling_runs", "answer", "runs"),
    [
        (0, 0, "walked", 1),
        (9, 0, "otherwise", 1),
        (0, 1, "walked", 2),
        (9, 1, "otherwise", 2),
        (0, 2, "walked", 3),
        (0, 99, "otherwise", MOST_STARTS),
    ],
)
def test_a_walk_whose_time_went_to_compilers_begins_again(seconds, compiling_runs, answer, runs):
    walk = Walk(seconds, compiling_runs)
    assert Race(walk, OTHER).run(None, None).count() == answer
    assert walk.runs == runs


def test_a_deadline_is_kept_while_compilers_work():
    walk = Walk(0, 99)
    count = Race(walk, OTHER).run(time.monotonic(), None)
    with pytest.raises(DeadlinePassed):
        count.count()
    assert count.matches == 7
    assert walk.runs == 1
