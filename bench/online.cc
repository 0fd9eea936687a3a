// How close the fused online steps come to what the memory can do.
//
// Words of traffic per component: CClip reads m, g, w and writes m, w (5), and where non-finite
// input is to be refused with m untouched, looks through g before (6); VClip has to read m and g
// once before for the norm (7), which settles that too. GB/s from these counts, divided by the best
// of the plain loops in the same process, says how much of the machine a step uses.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench.h"
#include "medgrad/estimator.h"
#include "medgrad/large_vector.h"
#include "plain.h"

namespace medgrad::bench {
namespace {

struct Contender {
  std::string name;
  double words;  // moved per component
  std::function<void()> run;
  std::vector<double> gigabytes_per_second = {};
};

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

template <class Vector>
Vector noise(std::size_t n, unsigned seed) {
  std::minstd_rand random(seed);
  std::uniform_real_distribution<typename Vector::value_type> uniform(-1, 1);
  Vector v(n);
  for (auto& x : v) x = uniform(random);
  return v;
}

}  // namespace

template <class Vector>
void online_steps(std::size_t n, int rounds) {
  using T = typename Vector::value_type;
  const Vector g = noise<Vector>(n, 1);
  Vector w = noise<Vector>(n, 2), a = noise<Vector>(n, 3), b = a, c = a;
  const auto estimator = [n](AnyDistance distance, double tau, NonFinite policy) {
    return OnlineEstimator<T>(ProximalPoint{std::move(distance), tau}, n,
                              {.start = Start::warm, .non_finite = policy, .average = false});
  };
  // The in-place loop goes over three arrays, as a step does: of a single one, a last-level cache
  // of hundreds of megabytes keeps much, and would make memory look faster than it is.
  //
  // tau is small against the increments, so that both clip in every round.
  const double small = 1e-3;
  std::vector<Contender> contenders = {
      {"in-place", 6,
       [&] {
         for (Vector* x : {&a, &b, &c}) in_place(x->data(), T(0.5), T(0.25), n);
       }},
      {"copy", 2, [&] { copy(g.data(), a.data(), n); }},
      {"triad", 3, [&] { triad(g.data(), w.data(), a.data(), T(0.5), n); }},
  };
  const std::size_t plain = contenders.size();
  std::vector<OnlineEstimator<T>> estimators;
  estimators.reserve(4);
  for (const NonFinite policy : {NonFinite::reject, NonFinite::robust}) {
    const std::string suffix = policy == NonFinite::reject ? " reject" : " robust";
    OnlineEstimator<T>& cclip = estimators.emplace_back(estimator(L1{}, small, policy));
    OnlineEstimator<T>& vclip = estimators.emplace_back(estimator(L2{}, small, policy));
    const double looks = policy == NonFinite::reject ? 1 : 0;
    contenders.push_back({"cclip" + suffix, 5 + looks, [&] { cclip.update_and_step(w, 1e-3, g); }});
    contenders.push_back({"vclip" + suffix, 7, [&] { vclip.update_and_step(w, 1e-3, g); }});
  }

  // For comparison only: the same traffic as CClip and VClip, without anything a step has to take
  // care of.
  Vector m(n);
  contenders.push_back({"cclip by hand", 5,
                        [&] { cclip_by_hand(m.data(), g.data(), w.data(), T(1e-3), T(1e-3), n); }});

  contenders.push_back({"vclip by hand", 7,
                        [&] { vclip_by_hand(m.data(), g.data(), w.data(), T(1e-3), T(1e-3), n); }});

  for (Contender& contender : contenders) contender.run();  // touches every page once
  for (int round = 0; round < rounds; ++round) {
    for (Contender& contender : contenders) {
      const double bytes = contender.words * static_cast<double>(n * sizeof(T));
      contender.gigabytes_per_second.push_back(bytes / seconds(contender.run) / 1e9);
    }
  }
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Contender& contender = contenders[i];
    std::printf(R"({"what": "%s", "type": "%s", "plain": %s, "best_gbs": %.3f, "median_gbs": %.3f})"
                "\n",
                contender.name.c_str(), sizeof(T) == 4 ? "float" : "double",
                i < plain ? "true" : "false",
                *std::max_element(contender.gigabytes_per_second.begin(),
                                  contender.gigabytes_per_second.end()),
                median(contender.gigabytes_per_second));
  }
}

template void online_steps<std::vector<float>>(std::size_t, int);
template void online_steps<std::vector<double>>(std::size_t, int);
template void online_steps<LargeVector<float>>(std::size_t, int);
template void online_steps<LargeVector<double>>(std::size_t, int);

}  // namespace medgrad::bench
