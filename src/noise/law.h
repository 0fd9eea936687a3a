// A standard stable distribution: the closed forms where there is one, the integrals elsewhere.
#pragma once

#include "noise/zolotarev.h"

namespace medgrad::noise {

class Law {
 public:
  // 0.1 <= alpha <= 2, |beta| <= 1.
  Law(double alpha, double beta);

  [[nodiscard]] double log_pdf(const StablePoint& p) const;
  [[nodiscard]] double log_below(const StablePoint& p) const { return log_side(p, false); }
  [[nodiscard]] double log_above(const StablePoint& p) const { return log_side(p, true); }

  [[nodiscard]] double zeta() const { return zeta_; }
  // +1 or -1 where the support is a half-line from zeta on, 0 where it is the whole line.
  [[nodiscard]] int half_line() const;

  // The point with P(X <= x) = p (or P(X > x) = p), given log p.
  [[nodiscard]] StablePoint solve(double log_p, bool above) const;

 private:
  [[nodiscard]] bool gaussian() const { return alpha_ == 2; }
  [[nodiscard]] bool levy() const { return alpha_ == 0.5 && (beta_ == 1 || beta_ == -1); }
  [[nodiscard]] double log_side(const StablePoint& p, bool above) const;

  double alpha_, beta_, zeta_;
  Zolotarev integrals_;
};

}  // namespace medgrad::noise
