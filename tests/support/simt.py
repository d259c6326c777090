"""A small SIMT machine: a kernel's own source, lane by lane, with the collectives of real warps.

Every GPU thread is a greenlet. A lane runs until it meets a collective (ballot, shuffle, syncwarp, syncthreads) and
waits there until every lane that the collective names has arrived at the same one. A `seed` shuffles who runs next, and
lanes are also switched at atomics, so that races show. All blocks are resident together, so persistent kernels and
loops that wait make progress. What a GPU would hide is an error: divergent collectives, a mask that names a lane which
has returned, a deadlock, an index out of bounds.
"""

from __future__ import annotations

import random
import sys
from types import SimpleNamespace

import numpy as np
from greenlet import getcurrent, greenlet

FULL = 0xFFFFFFFF
WARP = 32
DYNAMIC = 12_288  # words of shared memory whose size the launch decides


class SimtError(RuntimeError):
    """A kernel did what a GPU cannot do, or must not be asked to."""


class Lane(greenlet):
    """One thread; `wait` is None while it may run, else (operation, mask, value)."""

    index: int
    position: int  # in its warp
    block: Block
    warp: Warp
    wait: tuple | None


class Warp(list):
    parked = 0  # lanes that wait at a collective of the warp


class Block:
    def __init__(self, index, threads):
        self.index, self.shared = index, {}
        self.lanes: list[Lane] = []
        self.alive, self.parked = threads, 0


class Checked(np.ndarray):
    """An array in which a negative index is out of bounds, as it is on a GPU."""

    def __getitem__(self, index):
        return super().__getitem__(_inside(index))

    def __setitem__(self, index, value):
        super().__setitem__(_inside(index), value)


def _checked(argument):
    """Arrays with their bounds checked, in parameter blocks too."""
    if isinstance(argument, np.ndarray):
        return argument.view(Checked)
    if isinstance(argument, tuple):
        fields = [_checked(field) for field in argument]
        return type(argument)(*fields) if hasattr(argument, "_fields") else tuple(fields)
    return argument


def _inside(index):
    if isinstance(index, (int, np.integer)) and index < 0:
        raise SimtError(f"index {index}")
    return index


class Atomic:
    def __init__(self, machine):
        self._machine = machine

    def _change(self, array, index, function):
        self._machine.pause()
        old = array[index]
        array[index] = function(old)
        return old

    def add(self, array, index, value):
        return self._change(array, index, lambda old: old + array.dtype.type(value))

    def sub(self, array, index, value):
        return self._change(array, index, lambda old: old - array.dtype.type(value))

    def max(self, array, index, value):
        return self._change(array, index, lambda old: max(old, array.dtype.type(value)))

    def or_(self, array, index, value):
        return self._change(array, index, lambda old: old | array.dtype.type(value))

    def exch(self, array, index, value):
        return self._change(array, index, lambda _: value)

    def cas(self, array, index, old, value):
        return self._change(array, index, lambda found: value if found == array.dtype.type(old) else found)


def bits_of(value):
    """(bits, width) of a number as Numba types it: a Python int is an int64."""
    width = 64 if not isinstance(value, np.generic) or value.dtype.itemsize == 8 else 32
    return int(value) & ((1 << width) - 1), width


