"""The CPU engine: Numba; `prepare` finds candidates, `Run` walks, `Kernels` fill tables, `Sampler` draws."""

from cusubmatch.engines.cpu.cost_model import RATES
from cusubmatch.engines.cpu.search.run import METHODS, Run, choose, place, prepare
from cusubmatch.engines.cpu.search.sampler import Sampler
from cusubmatch.engines.cpu.tables.table_kernels import Kernels, mates

__all__ = ["METHODS", "RATES", "Kernels", "Run", "Sampler", "choose", "mates", "place", "prepare"]
