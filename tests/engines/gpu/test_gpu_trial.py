"""Which plan a trial takes, with seconds that are made up."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from cusubmatch.engines.gpu.search import autotune as trial
from cusubmatch.engines.gpu.tunables import Tunables

NEVER = float("inf")
TUNABLES = Tunables()


class Order(NamedTuple):
    cost: float


@dataclass(frozen=True)
class Plan:
    name: str
    order: Order
    leaf_mode: str = "size"
    walked: int = 3
    is_clique: bool = False
    provisional: bool = False

    @property
    def cost(self):
        return self.order.cost


@pytest.fixture
def chosen(monkeypatch):
    """The name of the plan that is chosen and its cost, given costs and {(name, share that is looked at): seconds}."""

    def choose(costs, seconds, ready=None):
        plans = sorted((Plan(name, Order(cost)) for name, cost in costs.items()), key=lambda plan: plan.cost)

        def seconds_of(_gpu, _prepared, plan, share, _limit_s, wait=True):
            return seconds[plan.name, share] if wait or ready is None or plan.name in ready else None

        monkeypatch.setattr(trial, "_seconds", seconds_of)
        gpu = SimpleNamespace(tunables=TUNABLES)
        found = trial.fastest_plan(gpu, lambda alternatives: plans[:alternatives], None)
        return (found.name, found.cost) if ready is None else (found.name, found.provisional)

    return choose


def test_the_quickest_for_the_larger_sample_is_taken_and_little_is_measured(chosen):
    seconds = {("a", 128): 0.002, ("b", 128): 0.001, ("a", 8): 0.01, ("b", 8): 0.0004, ("b", 1): 0.003}
    assert chosen({"a": 1e9, "b": 2e9}, seconds) == ("b", pytest.approx(3e6))


def test_of_two_plans_whose_samples_take_about_the_same_time_the_one_that_is_faster_on_the_whole_is_taken(chosen):
    samples = {("a", 128): 0.001, ("b", 128): 0.001, ("a", 8): 0.0020, ("b", 8): 0.0021}
    assert chosen({"a": 1e9, "b": 2e9}, samples | {("a", 1): 0.019, ("b", 1): 0.016}) == ("b", pytest.approx(16e6))
    assert chosen({"a": 1e9, "b": 2e9}, samples | {("a", 1): 0.016, ("b", 1): NEVER}) == ("a", pytest.approx(16e6))
    assert chosen({"a": 1e9, "b": 2e9}, samples | {("a", 1): NEVER, ("b", 1): NEVER}) == ("a", pytest.approx(20e6))
    far = samples | {("b", 8): 0.0029}
    assert chosen({"a": 1e9, "b": 2e9}, far)[0] == "a"


def test_what_a_small_sample_says_does_not_drop_the_plan_that_is_cheapest_by_the_estimates(chosen):
    names = "abcdefgh"
    few = {(name, 128): 0.0001 for name in names[1:]} | {("a", 128): 0.0002}
    many = {(name, 8): NEVER for name in names} | {("a", 8): 0.0006, ("a", 1): 0.004}
    assert chosen({name: 1e9 * i for i, name in enumerate(names, 1)}, few | many) == ("a", pytest.approx(4e6))


def test_a_lucky_small_sample_says_less_than_the_estimates_where_no_plan_ends_the_larger_one(chosen):
    seconds = {("a", 128): NEVER, ("b", 128): 0.0001, ("a", 8): NEVER, ("b", 8): NEVER}
    assert chosen({"a": 1e9, "b": 1e14}, seconds)[0] == "a"


def test_no_more_plans_are_tried_than_a_round_has_time_for(chosen):
    many = 2 * round(TUNABLES.trial_round_s / TUNABLES.trial_plan_s)
    tried = range(many // 2 + 2)  # sums of seconds are rounded; the others have no seconds here, so asking is an error
    seconds = {(f"{i:02}", every): NEVER for i in tried for every in (128, 8)}
    assert chosen({f"{i:02}": 1e9 + i for i in range(many)}, seconds)[0] == "00"


def test_a_plan_that_is_cheap_by_the_estimates_is_measured_and_has_rivals_only_where_it_takes_long(chosen):
    assert chosen({"a": 1e5, "b": 2e5}, {("a", 1): 0.001}) == ("a", pytest.approx(1e6))
    seconds = {("a", 128): 0.002, ("b", 128): 0.001, ("a", 8): 0.01, ("b", 8): 0.0004, ("a", 1): NEVER, ("b", 1): 0.003}
    assert chosen({"a": 1e5, "b": 2e5}, seconds) == ("b", pytest.approx(3e6))


def test_no_trial_is_held_for_what_is_nothing(chosen):
    assert chosen({"a": 10.0, "b": 20.0}, {}) == ("a", pytest.approx(10.0))


def test_rivals_whose_kernels_are_not_compiled_are_left_out_and_the_winner_is_provisional(chosen):
    seconds = {("a", 128): 0.002, ("b", 128): 0.001, ("a", 8): 0.01, ("b", 8): 0.0004, ("a", 1): 0.01, ("b", 1): 0.003}
    assert chosen({"a": 1e9, "b": 2e9}, seconds, ready="") == ("a", True)
    assert chosen({"a": 1e9, "b": 2e9}, seconds, ready="b") == ("b", False)
    assert chosen({"a": 1e5, "b": 2e5}, {("a", 1): 0.001}, ready="") == ("a", False)  # nothing to compare it with
