// Save, load, continue = never stopped, bit for bit. And schedules.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <sstream>

#include "base/safetensors_writer.h"
#include "io/temporary_folder.h"
#include "medgrad/error.h"
#include "medgrad/io.h"
#include "medgrad/torch/optim.h"
#include "medgrad/torch/schedule.h"
#include "parameter_values.h"
#include "testing.h"
#include "torch/models.h"

namespace medgrad::libtorch {
namespace {

using medgrad::testing::needed;
using medgrad::testing::parameters;
using medgrad::testing::same_bits;
using medgrad::testing::set_gradients;
using medgrad::testing::two_values;

using Make = std::function<std::unique_ptr<TrackingOptimizer>(std::vector<Tensor>)>;

ProximalPoint automatic(const AnyDistance& distance) {
  return {distance, kAutomaticNumber, {0.3, 0.4, 0.5}};
}

struct Maker {
  const char* name;
  Make make;
};

const Maker kMakers[] = {
    {"momentum",
     [](auto p) {
       return std::make_unique<MedianSGD>(
           p, MedianSGDOptions(0.1, ProximalPoint{Squared{}, 0.2}).weight_decay(0.1));
     }},
    {"VClip",
     [](auto p) {
       return std::make_unique<MedianSGD>(p, MedianSGDOptions(0.1).scope(Scope::tensor));
     }},
    {"CClip",
     [](auto p) {
       return std::make_unique<MedianSGD>(p, MedianSGDOptions(0.1, ProximalPoint{L1{}, 0.1}));
     }},
    {"CClip in bfloat16",
     [](auto p) {
       return std::make_unique<MedianSGD>(
           p, MedianSGDOptions(0.1, ProximalPoint{L1{}, 0.1}).state(State::bfloat16));
     }},
    {"Huber",
     [](auto p) {
       return std::make_unique<MedianSGD>(p, MedianSGDOptions(0.1, ProximalPoint{Huber(1.3), 0.1}));
     }},
    {"VClip, tau = auto",
     [](auto p) { return std::make_unique<MedianSGD>(p, MedianSGDOptions(0.1, automatic(L2{}))); }},
    {"CClip, tau = auto",
     [](auto p) {
       return std::make_unique<MedianSGD>(
           p, MedianSGDOptions(0.1, automatic(L1{})).scope(Scope::group));
     }},
    {"Huber, tau = auto",
     [](auto p) {
       return std::make_unique<MedianSGD>(
           p, MedianSGDOptions(0.1, automatic(Huber(1.3))).scope(Scope::tensor));
     }},
    {"MedianAdam, tau = auto",
     [](auto p) {
       return std::make_unique<MedianAdam>(p, MedianAdamOptions(0.1, automatic(L1{})));
     }},
    {"workers, tau = auto",
     [](auto p) {
       return std::make_unique<SampleMedianSGD>(
           p, SampleMedianSGDOptions(0.1).n(3).worker(make_worker_method("vclip:tau=auto")));
     }},
    {"ClippedSGD", [](auto p) { return std::make_unique<ClippedSGD>(p, ClippedSGDOptions(0.1)); }},
    {"SignSGD", [](auto p) { return std::make_unique<SignSGD>(p, SignSGDOptions(0.1)); }},
    {"MedianAdam", [](auto p) { return std::make_unique<MedianAdam>(p, MedianAdamOptions(0.1)); }},
    {"SampleMedianSGD",
     [](auto p) { return std::make_unique<SampleMedianSGD>(p, SampleMedianSGDOptions(0.1).n(3)); }},
    {"worker momentum",
     [](auto p) {
       return std::make_unique<SampleMedianSGD>(
           p, SampleMedianSGDOptions(0.1, make_rule("bucketing+median"))
                  .n(4)
                  .worker(make_worker_method("ema:tau=0.5"))
                  .scope(Scope::tensor));
     }},
    {"EF21",
     [](auto p) {
       return std::make_unique<SampleMedianSGD>(
           p, SampleMedianSGDOptions(0.1, make_rule("centered-clipping:clip=0.5"))
                  .n(3)
                  .worker(make_worker_method("ef21-random-k:k=3")));
     }},
};

void train(TrackingOptimizer& optimizer, Scheduler& scheduler, const std::vector<Tensor>& params,
           int from, int to) {
  for (int t = from; t < to; ++t) {
    int micro = 0;
    optimizer.step([&] {
      set_gradients(params, 10 * t + micro++);
      if (t < 3) params[2].mutable_grad() = Tensor();  // a parameter that comes late
      return at::zeros({});
    });
    scheduler.step();
  }
}

const ScheduleOptions kSchedule{CosineSchedule{.factor = 0.1, .warmup = 2},
                                StepSchedule{.factor = 0.5, .every = 3}, 12};

constexpr std::string_view kNone = "no error";  // as message_of() says it

std::string saved(const TrackingOptimizer& optimizer, const Scheduler& scheduler) {
  std::ostringstream out;
  ::torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  ::torch::serialize::OutputArchive schedule(archive.compilation_unit());
  scheduler.save(schedule);
  archive.write("schedule", schedule);
  archive.save_to(out);
  return out.str();
}

void restore(const std::string& bytes, TrackingOptimizer& optimizer, Scheduler& scheduler) {
  std::istringstream in(bytes);
  ::torch::serialize::InputArchive archive, schedule;
  archive.load_from(in);
  optimizer.load(archive);
  archive.read("schedule", schedule);
  scheduler.load(schedule);
}

TEST(Resume, IsAsIfNeverStopped) {
  for (const Maker& maker : kMakers) {
    for (const auto type : {at::kFloat, at::kDouble}) {
      if (type == at::kDouble && std::string_view(maker.name).ends_with("bfloat16")) continue;
      std::vector<Tensor> straight = parameters(type), broken = parameters(type), after;
      const auto whole = maker.make(straight);
      Scheduler whole_schedule(*whole, kSchedule);
      train(*whole, whole_schedule, straight, 0, 12);

      std::string bytes;
      {
        const auto first = maker.make(broken);
        Scheduler schedule(*first, kSchedule);
        train(*first, schedule, broken, 0, 5);
        bytes = saved(*first, schedule);
        for (const Tensor& w : broken) after.push_back(w.detach().clone().set_requires_grad(true));
      }
      const auto second = maker.make(after);
      Scheduler schedule(*second, kSchedule);
      restore(bytes, *second, schedule);
      EXPECT_EQ(second->steps(), 5U);
      EXPECT_EQ(saved(*second, schedule), bytes) << maker.name << ": the same state, the same file";
      train(*second, schedule, after, 5, 12);
      EXPECT_TRUE(same_bits(straight, after)) << maker.name;
    }
  }
}

TEST(Resume, ThroughTorchSaveAndLoad) {
  std::vector<Tensor> a = parameters(at::kFloat), b = parameters(at::kFloat);
  MedianSGD one(a, MedianSGDOptions(0.1)), two(b, MedianSGDOptions(0.7, ProximalPoint{L2{}, 9}));
  set_gradients(a, 0);
  one.step();
  std::stringstream file;
  ::torch::save(one, file);
  ::torch::load(two, file);
  EXPECT_EQ(two.param_groups()[0].options().get_lr(), 0.1) << "options come along";
  EXPECT_EQ(dynamic_cast<MedianSGDOptions&>(two.param_groups()[0].options()).tau(), 1.0);
  EXPECT_TRUE(at::equal(one.estimate(a[0]), two.estimate(b[0])));
}

TEST(Resume, ThroughAFile) {
  const medgrad::testing::TemporaryFolder folder;
  const std::string file = folder / "state.safetensors";
  std::vector<Tensor> a = parameters(at::kFloat), b = parameters(at::kFloat);
  MedianAdam one(a), two(b);
  set_gradients(a, 0);
  set_gradients(b, 0);
  one.step();
  one.save(file);
  two.load(file);
  set_gradients(a, 1);
  set_gradients(b, 1);
  one.step();
  two.step();
  EXPECT_TRUE(at::equal(one.estimate(a[1]), two.estimate(b[1])));

  // What the file says, by the one reader of safetensors.
  const SafeTensors saved{std::filesystem::path(file)};
  EXPECT_EQ(saved.metadata().at("medgrad"), "optimizer");
  EXPECT_EQ(nlohmann::json::parse(saved.metadata().at("optimizer")).at("steps"), 1);
  ASSERT_NE(saved.find("optimizer.0.1.v"), nullptr);
  EXPECT_EQ(saved.find("optimizer.0.1.v")->elements, static_cast<std::size_t>(a[1].numel()));

  // Whatever is wrong with it is told, and changes nothing.
  const std::string good = read_whole(file);
  const auto message = [&] {
    return medgrad::testing::message_of([&] { return two.load(file), 0; });
  };
  for (std::size_t i = 0; i < good.size(); i += 7) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1 << i % 8);
    write_file(file, bad);
    EXPECT_NE(message(), "no error") << i;
  }
  write_file(file, safetensors_of({}, {}));
  EXPECT_EQ(message(), file + " is not a saved optimiser of medgrad.");
  EXPECT_EQ(two.steps(), 2U);
}

