"""A labelled pattern is walked by one engine and counted by the host's at the same time; the first answer is taken."""

from __future__ import annotations

import contextlib
import threading
import time

import numpy as np
import pandas as pd
import pytest
from logical_devices import machine_of
from tiers import thorough

import cusubmatch as csm
from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution import host_first
from cusubmatch.execution.strategies import race, side_by_side
from cusubmatch.execution.strategies.side_by_side import HostCount, HostIsDoneError, SideBySide
from cusubmatch.generators import rmat
from cusubmatch.system.deadlines import check_deadline, wait_to_compile
from cusubmatch.system.thread_limit import at_most_threads, thread_limit

TREE = "(a:X)--(b:Y)--(c:X)--(d:Y), (b)--(e:X), (c)--(f:X)"
SECONDS = 600.0  # that nothing here takes, on however busy a machine
HOST_COUNT = host_first.host_count


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """No walk is given up for a better plan, and the host is not asked first, unless a test says when."""
    monkeypatch.setattr(side_by_side, "PATIENCE_S", SECONDS)
    monkeypatch.setattr(host_first, "host_count", lambda *_: None)


class Taking:
    """A strategy whose count takes so long, unless it is told to end."""

    estimate, number_of_tasks, matches = 0.0, 1, 5

    def __init__(self, answer, seconds=0.0, error=None, compiles=False):
        self.answer, self.seconds, self.error, self.compiles = answer, seconds, error, compiles
        self.runs, self.compiled, self.ended = 0, False, threading.Event()

    def run(self, deadline, _progress, _tasks=None, **_options):
        self.runs, self.deadline = self.runs + 1, deadline
        return self

    def count(self):
        try:
            if self.error is not None:
                raise self.error
            if self.compiles:
                wait_to_compile()
                self.compiled = True
            end = time.monotonic() + self.seconds
            while time.monotonic() < end:
                check_deadline()
                if self.deadline is not None and time.monotonic() > self.deadline:
                    raise DeadlinePassed
                time.sleep(1e-4)
            return self.answer
        finally:
            self.ended.set()


def counted(walk, host, long_count=None, kept=False, deadline=None, progress=None):
    """The count by a walk beside the host's."""
    race = SideBySide(walk, host, lambda only_kept: long_count if kept or not only_kept else None)
    return race.run(deadline, progress).count()


def test_the_first_answer_is_taken_and_the_other_count_is_told_to_end():
    walk, host, reports = Taking("walked", SECONDS), Taking(70, 0.01), []
    assert counted(walk, host, progress=lambda *report: reports.append(report)) == 70
    assert walk.ended.is_set()
    assert reports == [(1.0, 70)]
    walk, host = Taking("walked", 0.03), Taking("on the host", SECONDS)
    assert counted(walk, host) == "walked"
    assert host.runs == 0 or host.ended.wait(SECONDS)


def test_a_short_walk_stays_alone(monkeypatch):
    monkeypatch.setattr(side_by_side, "HOST_DELAY_S", SECONDS)
    host = Taking("on the host")
    assert counted(Taking("walked"), host) == "walked"
    assert host.runs == 0


def test_a_walk_that_takes_long_begins_again_by_a_better_plan_and_the_next_one_begins_with_it(monkeypatch):
    monkeypatch.setattr(side_by_side, "PATIENCE_S", 0.01)
    walk, host, long_count = Taking("walked", SECONDS), Taking("on the host", SECONDS), Taking("by a better plan")
    assert counted(walk, host, long_count) == "by a better plan"
    assert (walk.runs, long_count.runs) == (1, 1)
    assert counted(walk, host, long_count, kept=True) == "by a better plan"
    assert (walk.runs, long_count.runs) == (1, 2)


def test_a_host_that_would_compile_waits_until_the_walk_takes_long(monkeypatch):
    answers = []
    for seconds, patience_s in ((0.03, SECONDS), (SECONDS, 0.05)):
        monkeypatch.setattr(side_by_side, "PATIENCE_S", patience_s)
        walk, host = Taking("walked", seconds), Taking("on the host", compiles=True)
        race = SideBySide(walk, host, lambda kept: None if kept else Taking("", SECONDS))
        answers.append((race.run(None, None).count(), walk.runs, host.compiled))
        assert host.runs == 0 or host.ended.wait(SECONDS)
    assert answers == [("walked", 1, False), ("on the host", 1, True)]


def test_a_walk_that_was_compiled_meanwhile_begins_again(monkeypatch):
    monkeypatch.setattr(side_by_side, "PATIENCE_S", 0.01)
    compiled = iter([0, 1, 1, 1])
    monkeypatch.setattr(race, "compilations", lambda: next(compiled))
    walk, long_count = Taking("walked", SECONDS), Taking("by a better plan")
    assert counted(walk, Taking("on the host", SECONDS), long_count) == "by a better plan"
    assert walk.runs == 2


