"""Result folders with plausible numbers, as experiments write them: lines with bands on logarithmic axes, families of
curves, geometry, a heat map, gaps and infinities.

By hand: report_fixture.py FOLDER writes one folder per experiment into FOLDER.
"""

import json
import math
import os
import random
import sys

METHODS = {"momentum": "Momentum", "vclip": "VClip", "cclip": "CClip", "huber": "Huber"}
SAMPLES = {"smgd-l1": "SMGD ℓ1 median", "smgd-l2": "SMGD ℓ2 median", "smgd-mean": "SMGD mean"}


def number(value):
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def axis(label, log=False, **limits):
    return {"label": label, "log": log, **limits}


def curve(key, name, x, y, style="line", band=None, se=None, shade=None, median=None):
    series = {"name": name, "key": key, "style": style, "x": x, "y": [number(v) for v in y]}
    if band:
        series["low"] = [number(v / band) for v in y]
        series["high"] = [number(v * band) for v in y]
    if median:
        series["median"] = [number(v * median) for v in y]
        if band:
            series["lower"] = [number(v * median / 1.2) for v in y]
            series["upper"] = [number(v * median * 1.2) for v in y]
    if se:
        series["se"] = [number(v * se) for v in y]
    if shade is not None:
        series["shade"] = shade
    return series


def row(method, metric, mean, **axes):
    return {"method": method, **axes, "metric": metric, "mean": number(mean), "median": number(0.95 * mean),
            "min": number(0.5 * mean), "max": number(2 * mean), "se": number(0.02 * mean), "n": 50, "diverged": 0}


def moments(rng):
    n = list(range(1, 102, 2))
    panels, rows = [], []
    for alpha in (1.1, 1.5):
        median = [2.4 / k * math.exp(rng.gauss(0, 0.03)) for k in n]
        mean = [40 / alpha ** 6 * math.exp(rng.gauss(0, 0.5)) for _ in n]
        exact = [math.inf if k < 3 else 2.46 / k * (1 + 3 / k) for k in n]
        panels.append({"id": f"alpha-{alpha}", "title": f"α = {alpha}", "x": axis("sample size n"),
                       "y": axis("E |estimate|²", True),
                       "series": [curve("median", "sample median", n, median, se=0.05),
                                  curve("mean", "sample mean", n, mean, se=0.3),
                                  curve("exact", "exact C_n", n, exact, "dashed")]})
        rows += [row(method, "second_moment", values[i], alpha=alpha, n=k)
                 for method, values in (("median", median), ("mean", mean)) for i, k in enumerate(n)]
    return {"title": "Moments of the sample median and the sample mean",
            "description": "Second moment of the median and of the mean of n standard stable variables.",
            "figures": [{"id": "moments", "title": "Second moments", "columns": 2, "panels": panels,
                         "caption": "10,000 trials each. The exact curve is infinite below n = 3 and not drawn there."}],
            "claims": [("the sample median has much smaller variance than the sample mean", True,
                        "at n = 101, α = 1.1: 0.024 against 25.1"),
                       ("the second moment of the median is finite from n = 3", True, "C_3 = 5.65")], "rows": rows}


def projection(_):
    ball = [(math.cos(t / 40 * math.pi), math.sin(t / 40 * math.pi)) for t in range(80)]
    series = [curve("l2", "ℓ2: ball", [a for a, _ in ball], [b for _, b in ball], "area"),
              curve("l1", "ℓ1: ball", [-1.0, 1.0, 1.0, -1.0], [-1.0, -1.0, 1.0, 1.0], "area"),
              curve("l2", "ℓ2: path", [0.0, 2.2], [0.0, 1.3]),
              curve("l1", "ℓ1: path", [0.0, 1.3, 2.2], [0.0, 1.3, 1.3]),
              curve("exact", "m and g", [0.0, 2.2], [0.0, 1.3], "points")]
    return {"title": "One step is a projection", "description": "The step for ℓ1 and ℓ2, over all τ.",
            "figures": [{"id": "projection", "title": "Projections", "columns": 1, "panels": [
                {"id": "plane", "title": "Projection of g onto the dual ball around m", "x": axis("first component"),
                 "y": axis("second component"), "equal_aspect": True, "series": series,
                 "note": "Thick lines: the projections for all τ."}],
                "caption": "The step moves along the ray for ℓ2, componentwise for ℓ1."}],
            "claims": [("the two paths end in g", True, "distance 0")], "rows": []}


