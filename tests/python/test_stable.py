"""medgrad.Stable with the calls of scipy.stats; tails and theory."""
import copy
import math
import pickle

import medgrad
import numpy as np
import pytest
from scipy import integrate, stats


@pytest.mark.parametrize("alpha, beta", [(2.0, 0.0), (1.5, 0.0), (1.5, 0.5), (1.2, -0.7), (0.7, 0.3), (1.0, 0.0)])
def test_agrees_with_scipy_where_that_is_right(alpha, beta):
    x = np.array([-3.0, -1.0, 0.1, 0.5, 2.0, 4.0])
    ours = medgrad.Stable(alpha, beta, scale=1.7, location=0.3, form="S1")
    stats.levy_stable.parameterization = "S1"
    theirs = stats.levy_stable(alpha, beta, loc=0.3, scale=1.7)
    assert np.allclose(ours.pdf(x), theirs.pdf(x), rtol=1e-6)
    assert np.allclose(ours.cdf(x), theirs.cdf(x), rtol=1e-6)


@pytest.mark.parametrize("alpha, beta", [(2.0, 0.0), (1.5, 0.0), (1.5, 0.5), (1.2, -0.7), (0.7, 0.3)])
def test_moments_and_intervals_are_scipys(alpha, beta):
    law, theirs = medgrad.Stable(alpha, beta, 2.0, 3.0, form="S1"), stats.levy_stable(alpha, beta, 3.0, 2.0)
    assert np.allclose([law.mean(), law.var(), law.std()], [theirs.mean(), theirs.var(), theirs.std()], equal_nan=True)
    x = np.linspace(-5, 9, 15)
    assert np.allclose(law.logcdf(x), theirs.logcdf(x), rtol=1e-6) and np.allclose(law.logsf(x), theirs.logsf(x), rtol=1e-6)
    lower, upper = law.interval(0.9)
    assert np.isclose(law.cdf(lower), 0.05) and np.isclose(law.sf(upper), 0.05) and np.isclose(law.cdf(law.median()), 0.5)
    assert np.isclose(law.to("S0").mean(), law.mean(), equal_nan=True)


def test_logarithms_and_moments_of_many_laws():
    cauchy = medgrad.Stable(1.0)
    x = np.array([-1e200, 0.0, 1e200])
    assert np.allclose(cauchy.logcdf(x), [-math.log(math.pi * 1e200), math.log(0.5), -1 / (math.pi * 1e200)], rtol=1e-12)
    assert np.array_equal(cauchy.logsf(x), cauchy.logcdf(-x)) and medgrad.Stable(2.0).logcdf(-100.0) == -math.inf
    laws = medgrad.Stable([2.0, 1.5, 0.5, 0.5], [0.0, 0.5, 1.0, 0.0], 3.0, form="S1")
    assert np.array_equal(laws.mean(), [0, 0, np.inf, np.nan], equal_nan=True)
    assert np.array_equal(laws.var(), [18, np.inf, np.inf, np.inf]) and laws.median().shape == (4,)
    assert np.array_equal(laws.interval(0.5)[1], laws.ppf(0.75))


@pytest.mark.parametrize("form", ["S0", "S1"])
@pytest.mark.parametrize("alpha, beta", [(1.3, -0.5), (1.5, 0.5), (1.7, 0.9), (1.9, 0.5), (1.9, -0.1)])
def test_the_middle_of_skewed_laws(alpha, beta, form):
    """Where scipy 1.10 is wrong. f(x) = Re (1/pi) int_0^inf exp(-ixt - A t^alpha) dt in S1, A = 1 - i beta tan(pi alpha/2): by
    quadrature, and as sum over k of (-ix)^k / k! Gamma((k+1)/alpha) / alpha A^(-(k+1)/alpha)."""
    a = 1 - 1j * beta * math.tan(math.pi * alpha / 2)
    middle = a.imag if form == "S0" else 0.0
    for x in (-0.05, -0.004, 0.0, 1e-9, 0.004, 0.05):
        f = medgrad.Stable(alpha, beta, form=form).pdf(middle + x)
        x = middle + x - middle  # as it was rounded
        terms = [(-1j * x) ** k / math.factorial(k) * math.gamma((k + 1) / alpha) / alpha * a ** (-(k + 1) / alpha) for k in range(25)]
        assert f == pytest.approx(sum(terms).real / math.pi, rel=1e-11)
        by_quadrature, _ = integrate.quad(lambda t: math.exp(-t**alpha) * math.cos(x * t + a.imag * t**alpha), 0, np.inf, limit=400)
        assert f == pytest.approx(by_quadrature / math.pi, rel=1e-9)


