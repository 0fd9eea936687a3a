"""The memory that rules take beside the rows and the result, against the number of rows and their length."""
from measure import run

LENGTHS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
ROWS = (4, 16, 64, 256, 1000)


def memory(binary, entries=1 << 22):
    """Against the bytes of the rows. The exponents are those of the growth with the length of 11 rows, and with the number of rows of so
    many entries; less than a kilobyte counts as one."""
    shapes = [(11, d) for d in LENGTHS] + [(n, entries // n) for n in ROWS]
    for n, d in shapes:
        for line in run(binary, "memory", "float", n, d):
            taken, size = max(line["bytes"], 1000), 4 * n * d
            by_length = n == 11
            yield {"what": f"memory of {line['what']}, {n} x {d} floats", "ours": f"{taken / 1e3:.3g} kB",
                   "peer": f"{size / 1e6:.3g} MB (the rows)", "ratio": size / taken, "target": None, "bytes": taken,
                   "operation": line["what"], "size": d if by_length else n,
                   "axis": f"the length of {n} rows" if by_length else "the number of rows"}
