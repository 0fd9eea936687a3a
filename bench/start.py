"""How long the command and the Python package take before they do anything."""
import os
import subprocess
import sys
import time


def milliseconds(command, **feed):
    start = time.perf_counter()
    subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, check=True, text=True, **feed)
    return 1e3 * (time.perf_counter() - start)


def starting(build, rounds):
    """In turns with what they cannot do without: starting a program that does nothing, and loading numpy."""
    pairs = [("start of medgrad", [build / "bin/medgrad", "--version"], ["/bin/true"], 10),
             ("start of medgrad estimate", [build / "bin/medgrad", "estimate", "vclip", "--quiet", "-"], ["/bin/true"], 10)]
    if (build / "python/medgrad").is_dir():
        os.environ["PYTHONPATH"] = str((build / "python").resolve())
        pairs.append(("start of Python with medgrad", [sys.executable, "-c", "import medgrad"],
                      [sys.executable, "-c", "import numpy"], None))
    for what, ours, peer, limit in pairs:
        feed = {"input": "1,2\n"} if ours[-1] == "-" else {}
        turns = [(milliseconds(ours, **feed), milliseconds(peer)) for _ in range(rounds)]
        own, other = (min(times) for times in zip(*turns))
        if limit is not None:
            yield {"what": what, "ours": f"{own:.1f} ms", "peer": f"{limit} ms (limit)", "ratio": limit / own, "target": 1}
        name = "/bin/true" if peer[0] == "/bin/true" else "import numpy"
        yield {"what": what, "ours": f"{own:.1f} ms", "peer": f"{other:.1f} ms ({name})", "ratio": other / own,
               "target": 0.5 if limit is None else None}

