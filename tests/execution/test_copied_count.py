"""A count on the host with one on a device beside it: the first ends the other, and the host is never hindered."""

from __future__ import annotations

import math
import threading
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from targets import one_lane

from cusubmatch import Graph, Pattern
from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.engines.gpu import GpuEngine
from cusubmatch.engines.gpu.conditioning import conditioning_run as runs
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.tunables import Tunables
from cusubmatch.engines.runs import CopiedWay, TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.strategies import copied_count, elimination_turns
from cusubmatch.execution.strategies.choose import host_strategy
from cusubmatch.execution.strategies.copied_count import BesideCopy
from cusubmatch.execution.strategies.side_by_side import HostCount, HostIsDoneError
from cusubmatch.generators import rmat

LARGE, SMALL = 1e9, 0.0  # costs of conditioning
SECONDS = 600.0  # that nothing here takes


class Copy:
    """A count on a device that is known after so many looks."""

    def __init__(self, total, looks, ended=False, remaining_s=math.inf):
        self.total, self.looks, self.stopped, self.ended = total, looks, 0, ended
        self.remaining_s = remaining_s

    def poll(self):
        self.looks -= 1
        return self.total if self.looks < 0 else None

    def stop(self):
        self.stopped += 1
        self.ended = True


class OnHost:
    """A strategy whose count reports so often, and is half of the embeddings that it counts."""

    estimate, number_of_tasks, matches, has_bound = 7.0, 3, None, False

    def __init__(self, embeddings, reports, done=0.0, error=None):
        self.embeddings, self.reports, self.done, self.error = embeddings, reports, done, error

    def run(self, _deadline, progress, tasks=None):
        self.progress, self.tasks = progress, tasks
        return self

    def total(self):
        return self.embeddings

    def count(self):
        for _ in range(self.reports):
            self.progress(self.done, 0)
        if self.error is not None:
            raise self.error
        return self.matches_of(self.embeddings)

    def matches_of(self, total):
        return total // 2


def test_the_device_ends_the_count_on_the_host():
    copy, reported = Copy(20, looks=2), []
    count = BesideCopy(OnHost(10, reports=10**9), LARGE, lambda *_: copy).run(None, lambda *now: reported.append(now))
    assert count.count() == 10
    assert reported == [(0.0, 0), (0.0, 0), (1.0, 10)]


def test_the_host_ends_the_count_on_the_device():
    copy = Copy(20, looks=10**9)
    assert BesideCopy(OnHost(10, reports=3), LARGE, lambda *_: copy).run(None, None).count() == 5
    assert copy.stopped == 1


@pytest.mark.parametrize(("alone_s", "done", "begins"), [(0.0, 0.1, True), (0.0, 0.6, False), (600.0, 0.1, False)])
def test_a_small_count_is_copied_when_it_takes_long(monkeypatch, alone_s, done, begins):
    monkeypatch.setattr(copied_count, "ALONE_S", alone_s)
    copies = []

    def begin(*_):
        copies.append(Copy(20, looks=10**9))
        return copies[-1]

    assert BesideCopy(OnHost(10, reports=5, done=done), SMALL, begin).run(None, None).count() == 5
    assert len(copies) == begins


@pytest.mark.parametrize("error", [None, MemoryError("no room")])
def test_a_device_that_does_not_count_is_not_asked_again(error):
    asked = []

    def begin(*_):
        asked.append(1)
        if error is not None:
            raise error

    assert BesideCopy(OnHost(10, reports=5), LARGE, begin).run(None, None).count() == 5
    assert asked == [1]


def test_a_deadline_of_the_host_ends_both():
    copy = Copy(20, looks=10**9)
    count = BesideCopy(OnHost(10, reports=2, error=DeadlinePassed()), LARGE, lambda *_: copy).run(None, None)
    with pytest.raises(DeadlinePassed):
        count.count()
    assert copy.stopped == 1


def test_what_the_device_has_counted_when_the_deadline_comes_is_the_count():
    copy = Copy(20, looks=2)
    count = BesideCopy(OnHost(10, reports=2, error=DeadlinePassed()), LARGE, lambda *_: copy).run(None, None)
    assert count.count() == 10


