#!/usr/bin/env python3
"""Reference values of stable laws at the edges of the parameter space: writes stable_edges.json.

Nothing here is Zolotarev's integral, which the library uses. Three methods, in 60 digits or more:

  series   far out: sum over n of Gamma(n alpha + 1) / n! sin(n psi) (|A| / z^alpha)^n, convergent for
           alpha < 1, asymptotic for alpha > 1 and then taken only where its smallest term vanishes;
  ray      f and P(X > x) as Fourier integrals of the characteristic function (Gil-Pelaez) along a
           ray t = s e^{-i theta}, by the trapezoidal rule in log s;
  saddle   the light tails of beta = 1: Laplace inversion on a contour through the saddle point.

An integral counts only if halving the step leaves it as it is to 1e-14.
The parameters are the doubles that are written, taken exactly.
"""
import json
import os
import sys

import mpmath as mp

ALPHAS = [0.1, 0.2, 0.5, 0.9, 0.99, 0.999999, 1.0, 1.000001, 1.01, 1.1, 1.5, 1.9, 1.99, 1.9999, 2.0]
BETAS = [-1.0, -0.5, 0.0, 0.001, 0.3, 0.999, 1.0]
XS = [0.0, 0.05, 0.7, -1.3, 4.0, -9.0, 60.0, -2000.0, 1e6, -1e6, 1e8, 1e12, 1e100, -1e100]


class NotReached(Exception):
    pass


class Law:
    """exp(-A t^alpha - i t z), t > 0; at alpha = 1: exp(-t - i beta (2/pi) t log t - i t x)."""

    def __init__(self, alpha, beta):
        self.a, self.b = mp.mpf(alpha), mp.mpf(beta)
        if self.a == 1:
            self.zeta = mp.mpf(0)
            return
        tangent = mp.mpf(0) if self.a == 2 else mp.tan(mp.pi * self.a / 2)
        self.zeta = -self.b * tangent
        self.A = mp.mpc(1, self.zeta)
        self.phi = mp.atan(-self.zeta)

    def exponent(self, t, log_t, z):
        if self.a == 1:
            return -t - 1j * self.b * (2 / mp.pi) * t * log_t - 1j * t * z
        return -self.A * mp.exp(self.a * log_t) - 1j * t * z


def series(law, z):
    """(pdf, survival) for z > 0."""
    a, y, psi = law.a, abs(law.A) * mp.power(z, -law.a), mp.pi * law.a / 2 + law.phi
    if a < 1 and (mp.power(y, 1 / (1 - a)) > 300 or y > 1e4):
        raise NotReached
    if abs(mp.sin(psi)) < mp.mpf(10) ** -30:  # a light tail has no such series
        raise NotReached
    pdf = sf = mp.mpf(0)
    power, size = mp.mpf(1), mp.inf
    for n in range(1, 6000):
        power *= -y / n
        term = -mp.gamma(n * a + 1) * power / mp.pi
        if a > 1 and abs(term) > size:
            raise NotReached
        size = abs(term)
        pdf += term * mp.sin(n * psi) / z
        sf += term * mp.sin(n * psi) / (n * a)
        if size < mp.mpf(10) ** (-20) * abs(sf) and size < 1e-20 * abs(pdf) * z:
            return pdf, sf
    raise NotReached


def trapezoid(f, left, right, h0):
    """The vector-valued f over [left, right], where it vanishes at both ends."""
    h, total, old = h0, None, None
    for level in range(7):
        if level == 0:
            nodes = mp.arange(left, right, h)
        else:
            nodes = mp.arange(left + h / 2, right, h)
            h = h / 2
        part = [mp.mpf(0), mp.mpf(0)]
        for v in nodes:
            p, q = f(v)
            part[0] += p
            part[1] += q
        total = part if total is None else [total[i] + part[i] for i in (0, 1)]
        new = [h * s for s in total]
        if old and all(abs(new[i] - old[i]) <= mp.mpf(10) ** -28 + 1e-14 * abs(new[i]) * 1e-3 for i in (0, 1)):
            return new
        old = new
    raise NotReached


def ray(law, z, x):
    """(pdf, survival); theta so that the characteristic function decays along the ray."""
    if abs(law.a - 1) < 0.05:
        theta = mp.mpf("0.4") if x > 0 else mp.mpf(0)
        if x <= 3 and law.b < 0:
            theta = mp.mpf(0)
    else:
        theta = max(mp.mpf(0), min(mp.pi / 2, (mp.mpf("0.35") * mp.pi - law.phi) / law.a))
    turn = mp.exp(-1j * theta)

    def log_size(v):
        s = mp.exp(v)
        return mp.re(law.exponent(s * turn, v - 1j * theta, z)) + v

    right = mp.mpf(-60)
    while True:  # the first place after which the integrand has vanished
        right += mp.mpf("0.1")
        if log_size(right) < -90 and log_size(right + mp.mpf("0.3")) < log_size(right):
            break
        if right > 800:
            raise NotReached

    def f(v):
        s = mp.exp(v)
        t = s * turn
        e = mp.exp(law.exponent(t, v - 1j * theta, z))
        return mp.re(e * t), mp.im(e)

    left = -mp.mpf(75) / min(mp.mpf(1), law.a) - mp.log(1 + abs(x))
    h = mp.mpf("0.2") / min(mp.mpf(1), max(law.a, mp.mpf("0.3")))
    pdf, sf = trapezoid(f, left, right, h)
    pdf, sf = pdf / mp.pi, mp.mpf(1) / 2 - theta / mp.pi + sf / mp.pi
    if not (pdf > 1e-12 and sf > 1e-12):
        raise NotReached
    return pdf, sf