// Archives that say what they are, in the words of the version before.
TEST(Resume, RefusesArchivesOfEarlierVersions) {
  std::stringstream file;
  {
    ::torch::serialize::OutputArchive archive;
    archive.write("medgrad", c10::IValue("MedianSGD"));
    archive.write("format", c10::IValue(std::int64_t{1}));
    archive.save_to(file);
  }
  std::vector<Tensor> params = parameters(at::kFloat);
  MedianSGD optimizer(params, MedianSGDOptions(0.1));
  EXPECT_EQ(medgrad::testing::message_of([&] { return ::torch::load(optimizer, file), 0; }),
            "the optimiser was saved by an earlier version of medgrad, whose archives this version "
            "does not read.");
}

TEST(Resume, RefusesWhatIsNotItsOwn) {
  std::vector<Tensor> params = parameters(at::kFloat);
  MedianSGD vclip(params, MedianSGDOptions(0.1));
  set_gradients(params, 0);
  vclip.step();
  const auto bytes_of = [](const ::torch::optim::Optimizer& optimizer) {
    std::ostringstream out;
    ::torch::serialize::OutputArchive archive;
    optimizer.save(archive);
    archive.save_to(out);
    return out.str();
  };
  const std::string bytes = bytes_of(vclip);
  const auto load = [](TrackingOptimizer& into, const std::string& from) {
    std::istringstream in(from);
    ::torch::serialize::InputArchive archive;
    archive.load_from(in);
    into.load(archive);
  };
  MedianSGD cclip(params, MedianSGDOptions(0.1, ProximalPoint{L1{}, 1}));
  EXPECT_THROW(load(cclip, bytes), Error);
  MedianAdam adam(params);
  EXPECT_THROW(load(adam, bytes), Error);
  MedianSGD fewer(std::vector<Tensor>(params.begin(), params.begin() + 2), MedianSGDOptions(0.1));
  EXPECT_THROW(load(fewer, bytes), Error);
  std::vector<Tensor> others = parameters(at::kDouble);
  MedianSGD doubles(others, MedianSGDOptions(0.1));
  EXPECT_THROW(load(doubles, bytes), Error);
  EXPECT_FALSE(doubles.estimate(others[0]).defined()) << "nothing was changed";
  ::torch::optim::SGD sgd(params, 0.1);
  EXPECT_THROW(load(vclip, bytes_of(sgd)), Error);
  EXPECT_EQ(bytes_of(vclip), bytes);
}

