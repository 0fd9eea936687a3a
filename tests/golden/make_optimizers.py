#!/usr/bin/python3
"""Writes optimizers.json: cases for the optimisers of libtorch and of PyTorch, with the checksums of what the Python package
computes. The C++ test golden_test.cc must agree.

    PYTHONPATH=build/python /usr/bin/python3 tests/golden/make_optimizers.py
"""
import itertools
import json
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python"))
import golden_steps


def main():
    plain = {"lr": 0.125, "weight_decay": 0.0, "decoupled": False, "maximize": False, "scope": "global"}
    cases = [{"optimizer": "MedianSGD", "method": method, "type": kind, **plain}
             for method, kind in itertools.product(
                 ["vclip:tau=0.5", "cclip:tau=0.1", "momentum:tau=0.25", "huber:tau=0.5:mu=2", "lp:p=3:tau=0.5", "sign:tau=0.1",
                  "normalized:tau=0.3"], ["float32", "float64"])]
    for optimizer in ("MedianSGD", "MedianAdam"):
        for changed in ({"weight_decay": 0.25}, {"weight_decay": 0.25, "decoupled": True}, {"maximize": True},
                        {"scope": "group"}, {"scope": "tensor"}):
            cases.append({"optimizer": optimizer, "method": "vclip:tau=0.5", "type": "float32", **plain, **changed})
    cases += [{"optimizer": "ClippedSGD", "type": "float32", **plain},
              {"optimizer": "MedianAdam", "method": "cclip:tau=0.1", "type": "float32", **plain},
              {"optimizer": "MedianAdam", "method": "momentum:tau=0.25", "type": "float64", **plain}]
    for method, kind in itertools.product(["vclip:tau=auto", "cclip:tau=auto:rate=0.5", "huber:tau=auto:mu=2:level=0.5"],
                                          ["float32", "float64"]):
        for scope in ("global", "group", "tensor"):
            cases.append({"optimizer": "MedianSGD", "method": method, "type": kind, **plain, "scope": scope})
    cases += [{"optimizer": "MedianAdam", "method": method, "type": kind, **plain, **changed}
              for method, kind, changed in itertools.product(
                  ["median-adam", "median-adam:cut=0.5:beta1=0.5", "adam", "cclip-adam", "cclip-adam:tau=auto"],
                  ["float32", "float64"], [{}, {"weight_decay": 0.25}])]
    sizes, steps = [91, 1, 15, 301], 12
    for case in cases:
        case["w"], case["m"] = golden_steps.run(case, sizes, steps)
    text = json.dumps({"sizes": sizes, "steps": steps, "cases": ["CASES"]}, indent=1)
    lines = ",\n  ".join(json.dumps(case) for case in cases)
    (pathlib.Path(__file__).parent / "optimizers.json").write_text(text.replace('"CASES"', lines) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
