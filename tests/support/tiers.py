"""The tiers of the tests: what the README's test command runs, and what `.ci/run` runs behind it.

A test or a parameter marked `thorough` runs in the second tier only. Of a test marked `one_each` the first tier runs so
many parameters that each value of each argument occurs, such as each engine and each kernel; the others are thorough.
The searches of hypothesis run in both tiers: with a fifteenth of their examples in the first, with all in the second.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

# Code that compiles on first use makes any deadline, and the speed of drawing, a matter of the machine.
COMMON = {
    "deadline": None,
    "derandomize": "CI" in os.environ,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow],
}
WHOLE = 300  # examples of the profile of which `examples` takes all
settings.register_profile("quick", max_examples=WHOLE // 15, **COMMON)
settings.register_profile("thorough", max_examples=WHOLE, **COMMON)
settings.register_profile("search", max_examples=10 * WHOLE, **COMMON)
settings.load_profile("quick")  # --hypothesis-profile= names another


def examples(count):
    """The settings of a test: of `count` examples the share that the profile takes."""
    return settings(max_examples=max(1, count * settings.default.max_examples // WHOLE))


def is_thorough():
    """Whether this is the profile of the second tier, or a longer one."""
    return settings.default.max_examples >= WHOLE


def thorough(*values):
    """Parameters for the second tier; a plain tuple is a value for each argument."""
    rows = [value if type(value) is tuple else (value,) for value in values]
    return [pytest.param(*row, marks=pytest.mark.thorough) for row in rows]


def one_each(items):
    """Of the parameters of one test the fewest, about, in which each value of each argument occurs, in even shares."""
    values = [{(name, repr(value)) for name, value in item.callspec.params.items()} for item in items]
    missing, kept = set().union(*values), []
    uses = Counter(dict.fromkeys(missing, 0))
    while missing:
        best = max(
            range(len(items)), key=lambda i: (len(values[i] & missing), -sum(uses[value] for value in values[i]))
        )
        missing -= values[best]
        uses.update(values[best])
        kept.append(items[best])
    return kept
