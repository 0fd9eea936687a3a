"""The experiments: the medgrad command, started from Python."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from . import _core
from ._arguments import text


def command():
    """The path of the medgrad command: $MEDGRAD_COMMAND, that of the build this package is part of, one installed beside it,
    or one on PATH, of this version. A RuntimeError where there is none."""
    name = "medgrad.exe" if os.name == "nt" else "medgrad"
    package = pathlib.Path(__file__).absolute().parent  # in a build the files are links, and the build is where they are
    places = [os.environ.get("MEDGRAD_COMMAND"), package.parents[1] / "bin" / name,
              pathlib.Path(sys.prefix) / "bin" / name, pathlib.Path.home() / ".local" / "bin" / name, shutil.which(name)]
    others = []
    for place in places:
        if not place or not os.access(place, os.X_OK) or os.path.isdir(place):
            continue
        said = subprocess.run([str(place), "--version"], capture_output=True, text=True).stdout.split()
        if said[:2] == ["medgrad", _core.__version__]:
            return str(place)
        others.append(f"{place} is {' '.join(said) or 'something else'}")
    raise RuntimeError(f"the medgrad command {_core.__version__} is not there, which runs experiments; ./dev build makes it in "
                       "build/bin, and $MEDGRAD_COMMAND can say where it is." +
                       (f" ({'; '.join(others)}.)" if others else ""))


def _start(what, arguments, names, out, options):
    given = [str(argument) for argument in arguments] + ["--out", str(out), "--quiet"]
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            given.append(option)
        elif value is not None and value is not False:
            given += [option, str(value)]
    done = subprocess.run([command(), what, *given], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sentence = done.stderr.strip().removeprefix("medgrad: ")
        raise (ValueError if done.returncode == 2 else RuntimeError)(sentence or f"medgrad {what} ended with {done.returncode}.")
    results = {}
    for summary in sorted(pathlib.Path(out).glob("*/summary.json")):
        if not names or summary.parent.name in names:
            results[summary.parent.name] = {**json.loads(summary.read_text(encoding="utf-8")), "folder": str(summary.parent)}
    return results


def reproduce(*names, out="results", **options):
    """Runs experiments of the paper (all that need neither libtorch nor data, where no names are given), checks the paper's
    claims, and writes a report to out/index.html. What is in out already is not run again.

    options are those of the command: seeds=10, seed=1, threads=2, replace=True, pdf=True, no_svg=True, paper_scale=True.
    The result is a dict of summaries by name: "claims" (claim, holds, evidence), "rows" (method, metric, mean, median, ...),
    and "folder", where results.csv and the figures are. A RuntimeError where the medgrad command is not there.
    """
    names = [text("a name", name) for given in names for name in (given if isinstance(given, (list, tuple)) else [given])]
    return _start("reproduce", names, set(names), out, options)


def _plain(value):
    """Numbers and arrays of numpy as those of Python."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"an experiment has {value!r}; it must be of numbers, texts, lists and dicts.")


def run(*experiments, out="results", **options):
    """Runs experiments of one's own: dicts, or paths of JSON files, in which every list is an axis of a grid
    (docs/experiments.md). Options and result are those of reproduce."""
    if not experiments:
        raise ValueError("run needs an experiment: a dict, or the path of a JSON file.")
    with tempfile.TemporaryDirectory() as folder:
        files, names = [], set()
        for i, experiment in enumerate(experiments):
            if isinstance(experiment, dict):
                files.append(pathlib.Path(folder) / f"experiment {i + 1}.json")
                files[-1].write_text(json.dumps(experiment, default=_plain), encoding="utf-8")
            elif isinstance(experiment, (str, os.PathLike)):
                files.append(pathlib.Path(experiment))
            else:
                raise TypeError(f"an experiment is {experiment!r}; it must be a dict, or the path of a JSON file.")
            if files[-1].is_file():  # the command says what is wrong with others
                names.update(re.findall(r'"experiment"\s*:\s*"([^"]+)"', files[-1].read_text(encoding="utf-8")))
        try:
            return _start("run", files, names, out, options)
        except ValueError as told:  # a dict was never in that folder
            raise ValueError(str(told).replace(folder + os.sep, "")) from None
