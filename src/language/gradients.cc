#include "language/gradients.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <istream>
#include <ostream>
#include <utility>

#include "core/lanes.h"
#include "medgrad/error.h"
#include "medgrad/registry.h"
#include "text/features.h"

namespace medgrad::language {
namespace {

double distance(std::span<const float> x, std::span<const double> y) {
  return std::sqrt(lane_sum(x.size(), [&](std::size_t i) {
    const double off = static_cast<double>(x[i]) - y[i];
    return off * off;
  }));
}

void write(std::ostream& out, std::span<const double> values) {
  out.write(reinterpret_cast<const char*>(values.data()),
            static_cast<std::streamsize>(values.size_bytes()));
}

[[noreturn]] void fail_to_load() { throw Error("this is not what such a measurement has saved."); }

void read(std::istream& in, void* to, std::size_t size) {
  in.read(static_cast<char*>(to), static_cast<std::streamsize>(size));
  if (static_cast<std::size_t>(in.gcount()) != size) fail_to_load();
}

std::vector<double> read_values(std::istream& in, std::size_t count) {
  std::vector<double> values(count);
  read(in, values.data(), count * sizeof(double));
  return values;
}

}  // namespace

OnlineMethod tracking_method(std::string_view name, double tau, ParameterValues others) {
  others.insert_or_assign("tau", tau);
  return find_online_method(name).make(others);
}

Measurement::Measurement(BatchGradients& gradients, MeasurementPlan plan)
    : gradients_(&gradients), plan_(std::move(plan)) {
  const std::size_t batches = gradients.batches();
  if (batches == 0) throw Error("there are no batches.");
  noise_end_ = batches + (plan_.noise ? batches : 0);
  total_ = noise_end_ + (plan_.tracking.methods.empty() ? 0 : plan_.tracking.steps);
  full_.mean.resize(gradients.dimension());
}

bool Measurement::between_stages() const {
  return position_ == gradients_->batches() || position_ == noise_end_ || finished();
}

void Measurement::advance() {
  assert(!finished());
  const std::size_t batches = gradients_->batches();
  if (position_ < batches) {
    const std::span<const float> g = (*gradients_)(position_);
    for (std::size_t i = 0; i < g.size(); ++i) full_.mean[i] += static_cast<double>(g[i]);
    if (position_ + 1 == batches) {
      for (double& x : full_.mean) x /= static_cast<double>(batches);
      measure_full();
    }
  } else if (position_ < noise_end_) {
    meter_->add((*gradients_)(position_ - batches));
  } else {
    follow(position_ - noise_end_);
  }
  ++position_;
  if (finished()) followers_.clear();
}

// What follows from the mean.
void Measurement::measure_full() {
  full_.largest = 0;
  for (const double x : full_.mean) full_.largest = std::max(full_.largest, std::abs(x));
  full_.norm = std::sqrt(
      lane_sum(full_.mean.size(), [&](std::size_t i) { return full_.mean[i] * full_.mean[i]; }));
  if (plan_.noise) meter_.emplace(full_.mean, gradients_->batches());
}

void Measurement::make_followers() {
  const std::vector<OnlineMethod>& methods = plan_.tracking.methods;
  followers_.reserve(methods.size());
  for (const OnlineMethod& method : methods) {
    followers_.emplace_back(method, gradients_->dimension());
    followers_.back().use(plan_.tracking.pool);
  }
  tracking_.errors.resize(methods.size());
}

void Measurement::follow(std::size_t t) {
  const TrackingOptions& options = plan_.tracking;
  const std::size_t batches = gradients_->batches(), epoch = t / batches, at = t % batches;
  if (t == 0) make_followers();
  if (options.random_order && (at == 0 || order_.empty()))
    order_ = text::epoch_order(batches, options.seed, epoch);
  const std::span<const float> g = (*gradients_)(order_.empty() ? at : order_[at]);
  if (epoch == 0) tracking_.distances.push_back(distance(g, full_.mean));
  for (std::size_t i = 0; i < followers_.size(); ++i) {
    (void)followers_[i].update(g);
    tracking_.errors[i].push_back(distance(followers_[i].estimate(), full_.mean) / full_.norm);
  }
}

// The position says how much there is of everything.
void Measurement::save(std::ostream& out) const {
  const std::uint64_t position = position_;
  out.write(reinterpret_cast<const char*>(&position), sizeof position);
  write(out, full_.mean);
  if (meter_) {
    write(out, meter_->errors());
    write(out, meter_->rows());
  }
  if (position_ > noise_end_) {
    write(out, tracking_.distances);
    for (const std::vector<double>& errors : tracking_.errors) write(out, errors);
    for (const OnlineEstimator<float>& follower : followers_) follower.save(out);
  }
}

void Measurement::load(std::istream& in) {
  const std::size_t batches = gradients_->batches();
  Measurement there(*gradients_, plan_);
  std::uint64_t position = 0;
  read(in, &position, sizeof position);
  if (position > total_) fail_to_load();
  there.position_ = position;
  read(in, there.full_.mean.data(), there.full_.mean.size() * sizeof(double));
  if (position >= batches) there.measure_full();
  if (there.meter_) {
    const std::size_t seen = std::min<std::size_t>(position, noise_end_) - batches;
    const std::vector<double> errors = read_values(in, seen);
    there.meter_->restore(errors, read_values(in, seen * there.meter_->columns()));
  }
  if (position > noise_end_) {
    const std::size_t steps = position - noise_end_;
    there.make_followers();
    there.tracking_.distances = read_values(in, std::min(steps, batches));
    for (std::vector<double>& errors : there.tracking_.errors) errors = read_values(in, steps);
    if (there.finished()) there.followers_.clear();
    for (OnlineEstimator<float>& follower : there.followers_) follower.load(in);
  }
  if (in.peek() != std::istream::traits_type::eof()) fail_to_load();
  *this = std::move(there);  // the meter's mean stays where it is in memory
}

}  // namespace medgrad::language