def test_closed_forms_in_the_far_tails():
    x = np.array([1e-300, 1.0, 1e8, 1e200])
    assert np.allclose(medgrad.Stable(1.0).sf(x), stats.cauchy.sf(x), rtol=1e-11)
    assert np.allclose(medgrad.Stable(2.0).logpdf([0, 5, 60]), stats.norm(scale=math.sqrt(2)).logpdf([0, 5, 60]), rtol=1e-12)
    levy = medgrad.Stable(0.5, 1.0, form="S1")
    assert np.allclose(levy.pdf([0.1, 1, 100]), stats.levy.pdf([0.1, 1, 100]), rtol=1e-11)
    assert levy.support() == (0, math.inf)


def test_inverses_forms_and_broadcasting():
    law = medgrad.Stable(1.3, 0.4)
    q = np.array([1e-12, 0.2, 0.5, 0.99])
    assert np.allclose(law.cdf(law.ppf(q)), q, rtol=1e-9)
    assert np.allclose(law.sf(law.isf(q)), q, rtol=1e-9)
    assert np.allclose(law.to("S1").pdf([0.0, 1.0]), law.pdf([0.0, 1.0]), rtol=1e-12)
    many = medgrad.Stable(np.array([[1.1], [1.9]]), beta=[0, 0.5, 1])
    assert many.pdf(0.7).shape == (2, 3)
    assert many.pdf(0.7)[1, 2] == medgrad.Stable(1.9, 1).pdf(0.7)
    assert many.rvs((4, 2, 3), seed=1).shape == (4, 2, 3)
    assert isinstance(law.pdf(0.0), float)
    assert law.pdf(np.zeros((0, 2))).shape == (0, 2)


def test_samples_are_those_of_the_command_and_of_any_thread_count(tmp_path):
    import subprocess

    from conftest import COMMAND
    out = tmp_path / "s.npy"
    subprocess.run([COMMAND, "noise", "sample", "--alpha", "1.5", "-n", "1000", "--seed", "7", "--out", out, "--quiet"],
                   check=True)
    law = medgrad.Stable(1.5)
    assert np.array_equal(law.rvs(1000, seed=7), np.load(out).ravel())
    assert np.array_equal(law.rvs(300_000, seed=7, threads=1), law.rvs(300_000, seed=7, threads=3))
    assert law.rvs(5, seed=1, dtype=np.float32).dtype == np.float32
    assert not np.array_equal(law.rvs(5), law.rvs(5))


def test_streams_of_arrays_of_laws_do_not_overlap():
    laws, one = medgrad.Stable([1.5, 1.7]), medgrad.Stable(1.5)
    first, second = (laws.rvs((1000, 2), seed=7, stream=k) for k in (0, 1))
    uniform = [np.concatenate([medgrad.Stable(a).cdf(x[:, k]) for k, a in enumerate((1.5, 1.7))]) for x in (first, second)]
    together = np.concatenate(uniform)  # what the numbers were made of, whatever the law: none twice
    assert len(np.unique(together.round(9))) > 3990  # of 4000; two of a thousand million places meet by chance
    assert np.array_equal(first[:, 0], one.rvs(1000, seed=7))
    assert np.array_equal(medgrad.Stable([1.5]).rvs((1000, 1), seed=7)[:, 0], one.rvs(1000, seed=7))
    # Each law has its numbers: an independent count of those below its quartiles, 250 of 1000 with a deviation of 14.
    for k, a in enumerate((1.5, 1.7)):
        assert abs((first[:, k] < medgrad.Stable(a).ppf(0.25)).sum() - 250) < 70
    assert laws.rvs((3, 2), seed=1, dtype=np.float32).dtype == np.float32


