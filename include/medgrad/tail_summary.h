// What a sample, or a matrix of gradients, says about the tails of its noise: every estimator of
// tail_index.h, and the verdict of tail_verdict.h.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "medgrad/export.h"
#include "medgrad/rows.h"
#include "medgrad/tail_index.h"
#include "medgrad/tail_verdict.h"

#pragma GCC visibility push(default)
namespace medgrad {

// The tail of one component of rows, of its distances from its centre.
struct ComponentTail {
  std::size_t place = 0;  // from 0
  Peaks tail;
};

// What each estimator says; where one cannot, the sentence why (and no value).
struct TailSummary {
  std::optional<StableFit> quantiles;
  std::optional<TailIndex> hill, log_moment;
  std::string quantiles_error, hill_error, log_moment_error;

  // The three answers; of rows, about their components, where the variance is infinite if it is so
  // for components, along random directions or for norms, and finite if it is so for all of them.
  std::optional<TailVerdict> judged;
  // Of rows only: along 16 random directions, of the norms, and of the norms of rows whose
  // components are divided by their scales (60 rows and more).
  std::optional<TailVerdict> directions;
  std::optional<Peaks> norms, scaled_norms;
  // Of rows only: the components with the largest xi, that one first, 32 at most.
  std::vector<ComponentTail> components;

  // Could any of them tell?
  [[nodiscard]] bool told() const {
    const bool answered = judged && (judged->efficiency.spread > 0 || judged->infinite > 0);
    return quantiles || hill || log_moment || answered;
  }
  // The sentence of the verdict; where none was asked for, what the first of log-moment, quantiles
  // and hill says.
  [[nodiscard]] std::string verdict() const;
};

// Quantiles as they are, Hill of |x - median|, log-moments of pairs. Error where no method works.
[[nodiscard]] TailSummary tail_summary(std::span<const double> sample,
                                       const VerdictOptions& options = {});

// --- vectors (gradient noise) --------------------------------------------------------------------

enum class Pool : std::uint8_t { coordinates, norms };

struct RowsOptions {
  // coordinates: all entries together. norms: |row - centre|_2, for which only hill makes sense.
  Pool pool = Pool::coordinates;
  // Where no centre is given. The componentwise median rather than the mean, which heavy tails move
  // by more than the noise itself; `none` is 0.
  Centre centre = Centre::median;
  // Divides each coordinate by its median absolute value first. Coordinates of different scales
  // look heavy-tailed together though each may be Gaussian; log-moment never has that problem.
  // Coordinates that often stand still (a fifth of their entries or more are one number) count as
  // missing. What the uncertainty of these scales adds
  // to the tails is taken off again. With fewer than 20 rows no scale can be told, and neither
  // quantiles nor hill say anything.
  bool standardise = true;
  // At most so many entries are looked at, by taking evenly spaced coordinates; norms take all, but
  // hold no more than so many at a time.
  std::size_t max_entries = std::size_t{1} << 22;
  bool judge = true;  // and give the verdict, which takes most of the time
  VerdictOptions verdict = {};
};

// The noise of n rows around `centre` (d entries), or as the options say where it is empty. Rows
// are taken as independent, the coordinates of one row are not: intervals are computed from the
// spread between rows. log-moment adds up rows of one coordinate, never coordinates of one row, and
// where the centre is estimated uses differences of pairs of rows. Error for fewer than 2 rows, and
// where no method works.
template <Real T>
[[nodiscard]] MEDGRAD_EXPORT TailSummary tail_summary(const Rows<T>& rows,
                                                      std::span<const double> centre = {},
                                                      const RowsOptions& options = {});

// |row - centre|_2 of every row (or of pairs of rows, as the options say) without its NaNs: what
// `norms` of the summary is about.
template <Real T>
[[nodiscard]] MEDGRAD_EXPORT std::vector<double> noise_norms(const Rows<T>& rows,
                                                             std::span<const double> centre = {},
                                                             const RowsOptions& options = {});

extern template std::vector<double> noise_norms(const Rows<float>&, std::span<const double>,
                                                const RowsOptions&);
extern template std::vector<double> noise_norms(const Rows<double>&, std::span<const double>,
                                                const RowsOptions&);
extern template TailSummary tail_summary(const Rows<float>&, std::span<const double>,
                                         const RowsOptions&);
extern template TailSummary tail_summary(const Rows<double>&, std::span<const double>,
                                         const RowsOptions&);

}  // namespace medgrad
#pragma GCC visibility pop