class Machine:
    """What a kernel sees as `cuda`; `launch` runs a kernel on it."""

    def __init__(self, seed=None, max_steps=50_000_000):
        self.random = random.Random(seed) if seed is not None else None
        self.max_steps = max_steps
        self.atomic = Atomic(self)
        self.shared = SimpleNamespace(array=self._shared_array)
        self.steps = 0

    # Who am I

    threadIdx = property(lambda self: SimpleNamespace(x=getcurrent().index))
    blockIdx = property(lambda self: SimpleNamespace(x=getcurrent().block.index))
    gridDim = property(lambda self: SimpleNamespace(x=len(self.blocks)))
    blockDim = property(lambda self: SimpleNamespace(x=len(getcurrent().block.lanes)))
    laneid = property(lambda self: getcurrent().position)

    # Bits

    def popc(self, value):
        return bits_of(value)[0].bit_count()

    def ffs(self, value):
        bits, _ = bits_of(value)
        return (bits & -bits).bit_length()

    def clz(self, value):
        bits, width = bits_of(value)
        return width - bits.bit_length()

    # Collectives

    def _collect(self, operation, mask, value):
        getcurrent().wait = (operation, mask if mask is None else int(mask) & FULL, value)
        return self.hub.switch()

    def syncthreads(self):
        self._collect("block", None, None)

    def syncwarp(self):
        self._collect("syncwarp", FULL, None)

    def ballot_sync(self, mask, value):
        return self._collect("ballot", mask, bool(value))

    def shfl_sync(self, mask, value, source):
        return self._collect("shuffle", mask, (value, int(source) % WARP))

    def shfl_up_sync(self, mask, value, distance):
        lane = self.laneid
        return self._collect("shuffle", mask, (value, int(lane - distance if lane >= distance else lane)))

    def shfl_down_sync(self, mask, value, distance):
        lane = self.laneid
        return self._collect("shuffle", mask, (value, int(lane + distance if lane + distance < WARP else lane)))

    def shfl_xor_sync(self, mask, value, bits):
        return self._collect("shuffle", mask, (value, getcurrent().position ^ int(bits)))

    # Memory: sequentially consistent

    def threadfence(self):
        pass

    def nanosleep(self, _nanoseconds):
        self.pause()

    def pause(self):
        """Let others run."""
        getcurrent().wait = None
        self.hub.switch()

    def _shared_array(self, shape, dtype):
        lane, frame = getcurrent(), sys._getframe(1)
        site = (frame.f_code, frame.f_lasti)  # one array for each call site and block
        if site not in lane.block.shared:
            array = np.full(shape or self.dynamic, 0x55, np.uint8).astype(
                np.dtype(str(dtype) if hasattr(dtype, "bitwidth") else dtype)
            )
            lane.block.shared[site] = array.view(Checked)
        return lane.block.shared[site]

    # Running

    def launch(self, kernel, blocks, threads, arguments, dynamic=DYNAMIC):
        """Run `kernel` to its end, with `dynamic` words of shared memory; the number of switches."""
        self.hub, self.steps, self.dynamic = getcurrent(), 0, dynamic
        arguments = [_checked(argument) for argument in arguments]

        def run():
            with np.errstate(all="ignore"):  # integers wrap, floats overflow
                kernel(*arguments)

        self.blocks, ready = [Block(index, threads) for index in range(blocks)], []
        for block in self.blocks:
            warps = [Warp() for _ in range(-(-threads // WARP))]
            for index in range(threads):
                lane = Lane(run, self.hub)
                lane.index, lane.position, lane.wait = index, index % WARP, None
                lane.block, lane.warp = block, warps[index // WARP]
                lane.warp.append(lane)
                block.lanes.append(lane)
                ready.append((lane, None))
        alive = len(ready)
        while ready:
            following = []
            if self.random:
                self.random.shuffle(ready)
            for lane, value in ready:
                lane.wait = None
                lane.switch(value) if lane else lane.switch()
                self.steps += 1
                if lane.dead:
                    alive -= 1
                    lane.block.alive -= 1
                elif lane.wait is None:
                    following.append((lane, None))
                    continue
                following.extend(self._released_by(lane))
            if self.steps > self.max_steps:
                raise SimtError("step limit: does this loop end?")
            ready = following
        if alive:
            self._complain()
        return self.steps

    def _complain(self):
        left = [lane for block in self.blocks for lane in block.lanes if not lane.dead]
        for lane in left:
            if lane.wait[1] is not None:
                self._check(lane, [x for x in lane.warp if lane.wait[1] >> x.position & 1])
        raise SimtError(f"deadlock: {[(x.block.index, x.index, x.wait[:2]) for x in left[:4]]} of {len(left)} lanes")

    def _released_by(self, lane):
        """The lanes that may go on now that `lane` has arrived at a collective, or returned."""
        released, at_block = [], not lane.dead and lane.wait[1] is None
        if not lane.dead and not at_block:
            mask, warp = lane.wait[1], lane.warp
            if not mask >> lane.position & 1:
                raise SimtError(f"lane {lane.index} is not in the mask {mask:#x} of its own {lane.wait[0]}")
            warp.parked += 1
            if warp.parked < mask.bit_count():
                return released  # and nothing changes for its block
            group = [x for x in warp if mask >> x.position & 1]
            self._check(lane, group)
            if all(x.wait and x.wait[1] is not None for x in group):
                warp.parked -= len(group)
                released = self._finish(group)
            return released
        block = lane.block
        block.parked += at_block
        if block.alive and block.parked == block.alive:
            block.parked = 0
            released += self._go([(x, None) for x in block.lanes if not x.dead])
        return released

    def _check(self, lane, group):
        operation, mask, _ = lane.wait
        for other in group:
            if other.dead:
                raise SimtError(f"{operation}: the mask {mask:#x} names lane {other.index}, which has returned")
            wait = other.wait
            if wait and wait[1] is not None and (wait[1] != mask or wait[0] != operation):
                raise SimtError(f"divergent: lane {lane.index} at {operation}, lane {other.index} at {other.wait[0]}")

    def _go(self, pairs):
        for lane, _ in pairs:
            lane.wait = None
        return pairs

    def _finish(self, group):
        operation, values = group[0].wait[0], [lane.wait[2] for lane in group]
        if operation == "ballot":
            mask = sum(1 << lane.position for lane, value in zip(group, values, strict=True) if value)
            results = [np.uint32(mask)] * len(group)
        elif operation == "shuffle":
            by_lane = {lane.position: value for lane, (value, _) in zip(group, values, strict=True)}
            if outside := [source for _, source in values if source not in by_lane]:
                raise SimtError(f"a shuffle reads lane {outside[0]}, which is outside its mask")
            results = [by_lane[source] for _, source in values]
        else:
            results = [None] * len(group)
        return self._go(list(zip(group, results, strict=True)))