def test_a_law_can_be_copied_and_pickled_and_not_changed():
    x = np.array([-1.0, 0.5, 3.0])
    for law in (medgrad.Stable(1.5, 0.3, 2.0, 1.0, form="S1"), medgrad.Stable([[1.1], [1.9]], beta=[0, 0.5, 1]),
                medgrad.Stable.fit(medgrad.Stable(1.5).rvs(200, seed=1), "quantiles")):
        for other in (copy.copy(law), copy.deepcopy(law), pickle.loads(pickle.dumps(law))):
            assert np.array_equal(other.pdf(x), law.pdf(x))
            assert np.array_equal(other.rvs((4, 2, 3), seed=2), law.rvs((4, 2, 3), seed=2))
            assert repr(other) == repr(law) and getattr(other, "intervals", None) == getattr(law, "intervals", None)
        for name in ("alpha", "beta", "scale", "location", "form"):
            with pytest.raises(AttributeError):
                setattr(law, name, 1.2)
    given = np.array([1.5, 1.7])
    law = medgrad.Stable(given)
    before = law.pdf(0.0)
    given[0] = 0.7
    assert law.alpha[0] == 1.5 and np.array_equal(law.pdf(0.0), before)
    with pytest.raises(ValueError):
        law.alpha[0] = 0.7


def test_laws_of_the_same_parameters_are_equal():
    law = medgrad.Stable(1.5, 0.3, 2.0, -1.0)
    assert law == medgrad.Stable(1.5, 0.3, 2, -1) == pickle.loads(pickle.dumps(law)) and law != medgrad.Stable(1.5, 0.3, 2.0, -1.0, "S1")
    assert len({law, medgrad.Stable(1.5, 0.3, 2.0, -1.0), medgrad.Stable(1.4)}) == 2
    assert medgrad.Stable([1.0, 1.5]) == medgrad.Stable([1, 1.5]) != medgrad.Stable([[1.0, 1.5]]) and medgrad.Stable(1.5, -0.0) == medgrad.Stable(1.5) and law != 1.5


def test_many_laws_at_once():
    """Every entry is that of its own law, wherever equal ones are."""
    r = np.random.default_rng(0)
    alpha, beta = r.choice([1.1, 1.5, 1.9], (40, 1)), r.choice([-0.5, 0.5], 30)
    x = r.normal(size=(40, 30))
    found = medgrad.Stable(alpha, beta).cdf(x)
    for i, j in ((0, 0), (7, 11), (39, 29)):
        assert found[i, j] == medgrad.Stable(alpha[i, 0], beta[j]).cdf(x[i, j])
    lower, upper = medgrad.Stable([0.5, 1.5, 0.5], [1.0, 1.0, -1.0], form="S1").support()
    assert lower.tolist() == [0, -math.inf, -math.inf] and upper.tolist() == [math.inf, math.inf, 0]
    shifted = medgrad.Stable([1.5, 0.8], 0.5).to("S1")
    assert shifted.location[1] == medgrad.Stable(0.8, 0.5).to("S1").location
    assert medgrad.Stable([]).pdf(1.0).shape == (0,)


def test_missing_probabilities_and_random_states():
    law = medgrad.Stable(1.5)
    assert np.isnan(law.ppf([np.nan, 0.5])).tolist() == [True, False] and np.isnan(law.isf(np.nan))
    q = [-0.1, 0.0, 0.5, 1.0, 1.1, np.inf]
    for laws, theirs in ((law, stats.levy_stable(1.5, 0)), (medgrad.Stable([2.0, 2.0], 0.0, np.sqrt(0.5)), stats.norm())):
        for name in ("ppf", "isf"):
            found = getattr(laws, name)(np.reshape(q, (6, 1)))
            expected = getattr(theirs, name)(np.reshape(q, (6, 1)))
            assert np.allclose(found, np.broadcast_to(expected, found.shape), atol=1e-9, equal_nan=True), name
    assert np.array_equal(law.rvs(5, random_state=7), law.rvs(5, seed=7))
    for make in (np.random.default_rng, np.random.RandomState):
        state = make(3)
        one, two = law.rvs(5, random_state=state), law.rvs(5, random_state=state)
        assert np.array_equal(law.rvs(5, random_state=make(3)), one) and not np.array_equal(one, two)


