"""The GPU engine: Numba, CuPy; `prepare` finds candidates, `Run` walks, `Kernels` fill tables, `Sampler` draws."""

from cusubmatch.engines.gpu.cost_model import RATES
from cusubmatch.engines.gpu.engine import METHODS, Run, choose, place, prepare
from cusubmatch.engines.gpu.search.sampler import Sampler
from cusubmatch.engines.gpu.tables.table_kernels import Kernels, mates

__all__ = ["METHODS", "RATES", "Kernels", "Run", "Sampler", "choose", "mates", "place", "prepare"]
