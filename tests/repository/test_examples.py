"""The examples run as a user would run them, and print what an independent database finds in the same table."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from paths import ROOT

pytestmark = pytest.mark.thorough  # it compiles for half a minute in a new environment

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
# Likewise the pairs (payer, payee) with the most accounts between them, and how many these are.
PAIRS = [(9998, 9999, 9), (19981, 19997, 7), (19998, 9989, 7), (19999, 9998, 7), (19988, 9987, 6)]


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


def test_laundering_rings_shows_the_pairs_with_the_most_accounts_between_them(printed):
    assert "105 pairs have 4 or more accounts between them" in printed
    rows = re.findall(r"[│|] +(\d+) [│|] +(\d+) [│|] +(\d+) [│|]\n", printed)
    assert [tuple(map(int, row)) for row in rows] == PAIRS
