// The way of one aggregation: announcements, pieces out, the rule on the columns that are here,
// results back, and what all have seen of each other.
#include "medgrad/dist/aggregate.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "core/sample/gram.h"
#include "core/sample/plan.h"
#include "dist/deal.h"
#include "dist/flow.h"
#include "dist/shared_part.h"
#include "dist/watch.h"
#include "dist/wire.h"

namespace medgrad::dist {
namespace {

using estimators::Input;
using estimators::RulePlan;

constexpr std::array<std::string_view, 2> kTopologies = {"sharded", "server"};

// The chunks of one piece as if they were all: their sums are shared later, with those of others.
class PieceOfPart : public estimators::Part {
 public:
  using Part::Part;
  void share(std::byte*, std::size_t, std::size_t) const override {}
};

// Can every column be worked on as soon as it is there?
bool column_by_column(const Rule& rule) {
  return estimators::by_component(rule.method) && !estimators::needs_gram(rule);
}

// Does the rule, for n rows of length d, begin with inner products around the componentwise
// medians?
bool begins_with_products(const Rule& rule, std::size_t n, std::size_t d) {
  if (estimators::clips_directly(rule, n, d)) return false;
  if (estimators::needs_gram(rule)) return true;
  return rule.before.empty() && (std::holds_alternative<GeometricMedian>(rule.method) ||
                                 std::holds_alternative<HuberLocation>(rule.method));
}

// Estimators that work where all columns are, and nowhere else.
bool needs_one_place(const Rule& rule) {
  const auto general = [](double p) { return p != 1 && p != 2; };
  if (const auto* lp = std::get_if<LpMedian>(&rule.method)) return general(lp->p);
  if (const auto* means = std::get_if<MedianOfMeans>(&rule.method)) return general(means->p);
  return false;
}

// A digest of everything beside the vectors that has a say in the result.
template <Real T>
std::uint64_t digest(const Rule& rule, const Options<T>& options) {
  const std::string text = fmt::format("{}; {} {} {}", describe(rule), name(options.topology),
                                       options.server, static_cast<int>(options.non_finite));
  std::uint64_t sums[3] = {checksum(std::as_bytes(std::span(text))),
                           checksum(std::as_bytes(options.weights)),
                           checksum(std::as_bytes(options.center))};
  return checksum(std::as_bytes(std::span(sums)));
}

template <Real T>
class Round {
 public:
  Round(Communicator& group, const Rule& rule, std::span<const T> mine, std::span<T> out,
        const Options<T>& options)
      : group_(group), rule_(rule), mine_(mine), out_(out), options_(options) {
    template_.n = workers();
    estimators::set_weights(template_, rule, options.weights);
    template_.policy = NonFinite::robust;  // what is not allowed is found before
    template_.pool = options.pool;
  }

  SampleInfo run() {
    const bool columns = column_by_column(rule_);
    const std::size_t d = mine_.size();
    if (options_.topology == Topology::server || needs_one_place(rule_)) return in_one_place();
    const std::size_t cell = columns ? estimators::kBlock : SharedPart::cell(workers(), d);
    const Deal deal = Deal::evenly(d, cell, group_.size());
    if (columns) return by_columns(deal, std::nullopt);
    try {
      return by_rows(deal);
    } catch (const estimators::NotInParts&) {
      return in_one_place();
    }
  }

 private:
  [[nodiscard]] std::size_t workers() const { return static_cast<std::size_t>(group_.size()); }
  [[nodiscard]] std::size_t me() const { return static_cast<std::size_t>(group_.rank()); }

  // Its own until the next call.
  [[nodiscard]] T* room(std::size_t entries) const {
    return reinterpret_cast<T*>(group_.scratch(entries * sizeof(T)));
  }

  std::vector<Announcement> announce_all(const Deal& deal) {
    Announcement about;
    about.subject = {.type = sizeof(T),
                     .length = mine_.size(),
                     .step = options_.step,
                     .rule = digest(rule_, options_)};
    about.seconds = options_.seconds;
    about.word = options_.word;
    std::vector<Announcement> heard = announce(group_, deal, about, mine_);
    if (options_.report != nullptr) {
      options_.report->assign(workers(), {});
      for (std::size_t i = 0; i < workers(); ++i) {
        (*options_.report)[i].seconds = heard[i].seconds;
        (*options_.report)[i].word = heard[i].word;
      }
    }
    return heard;
  }

  Input<T> input_of(const Columns<T>& rows) const {
    Input<T> input = template_;
    input.d = rows.length;
    input.rows.resize(input.n);
    for (std::size_t i = 0; i < input.n; ++i) input.rows[i] = rows.row(i).data();
    return input;
  }

