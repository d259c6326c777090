"""The GPU engine: Numba's CUDA compiler and CuPy."""

from cusubmatch.engines.gpu.engine import GpuEngine

__all__ = ["GpuEngine"]