// A moved parameter is seen in the archive; loaded, it is there (tau, theta) or is refused.
TEST(Resume, EveryParameterOfEveryOptimizerArrives) {
  std::vector<Entry<GradientMethod>> entries(optimizers().begin(), optimizers().end());
  for (const auto& worker : worker_methods())
    entries.push_back(find_optimizer(fmt::format("workers-{}+median", worker.name)));
  const std::vector<Tensor> params = {at::zeros({3}).set_requires_grad(true)};
  for (const auto& entry : entries) {
    for (const Parameter& p : entry.parameters) {
      if (p.name.starts_with("inexact")) continue;  // which libtorch optimisers do not have
      SCOPED_TRACE(fmt::format("{} {}", entry.name, p.name));
      const auto make = [&](double value) {
        ParameterValues values = needed(entry.parameters);
        if (!p.needs_auto.empty()) values[std::string(p.needs_auto)] = kAutomaticNumber;
        values[std::string(p.name)] = value;
        return make_optimizer(entry.make(values), params, 0.1);
      };
      const auto [one, other] = p.name == "n" ? std::pair(11.0, 12.0) : two_values(p);
      const auto from = make(one), into = make(other);
      const SavedState state = from->saved_state();
      EXPECT_NE(into->saved_state().json, state.json);
      const std::string sentence = medgrad::testing::message_of([&] { into->restore(state); });
      if (p.name == "tau" || p.name == "theta") {
        EXPECT_EQ(sentence, kNone);
        EXPECT_EQ(into->saved_state().json, state.json);
      } else {
        EXPECT_TRUE(sentence.starts_with("the saved optimiser has the method '")) << sentence;
      }
    }
  }
}

