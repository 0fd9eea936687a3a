// Measured rates against proven bounds: claims and figure (paper, section 5 and appendix B.5).
#include <algorithm>
#include <cmath>

#include "lab/experiments.h"
#include "lab/findings/lookup.h"
#include "medgrad/theory.h"

namespace medgrad::lab {
namespace {

constexpr double kAlpha = 1.1;
constexpr std::uint64_t kSamples = 5, kDimension = 10;

// One part: what is measured, and the bound at T steps.
struct Part {
  std::string_view name, metric, title, axis, claim;
  double (*bound)(double steps);
};

// 1/2 |w|^2 from ones, noise sqrt(1 + |w|^2) I zeta: |Sigma|_F^2 = d + d |w|^2, diagonal.
double smooth_bound(double steps) {
  const theory::StableNoise noise{.alpha = kAlpha,
                                  .n = kSamples,
                                  .d = kDimension,
                                  .c_1 = kDimension,
                                  .c_2 = kDimension,
                                  .diagonal = true};
  theory::Smooth problem{
      .L = 1, .gap = kDimension / 2.0, .noise = {}, .epsilon = 0, .T = 1, .eta = {}};
  problem.noise = theory::median_noise(noise).median;
  problem.T = static_cast<std::uint64_t>(steps);
  problem.eta = 0.00613 / std::sqrt(steps);
  return theory::bound(problem).bound;
}

// |w|_1 from ones: G = D = sqrt(d), noise I zeta.
double lipschitz_bound(double steps) {
  const theory::StableNoise noise{.alpha = kAlpha,
                                  .n = kSamples,
                                  .d = kDimension,
                                  .c_1 = kDimension,
                                  .c_2 = 0,
                                  .diagonal = true};
  const theory::BiasAndSpread spread = {.delta = 0,
                                        .sigma = theory::median_noise(noise).median.sigma_1};
  return theory::bound(theory::Lipschitz{.G = std::sqrt(kDimension),
                                         .D = std::sqrt(kDimension),
                                         .delta = spread.delta,
                                         .sigma = spread.sigma,
                                         .T = static_cast<std::uint64_t>(steps),
                                         .eta = 1 / std::sqrt(steps)})
      .bound;
}

// |.|_1 on R^d: G = sqrt(d); the target is standard normal, E|m_0 - m_*|^2 = d. The bound is linear
// in that.
double spp_bound(double steps) {
  return theory::bound(theory::ProximalPointRun{.G = std::sqrt(kDimension),
                                                .distance = std::sqrt(kDimension),
                                                .T = static_cast<std::uint64_t>(steps),
                                                .tau = 1 / std::sqrt(steps),
                                                .n = {}})
      .bound;
}

constexpr Part kParts[] = {
    {"smooth", "final_average_gradient_sq", "Smooth: ½|w|², noise √(1+|w|²) ζ", "mean of |∇f|²",
     "on a smooth function the mean of |grad f|^2 stays below its bound", smooth_bound},
    {"lipschitz", "final_averaged_objective", "Lipschitz: |w|₁, averaged iterate", "f(w̄) − inf f",
     "on a convex Lipschitz function f at the averaged iterate stays below its bound",
     lipschitz_bound},
    {"spp", "final_l1_excess", "SPP: averaged estimate, Cauchy noise", "E|m̄ − g|₁ − min",
     "the averaged estimate of the proximal point method stays below its bound", spp_bound}};

// The slope of log y over log x by least squares.
double slope(const std::vector<double>& x, const std::vector<double>& y) {
  double mx = 0, my = 0, xy = 0, xx = 0;
  const double n = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    mx += std::log(x[i]) / n;
    my += std::log(y[i]) / n;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (std::log(x[i]) - mx) * (std::log(y[i]) - my);
    xx += (std::log(x[i]) - mx) * (std::log(x[i]) - mx);
  }
  return xy / xx;
}

}  // namespace

void rates_findings(const Experiment&, Results& r) {
  Figure figure{
      .id = "rates",
      .title = "Measured against proven, as the number of steps grows",
      .caption =
          "Every point is a set of runs with its own T and the step size the theorem asks "
          "for. The bound is about the mean.",
      .columns = 3};
  for (const Part& part : kParts) {
    Series measured,
        bound{.name = "bound", .key = "bound", .style = SeriesStyle::dashed, .x = {}, .y = {}};
    for (const Group& group : r.groups) {
      if (group.metric != part.metric || group.axes.empty() ||
          to_text(group.axes.front().second) != part.name)
        continue;
      measured.name = group.method;
      measured.key = group.key;
      add_point(measured, number_on(group.axes, "steps"), group.last());
      bound.x.push_back(measured.x.back());
      bound.y.push_back(part.bound(measured.x.back()));
    }
    if (measured.x.size() < 2) {
      r.claims.push_back(undecided(std::string(part.claim)));
      continue;
    }
    double closest = 0;
    for (std::size_t i = 0; i < measured.x.size(); ++i)
      closest = std::max(closest, measured.y[i] / bound.y[i]);
    r.claims.push_back({std::string(part.claim), closest <= 1,
                        "at most " + show(closest) + " of the bound; it falls like T^" +
                            show(slope(measured.x, measured.y)) + ", the bound like T^" +
                            show(slope(bound.x, bound.y)) + "."});
    Panel panel{.id = std::string(part.name),
                .title = std::string(part.title),
                .x = {.label = "T", .log = true},
                .y = {.label = std::string(part.axis), .log = true}};
    panel.series = {std::move(measured), std::move(bound)};
    figure.panels.push_back(std::move(panel));
  }
  r.notes.emplace_back(
      "The bounds hold for the settings of the built-in experiment; where objective, noise, n or "
      "step size "
      "are changed, the dashed curves are still those.");
  if (!figure.panels.empty()) r.figures.push_back(std::move(figure));
}

}  // namespace medgrad::lab