def saddle(law, energy, form):
    """A point (rounded to a double in its form) in the light left tail of beta = 1 with its values."""
    a = law.a
    if a == 1:
        scale = energy * mp.pi / 2
        z = -(2 / mp.pi) * (mp.log(scale) + 1)
    else:
        sec = 1 / mp.cos(mp.pi * a / 2)
        scale = mp.power(energy / (sec * (1 - a)), 1 / a)
        z = a * sec * mp.power(scale, a - 1)
    x = float(z + law.zeta) if form == "S0" else float(z)
    z = mp.mpf(x) - law.zeta if form == "S0" else mp.mpf(x)
    if a == 1:
        lam = mp.exp(-z * mp.pi / 2 - 1)
    else:
        lam = mp.power(z / (a * sec), 1 / (a - 1))
    tilt = mp.mpf("0.5") if a < mp.mpf("0.95") else mp.mpf(0)

    def exponent(s):
        if a == 1:
            return s * z + (2 / mp.pi) * s * mp.log(s)
        return s * z - sec * mp.exp(a * mp.log(s))

    top = exponent(lam)
    # lam (1 + (sin(i v - tilt) + sin(tilt)) / cos(tilt)): a hyperbola through the saddle
    def f(v):
        s = lam * (1 + (mp.sin(mp.mpc(-tilt, v)) + mp.sin(tilt)) / mp.cos(tilt))
        ds = lam * mp.cos(mp.mpc(-tilt, v)) / mp.cos(tilt)  # times i
        e = mp.exp(exponent(s) - top) * ds
        return mp.re(e) / lam, mp.re(e / s)

    right = mp.mpf(1)
    while sum(abs(p) for p in f(right)) > mp.mpf(10) ** -35:
        right += mp.mpf("0.25")
        if right > 60:
            raise NotReached
    pdf, cdf = trapezoid(f, -right, right, right / 40)
    rest = mp.log(mp.pi * 2)
    return x, top + mp.log(pdf) + mp.log(lam) - rest, top + mp.log(cdf) - rest


def values(alpha, beta, x, form):
    """(method, log pdf, log P(X <= x), log P(X > x))"""
    law = Law(alpha, beta)
    z = mp.mpf(x) - law.zeta if form == "S0" else mp.mpf(x)
    x0 = z + law.zeta
    if alpha == 2:
        q = mp.erfc(abs(z) / 2) / 2
        log_q, log_p = mp.log(q), mp.log1p(-q)
        pair = (log_p, log_q) if z > 0 else (log_q, log_p)
        return "gauss", -z * z / 4 - mp.log(4 * mp.pi) / 2, *pair
    flip = z < 0 if alpha < 0.95 else x0 < 0
    if flip:
        law, z, x0 = Law(alpha, -beta), -z, -x0
    method = "series"
    try:
        if alpha == 1 and x0 > 1e50:  # the next term is smaller by log(x) / x
            if beta == (1 if flip else -1):
                raise NotReached
            pdf, sf = (1 + law.b) / (mp.pi * x0 * x0), (1 + law.b) / (mp.pi * x0)
        elif alpha == 1 or not z > 0:
            raise NotReached
        else:
            pdf, sf = series(law, z)
    except NotReached:
        method = "ray"
        if x0 > 1e7:
            raise
        pdf, sf = ray(law, z, x0)
    tails = (mp.log1p(-sf), mp.log(sf))
    return method, mp.log(pdf), *(tails[::-1] if flip else tails)


def main():
    mp.mp.dps = 60
    points, skipped = [], []
    alphas = [float(a) for a in sys.argv[1:]] or ALPHAS
    for alpha in alphas:
        form = "S0" if abs(alpha - 1) < 0.05 else "S1"
        for beta in BETAS:
            for x in XS:
                try:
                    method, *logs = values(alpha, beta, x, form)
                    if not all(mp.isfinite(v) for v in logs):
                        raise NotReached
                except (NotReached, ValueError, ZeroDivisionError):
                    skipped.append([alpha, beta, x])
                    continue
                row = dict(alpha=alpha, beta=beta, form=form, x=x, method=method)
                row.update(zip(("log_pdf", "log_cdf", "log_sf"), map(float, logs)))
                points.append(row)
            if abs(beta) == 1 and alpha < 2:
                for energy in (3, 40, 250, 680):
                    try:
                        x, log_pdf, log_cdf = saddle(Law(alpha, 1.0), mp.mpf(energy), form)
                    except NotReached:
                        skipped.append([alpha, beta, "energy %d" % energy])
                        continue
                    logs = (float(log_cdf), float(mp.log1p(-mp.exp(log_cdf))))
                    row = dict(alpha=alpha, beta=beta, form=form, x=x * beta, method="saddle")
                    row.update(log_pdf=float(log_pdf), log_cdf=logs[0 if beta > 0 else 1],
                               log_sf=logs[1 if beta > 0 else 0])
                    points.append(row)
        print(alpha, len(points), "points,", len(skipped), "skipped", file=sys.stderr, flush=True)
    folder = os.path.dirname(os.path.abspath(__file__))
    name = "stable_edges.json" if len(alphas) > 1 else "/tmp/stable_edges_%s.json" % alphas[0]
    with open(os.path.join(folder, name), "w") as out:
        out.write('{"about": "made by make_stable_edges.py", "points": [\n')
        out.write(",\n".join(json.dumps(p) for p in points) + "\n]}\n")
    print("skipped:", skipped, file=sys.stderr)


if __name__ == "__main__":
    main()