def test_what_fails_on_the_host_is_raised_unless_it_is_a_lack_of_memory():
    with pytest.raises(ZeroDivisionError):
        counted(Taking("walked", SECONDS), Taking("", error=ZeroDivisionError()))
    assert counted(Taking("walked", 0.02), Taking("", error=MemoryError())) == "walked"


def test_a_deadline_ends_both():
    walk, host = Taking("walked", SECONDS), Taking("on the host", SECONDS)
    with pytest.raises(DeadlinePassed):
        counted(walk, host, deadline=time.monotonic() + 0.02)
    assert host.runs == 0 or host.ended.wait(SECONDS)


@pytest.fixture(scope="module")
def edges():
    return rmat(4, 3, seed=3)


@pytest.fixture
def labelled(edges):
    vertices = np.unique(edges.to_numpy())
    labels = pd.DataFrame({"vertex": vertices, "label": np.where(vertices % 2, "X", "Y")})
    return csm.Graph.from_edgelist(edges, vertices=labels, vertex_label="label")


@pytest.fixture
def machine():
    """A machine with one logical device, and the host beside it."""
    with machine_of(1) as engines:
        engines[0].beside = CpuEngine()
        yield engines[0]


@pytest.mark.thorough
def test_both_engines_give_the_same_count_and_the_plan_says_that_they_race(labelled, machine, monkeypatch):
    for way in ({"unique": True}, {"semantics": "homomorphism"}):
        expected = csm.count_matches(labelled, TREE, engine="cpu", **way)
        with monkeypatch.context() as patched:
            patched.setattr(side_by_side, "HOST_DELAY_S", SECONDS)
            assert csm.count_matches(labelled, TREE, devices=[0], **way) == expected
        with monkeypatch.context() as patched:
            patched.setattr(side_by_side, "PATIENCE_S", 0.05)  # then the host may compile, if it has to
            patched.setattr(machine, "run", lambda *_: Taking("walked", SECONDS).run(None, None))
            assert csm.count_matches(labelled, TREE, devices=[0], **way) == expected
    assert "the first answer is taken" in str(csm.explain(labelled, TREE, devices=[0]))


def test_the_host_begins_before_a_gpu_is_planned_for_and_again_where_it_is_quicker(labelled, machine, monkeypatch):
    expected = csm.count_matches(labelled, TREE, engine="cpu")
    hosts, walk = [], Taking("walked", SECONDS)
    monkeypatch.setattr(host_first, "host_count", lambda *call: hosts.append(HOST_COUNT(*call)) or hosts[-1])
    monkeypatch.setattr(HostCount, "_wait_to_compile", lambda _: None)
    monkeypatch.setattr(machine, "run", lambda *_: walk.run(None, None))
    for _ in range(2):
        assert csm.count_matches(labelled, TREE, devices=[0]) == expected
    assert all(host.matches == expected for host in hosts)


def test_a_gpu_is_not_planned_for_while_the_host_has_its_head_start(labelled, machine, monkeypatch):
    expected, planned = csm.count_matches(labelled, TREE, engine="cpu"), []
    monkeypatch.setattr(host_first, "host_count", HOST_COUNT)
    monkeypatch.setattr(host_first, "HEAD_START_S", 10 * SECONDS)
    monkeypatch.setattr(HostCount, "_wait_to_compile", lambda _: None)
    monkeypatch.setattr(machine, "prepare", lambda *_: planned.append(True))
    assert csm.count_matches(labelled, TREE, devices=[0]) == expected
    assert not planned


@pytest.mark.parametrize(("worth_s", "wanted"), [(0.0, [True, False, True]), *thorough((SECONDS, [True, True, True]))])
def test_the_second_call_plans_for_a_gpu_at_once_where_the_host_took_long(
    labelled, machine, monkeypatch, worth_s, wanted
):
    hosts = []
    monkeypatch.setattr(host_first, "WORTH_A_PLAN_S", worth_s)
    monkeypatch.setattr(host_first, "host_count", lambda *call: hosts.append(HOST_COUNT(*call)) or hosts[-1])
    monkeypatch.setattr(HostCount, "_wait_to_compile", lambda _: None)
    monkeypatch.setattr(machine, "run", lambda *_: Taking("walked", SECONDS).run(None, None))
    for _ in range(3):
        csm.count_matches(labelled, TREE, devices=[0])
    assert [host.head_start_s > 0.0 for host in hosts] == wanted


