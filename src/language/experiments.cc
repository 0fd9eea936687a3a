#include "language/experiments.h"

#include "language/corrupted_results.h"
#include "language/film_study.h"
#include "language/gradient_study.h"
#include "language/run_results.h"
#include "language/tracking_findings.h"
#include "language/train_study.h"

namespace medgrad::language {

const lab::Catalogue& catalogue() {
  static const lab::Catalogue all = [] {
    lab::Catalogue catalogue = lab::synthetic_catalogue();
    using lab::Adjustable;
    catalogue.kinds.push_back(
        {"gradients", read_gradient_study, Adjustable::gradients, "tracking"});
    catalogue.kinds.push_back({"training", read_train_study, Adjustable::training, "training"});
    catalogue.kinds.push_back({"film", read_film_study, Adjustable::none, "film"});
    catalogue.findings.push_back({"tracking", tracking_findings});
    catalogue.findings.push_back({"training", training_findings});
    catalogue.findings.push_back({"corrupted-training", corrupted_training_findings});
    catalogue.findings.push_back({"film", film_findings});
    return catalogue;
  }();
  return all;
}

}  // namespace medgrad::language
