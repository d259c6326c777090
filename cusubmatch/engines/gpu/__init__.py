"""The GPU engine: Numba's CUDA compiler and CuPy."""

from cusubmatch.engines.gpu.engine import GpuEngine
from cusubmatch.engines.gpu.runtime.places import CudaPlace

__all__ = ["CudaPlace", "GpuEngine"]