def test_fit_and_tail_index():
    x = medgrad.Stable(1.4, 0.3, 2.0, 1.0).rvs(20_000, seed=3)
    best = medgrad.Stable.fit(x)
    assert abs(best.alpha - 1.4) < 0.05 and best.logpdf(x, tolerance=1e-9).sum() > medgrad.Stable.fit(x, "quantiles").logpdf(x).sum()
    with pytest.raises(ValueError, match="method is 'moments'"):
        medgrad.Stable.fit(x, "moments")
    for method in ("cf", "koutrouvelis", "kogon-williams", "quantiles"):
        other, mirror = medgrad.Stable.fit(x, method), medgrad.Stable.fit(-x, method)
        assert abs(other.alpha - best.alpha) < 5 * other.errors["alpha"], method
        assert (mirror.alpha, mirror.beta, mirror.location) == (other.alpha, -other.beta, -other.location), method
    assert medgrad.Stable.fit(-x).beta == -best.beta
    points = np.linspace(-50, 50, 5).reshape(5, 1)
    assert np.allclose(best.pdf(points, tolerance=1e-10), best.pdf(points), rtol=2e-10, atol=0)
    with pytest.raises(ValueError, match="tolerance is 0; it must satisfy 1e-12 <= tolerance <= 0.1"):
        best.pdf(points, tolerance=0)
    fit = medgrad.Stable.fit(x, "quantiles")
    assert abs(fit.alpha - 1.4) < 0.06 and abs(fit.scale - 2) < 0.1
    assert fit.intervals["alpha"][0] < 1.4 < fit.intervals["alpha"][1]
    # Far out on the light side the density is smaller than any number.
    assert medgrad.Stable(1.5, 1.0).pdf(np.array([-60.0, -1e5]), tolerance=1e-10).tolist() == [0.0, 0.0]
    # Below where alpha is looked for no error is known.
    low = medgrad.Stable.fit(medgrad.Stable(0.12).rvs(200, seed=3))
    assert low.alpha == 0.2 and math.isnan(low.errors["alpha"]) and low.intervals["alpha"] == (0.0, 2.0)
    found = medgrad.tail_index(x)
    assert found["no_tail_index"] == []
    for estimator in ("moment", "hill"):
        one = found["tails"]["both"][estimator]
        assert one["interval"][0] < one["xi"] < one["interval"][1], estimator
    assert found["verdict"].startswith("Neither mean nor median is safe") and found["skewed"]
    assert found["infinite_variance"] == "yes" and found["stable_fits"] and found["quantiles"]["alpha"] == fit.alpha
    assert found["interval"][0] < 1.4 < found["interval"][1] and found["tails"]["both"]["xi"] > 0.5
    # Every answer is there, also where half of the numbers are one, or infinite.
    half = np.where(np.arange(500) < 300, 0.0, np.random.default_rng(1).standard_normal(500))
    for odd in (half, np.where(half == 0, np.inf, half)):
        found = medgrad.tail_index(odd)
        assert {"advice", "bias", "infinite_variance", "interval", "mean_squared_errors", "p_value", "skewed", "stable_fits",
                "tail_index", "tails"} <= set(found)
        assert (found["stable_fits"], found["p_value"]) == (False, 0)  # no stable law is like that
        assert found["no_tail_index"] == ["quantiles", "log_moment"]
    assert found["infinite_variance"] == "yes" and found["advice"] == "unclear"
    rows = medgrad.tail_index(np.random.default_rng(0).standard_normal((300, 20)))
    assert rows["better_median"] == "geometric" and rows["mean_squared_errors"]["geometric_median"] > 0
    assert {"quantiles", "hill", "log_moment", "verdict"} <= set(rows) and set(rows["tails"]) >= {"directions", "norms"}
    assert (rows["infinite_variance"], rows["advice"]) == ("no", "mean")
    heavy = np.random.default_rng(0).standard_normal((300, 5))
    heavy[:, 3] = np.random.default_rng(1).standard_cauchy(300)
    components = medgrad.tail_index(heavy)["components"]
    assert components[0]["index"] == 3 and components[0]["interval"][0] < 1 < components[0]["interval"][1] and len(components) == 5
    with pytest.raises(ValueError, match="batch is 0"):
        medgrad.tail_index(x, batch=0)
    # The p-value by samples of the fitted law, whatever the threads, is near that of the law of large samples: its standard error is
    # sqrt(p (1 - p) / 199) < 0.036, and p counts twice where there is a second test of the tail.
    simulated = medgrad.tail_index(x, bootstrap=199)
    assert simulated["p_value"] == medgrad.tail_index(x, bootstrap=199, threads=1)["p_value"]
    assert abs(simulated["p_value"] - medgrad.tail_index(x)["p_value"]) < 0.3
    with pytest.raises(ValueError, match="bootstrap is 9; it is for numbers"):
        medgrad.tail_index(np.zeros((30, 2)), bootstrap=9)