  // Rules that take every column by itself. `only`: whoever has all columns, if one has.
  SampleInfo by_columns(const Deal& deal, std::optional<int> only) {
    estimators::Gram none;
    none.points = workers();
    estimators::Points points(std::move(none));
    const RulePlan plan = estimators::make_plan(rule_, points, template_.weights, options_.step);
    const std::vector<Announcement> announced = announce_all(deal);
    Watch<T> watch(workers(), options_.non_finite, deal.pieces());
    Flow<T> flow(group_, deal, mine_, out_, room(Flow<T>::room_for(group_, deal)), false);
    SampleInfo info;
    for (std::size_t k = 0; k < deal.pieces(); ++k) {
      const Columns<T> rows = flow.next();
      const std::span<T> result = flow.place(k);
      watch.inspect(rows, deal.begin(k, me()), k, announced);
      if (rows.length > 0) {
        const Input<T> input = input_of(rows);
        info = estimators::carry_out(plan, input, result);
        if (options_.report != nullptr) watch.compare(plan, input, result);
      }
      flow.reply(result);
    }
    flow.finish();
    watch.note(info);
    return watch.conclude(group_, only.value_or(0), options_.report, true);
  }

  // Until all rows are here. Where there is something to be `known`, inner products of a piece are
  // summed up while the next ones are on their way.
  void receive(const Deal& deal, Flow<T>& flow, Watch<T>& watch,
               std::span<const Announcement> announced,
               estimators::KnownProducts* known = nullptr) {
    for (std::size_t k = 0; k < deal.pieces(); ++k) {
      const Columns<T> piece = flow.next();
      watch.inspect(piece, deal.begin(k, me()), k, announced);
      if (known == nullptr || piece.length == 0) continue;
      Input<T> input = input_of(piece);
      sum_products(input, deal.begin(k, me()), *known);
    }
  }

  // Of the columns from `first` on, which are those of the input.
  void sum_products(Input<T>& input, std::size_t first, estimators::KnownProducts& known) const {
    const std::size_t points = input.n + (known.origin ? 1 : 0), d = mine_.size();
    const estimators::GramRuns runs(points, d);
    std::vector<std::size_t> chunks;
    for (std::size_t at = first; at < first + input.d; at += runs.chunks.size)
      chunks.push_back(at / runs.chunks.size);
    const PieceOfPart part(d, std::move(chunks));
    input.part = &part;
    if (!options_.center.empty()) input.center = options_.center.subspan(first, input.d);
    known.sums.resize(runs.count * kernels::pair_index(points, 0));
    known.seen += estimators::sum_runs(input, runs, known.origin, static_cast<const T*>(nullptr),
                                       {}, known.sums.data());
  }

  // Rules on whole rows, on the columns that are here; with `part` the others have the rest.
  SampleInfo estimate(Input<T>& input, std::span<T> result, Watch<T>& watch) {
    if (rule_.before.empty() && estimators::ignores_order(rule_.method))
      estimators::sort_rows(input);
    const RulePlan plan = estimators::plan_rule(rule_, input, options_.step);
    const SampleInfo info = estimators::carry_out(plan, input, result);
    if (options_.report == nullptr) return info;
    if (estimators::by_component(rule_.method)) {
      watch.compare(plan, input, result);
      cut_ = plan.cut;
    } else {
      rows_ = estimators::report_rows<T>(plan, input, result);
    }
    return info;
  }

  void reply(const Deal& deal, Flow<T>& flow, std::span<const T> result) {
    for (std::size_t k = 0, at = 0; k < deal.pieces(); ++k) {
      flow.reply(result.subspan(at, deal.length(k, me())));
      at += deal.length(k, me());
    }
    flow.finish();
  }

  // The columns of the centre that are here.
  std::vector<T> center_here(const Deal& deal) const {
    std::vector<T> here;
    for (std::size_t k = 0; k < deal.pieces() && !options_.center.empty(); ++k) {
      const auto columns = options_.center.subspan(deal.begin(k, me()), deal.length(k, me()));
      here.insert(here.end(), columns.begin(), columns.end());
    }
    return here;
  }

  // A rank without columns has as many sums as the others, of nothing.
  [[nodiscard]] std::size_t room_for(const estimators::KnownProducts& known) const {
    const std::size_t points = workers() + (known.origin ? 1 : 0);
    return estimators::GramRuns(points, mine_.size()).count * kernels::pair_index(points, 0);
  }