@pytest.mark.parametrize("error", [None, ValueError("late")])
def test_who_waits_for_the_host_hears_of_the_device_at_once(error):
    """The host looks at nothing before the one who waits has the count; what goes wrong there later changes nothing."""
    heard, copy, times = threading.Event(), Copy(20, looks=3), []

    class Busy(OnHost):
        def count(self):
            heard.wait(SECONDS)
            return super().count()

    strategy = BesideCopy(Busy(10, reports=1 if error is None else 0, error=error), LARGE, lambda *_: copy)
    host = HostCount(strategy, None, head_start_s=SECONDS, keep_time=times.append)
    host.begin()
    try:
        with pytest.raises(HostIsDoneError):
            host.have_head_start()
        assert host.result() == 10
        heard.set()
        while not copy.stopped or host.error is not error:  # then the host has seen it, too
            time.sleep(1e-3)
        assert host.result() == 10
    finally:
        heard.set()
        host.give_up()
    assert len(times) == 1


@pytest.mark.parametrize(("limit_s", "most_s"), [(None, SECONDS), (SECONDS / 2, SECONDS / 2), (-1.0, 0.0)])
def test_a_device_counts_for_a_while_only(monkeypatch, limit_s, most_s):
    """Whoever begins the count may not be able to stop it; a deadline ends it sooner."""
    monkeypatch.setattr(copied_count, "COPIED_S", SECONDS)
    given = []
    deadline = None if limit_s is None else time.monotonic() + limit_s
    strategy = BesideCopy(OnHost(10, reports=3), LARGE, lambda *how: given.append(how))
    assert strategy.run(deadline, None).count() == 5
    ((seconds, way),) = given
    assert way is CopiedWay.CONDITIONING
    assert max(most_s - 60.0, 0.0) <= seconds <= most_s


def test_a_device_that_has_ended_without_a_count_is_let_go():
    copy = Copy(20, looks=10**9, ended=True)
    count = BesideCopy(OnHost(10, reports=3), LARGE, lambda *_: copy).run(None, None)
    assert count.count() == 5
    assert copy.looks == 10**9 - 1
    assert count.poll() is None


@pytest.fixture
def at_once(monkeypatch):
    """The first copy has no time, and others are asked for at once."""
    monkeypatch.setattr(copied_count, "COPIED_S", 0.0)
    monkeypatch.setattr(copied_count, "AGAIN_S", -1.0)


def unfinished():
    """A count that a device has not ended in time."""
    return Copy(20, looks=10**9, ended=True)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("compiled_after", [0, 3])
def test_the_device_counts_in_one_way_after_the_other(compiled_after):
    """Each is asked for again while kernels are compiled."""
    asked, later = [], [None] * compiled_after
    left = iter([unfinished(), *later, unfinished(), *later, Copy(20, looks=2)])

    def begin(seconds, way):
        asked.append(way)
        assert 0.0 <= seconds <= copied_count.LONG_S
        return next(left)

    assert BesideCopy(OnHost(10, reports=10**9), LARGE, begin).run(None, None).count() == 10
    first, *others = CopiedWay
    assert asked == [first, *(way for way in others for _ in range(compiled_after + 1))]


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    ("remaining_s", "has_bound", "trial_s", "limit_s", "is_stopped"),
    [
        (math.inf, False, -1.0, None, True),
        (math.inf, True, SECONDS, None, False),
        (10.0, True, -1.0, None, False),
        (10.0, False, -1.0, 5.0, True),
        (10.0, False, -1.0, 500.0, False),
        (-10.0, False, -1.0, None, False),
        (-10.0, True, -1.0, None, True),
        (-10.0, True, SECONDS, None, False),
    ],
)
def test_a_count_on_cutsets_goes_on_while_it_expects_to_be_in_time(
    monkeypatch, remaining_s, has_bound, trial_s, limit_s, is_stopped
):
    """Or is late, if elimination has no bound."""
    monkeypatch.setattr(copied_count, "TRIAL_S", trial_s)
    on_cutsets = Copy(20, looks=10**9, remaining_s=remaining_s)
    left, asked, stopped = iter([unfinished(), on_cutsets]), [], []

    def begin(_seconds, way):
        asked.append(way)
        return next(left, None)

    deadline = None if limit_s is None else time.monotonic() + limit_s
    host = OnHost(10, reports=10)
    host.has_bound = has_bound
    strategy = BesideCopy(host, LARGE, begin)
    assert strategy.run(deadline, lambda *_: stopped.append(on_cutsets.stopped)).count() == 5
    assert asked[:2] == [CopiedWay.CONDITIONING, CopiedWay.CUTSETS]
    assert (CopiedWay.LONG_CONDITIONING in asked) == (is_stopped and not has_bound)
    assert stopped[-1] == is_stopped


