"""Run jobs in a pool of threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from budgetron._util import check

T = TypeVar("T")


def run_jobs(
    owner: str, jobs: Sequence[Callable[[], T]], n_jobs: int | None, stop: Callable[[], None] = lambda: None
) -> list[T]:
    """Run the jobs in ``n_jobs`` threads (-1: one per processor) and return their results in order.

    If a job fails or the wait is interrupted, jobs that have not started are cancelled, and ``stop`` is
    called to end the running ones.
    """
    threads = check.threads(owner, n_jobs)
    if threads == 1 or len(jobs) == 1:
        return [job() for job in jobs]
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(job) for job in jobs]
        try:
            return [future.result() for future in futures]
        except BaseException:
            stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