  SampleInfo by_rows(const Deal& deal) {
    const std::vector<Announcement> announced = announce_all(deal);
    Watch<T> watch(workers(), options_.non_finite, deal.pieces());
    const std::size_t d = deal.columns_of(me());
    T* const rows = room((workers() + 1) * d);
    const std::span<T> result(rows + workers() * d, d);
    Flow<T> flow(group_, deal, mine_, out_, rows, true);
    estimators::KnownProducts known{.origin = estimators::needs_gram(rule_) &&
                                              estimators::needs_origin(rule_)};
    const bool summed = begins_with_products(rule_, workers(), mine_.size());
    receive(deal, flow, watch, announced, summed ? &known : nullptr);
    const std::vector<T> center = center_here(deal);
    const SharedPart part(group_, deal, mine_.size());
    Input<T> input = input_of({rows, d, d});
    input.center = center;
    input.part = &part;
    known.sums.resize(std::max<std::size_t>(known.sums.size(), room_for(known)));
    input.known = summed ? &known : nullptr;
    watch.note(estimate(input, result, watch));
    reply(deal, flow, result);
    return conclude(watch, 0);
  }

  SampleInfo in_one_place() {
    const int place = options_.topology == Topology::server ? options_.server : 0;
    const Deal deal = Deal::all_to(place, mine_.size(), estimators::kBlock, group_.size());
    if (column_by_column(rule_)) return by_columns(deal, place);
    const std::vector<Announcement> announced = announce_all(deal);
    Watch<T> watch(workers(), options_.non_finite, deal.pieces());
    const std::size_t d = deal.columns_of(me());
    T* const rows = room((workers() + 1) * d);
    const std::span<T> result(rows + workers() * d, d);
    Flow<T> flow(group_, deal, mine_, out_, rows, true);
    receive(deal, flow, watch, announced);
    if (group_.rank() == place) {
      Input<T> input = input_of({rows, d, d});
      input.center = options_.center;
      watch.note(estimate(input, result, watch));
    }
    reply(deal, flow, result);
    if (options_.report != nullptr) tell_rows(place);
    return conclude(watch, place);
  }

  // The one who knows tells the others what became of the rows.
  void tell_rows(int place) {
    struct Told {
      RowReport row;
      double cut;
    };
    const std::size_t n = workers();
    std::vector<Told> mine(n), all(n * n);
    for (std::size_t i = 0; i < n; ++i)
      mine[i] = {i < rows_.size() ? rows_[i] : RowReport(), i < cut_.size() ? cut_[i] : 1.0};
    group_.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
    rows_.resize(n);
    cut_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      const Told& told = all[static_cast<std::size_t>(place) * n + i];
      rows_[i] = told.row;
      cut_[i] = told.cut;
    }
  }

  SampleInfo conclude(Watch<T>& watch, int teller) {
    const bool columns = estimators::by_component(rule_.method);
    for (std::size_t i = 0; options_.report != nullptr && i < workers(); ++i) {
      RowReport& row = (*options_.report)[i].row;
      if (i < rows_.size() && !columns) row = rows_[i];
      if (i < cut_.size() && columns) row.cut = cut_[i];
    }
    return watch.conclude(group_, teller, options_.report, columns);
  }

  Communicator& group_;
  const Rule& rule_;
  std::span<const T> mine_;
  std::span<T> out_;
  const Options<T>& options_;
  Input<T> template_;  // weights and policy
  std::vector<RowReport> rows_;
  std::vector<double> cut_;
};

}  // namespace

std::string_view name(Topology topology) { return kTopologies[static_cast<std::size_t>(topology)]; }

Topology topology_of(std::string_view name) {
  const auto* const at = std::find(kTopologies.begin(), kTopologies.end(), name);
  if (at == kTopologies.end()) fail_unknown("a topology", name, kTopologies);
  return static_cast<Topology>(at - kTopologies.begin());
}

template <Real T>
SampleInfo aggregate(Communicator& group, const Rule& rule,
                     std::type_identity_t<std::span<const T>> mine, std::span<T> out,
                     const std::type_identity_t<Options<T>>& options) {
  validate(rule, static_cast<std::size_t>(group.size()));
  estimators::check_lengths<T>(mine.size(), out, options.center);
  if (options.server < 0 || options.server >= group.size()) {
    throw Error(
        "server", std::to_string(options.server),
        fmt::format("ranks are counted from 0, and it must be at most {}", group.size() - 1));
  }
  SampleInfo info = Round<T>(group, rule, mine, out, options).run();
  info.objective = std::min(info.objective, std::numeric_limits<double>::max());
  return info;
}

template SampleInfo aggregate<float>(Communicator&, const Rule&, std::span<const float>,
                                     std::span<float>, const Options<float>&);
template SampleInfo aggregate<double>(Communicator&, const Rule&, std::span<const double>,
                                      std::span<double>, const Options<double>&);

}  // namespace medgrad::dist