@pytest.mark.parametrize(
    ("count_s", "deadline_s", "head_start_s", "wanted"),
    [
        (0.0, 10 * SECONDS, 10 * SECONDS, 7),
        (10 * SECONDS, 0.05, 10 * SECONDS, None),
        (10 * SECONDS, 10 * SECONDS, 0.05, None),
    ],
    ids=["count", "deadline", "time"],
)
def test_a_head_start_ends_with_the_count_its_deadline_or_its_time(count_s, deadline_s, head_start_s, wanted):
    begin = time.monotonic()
    host = HostCount(Taking(7, count_s), begin + deadline_s, head_start_s=head_start_s)
    host.begin()
    try:
        with contextlib.suppress(HostIsDoneError):
            host.have_head_start()
        assert time.monotonic() - begin < SECONDS
        assert host.matches == wanted
    finally:
        host.give_up()


@pytest.mark.parametrize("ends", ["claim", "count", "deadline"])
def test_a_walk_waits_while_the_host_uses_the_device(ends):
    host = HostCount(Taking(7), time.monotonic() + (0.2 if ends == "deadline" else SECONDS))
    waited, is_over = [], threading.Event()

    def check():
        with contextlib.suppress(HostIsDoneError):
            host.check()
            waited.append("went on")
        is_over.set()

    host.claim.set()
    thread = threading.Thread(target=check)
    thread.start()
    assert not is_over.wait(0.05)
    if ends == "claim":
        host.claim.clear()
    elif ends == "count":
        host.matches = 7
    thread.join(SECONDS)
    assert waited == ([] if ends == "count" else ["went on"])


def test_the_host_uses_as_many_threads_as_the_caller_may():
    limits = []

    def count_of(limit):
        strategy = Taking(7)
        strategy.run = lambda *_: limits.append(thread_limit()) or strategy
        with at_most_threads(limit):
            host = HostCount(strategy, None)
        host.begin()
        host.begin()
        while not host.is_done:
            time.sleep(1e-3)
        return host.result()

    assert [count_of(limit) for limit in (3, None, 1)] == [7, 7, 7]
    assert limits == [3, None, 1]


def test_an_interrupt_while_the_host_begins_ends_its_count(labelled, machine, monkeypatch):
    hosts, begin = [], side_by_side.begin

    def interrupted(work):
        begin(work)
        raise KeyboardInterrupt

    monkeypatch.setattr(side_by_side, "begin", interrupted)
    monkeypatch.setattr(host_first, "host_count", lambda *call: hosts.append(HOST_COUNT(*call)) or hosts[-1])
    with pytest.raises(KeyboardInterrupt):
        csm.count_matches(labelled, TREE, devices=[0])
    assert hosts[0].over.is_set()
    assert hosts[0].flag[0] == 1


@pytest.mark.thorough
def test_later_calls_begin_on_a_gpu_that_was_quicker_than_the_host(labelled, machine, monkeypatch):
    hosts = []
    monkeypatch.setattr(host_first, "host_count", lambda *call: hosts.append(HOST_COUNT(*call)) or hosts[-1])
    monkeypatch.setattr(HostCount, "_count", lambda _: None)
    monkeypatch.setattr(machine, "run", lambda *_: Taking("walked").run(None, None))
    for _ in range(2):
        assert csm.count_matches(labelled, TREE, devices=[0]) == "walked"
    assert hosts[0] is not None
    assert hosts[1] is None


@pytest.mark.thorough
def test_small_unlabelled_or_induced_patterns_are_walked_alone(labelled, machine):
    for text, way in (("(a:X)--(b:Y)", {}), (TREE, {"semantics": "induced"}), ("(a)--(b)--(c)--(d)--(e)", {})):
        assert "the first answer" not in str(csm.explain(labelled, text, devices=[0], **way))


@pytest.mark.gpu
@pytest.mark.parametrize("delay_s", [0.0, 0.001, SECONDS])
def test_a_gpu_and_the_host_count_the_same(monkeypatch, delay_s):
    if delay_s == 0.001:
        monkeypatch.setattr(host_first, "host_count", HOST_COUNT)
    monkeypatch.setattr(side_by_side, "HOST_DELAY_S", delay_s)
    monkeypatch.setattr(side_by_side, "PATIENCE_S", 0.05)
    edges = rmat(12, 8, seed=1)
    vertices = np.unique(edges.to_numpy())
    labels = pd.DataFrame({"vertex": vertices, "label": np.random.default_rng(2).integers(0, 12, len(vertices))})
    graph = csm.Graph.from_edgelist(edges, vertices=labels, vertex_label="label")
    for size, more in ((6, [(0, 2)]), (9, [(0, 2), (3, 5)]), (12, [])):
        path = [(i, i + 1) for i in range(size - 1)]
        pattern = csm.Pattern([*path, *more], vertices=range(size), labels={i: i % 12 for i in range(size)})
        expected = csm.count_matches(graph, pattern, engine="cpu")
        for _ in range(2):
            assert csm.count_matches(graph, pattern, engine="gpu") == expected
