"""The shipped data is whole, typed as documented, and carries its terms."""

from __future__ import annotations

from importlib import resources

import pandas as pd
import pytest
from paths import ROOT

from cusubmatch.datasets import amlsim


@pytest.fixture(scope="module")
def tables():
    return amlsim()


def test_payments_have_the_documented_columns_and_rows(tables):
    payments, _ = tables
    assert payments.dtypes.astype(str).to_dict() == dict.fromkeys(["src", "dst", "time", "cents"], "int32")
    assert len(payments) == 120_558
    assert (payments["cents"] > 0).all()
    assert payments["time"].between(1, 149).all()


def test_the_readme_says_how_many_payments_there_are(tables):
    readme = ROOT / "README.md"
    assert f"in a table of {len(tables[0]):,} payments" in readme.read_text(encoding="utf-8")


def test_parallel_payments_and_payments_to_oneself_are_kept(tables):
    payments, _ = tables
    assert len(payments[["src", "dst"]].drop_duplicates()) == 117_341
    assert (payments["src"] == payments["dst"]).sum() == 15


def test_every_payment_is_between_known_accounts(tables):
    payments, accounts = tables
    assert accounts["account"].tolist() == list(range(20_000))
    assert payments[["src", "dst"]].isin(accounts["account"].to_numpy()).all(axis=None)


def test_fraud_is_a_flag_on_1804_accounts(tables):
    _, accounts = tables
    assert accounts["fraud"].dtype == bool
    assert accounts["fraud"].sum() == 1_804


def test_each_call_gives_tables_of_its_own():
    first, _ = amlsim()
    first["cents"] = 0
    second, _ = amlsim()
    assert isinstance(second, pd.DataFrame)
    assert (second["cents"] > 0).all()


def test_licence_and_attribution_lie_beside_the_data():
    folder = resources.files("cusubmatch.datasets")
    notice = folder.joinpath("NOTICE").read_text(encoding="utf-8")
    assert "https://github.com/IBM/AMLSim" in notice
    assert "Apache License" in folder.joinpath("LICENSE-Apache-2.0").read_text(encoding="utf-8")
