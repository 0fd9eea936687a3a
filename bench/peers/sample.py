"""The numpy peers of the sample estimators: what a careful user of numpy would write."""
import numpy as np


def column_median(rows):
    return np.median(rows, axis=0)


def weiszfeld(rows, k):
    """The geometric median by k plain iterations from the mean, as one writes it."""
    m = rows.mean(axis=0)
    for _ in range(k):
        weights = 1 / np.linalg.norm(rows - m, axis=1)
        m = weights @ rows / weights.sum()
    return m


class Weiszfeld:
    """The same written for speed: buffers are allocated once, sums go through BLAS, and the objective is
    not evaluated on the way: `run(k)` is k bare iterations."""

    def __init__(self, rows):
        self.rows = rows
        self.difference = np.empty_like(rows)

    def distances(self, m):
        np.subtract(self.rows, m, out=self.difference)
        return np.sqrt(np.einsum("ij,ij->i", self.difference, self.difference))

    def iterates(self, k):
        """The mean, and the k iterates after it."""
        m = self.rows.mean(axis=0)
        yield m
        for _ in range(k):
            weights = 1 / np.maximum(self.distances(m), np.finfo(self.rows.dtype).tiny)
            m = (weights / weights.sum()).astype(self.rows.dtype) @ self.rows
            yield m

    def run(self, k):
        for m in self.iterates(k):
            pass
        return m


def objective(rows, m):
    """sum_i |m - x_i|_2 in double precision, row by row."""
    m = m.astype(np.float64)
    return sum(float(np.linalg.norm(row.astype(np.float64) - m)) for row in rows)
