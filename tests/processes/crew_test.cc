// Workers that die, stall and come back, between processes.
#include "medgrad/torch/crew.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <optional>
#include <sstream>
#include <thread>

#include "medgrad/dist/catch_up.h"
#include "medgrad/torch/robust_all_reduce.h"
#include "processes/processes.h"
#include "torch/dist/meeting_point.h"

namespace medgrad {
namespace {

using libtorch::Crew;
using libtorch::RobustAllReduce;
using processes_test::Child;
using processes_test::in_processes;
using processes_test::Store;
using namespace std::chrono_literals;

// Least squares by all workers there are, until groups have formed `epochs` times and 60 steps
// more; the result, and who was there at the end. The target of worker w has w in one entry, so
// that the mean tells whose data counted. "epochN" is at the store when that one is at work.
std::string train(const Store& store, int worker, int expected, std::uint64_t epochs,
                  const libtorch::CrewOptions& options) {
  ::torch::set_num_threads(1);
  Crew crew(store, worker, expected, options);
  const ::torch::Tensor w = ::torch::zeros({2}, ::torch::requires_grad());
  const ::torch::Tensor target = ::torch::tensor({1.0f, static_cast<float>(worker)});
  ::torch::optim::SGD optimizer({w}, 0.5);
  std::uint64_t taken = 0, joined = 0;
  std::optional<RobustAllReduce> all_reduce;
  const auto join = [&] {
    if (all_reduce) all_reduce->leave();
    while (true) {
      try {
        auto group = crew.form();
        const auto save = [&] {
          std::ostringstream out;
          ::torch::save(w, out);
          return std::to_string(taken) + " " + out.str();
        };
        (void)dist::catch_up(*group, taken, save, [&](const std::string& state) {
          taken = std::stoull(state);
          std::istringstream in(state.substr(state.find(' ') + 1));
          ::torch::Tensor theirs;
          ::torch::load(theirs, in);
          const ::torch::NoGradGuard no_grad;
          w.copy_(theirs);
        });
        if (!all_reduce) {
          all_reduce.emplace(std::vector<::torch::Tensor>{w}, Mean{}, std::move(group));
        } else {
          all_reduce->use(std::move(group), crew.members());
        }
        all_reduce->set_steps(taken);
        joined = taken;
        return;
      } catch (const dist::Lost&) {  // again
      }
    }
  };
  join();
  while (crew.epoch() < epochs || taken < joined + 60) {
    usleep(2000);  // a batch
    optimizer.zero_grad();
    ((w - target).square().sum() / 2).backward();
    if (all_reduce->group().rank() == 0) all_reduce->say(crew.knocked());
    try {
      (*all_reduce)();
    } catch (const dist::Lost&) {
      join();
      continue;
    }
    optimizer.step();
    if (++taken == joined + 10)
      store->set("epoch" + std::to_string(crew.epoch()), std::vector<std::uint8_t>{1});
    for (const dist::WorkerReport& one : all_reduce->last_step()) {
      if (one.word <= crew.known()) continue;
      join();  // somebody has knocked
      break;
    }
  }
  std::string there;
  for (const int member : crew.members()) there += std::to_string(member);
  return fmt::format("{:.3f} {:.3f} of {}", w[0].item<double>(), w[1].item<double>(), there);
}

using Strings = std::vector<std::string>;

TEST(Crew, GoesOnWithoutWhoDies) {
  const auto said = in_processes(
      4, [](const Store& store, int rank) { return train(store, rank, 4, 2, {.deadline = 3s}); },
      [](const std::vector<Child>& children, c10d::Store& store) {
        store.wait({"epoch1"});
        kill(children[2].process, SIGKILL);
        libtorch::mark_gone(store, 2);
      });
  // The mean of 0, 1 and 3.
  EXPECT_EQ(said,
            (Strings{"1.000 1.333 of 013", "1.000 1.333 of 013", "killed", "1.000 1.333 of 013"}));
}

TEST(Crew, GoesOnWithoutWhoStallsAndTakesItBack) {
  const auto said = in_processes(
      3, [](const Store& store, int rank) { return train(store, rank, 3, 3, {.deadline = 1s}); },
      [](const std::vector<Child>& children, c10d::Store& store) {
        store.wait({"epoch1"});
        kill(children[1].process, SIGSTOP);
        store.wait({"epoch2"});
        kill(children[1].process, SIGCONT);
      });
  EXPECT_EQ(said, Strings(3, "1.000 1.000 of 012"));
}

TEST(Crew, LetsANewOneIn) {
  const auto said = in_processes(4, [](const Store& store, int rank) {
    if (rank == 3) store->wait({"epoch1"});
    return train(store, rank, 3, 2, {.deadline = 5s});
  });
  EXPECT_EQ(said, Strings(4, "1.000 1.500 of 0123"));
}

TEST(Crew, EndsBelowItsQuorum) {
  const auto said = in_processes(
      2,
      [](const Store& store, int rank) {
        return train(store, rank, 2, 9, {.deadline = 1s, .quorum = 2});
      },
      [](const std::vector<Child>& children, c10d::Store& store) {
        store.wait({"epoch1"});
        kill(children[1].process, SIGKILL);
      });
  EXPECT_EQ(said, (Strings{"Only 1 worker is left; the run needs 2.", "killed"}));
}

TEST(Crew, ANumberIsOfOneProcess) {
  const auto said = in_processes(3, [](const Store& store, int rank) {
    if (rank == 2) store->wait({"epoch1"});
    return train(store, rank == 2 ? 1 : rank, 2, 1, {.deadline = 1s});
  });
  EXPECT_EQ(said, (Strings{"1.000 0.500 of 01", "1.000 0.500 of 01",
                           "Another process takes part as worker 1 (RANK)."}));
}

TEST(Crew, AMeetingPointThatIsGoneIsToldFromAMistake) {
  const auto said = in_processes(1, [](const Store&, int) -> std::string {
    auto point = std::make_unique<libtorch::MeetingPoint>("", 0, "");
    Crew crew(libtorch::visit(point->address(), "", 5s), 0, 1, {});
    point.reset();
    try {
      (void)crew.form();
    } catch (const libtorch::CannotMeet& alone) {
      return alone.what();
    }
    return "formed";
  });
  EXPECT_TRUE(said[0].starts_with("The meeting point of the workers does not answer (")) << said[0];
}

TEST(Crew, AsksForTheToken) {
  const auto said = in_processes(2, [](const Store& store, int rank) -> std::string {
    // (Of the store's keys, those that compareSet makes wake nobody who waits.)
    while (rank == 1 && !store->check({"token"})) std::this_thread::sleep_for(1ms);
    const Crew crew(store, rank, 2, {.token = rank == 0 ? "right" : "wrong"});
    return "let in";
  });
  EXPECT_EQ(said,
            (Strings{"let in", "This worker's token is not that of the run it wants to join."}));
}

}  // namespace
}  // namespace medgrad