def test_what_is_not_finite_is_left_out_and_counted():
    x = medgrad.Stable(1.6).rvs(300, seed=5)
    odd = np.concatenate([x[:100], [np.nan] * 30, x[100:], [np.inf, -np.inf]])
    for method in ("ml", "cf", "quantiles"):
        law, clean = medgrad.Stable.fit(odd, method), medgrad.Stable.fit(x, method)
        assert (law.nan, law.inf, clean.nan, clean.inf) == (30, 2, 0, 0) and clean.n == 300
        assert law.n == (300 if method == "ml" else 302) and law.alpha == pytest.approx(clean.alpha, rel=1e-5 if method == "ml" else 0.05)
    found = medgrad.fit_student(odd)
    assert (found["n"], found["nan"], found["inf"]) == (300, 30, 2)
    assert found["degrees"] == pytest.approx(medgrad.fit_student(x)["degrees"], rel=1e-5)
    excesses = medgrad.fit_generalised_pareto(np.append(np.abs(x), np.nan))
    assert (excesses["n"], excesses["nan"], excesses["inf"]) == (300, 1, 0)
    found = medgrad.tail_index(odd)
    assert (found["nan"], found["inf"], found["infinite_variance"]) == (30, 2, "yes")
    rows = np.float32(odd[:330].reshape(110, 3))
    assert {name: medgrad.tail_index(rows)[name] for name in ("nan", "inf")} == {"nan": 30, "inf": 0}


def test_scores_and_tail_moments():
    x = np.array([[-2.0, 0.5], [3.0, 40.0]])
    normal = medgrad.Stable(2.0, scale=3.0, location=1.0)  # N(1, 18)
    scores = normal.scores(x)
    assert np.allclose(scores["x"], -(x - 1) / 18, rtol=1e-9) and np.allclose(scores["xx"], -1 / 18, rtol=1e-7)
    assert np.allclose(scores["scale"], ((x - 1) ** 2 / 18 - 1) / 3, rtol=1e-9) and np.all(scores["beta"] == 0)
    assert np.array_equal(scores["logpdf"], normal.logpdf(x)) and isinstance(normal.scores(0.0)["alpha"], float)
    law = medgrad.Stable(1.6, 0.5)
    h = 1e-4
    slope = (medgrad.Stable(1.6 + h, 0.5).logpdf(x) - medgrad.Stable(1.6 - h, 0.5).logpdf(x)) / (2 * h)
    assert np.allclose(law.scores(x)["alpha"], slope, atol=1e-5)
    # Against the quantiles: the mean of the largest tenth.
    q = (np.arange(200_000) + 0.5) / 200_000
    normal_tail = normal.isf(q * 0.1).mean()
    assert normal.expected_shortfall(0.1) == pytest.approx(normal_tail, rel=1e-4)
    assert normal.expected_shortfall([0.1, 0.2], tail="left").shape == (2,)
    assert law.tail_moment(0.3) - law.tail_moment(0.3, tail="left") == pytest.approx(law.to("S1").location - 0.3)
    assert law.tail_moment(0.0, p=1.7) == math.inf and medgrad.Stable(1.0).absolute_moment(0.5) == pytest.approx(math.sqrt(2))
    with pytest.raises(ValueError, match="tail is 'up'; it must be left or right"):
        law.expected_shortfall(0.1, tail="up")
    with pytest.raises(ValueError, match="for one law"):
        medgrad.Stable([1.5, 1.6]).scores(1.0)


def test_other_laws_with_heavy_tails():
    r = np.random.default_rng(3)
    x = 2 + 3 * r.standard_t(4, 5000)
    ours = medgrad.fit_student(x)
    theirs = stats.t.fit(x)
    assert (ours["degrees"], ours["location"], ours["scale"]) == pytest.approx(theirs, rel=2e-3)
    assert ours["intervals"]["degrees"][0] < 4 < ours["intervals"]["degrees"][1]
    y = 5 * r.pareto(2.0, 5000)
    found = medgrad.fit_generalised_pareto(y)
    shape, _, scale = stats.genpareto.fit(y, floc=0)
    assert (found["xi"], found["sigma"]) == pytest.approx((shape, scale), rel=2e-3) and found["p_value"] > 0.01
    with pytest.raises(ValueError, match="must not be negative"):
        medgrad.fit_generalised_pareto(-y)


