"""The CPU engine: Numba kernels on all cores; `prepare` finds candidates, `Run` executes a plan, `Sampler` draws."""

from cusubmatch.cpu.engine import METHODS, Run, choose, place, prepare
from cusubmatch.cpu.sample import Sampler

__all__ = ["METHODS", "Run", "Sampler", "choose", "place", "prepare"]