def toy(rng, points=200):
    inverse = [round(0.5 + 0.1 * i, 1) for i in range(11)]
    steps = [int(1000 * i / points) for i in range(points + 1)]
    slope = {"momentum": 2.9, "vclip": 0.25, "cclip": 0.05, "huber": 0.2}
    final = {key: [0.1 * math.exp(slope[key] * (v - 0.5) ** 1.5 * 2 + rng.gauss(0, 0.02)) for v in inverse]
             for key in METHODS}
    left = {"id": "final", "title": "Final error", "x": axis("1/α"), "y": axis("relative error", True),
            "series": [curve(key, name, inverse, final[key], band=1.9, se=0.04) for key, name in METHODS.items()]}
    family = []
    for key, name in METHODS.items():
        for i, v in enumerate(inverse):
            floor = final[key][i]
            y = [max(floor, math.exp(-t / 150)) * math.exp(rng.gauss(0, 0.03 * v)) for t in steps]
            family.append(curve(key, f"{name}, 1/α = {v}", steps, y, shade=i / 10))
    right = {"id": "curves", "title": "Convergence", "x": axis("step"), "y": axis("relative error", True),
             "series": family}
    rows = [row(key, "final_relative_error", final[key][i], inv_alpha=v)
            for key in METHODS for i, v in enumerate(inverse)]
    return {"title": "Estimating a fixed vector", "description":
            "Momentum, VClip, CClip and Huber estimate a vector from samples with α-stable noise; 50 seeds.",
            "figures": [{"id": "toy", "title": "Fixed target", "columns": 2, "panels": [left, right], "caption":
                         "τ = 0.01. Left: final error; the band is the smallest and largest of 50 runs. Right: curves."}],
            "claims": [("momentum degrades as α falls", True, "0.10 at 1/α = 0.5, 5.9 at 1.5"),
                       ("VClip and CClip stay robust", True, "at most a factor of 1.6 over all α"),
                       ("Huber is slightly inferior to VClip", False, "at 1000 steps Huber is 13 % better"),
                       ("the seeds suffice to tell CClip from VClip", None, "standard errors overlap at 1/α = 0.5")],
            "notes": ["At 10,000 steps Huber falls behind VClip, as the paper says: see <toy-long>."], "rows": rows}


def least_squares(rng, points=250):
    steps = [int(1000 * i / points) for i in range(points + 1)]
    panels = []
    for index, title in enumerate(["S1: independent", "S2: state-dependent", "S3: elliptical"]):
        series = []
        for rank, (key, name) in enumerate({**SAMPLES, **METHODS, "clipped-sgd": "clipped-SGD"}.items()):
            if key == "momentum":
                continue
            floor = 0.002 * (1 + rank) ** 1.5 * (1 + index)
            y = [5 * math.exp(-t / (60 + 25 * rank)) + floor * math.exp(rng.gauss(0, 0.25)) for t in steps]
            if key == "smgd-mean" and index == 1:
                y = [v * math.exp(t / 3) if t < 60 else math.inf for t, v in zip(steps, y)]
            series.append(curve(key, name, steps, y, band=2.2, se=0.1, median=0.9))
        panels.append({"id": f"s{index + 1}", "title": title, "x": axis("step"),
                       "y": axis("objective", True, min=1e-3, max=1e3), "series": series})
    rows = [row(s["key"], "objective", s["y"][-1] if s["y"][-1] != "inf" else math.inf, setting=p["id"], step=1000)
            for p in panels for s in p["series"]]
    return {"title": "Least squares with heavy-tailed noise", "description":
            "½‖w‖² with α = 1.1 noise that is independent, state-dependent, or elliptical.",
            "figures": [{"id": "least-squares", "title": "Least squares", "columns": 3, "panels": panels,
                         "statistic": "median", "paper": "Figure 3", "caption":
                         "Methods in grey use n = 5 samples per iteration, all others one."}],
            "claims": [("the sample mean diverges at once on S2", True, "50 of 50 runs diverged")], "rows": rows}


def byzantine(rng):
    attacks = ["none", "sign-flip", "alie", "ipm", "gaussian", "huge", "nan"]
    aggregators = ["mean", "median", "geometric-median", "trimmed-mean", "krum", "centered-clipping"]
    z = [number(math.nan if (a, b) == ("mean", "nan") else
                math.exp(rng.gauss(0, 1)) * (1e4 if a == "mean" and b != "none" else 0.02))
         for a in aggregators for b in attacks]
    heat = {"x": attacks, "y": aggregators, "z": z, "log": True, "label": "final objective"}
    return {"title": "Lying workers", "description": "20 workers of which f lie, every aggregator against every attack.",
            "figures": [{"id": "byzantine", "title": "Aggregators against attacks", "columns": 1, "caption": "f = 4.",
                         "panels": [{"id": "f4", "title": "f = 4 of 20", "x": axis("attack"), "y": axis("aggregator"),
                                     "series": [], "heat": heat}]}],
            "claims": [("medians survive every attack", True, "largest objective 0.2")],
            "rows": [row(a, "objective", 0.1, attack=b) for a in aggregators for b in attacks]}


EXPERIMENTS = {"moments": moments, "projection": projection, "toy": toy, "least-squares": least_squares,
               "byzantine": byzantine}


def write_experiment(folder, name, make, seed=0, **more):
    made = make(random.Random(seed), **more)
    os.makedirs(folder, exist_ok=True)
    summary = {"experiment": name, "title": made["title"], "description": made["description"], "version": "0.1.0",
               "claims": [dict(zip(("claim", "holds", "evidence"), claim)) for claim in made["claims"]],
               "notes": made.get("notes", []), "rows": made["rows"]}
    config = {"experiment": name, "seed": seed, "seeds": 50, "dimension": 10, "tau": [0.01],
              "noise": {"model": "stable", "alpha": 1.1}}
    for file, content in (("summary", summary), ("figures", {"figures": made["figures"]}), ("config", config)):
        with open(os.path.join(folder, file + ".json"), "w", encoding="utf-8") as out:
            json.dump(content, out, ensure_ascii=False)


def write_all(folder, seed=0):
    for name, make in EXPERIMENTS.items():
        write_experiment(os.path.join(folder, name), name, make, seed)


if __name__ == "__main__":
    write_all(sys.argv[1])
    for copy in ("toy-small-tau", "toy-long", "toy-skewed", "least-squares-d100", "least-squares-c5"):
        kind = toy if copy.startswith("toy") else least_squares
        write_experiment(os.path.join(sys.argv[1], copy), copy, kind)
