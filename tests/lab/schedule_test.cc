// Schedules: their formulas are in optimize_test.cc; here, how they are written.
#include "medgrad/schedule.h"

#include <gtest/gtest.h>

#include "lab/study.h"
#include "medgrad/error.h"
#include "medgrad/optimize.h"
#include "testing.h"

namespace medgrad {
namespace {

using testing::message_of;

Schedule from_json(const std::string& value) {
  const Node document = parse_document("{\"eta\": " + value + "}", "x.json");
  lab::Reader reader(document, "x.json", "the experiment");
  return lab::read_schedule(reader, "eta", {});
}

void expect_same(const Schedule& a, const Schedule& b) { EXPECT_EQ(describe(a), describe(b)); }

TEST(Schedule, OneGrammarForTextAndJson) {
  for (const Entry<Schedule>& entry : schedules()) {
    SCOPED_TRACE(entry.name);
    EXPECT_TRUE(describe(entry.make({})).starts_with(std::string(entry.name) + " "));
    std::string text(entry.name), json = "{\"name\": \"" + text + "\"";
    ParameterValues values;
    double x = 0.5;
    for (const Parameter& p : entry.parameters) {
      const double value = p.range.whole ? 7 : x /= 2;
      values[std::string(p.name)] = value;
      text += ":" + std::string(p.name) + "=" + number(value);
      json += ", \"" + std::string(p.name) + "\": " + number(value);
    }
    expect_same(parse_schedule(text), entry.make(values));
    expect_same(from_json(json + "}"), entry.make(values));
    expect_same(from_json("\"" + text + "\""), entry.make(values));
    expect_same(from_json("\"" + std::string(entry.name) + "\""), entry.make({}));
  }
  expect_same(from_json("0.25"), ConstantSchedule{.value = 0.25});
}

TEST(Schedule, OneDefaultForEach) {
  // Of whoever writes C++ and whoever writes text.
  []<class... S>(const std::variant<S...>*) {
    (expect_same(parse_schedule(S::about.name), S{}), ...);
  }(static_cast<const Schedule*>(nullptr));
  EXPECT_EQ(describe(Schedule{}), "constant value=1 warmup=0");
  EXPECT_EQ(describe(Schedule(StepSchedule{})), "step value=1 factor=0.1 every=1000 warmup=0");
  EXPECT_EQ(describe(Schedule(CosineSchedule{})), "cosine value=1 factor=0 warmup=0");
}

TEST(Schedule, IsValidated) {
  EXPECT_EQ(message_of([] { validate(StepSchedule{.every = 0}); }),
            "every is 0; it must be a whole number from 1 to 1e12.");
  EXPECT_EQ(message_of([] { validate(CosineSchedule{.factor = 2}); }),
            "factor is 2; it must satisfy 0 <= factor <= 1.");
  EXPECT_EQ(message_of([] { validate(ConstantSchedule{.value = -1}); }),
            "value is -1; it must satisfy 0 <= value < inf.");
  EXPECT_EQ(message_of([] { validate(InverseSchedule{}); }), "no error");
}

// Files from before spell the name "schedule", and runs "kind" with every key.
TEST(Schedule, OldFilesAreRead) {
  expect_same(from_json(R"({"schedule": "horizon", "value": 0.5})"),
              parse_schedule("horizon:value=0.5"));
  expect_same(
      from_json(R"({"kind": "constant", "value": 1, "factor": 0, "every": 1, "warmup": 2})"),
      parse_schedule("constant:warmup=2"));
}

TEST(Schedule, MistakesAreTold) {
  EXPECT_EQ(message_of([] { return parse_schedule("cosin"); }),
            "'cosin' is not a schedule. Did you mean 'cosine'?");
  EXPECT_EQ(message_of([] { return parse_schedule("constant:factor=1"); }),
            "factor is not a parameter of constant, which has value and warmup.");
  EXPECT_EQ(message_of([] { return from_json(R"({"name": "step", "every": 0})"); }),
            "x.json:1: 'every' is 0; it must be a whole number from 1 to 1e12.");
  EXPECT_EQ(message_of([] { return from_json("-1"); }),
            "x.json:1: 'eta' is -1; it must satisfy 0 <= eta < inf.");
  EXPECT_EQ(message_of([] { return from_json(R"("cosin")"); }),
            "x.json:1: 'cosin' is not a schedule. Did you mean 'cosine'?");
  EXPECT_EQ(message_of([] { return from_json(R"("0.1")"); }),
            "x.json:1: 'eta' is \"0.1\", in quotes; a number has none: 0.1.");
}

// Of a size, the largest value has to be said; that comes after the name.
TEST(Schedule, ValueMayHaveToBeSaid) {
  const auto of_size = [](const std::string& value) {
    const Node document = parse_document("{\"eta\": " + value + "}", "x.json");
    lab::Reader reader(document, "x.json", "the experiment");
    return lab::read_schedule(reader, "eta", {}, {.value = range::positive, .said = true});
  };
  for (const std::string text : {R"("cosine")", R"({"name": "cosine"})"})
    EXPECT_EQ(message_of([&] { return of_size(text); }),
              "x.json:1: 'value' is missing; cosine needs it (0 < value < inf).");
  EXPECT_EQ(message_of([&] { return of_size(R"({"name": "step", "vlue": 0.1})"); }),
            "x.json:1: 'vlue' is not a key of the schedule of 'eta'. Did you mean 'value'?");
  EXPECT_EQ(message_of([&] { return of_size(R"({"name": "cosin"})"); }),
            "x.json:1: 'cosin' is not a schedule. Did you mean 'cosine'?");
  EXPECT_EQ(message_of([&] { return of_size("0"); }),
            "x.json:1: 'eta' is 0; it must satisfy 0 < eta < inf.");
  EXPECT_EQ(message_of([&] { return of_size(R"("cosine:value=0")"); }),
            "x.json:1: 'value' is 0; it must satisfy 0 < value < inf.");
  expect_same(of_size(R"("cosine:value=0.5")"), CosineSchedule{.value = 0.5});
}

// One default of tau per optimiser, for the registry and for whoever makes one by hand.
TEST(Optimizers, DefaultsAreThoseOfTheStructs) {
  EXPECT_EQ(describe(find_optimizer("median-adam").make({})),
            describe(GradientMethod(median_adam())));
  EXPECT_EQ(describe(find_optimizer("cclip-adam").make({})),
            describe(GradientMethod(cclip_adam())));
  EXPECT_EQ(describe(find_optimizer("adam").make({})), describe(GradientMethod(adam())));
  EXPECT_EQ(describe(find_optimizer("adam").make({})),
            describe(GradientMethod(AdaptiveGradient{})));
  EXPECT_EQ(describe(find_optimizer("vclip").make({})),
            describe(GradientMethod(OnlineGradient{ProximalPoint{L2{}}})));
  EXPECT_EQ(describe(find_optimizer("smgd-l1").make({})),
            describe(GradientMethod(SampleGradient{})));
}

}  // namespace
}  // namespace medgrad
