// The saved state of an online estimator: a binary record that continues bit for bit.
//
//   "medgradS"  magic
//   u32         format version
//   u32         0x01020304 as this machine stores it: the byte order
//   u32 + text  method, distance, fixed parameters, element type and options, as one line
//   f64         tau, or theta where tau is auto (0 for ClippedMean); a schedule may have moved it
//   f64         S, where tau is auto
//   u64 u64     dimension, steps
//   T[…]        m, then the running average where there is one
//   u64         checksum (base/checksum.h) of everything before
#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <istream>
#include <ostream>

#include "base/checksum.h"
#include "base/text.h"
#include "kernels/step.h"
#include "medgrad/error.h"
#include "medgrad/estimator.h"

namespace medgrad {
namespace {

constexpr char kMagic[8] = {'m', 'e', 'd', 'g', 'r', 'a', 'd', 'S'};
constexpr std::uint32_t kFormat = 2, kByteOrder = 0x01020304;

// Equal lines mean interchangeable states.
template <Real T>
std::string line_of(const OnlineMethod& method, const EstimatorOptions& options) {
  std::string line = state_line(method);
  line += sizeof(T) == 4 ? " float" : " double";
  line += options.start == Start::cold ? " cold" : " warm";
  line += options.average ? " averaged" : "";
  line += options.non_finite == NonFinite::robust ? " robust" : " reject";
  return line;
}

// The method with tau = auto, level and rate as a line has them; as it is where the line has none.
OnlineMethod automatic_as_in(const std::string& line, OnlineMethod method) {
  auto* const m = std::get_if<ProximalPoint>(&method);
  const auto value_of = [&](const std::string& name) {
    const std::size_t at = line.find(' ' + name + '=');
    return at == std::string::npos ? std::nan("")
                                   : std::strtod(line.c_str() + at + name.size() + 2, nullptr);
  };
  if (m == nullptr || line.find(" tau=auto ") == std::string::npos) return method;
  m->tau = kAutomaticNumber;
  m->automatic.level = value_of("level");
  m->automatic.rate = value_of("rate");
  return method;
}

class Writer {
 public:
  explicit Writer(std::ostream& out) : out_(out) {}
  void bytes(const void* data, std::size_t n) {
    sum_.add({static_cast<const char*>(data), n});
    out_.write(static_cast<const char*>(data), static_cast<std::streamsize>(n));
  }
  template <class V>
  void value(V v) {
    bytes(&v, sizeof v);
  }
  void finish() {
    const std::uint64_t sum = sum_.value();
    out_.write(reinterpret_cast<const char*>(&sum), sizeof sum);
    if (!out_.flush()) throw std::runtime_error("the estimator's state could not be written.");
  }

 private:
  std::ostream& out_;
  Checksum sum_;
};

class Reader {
 public:
  explicit Reader(std::istream& in) : in_(in) {}
  void bytes(void* data, std::size_t n) {
    in_.read(static_cast<char*>(data), static_cast<std::streamsize>(n));
    if (static_cast<std::size_t>(in_.gcount()) != n) throw Error("the saved state is truncated.");
    sum_.add({static_cast<const char*>(data), n});
  }
  template <class V>
  V value() {
    V v;
    bytes(&v, sizeof v);
    return v;
  }
  void finish() {
    const std::uint64_t expected = sum_.value();
    if (value<std::uint64_t>() != expected) {
      throw Error("the saved state is damaged: its checksum does not match.");
    }
  }

 private:
  std::istream& in_;
  Checksum sum_;
};

}  // namespace

std::string state_line(const OnlineMethod& method) {
  std::visit(
      [](const auto& m) {
        if constexpr (requires { m.distance; }) {
          if (!m.distance.is_named())
            throw Error(
                "the distance has no name, so its state cannot be told from another's; give it "
                "'about' and 'fields()' (medgrad/description.h).");
        }
      },
      method);
  return describe(method, "tau");
}

template <Real T>
void OnlineEstimator<T>::save(std::ostream& out) const {
  const std::string what = line_of<T>(method_, options_);
  Writer writer(out);
  writer.bytes(kMagic, sizeof kMagic);
  writer.value(kFormat);
  writer.value(kByteOrder);
  writer.value(static_cast<std::uint32_t>(what.size()));
  writer.bytes(what.data(), what.size());
  writer.value(tau_of(method_));
  if (is_automatic(method_)) writer.value(size_);
  writer.value(static_cast<std::uint64_t>(m_.size()));
  writer.value(steps_);
  writer.bytes(m_.data(), m_.size() * sizeof(T));
  writer.bytes(average_.data(), average_.size() * sizeof(T));
  writer.finish();
}

template <Real T>
void OnlineEstimator<T>::load(std::istream& in) {
  read(in, false);
}

template <Real T>
void OnlineEstimator<T>::resume(std::istream& in) {
  read(in, true);
}

template <Real T>
void OnlineEstimator<T>::read(std::istream& in, bool takes_automatic) {
  Reader reader(in);
  char magic[sizeof kMagic];
  reader.bytes(magic, sizeof magic);
  if (std::memcmp(magic, kMagic, sizeof kMagic) != 0) {
    throw Error("this is not a saved medgrad estimator.");
  }
  if (const auto format = reader.value<std::uint32_t>(); format != kFormat) {
    throw Error(
        fmt::format("the saved state has format {}; this version reads {}.", format, kFormat));
  }
  if (reader.value<std::uint32_t>() != kByteOrder) {
    throw Error("the saved state comes from a machine with another byte order.");
  }
  const auto length = reader.value<std::uint32_t>();
  std::string what(std::min<std::size_t>(length, 4096), '\0');
  reader.bytes(what.data(), what.size());
  OnlineMethod method = method_;
  if (takes_automatic) method = automatic_as_in(what, method);
  if (line_of<T>(method, options_) != what) {
    throw Error(fmt::format("the saved state is of '{}' where this estimator is '{}'.", what,
                            line_of<T>(method_, options_)));
  }
  validate<T>(method);
  const bool has_tau = tau_of(method) > 0;
  const auto tau = reader.value<double>();
  if (has_tau && !range::positive.contains(tau)) throw Error("the saved state has no valid tau.");
  const double size = is_automatic(method) ? reader.value<double>() : 0;
  if (!range::non_negative.contains(size)) throw Error("the saved state has no valid size.");
  if (const auto d = reader.value<std::uint64_t>(); d != m_.size()) {
    throw Error(fmt::format("the saved state has {} where this estimator has {}.",
                            counted(d, "component"), m_.size()));
  }
  const auto steps = reader.value<std::uint64_t>();
  LargeVector<T> m(m_.size()), average(average_.size());
  reader.bytes(m.data(), m.size() * sizeof(T));
  reader.bytes(average.data(), average.size() * sizeof(T));
  reader.finish();
  if (kernels::first_non_finite(m.data(), m.size()) < m.size() ||
      kernels::first_non_finite(average.data(), average.size()) < average.size()) {
    throw Error("the saved state holds a number that is not finite.");
  }
  if (has_tau) medgrad::set_tau(method, tau);
  method_ = std::move(method);
  m_ = std::move(m);
  average_ = std::move(average);
  steps_ = steps;
  size_ = size;
}

template void OnlineEstimator<float>::save(std::ostream&) const;
template void OnlineEstimator<double>::save(std::ostream&) const;
template void OnlineEstimator<float>::load(std::istream&);
template void OnlineEstimator<double>::load(std::istream&);
template void OnlineEstimator<float>::resume(std::istream&);
template void OnlineEstimator<double>::resume(std::istream&);

}  // namespace medgrad
