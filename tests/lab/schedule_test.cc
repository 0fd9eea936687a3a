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

void expect_same(const Schedule& a, const Schedule& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.factor, b.factor);
  EXPECT_EQ(a.every, b.every);
  EXPECT_EQ(a.warmup, b.warmup);
}

TEST(Schedule, OneGrammarForTextAndJson) {
  for (const Entry<Schedule>& entry : schedules()) {
    SCOPED_TRACE(entry.name);
    EXPECT_EQ(name_of(entry.make({}).kind), entry.name);
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
  expect_same(from_json("0.25"), {.value = 0.25});
}

TEST(Schedule, OneDefaultForEach) {
  const Schedule step = parse_schedule("step"), cosine = parse_schedule("cosine");
  EXPECT_EQ(step.factor, 0.1);
  EXPECT_EQ(step.every, 1000u);
  EXPECT_EQ(step.every, Schedule{}.every);
  EXPECT_EQ(cosine.factor, 0);
  EXPECT_EQ(cosine.value, 1);
  EXPECT_EQ(cosine.warmup, 0u);
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
            "x.json:1: 'every' is 0; it must satisfy 1 <= every <= 1e+12, a whole number.");
  EXPECT_EQ(message_of([] { return from_json("-1"); }),
            "x.json:1: 'eta' is -1; it must satisfy 0 <= eta < inf.");
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
