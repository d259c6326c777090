"""The examples run as a user would run them, and print what an independent database finds in the same table."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys

import numpy as np
import pytest
from paths import ROOT

EXAMPLE = ROOT / "examples" / "laundering_rings.py"

# Counted by self joins in DuckDB: cycles of the distinct pairs (src, dst) without self loops.
RINGS = {3: 550, 4: 3_458, 5: 28_150, 6: 247_480}
# The same joins with the payments: rings, accounts, precision and recall after each filter.
SCORES = {
    "every ring": ("279,638", "18,402", "0.096", "0.981"),
    "paid in order of time": ("5,187", "5,337", "0.177", "0.523"),
    "in order, within 30 days": ("223", "418", "0.342", "0.079"),
    "amounts differ by at most 10%": ("72", "170", "0.782", "0.074"),
    "amounts differ by at most 1%": ("21", "105", "1.000", "0.058"),
    "at most 1%, and in order": ("0", "0", "-", "0.000"),
}


@pytest.fixture(scope="module")
def printed():
    environment = os.environ | {
        "COLUMNS": "100",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    command = [sys.executable, "-W", "error", str(EXAMPLE)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_laundering_rings_finds_every_cycle_of_3_to_6_accounts(printed):
    found = {
        int(size): int(count.replace(",", "")) for size, count in re.findall(r"rings of (\d): ([\d,]+) in", printed)
    }
    assert found == RINGS


@pytest.mark.parametrize("name", SCORES)
def test_laundering_rings_scores_each_filter_against_the_fraud_flag(printed, name):
    line = next(line for line in printed.splitlines() if f" {name} " in line)
    assert tuple(cell.strip() for cell in re.split("[│|]", line)[2:6]) == SCORES[name]


def test_laundering_rings_shows_a_ring_that_closes_and_keeps_its_amount(printed):
    rows = re.findall(r"(\d+) [│|] +(\d+) [│|] +(\d+) [│|] +([\d.]+) [│|] +(yes|no)", printed)
    payers, payees, _, amounts, fraud = zip(*rows, strict=True)
    assert len(rows) == 5
    assert payees == payers[1:] + payers[:1]
    assert len(set(amounts)) == 1
    assert set(fraud) == {"yes"}


@pytest.mark.parametrize(
    ("times", "ordered"),
    [
        ((1, 2, 3), True),
        ((3, 1, 2), True),
        ((2, 3, 1), True),
        ((3, 2, 1), False),
        ((1, 3, 2, 4), False),
        ((5, 5, 5), True),
        ((5, 5, 4), True),
    ],
)
def test_order_in_time_may_start_anywhere_in_the_ring(times, ordered):
    in_order = runpy.run_path(str(EXAMPLE))["in_order"]
    assert in_order(np.array([times])).tolist() == [ordered]