// What earlier versions wrote for MedianAdam is read; of another method it is refused.
TEST(Resume, ReadsEarlierLinesOfMedianAdam) {
  const std::vector<Tensor> params = {at::zeros({3}).set_requires_grad(true)};
  const struct {
    MedianAdamOptions options;
    const char *line, *earlier;
  } cases[] = {
      {MedianAdamOptions(0.1),
       "adaptive proximal-point squared beta1=0.9 beta2=0.999 epsilon=1e-08 cut=3",
       "proximal-point squared beta2=0.999 eps=1e-08 beta1=0.9 cut=3"},
      {MedianAdamOptions(0.1, ProximalPoint{Huber(2), 0.5}),
       "adaptive proximal-point huber mu=2 beta1=auto beta2=0.999 epsilon=1e-08 cut=inf",
       "proximal-point huber mu=2 beta2=0.999 eps=1e-08"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(c.options.method_line(), c.line);
    MedianAdam optimizer(params, c.options);
    SavedState state = optimizer.saved_state();
    state.json.replace(state.json.find(c.line), std::string_view(c.line).size(), c.earlier);
    EXPECT_NO_THROW(optimizer.restore(state));
    MedianAdamOptions other = c.options;
    MedianAdam different(params, other.eps(1e-6));
    EXPECT_EQ(medgrad::testing::message_of([&] { different.restore(state); }),
              fmt::format("the saved optimiser has the method '{}' where this one has '{}'.",
                          c.earlier, other.method_line()));
  }
}

TEST(Schedules, DriveLrAndTau) {
  std::vector<Tensor> params = parameters(at::kDouble);
  MedianSGD optimizer(params, MedianSGDOptions(0.4, ProximalPoint{L2{}, 8}));
  Scheduler scheduler(optimizer,
                      {CosineSchedule{.warmup = 3}, StepSchedule{.factor = 0.5, .every = 2}, 10});
  auto& options = dynamic_cast<MedianSGDOptions&>(optimizer.param_groups()[0].options());
  for (int t = 0; t < 10; ++t) {
    const double rise = std::min(1.0, (t + 1) / 4.0);
    EXPECT_NEAR(options.lr(), 0.4 * rise * (1 + std::cos(std::numbers::pi * t / 10)) / 2, 1e-15);
    EXPECT_EQ(options.tau(), 8 * std::pow(0.5, t / 2));
    scheduler.step();
  }
  EXPECT_NEAR(options.lr(), 0, 1e-15);
}

// A state goes on with the schedules that it was saved with, and with no others.
TEST(Schedules, KnowTheirOwnState) {
  std::vector<Tensor> params = parameters(at::kDouble);
  MedianSGD optimizer(params, MedianSGDOptions(0.4, ProximalPoint{L2{}, 8}));
  const auto refusal = [&](const std::string& state, const ScheduleOptions& options) {
    Scheduler scheduler(optimizer, options);
    const std::string before = scheduler.saved_state();
    const std::string sentence = medgrad::testing::message_of([&] { scheduler.restore(state); });
    if (sentence != kNone) {
      EXPECT_EQ(scheduler.saved_state(), before) << "nothing was changed";
    }
    return sentence;
  };
  const std::string state = Scheduler(optimizer, kSchedule).saved_state();
  EXPECT_EQ(refusal(state, kSchedule), kNone);
  ScheduleOptions other = kSchedule;
  other.lr = CosineSchedule{.factor = 0.2, .warmup = 2};
  EXPECT_EQ(refusal(state, other),
            "the saved scheduler has other schedules (lr: cosine value=1 factor=0.1 warmup=2, tau: "
            "step value=1 factor=0.5 every=3 warmup=0, over 12 steps, and not lr: cosine value=1 "
            "factor=0.2 warmup=2, tau: step value=1 factor=0.5 every=3 warmup=0, over 12 steps).");
  other = kSchedule;
  other.tau = ConstantSchedule{};
  EXPECT_NE(refusal(state, other), kNone);
  other = kSchedule;
  other.steps = 24;
  EXPECT_NE(refusal(state, other), kNone) << "a cosine depends on the length";
  const std::string constant = Scheduler(optimizer, {.steps = 3}).saved_state();
  EXPECT_EQ(refusal(constant, {.steps = 9}), kNone) << "a run may be made longer";
  EXPECT_NE(refusal(R"({"t": 0, "lr": [0.4], "tau": [8]})", {})
                .find("does not say which schedules it has"),
            std::string::npos);
}

TEST(Schedules, AreValidated) {
  std::vector<Tensor> params = parameters(at::kDouble);
  MedianSGD optimizer(params, MedianSGDOptions(0.4, ProximalPoint{L2{}, 8}));
  const auto refusal = [&](const ScheduleOptions& options) {
    return medgrad::testing::message_of([&] { Scheduler(optimizer, options); });
  };
  EXPECT_EQ(refusal({.lr = StepSchedule{.every = 0}}),
            "every is 0; it must be a whole number from 1 to 1e12.");
  EXPECT_EQ(refusal({.lr = StepSchedule{.factor = -1}}),
            "factor is -1; it must satisfy 0 <= factor < inf.");
  EXPECT_EQ(refusal({.lr = CosineSchedule{.value = 0}}), kNone);
  EXPECT_EQ(refusal({.tau = CosineSchedule{.value = 0}}),
            "value is 0; it must satisfy 0 < value < inf.");
}

// Where tau is auto, its schedule is one of theta.
TEST(Schedules, DriveTheta) {
  std::vector<Tensor> params = parameters(at::kDouble);
  MedianSGD optimizer(params, MedianSGDOptions(0.4, automatic(L2{})));
  Scheduler scheduler(optimizer, {{}, StepSchedule{.factor = 0.5, .every = 2}, 10});
  for (int t = 0; t < 6; ++t) {
    set_gradients(params, t);
    optimizer.step();
    scheduler.step();
    const StepInfo& info = optimizer.last_step().front().info;
    EXPECT_EQ(info.tau, 0.3 * std::pow(0.5, t / 2) * info.size);
  }
}

TEST(Schedules, TorchsOwnMoveLr) {
  std::vector<Tensor> params = parameters(at::kDouble);
  MedianSGD optimizer(params, MedianSGDOptions(0.4));
  ::torch::optim::StepLR scheduler(optimizer, 1, 0.5);
  set_gradients(params, 0);
  for (int t = 0; t < 2; ++t) {  // its first step sets the first rate
    optimizer.step();
    scheduler.step();
  }
  EXPECT_EQ(optimizer.param_groups()[0].options().get_lr(), 0.2);
}

}  // namespace
}  // namespace medgrad::libtorch
