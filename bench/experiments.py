"""All synthetic experiments of the paper, against the same in numpy."""
import pathlib
import sys

from measure import run, seconds

# Those of the paper; `medgrad reproduce` without names also runs what the peers have not.
SYNTHETIC = ("moments", "toy", "toy-small-tau", "toy-skewed", "toy-long", "least-squares-s1", "least-squares-s2", "least-squares-s3",
             "huber-ablation", "rates", "projection")


def reproduce(binary, folder, rounds=5, limit=2.0, aim=1.0):
    """All synthetic experiments of the paper, with report and figures and on all cores, against the plain and the tuned
    peer, which only compute, each in a process of its own on one thread. In turns."""
    peers = pathlib.Path(__file__).parent / "peers"
    names = {"synthetic_plain.py": "numpy", "synthetic.py": "numpy, tuned"}
    turns = ["synthetic_plain.py", "synthetic.py", "synthetic.py"]

    def ours():
        return seconds(run, binary, "reproduce", *SYNTHETIC, "--out", folder / "results", "--quiet")[0]

    mine, theirs = [ours()], {script: [] for script in names}
    for script in turns:
        # By the peer's own clock: without starting Python and loading numpy.
        theirs[script].append(run(sys.executable, peers / script, "--json")[0])
        mine.append(ours())
    mine += [ours() for _ in range(rounds - len(mine))]
    rows = [(limit, f"{limit:g} s (limit)", 1, None), (aim, f"{aim:g} s (aim)", 1, None)]
    for (script, name), target in zip(names.items(), (10, None)):
        best = min(theirs[script], key=lambda parts: sum(parts.values()))
        rows.append((sum(best.values()), f"{sum(best.values()):.1f} s ({name})", target, best))
    for peer, shown, target, detail in rows:
        yield {"what": "all synthetic experiments of the paper", "ours": f"{min(mine):.2f} s", "peer": shown,
               "ratio": peer / min(mine), "target": target, "detail": detail}
