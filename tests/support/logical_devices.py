"""Several devices where there is no GPU: engines of one lane, each with copies of its own, that notice mix-ups."""

from __future__ import annotations

import contextlib
import threading
from unittest.mock import patch

import numpy as np
from recorded_arrays import RecordedModule, RecordedPlace
from targets import one_lane

from cusubmatch.engines import registry
from cusubmatch.engines.gpu import GpuEngine
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.search import workspace
from cusubmatch.engines.gpu.tunables import Tunables
from cusubmatch.execution import engine_choice
from cusubmatch.execution.devices import device_group, several_devices
from cusubmatch.execution.devices.device_group import Cutting
from cusubmatch.system.gpu_presence import GpuKind

_thread = threading.local()


def current():
    """The logical device of this thread; 0 at first."""
    return getattr(_thread, "number", 0)


class LogicalPlace:
    """A place whose arrays are copies; what works elsewhere with it is an error."""

    xp = np

    def __init__(self, number):
        self.number, self.copies, self.brought = number, [], 0

    @contextlib.contextmanager
    def current(self):
        before, _thread.number = current(), self.number
        try:
            yield
        finally:
            _thread.number = before

    def holds(self, array):
        return any(array is copy for copy in self.copies)

    def copied(self, array):
        self.copies.append(array.copy())
        return self.copies[-1]

    def to_device(self, array):
        assert current() == self.number, f"device {self.number} is used by a thread of device {current()}"
        return array

    def landing(self):
        return LogicalLanding(self)


class LogicalLanding:
    def __init__(self, place):
        self.place = place

    def current(self):
        return self.place.current()

    def bring(self, block):
        self.place.brought += 1
        return LogicalBlock(block.copy())


class LogicalBlock:
    def __init__(self, block):
        self.block = block

    def settled(self):
        return self.block


def logical_engine(number, **tunables):
    """The engine of a logical device."""
    place = LogicalPlace(number)
    numbers = Tunables(**{"grid": (1, 1)} | tunables)
    return GpuEngine(Device(one_lane(), 1, 228 << 10, place.to_device, numbers, number=current), place)


@contextlib.contextmanager
def recorded_engine():
    """A machine of one device, and which operations of CuPy's it would compile kernels for."""
    xp = RecordedModule()
    gpu = Device(one_lane(), 1, 228 << 10, RecordedPlace.to_device, Tunables(grid=(1, 1)))
    engine = GpuEngine(gpu, RecordedPlace(xp))
    copied = patch.object(workspace, "mirrored", lambda array: array.get)  # one operation, to pinned memory
    with machine_of(1), patch.object(registry, "engine_on", lambda _: engine), copied:
        yield xp.operations


def of_cpu_or(engine):
    """`choose_engine` where this is the engine of the GPU."""
    chosen = registry.choose_engine
    return lambda name, graph: chosen(name, graph) if name == "cpu" else (engine, "a test")


FINE = Cutting(worth_ns=0.0, min_range_s=0.0)  # everything is shared, in small ranges


@contextlib.contextmanager
def machine_of(devices, cutting=FINE, kinds=None, **tunables):
    """A machine with so many logical devices; its engines."""
    kind = GpuKind("Logical", 1, (9, 0))
    engines = [logical_engine(number, **tunables) for number in range(devices)]
    with contextlib.ExitStack() as patches:
        for target, name, value in (
            (registry, "missing_for_gpu", lambda: None),
            (registry, "gpus", lambda: tuple(kinds or [kind] * devices)),
            (registry, "current_gpu", current),
            (registry, "engine_on", engines.__getitem__),
            (engine_choice, "choose_engine", of_cpu_or(engines[0])),
            (device_group, "Cutting", lambda: cutting),
            (several_devices, "Cutting", lambda: cutting),
        ):
            patches.enter_context(patch.object(target, name, value))
        yield engines
