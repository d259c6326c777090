"""Data that is shipped with the package, for examples and for a first try; terms are in the NOTICE file beside it."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["amlsim"]


def amlsim() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Payments between 20,000 simulated bank accounts, with laundering planted among them.

    The sample "20K_fanin200cycle200" of IBM AMLSim (https://github.com/IBM/AMLSim, Apache License 2.0; see NOTICE and
    LICENSE-Apache-2.0 in this package): besides ordinary payments, 200 rings and 200 fan-ins of accounts were planted.
    Which accounts took part in a fraud is known; which payments did, and in which ring, is not.

    Returns
    -------
    payments : pandas.DataFrame, 120,558 rows
        One row a payment, all int32: `src` pays `dst` the amount `cents` at `time` (the step of the simulation, 1 to
        149; AMLSim reads a step as a day). Repeated payments between two accounts, even equal ones, are separate rows,
        and 15 payments go from an account to itself.
    accounts : pandas.DataFrame, 20,000 rows
        `account` (int32; the ids 0 to 19,999) and `fraud` (bool; true for 1,804 of them).

    Examples
    --------
    >>> payments, accounts = amlsim()
    >>> payments.columns.tolist(), len(payments), int(accounts["fraud"].sum())
    (['src', 'dst', 'time', 'cents'], 120558, 1804)
    """
    return _read("amlsim.payments.parquet"), _read("amlsim.accounts.parquet")


def _read(name):
    import pandas as pd

    with resources.as_file(resources.files(__name__).joinpath(name)) as path:
        return pd.read_parquet(path)