def test_elimination_has_the_device_for_a_while_after_a_count_on_cutsets(monkeypatch):
    monkeypatch.setattr(copied_count, "COPIED_S", 0.0)
    left = iter([unfinished(), unfinished()])
    assert BesideCopy(OnHost(10, reports=100), LARGE, lambda *_: next(left)).run(None, None).count() == 5


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(("bound_s", "is_asked"), [(-SECONDS, True), (SECONDS, False)])
def test_elimination_that_knows_its_bound_has_the_device_for_longer(monkeypatch, bound_s, is_asked):
    monkeypatch.setattr(copied_count, "BOUND_S", bound_s)
    host, left = OnHost(10, reports=100), iter([unfinished(), unfinished(), Copy(20, looks=2)])
    host.has_bound = True
    assert BesideCopy(host, LARGE, lambda *_: next(left)).run(None, None).count() == (10 if is_asked else 5)


@pytest.mark.usefixtures("at_once")
def test_a_thread_that_looks_late_lets_no_other_copy_go():
    """While it looks at the first one, the thread that counts lets that go and begins the second."""

    class Watched(Copy):
        def poll(self):
            if self.looks == 10**9:
                self.looks -= 1
                host.progress(0.0, 0)
                host.progress(0.0, 0)
            return super().poll()

    class Host(OnHost):
        def count(self):
            assert count.poll() is None  # another thread's look
            return super().count()

    host, left = Host(10, reports=10), iter([Watched(20, looks=10**9, ended=True), Copy(20, looks=2)])
    count = BesideCopy(host, LARGE, lambda *_: next(left)).run(None, None)
    assert count.count() == 10


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("what", ["too large", "no memory"])
def test_what_the_device_cannot_count_it_is_not_asked_again(monkeypatch, what):
    monkeypatch.setattr(copied_count, "COPIED_S", SECONDS if what == "too large" else 0.0)  # it ends before its time
    asked = []

    def begin(_seconds, way):
        asked.append(way)
        if what == "no memory" and way is CopiedWay.CUTSETS:
            raise MemoryError
        return unfinished()

    assert BesideCopy(OnHost(10, reports=10), LARGE, begin).run(None, None).count() == 5
    assert asked == list(CopiedWay)[: 1 if what == "too large" else 2]


@pytest.mark.parametrize(
    ("begins", "knows", "is_over"),
    [(False, False, False), (True, False, False), (True, True, False), (True, True, True)],
)
def test_elimination_has_a_bound_as_long_as_it_goes_on(begins, knows, is_over):
    goes_on = threading.Event()

    def total():
        if is_over:
            raise MemoryError
        goes_on.wait(SECONDS)
        return 1

    count = SimpleNamespace(total=total, has_bound=knows, beside=True, preparation=0.0)
    turns = elimination_turns.EliminationTurns(count, np.zeros(1, np.int64))
    try:
        if begins:
            turns.begin()
        while is_over and turns.has_bound:
            time.sleep(1e-3)
        assert turns.has_bound == (knows and not is_over)
    finally:
        goes_on.set()
        turns.end()


def test_a_part_of_a_count_is_counted_on_the_host():
    host = OnHost(10, reports=0)
    strategy = BesideCopy(host, LARGE, lambda *_: pytest.fail("a part is not copied"))
    assert strategy.run(None, None, TaskRange(0, 2)) is host
    assert host.tasks == TaskRange(0, 2)
    assert (strategy.estimate, strategy.number_of_tasks, strategy.matches_of(8)) == (7.0, 3, 4)


@pytest.mark.parametrize("unique", [True, False])
def test_an_engine_counts_on_a_copy(monkeypatch, unique):
    """The host's own engine, and a device of one lane: what the device says is the count."""
    monkeypatch.setattr(copied_count, "AT_ONCE_NS", 0.0)
    made = []
    begin = runs.conditioning_run

    def conditioning_run(*arguments):
        made.append(begin(*arguments))
        return made[-1]

    monkeypatch.setattr(runs, "conditioning_run", conditioning_run)
    edges = rmat(7, 6, seed=3)
    vertices = pd.DataFrame({"vertex": range(128), "label": [vertex % 3 for vertex in range(128)]})
    graph = Graph.from_edgelist(edges, vertices=vertices, vertex_label="label")
    pattern = Pattern([(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)], labels=dict(enumerate([0, 1, 0, 1, 2])))
    host, target = CpuEngine(), Device(one_lane(), 1, 228 << 10, tunables=Tunables(grid=(1, 1)))
    strategy = host_strategy(GpuEngine(target), host, graph, pattern, "monomorphism", unique)
    expected = strategy.run(None, None, TaskRange(0, strategy.number_of_tasks)).total()
    assert strategy.run(None, None).count() == strategy.matches_of(expected)
    assert [run.poll() for run in made] == [expected]
