#!/usr/bin/python3
"""Writes attacks.json: the attacks by their definitions, in numpy and mpmath.

Nothing here is shared with the library: means and standard deviations are computed in 60 digits, random numbers and
bits from Philox's words, optimal strengths with the rules of make_rules.py. Run as: make_attacks.py > attacks.json
"""

import json
import math

import mpmath
import numpy as np
from scipy import stats

import make_rules

mpmath.mp.dps = 60
MOST = np.finfo(np.float64).max


def finite(x):
    return float(max(-mpmath.mpf(MOST), min(mpmath.mpf(MOST), x)))


def moments(x):
    """Means and standard deviations of the columns; NaN is missing, an infinity the largest number."""
    means, deviations = [], []
    for column in x.T:
        seen = [mpmath.mpf(float(np.clip(v, -MOST, MOST))) for v in column if not math.isnan(v)]
        mean = mpmath.fsum(seen) / len(seen)
        means.append(mean)
        deviations.append(mpmath.sqrt(mpmath.fsum((v - mean)**2 for v in seen) / len(seen)))
    return means, deviations


def alie(x, strength):
    return np.array([finite(m - mpmath.mpf(strength) * s) for m, s in zip(*moments(x))])


def ipm(x, strength):
    return np.array([finite(-mpmath.mpf(strength) * m) for m in moments(x)[0]])


def majority_strength(h, f):
    """Baruch et al.: how many standard deviations off the liars still have a majority around them."""
    supporters = (h + f) // 2 + 1 - f
    return float(stats.norm.ppf(min(0.99, max(0.5, (h - supporters) / h))))


def optimal(lie, x, f, rule):
    """The strength of the search that attack.h describes, and the distance that it reaches."""
    mean = np.array([float(m) for m in moments(x)[0]])

    def distance(k):
        rows = np.vstack([x] + f * [lie(x, 2.0**k)])
        return float(np.linalg.norm(rule(rows) - mean))

    best, most = -4.0, distance(-4)
    for k in range(-3, 9):
        if distance(k) > most * (1 + 1e-9):
            best, most = float(k), distance(k)
    for step in (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64):
        for k in (best - step, best + step):
            if -4 <= k <= 8 and distance(k) > most * (1 + 1e-9):
                best, most = k, distance(k)
                break
    return 2.0**best, most