def test_elliptical_laws():
    x = np.random.default_rng(1).multivariate_normal([1.0, 2.0], [[4.0, 1.0], [1.0, 2.0]], 2000)
    x = [1.0, 2.0] + (x - [1.0, 2.0]) / np.abs(np.random.default_rng(2).standard_normal((2000, 1)))  # Cauchy in two dimensions
    fit = medgrad.fit_elliptical(x)
    assert abs(fit["alpha"] - 1) < 4 * fit["error"] and np.allclose(fit["shape"], [[4, 1], [1, 2]], atol=0.6)
    inverse = np.linalg.inv([[4, 1], [1, 2]])
    squares = np.einsum("ni,ij,nj->n", x - [1, 2], inverse, x - [1, 2])
    exact = -np.log(2 * np.pi) - 1.5 * np.log1p(squares) - np.log(7) / 2
    assert np.allclose(medgrad.elliptical_logpdf(x, 1.0, [1.0, 2.0], [[4.0, 1.0], [1.0, 2.0]]), exact, rtol=1e-8)
    with pytest.raises(ValueError, match="two, n rows"):
        medgrad.fit_elliptical(x[:, 0])
    with pytest.raises(ValueError, match="shapes"):
        medgrad.elliptical_logpdf(x, 1.0, [1.0], [[1.0]])


def test_theory():
    assert medgrad.theory.C_n(2, 1) == pytest.approx(2)
    assert medgrad.theory.C_n(1.1, 1) == math.inf and medgrad.theory.smallest_n(1.1) == 3
    moments = medgrad.theory.median_moments(1.5, [1, 3, 5])
    assert [one["n"] for one in moments] == [1, 3, 5] and moments[1]["C_n"] == medgrad.theory.C_n(1.5, 3)
    best = medgrad.theory.spp(G=1, distance=1, T=99)
    assert best["tau_best"] == pytest.approx(0.1) and best["bound"] == pytest.approx(best["bound_best"])
    with pytest.raises(ValueError, match="alpha"):
        medgrad.theory.C_n(3, 1)
    for call, sentence in ((lambda: medgrad.theory.C_n(1.1, 2.5), "n is 2.5; it must be a whole number."),
                           (lambda: medgrad.theory.smooth(L="x", gap=1, T=9), "L is 'x'; it must be a number.")):
        with pytest.raises(TypeError, match=sentence):
            call()
    with pytest.raises(ValueError, match="form is 'S2'"):
        medgrad.theory.median_moments(1.5, [3], form="S2")


@pytest.mark.parametrize("call, sentence", [
    (lambda: medgrad.Stable(3), "alpha is 3; it must satisfy 0 < alpha <= 2."),
    (lambda: medgrad.Stable(1.5, form="S2"), "form"),
    (lambda: medgrad.Stable(1.5).to("S2"), "form is 'S2'"),
    (lambda: medgrad.Stable(0.05).pdf(1.0), "alpha"),
    (lambda: medgrad.Stable(1.5).expected_shortfall(1.5), "1.5"),
    (lambda: medgrad.Stable.fit(np.ones(5)), "20"),
    (lambda: medgrad.Stable(1.5).interval(95), "confidence is 95.0; it must be from 0 to 1."),
    (lambda: medgrad.tail_index(np.zeros((3, 4, 5))), "x has 3 axes"),
])
def test_mistakes(call, sentence):
    with pytest.raises(ValueError) as told:
        call()
    assert sentence in str(told.value)


def test_reference_values_at_the_edges():
    import json
    import pathlib
    golden = json.loads((pathlib.Path(__file__).parents[1] / "golden/stable_edges.json").read_text(encoding="utf-8"))["points"]
    for point in golden[::20]:
        law = medgrad.Stable(point["alpha"], point["beta"], form=point["form"])
        for name, key in (("pdf", "log_pdf"), ("cdf", "log_cdf"), ("sf", "log_sf")):
            if point[key] is not None and point[key] > -700:
                assert getattr(law, name)(point["x"]) == pytest.approx(math.exp(point[key]), rel=1e-8), (point, name)
