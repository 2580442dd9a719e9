"""The arrays of a card: CuPy, and the kernels of ``walks.cu``, which it compiles on first use and keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from budgetron.learners.cuda.arrays import ROWS, WALK, Arrays

FEATURES = 128  # of a thread block of the filters' walk
THREADS = 256


@cache
def cupy() -> Any:
    """CuPy, if it is installed and finds a card; otherwise an error that says what is missing."""
    try:
        import cupy
        import cupy.cublas
    except ImportError as error:
        raise ImportError(
            "device=\"cuda\" needs CuPy: pip install 'cupy-cuda13x>=13.6', or 'cupy-cuda12x>=13'."
        ) from error
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise RuntimeError(
            f'device="cuda" needs a driver of NVIDIA and a card, and CUDA says: {error}. Use device="cpu".'
        ) from error
    if not count:
        raise RuntimeError('device="cuda" needs a card of NVIDIA, and there is none: use device="cpu".')
    return cupy


@cache
def _module(real: str, device: int) -> Any:  # noqa: ARG001
    """The compiled kernels for one type of numbers, on the present device."""
    source = resources.files("budgetron.learners.cuda").joinpath("walks.cu").read_text(encoding="utf-8")
    sizes = {"ROWS": ROWS, "WALK": WALK, "FEATURES": FEATURES, "THREADS": THREADS}
    options = [f"-D{name}={value}" for name, value in sizes.items()]
    single = real == "float32"
    return cupy().RawModule(
        code=source,
        options=("-std=c++17", f"-DSINGLE={int(single)}", *options),
        enable_cooperative_groups=True,  # all blocks of a launch run at the same time, or it fails
    )


class Card(Arrays):
    """Arrays on the present device of CuPy, with a stream of their own."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        super().__init__(dtype)
        self.xp = cupy()
        self._device = self.xp.cuda.Device()
        self._stream = self.xp.cuda.Stream(non_blocking=True)
        self._turn = self.xp.ElementwiseKernel(
            "T a, T scale", "T s, T c", "sincos(a, &s, &c); s *= scale; c *= scale", "budgetron_turn"
        )

    @contextmanager
    def use(self) -> Iterator[None]:
        """In it, all work is on the device, in this order."""
        with self._device, self._stream:
            yield

    @property
    def most_features(self) -> float:
        return float(self._device.attributes["MultiProcessorCount"] * FEATURES)

    @property
    def free_bytes(self) -> float:
        """What the device has free, and what CuPy's pool holds and does not use."""
        with self._device:
            pool = self.xp.get_default_memory_pool()
            return float(self.xp.cuda.runtime.memGetInfo()[0] + pool.free_bytes())

    def array(self, values: Any, dtype: npt.DTypeLike | None = None) -> Any:
        return self.xp.array(values, dtype=self.real if dtype is None else dtype)

    def host(self, values: Any) -> npt.NDArray[Any]:
        return np.asarray(self.xp.asnumpy(values))

    def taken(self, X: Any, as_they_are: bool = False) -> Any:
        rows = X if isinstance(X, self.xp.ndarray) else self.xp.from_dlpack(X)
        self._device.synchronize()  # who made the rows may still be at work
        return rows if as_they_are else rows.astype(self.real, copy=False)

    def turn(self, angles: Any, scale: float, sines: Any, cosines: Any) -> None:
        self._turn(angles, np.array(scale, self.real)[()], sines, cosines)

    def subtract_gram(self, P: Any, U: Any) -> None:
        # P is symmetric: its transpose has the order that the library expects, and nothing is copied.
        self.xp.cublas.gemm("T", "N", U, U, out=P.T, alpha=-1.0, beta=1.0)

    # ---- walks

    def prepare(self, filters: Sequence[Any], rules: Sequence[Any]) -> None:
        module = _module(self.real.name, self._device.id)
        self._filters, self._rules = list(filters), list(rules)
        self._filter_walks = list(self._launches(module.get_function("walk_filters"))) if filters else []
        if rules:
            table = np.array([self._of_rule(rule) for rule in rules], dtype=np.int64)
            self._rule_table = self.array(table, np.int64)
            kernel = module.get_function("walk_rules")
            self._rule_kernel = kernel

    def _launches(self, kernel: Any) -> Iterator[tuple[Any, ...]]:
        """All filters, in launches of as many blocks as run at once, since they wait for each other."""
        most = self._device.attributes["MultiProcessorCount"]
        now: list[tuple[Any, int]] = []
        for expert in sorted(self._filters, key=lambda each: -len(each.variance)):
            blocks = -(-len(expert.variance) // FEATURES)
            if now and sum(count for _, count in now) + blocks > most:
                yield self._launch(kernel, now)
                now = []
            now.append((expert, blocks))
        if now:
            yield self._launch(kernel, now)

    def _launch(self, kernel: Any, experts: list[tuple[Any, int]]) -> tuple[Any, ...]:
        table, owners, first = [], list[int](), 0
        for number, (expert, blocks) in enumerate(experts):
            partial = self.zeros(2 * blocks * (WALK + 1))
            table.append((self._of_filter(expert, blocks, first, partial), partial))
            owners += [number] * blocks
            first += blocks
        arrived = self.zeros(len(experts), dtype=np.uint32)
        numbers = self.array(np.array([row for row, _ in table], dtype=np.int64), np.int64)
        shared = max(expert.outputs for expert, _ in experts) * (WALK + 2) * 8
        kernel.max_dynamic_shared_size_bytes = max(shared, 49152)
        places = self.array(np.array(owners), np.int32)
        return kernel, first, shared, numbers, places, arrived, [partial for _, partial in table]

    def _of_filter(self, e: Any, blocks: int, first: int, partial: Any) -> list[int]:
        arrays = (e.V, e.Z, e.F, e.G, e.U, e.D, e.variance, e.out, e.observed, e.stopped, e.noise, partial)
        sizes = (len(e.variance), e.full, e.outputs, int(e.labels), blocks, first)
        limits = e.limits
        numbers = e.prior, e.drift, limits.largest, limits.least, limits.most, limits.told, limits.repair
        return [*(array.data.ptr for array in arrays), *sizes, *_bits(numbers)]

    def _of_rule(self, e: Any) -> list[int]:
        arrays = (e.G, e.F, e.A, e.kxx, e.counts, e.norm2, e.total, e.out, e.stopped)
        rule = e.rule
        sizes = e.outputs, rule.kind, rule.loss, rule.task
        return [*(array.data.ptr for array in arrays), *sizes, *_bits(rule[3:])]

    def walk_filters(self, y: Any, weights: Any, first: int, begin: int, rows: int) -> None:
        for kernel, blocks, shared, table, owners, arrived, _ in self._filter_walks:
            arrived.fill(0)
            place = np.int64(first), np.int32(begin), np.int32(rows)
            arguments = table, owners, arrived, y, _or_null(weights), *place
            kernel((blocks,), (THREADS,), arguments, shared_mem=shared)

    def walk_rules(self, y: Any, weights: Any, first: int, rows: int) -> None:
        arguments = self._rule_table, y, _or_null(weights), np.int64(first), np.int32(rows)
        self._rule_kernel((len(self._rules),), (THREADS,), arguments)

    def finish(self) -> None:
        self._stream.synchronize()


def _or_null(array: Any) -> Any:
    return np.uintp(0) if array is None else array


def _bits(numbers: Sequence[float]) -> list[int]:
    """Doubles as they stand in a table of 64-bit integers."""
    return [int(bits) for bits in np.array(numbers, dtype=np.float64).view(np.int64)]