def normal(seed, stream, count):
    """Box and Muller on Philox's blocks: words 0, 1 make an angle with two signs, words 2, 3 a radius."""
    numbers = []
    words = make_rules.philox(seed, stream, 4 * ((count + 1) // 2))
    for b in range(0, len(words), 4):
        angle, size = words[b] | words[b + 1] << 32, words[b + 2] | words[b + 3] << 32
        share = [mpmath.mpf(2 * ((w & (1 << 62) - 1) >> 10) + 1) / 2**54 for w in (angle, size)]
        w = -mpmath.log(1 - share[1] if size >> 63 else share[1])
        radius = mpmath.sqrt(2 * w)
        numbers.append(float(radius * mpmath.cospi(share[0]) * (-1)**(angle >> 63)))
        numbers.append(float(radius * mpmath.sinpi(share[0]) * (-1)**(angle >> 62 & 1)))
    return np.array(numbers[:count])


def bit_flip(x, f, flips, seed, round_):
    h, d = x.shape
    words = make_rules.philox(seed, 2**42 + round_, 4 * f * flips)
    rows = np.array([x[k % h] for k in range(f)]).view(np.uint64)
    for k in range(f):
        for i in range(flips):
            a, b, c, _ = words[4 * (k * flips + i):][:4]
            at = (a | b << 32) * d >> 64
            rows[k, at] ^= np.uint64(1 << (52 + (c * 11 >> 32)))
    return rows.view(np.float64)


def data(rng):
    cases = {}
    for h, d in ((1, 1), (1, 4), (2, 3), (3, 1), (7, 5), (12, 2)):
        cases[f"normal {h} x {d}"] = rng.normal(size=(h, d)) + 0.5
    cases["equal"] = np.full((4, 3), 0.1)
    cases["zero"] = np.zeros((3, 2))
    cases["huge"] = np.array([[1e300, 1.7e308, -1.7e308], [-1e300, -1.7e308, -1.7e308], [3e300, 1.7e308, 1e-300]])
    cases["tiny"] = np.array([[1e-300, 4e-310], [3e-300, -2e-310], [-2e-300, 1e-310], [0, 0]])
    x = rng.normal(size=(6, 3))
    x[1] = np.nan
    x[4, 2] = np.inf
    x[5, 0] = -np.inf
    cases["not finite"] = x
    return cases


def results(name, x):
    """(text, f, round, text of the rule against it, rows)."""
    h, d = x.shape
    for f in (1, 2, 5):
        def same(row):
            return np.array(f * [row])
        yield "sign-flip", f, 0, None, same(ipm(x, 1))
        for strength in (0.5, 10, 1e10):
            yield f"ipm:strength={strength}", f, 0, None, same(ipm(x, strength))
        for strength in (0.3, 1.5, 1e10):
            yield f"alie:strength={strength}", f, 0, None, same(alie(x, strength))
        yield "alie", f, 0, None, same(alie(x, majority_strength(h, f)))
        yield "gaussian", f, 0, None, 200 * normal(0, 2**41, f * d).reshape(f, d)
        yield "gaussian:strength=0.1:seed=7", f, 3, None, 0.1 * normal(7, 2**41 + 3, f * d).reshape(f, d)
        yield "constant", f, 0, None, np.full((f, d), 100.0)
        yield "constant:strength=-1e300", f, 0, None, np.full((f, d), -1e300)
        yield "nan", f, 0, None, np.full((f, d), np.nan)
        yield "inf", f, 0, None, np.full((f, d), np.inf)
        yield f"mimic:row={h - 1}", f, 0, None, same(x[-1])
        yield "bit-flip", f, 0, None, bit_flip(x, f, 1, 0, 0)
        yield "bit-flip:flips=3:seed=9007199254740", f, 5, None, bit_flip(x, f, 3, 9007199254740, 5)
        yield "silent", f, 0, None, np.zeros((0, d))
    if not name.startswith("normal") or h < 7:
        return
    for f in (1, 2, 3, h - 2):
        n = h + f
        rules = {"mean": make_rules.mean, "median": make_rules.median}
        for rule in ("trimmed-mean", "meamed", "monna"):
            if 2 * f < n:
                function = getattr(make_rules, rule.replace("-", "_"))
                rules[f"{rule}:f={f}"] = lambda y, function=function, f=f: function(y, f)
        if 2 * f + 2 < n:
            rules[f"krum:f={f}"] = lambda y, f=f: make_rules.krum(y, f)
            rules[f"nnm+median:f={f}"] = lambda y, f=f: make_rules.median(make_rules.nnm(y, f))
        for rule, function in rules.items():
            for attack, lie in (("alie", alie), ("ipm", ipm)):
                strength, distance = optimal(lie, x, f, function)
                rows = np.array(f * [lie(x, strength)])
                yield f"{attack}:strength=optimal", f, 0, (rule, strength, distance), rows


def number(x):
    return x if math.isfinite(x) else str(x)  # JSON has no others


def main():
    rng = np.random.default_rng(1406)
    out = []
    for name, x in data(rng).items():
        entry = {"name": name, "x": [[number(v) for v in row] for row in x.tolist()], "results": []}
        for text, f, round_, against, rows in results(name, x):
            one = {"attack": text, "f": f, "round": round_, "rows": [[number(v) for v in row] for row in rows.tolist()]}
            if against is not None:
                one["against"], one["strength"], one["distance"] = against
            entry["results"].append(one)
        out.append(entry)
    print(json.dumps(out, indent=None, separators=(",", ":")).replace('{"attack"', '\n{"attack"'))


if __name__ == "__main__":
    main()
