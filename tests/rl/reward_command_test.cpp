// Rewards from another program: one score an id, bounded waiting, no deadlock, no orphan.
#include "rl/reward_command.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include "core/error.h"

namespace minirl::rl {
namespace {

// {"id":3,"gold":...} -> {"id":3,"score":3.5}
constexpr const char* kEcho = R"(sed -u 's/^{"id":\([0-9]*\),.*/{"id":\1,"score":\1.5}/')";

struct Scratch {
  Scratch() {
    char pattern[] = "/tmp/minirl_command_XXXXXX";
    path = mkdtemp(pattern);
  }
  ~Scratch() { std::filesystem::remove_all(path); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::filesystem::path path;
};

std::string fault(const std::string& command, double timeout_s = 20) {
  RewardCommand program(command, timeout_s);
  try {
    (void)program.score({{"5", "\\boxed{5}"}, {"6", "x"}});
  } catch (const Error& error) {
    CHECK(error.code() == Exit::data);
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("rl/reward_command: every row gets its own score, batch after batch, from one process") {
  const Scratch scratch;
  RewardCommand program("echo started >> " + (scratch.path / "log").string() + "; " + kEcho, 20);
  for (int batch = 0; batch < 3; ++batch) {
    const auto results = program.score({{"5", "a\nb"}, {"6", "\xff\"quoted\""}, {"7", ""}});
    REQUIRE(results.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(results[i].score == static_cast<double>(i) + 0.5);
    }
  }
  CHECK(program.score({}).empty());
  CHECK(program.restarts() == 0);
  std::ifstream in(scratch.path / "log");
  std::string line;
  int starts = 0;
  while (std::getline(in, line)) {
    ++starts;
  }
  CHECK(starts == 1);
}

TEST_CASE("rl/reward_command: pipes that are full on both sides do not block") {
  const std::string large(20000, 'x');
  std::vector<RewardCommand::Row> rows(40, {large, large});
  // Answers at once, with much on stderr, and far more input than any pipe holds.
  RewardCommand program(std::string("sed -u 'w /dev/stderr' | ") + kEcho, 60);
  const auto results = program.score(rows);
  REQUIRE(results.size() == rows.size());
  CHECK(results[39].score == 39.5);
}

TEST_CASE("rl/reward_command: answers in another order belong to their ids") {
  RewardCommand program(
      R"(while read -r a && read -r b; do echo '{"id":1,"score":-2}'; echo '{"id":0,"score":7,"why":"w"}'; done)",
      20);
  const auto results = program.score({{"5", "a"}, {"6", "b"}});
  CHECK(results[0].score == 7);
  CHECK(results[0].why == "w");
  CHECK(results[1].score == -2);
}

TEST_CASE("rl/reward_command: a failure names the command, how it ended and its last words") {
  const std::string ended = fault("echo no such judge >&2; exit 3");
  CHECK_MESSAGE(has(ended, "exit code 3"), ended);
  CHECK_MESSAGE(has(ended, "no such judge"), ended);
  CHECK_MESSAGE(has(ended, "echo no such judge"), ended);
  const std::string missing = fault("/no/such/program");
  CHECK_MESSAGE(has(missing, "exit code 127"), missing);
  const std::string hangs = fault("sleep 1000", 0.2);
  CHECK_MESSAGE(has(hangs, "2 of 2 rows had no score after 0.2 s"), hangs);
  CHECK_MESSAGE(has(fault("while read -r x; do echo nonsense; done"), "nonsense"), "garbage");
  CHECK_MESSAGE(has(fault(R"(while read -r x; do echo '{"id":0,"score":1}'; done)"), "twice"),
                "twice");
  CHECK_MESSAGE(
      has(fault(R"(while read -r x; do echo '{"id":9,"score":1}'; done)"), "not asked for"), "id");
  CHECK_MESSAGE(
      has(fault(R"(while read -r x; do echo '{"id":0,"score":1e999}'; done)"), "it wrote"), "inf");
  CHECK_MESSAGE(has(fault(R"(while read -r x; do echo '{"id":0,"score":"1"}'; done)"), "score"),
                "text");
  CHECK_MESSAGE(has(fault(R"(read -r x; echo '{"id":0,"score":1}')"), "1 of 2 rows"), "half");
}

TEST_CASE("rl/reward_command: a program that dies is started once more") {
  const Scratch scratch;
  const std::string marker = (scratch.path / "second").string();
  RewardCommand program(
      "if [ ! -e " + marker + " ]; then touch " + marker + "; exit 1; fi; " + kEcho, 20);
  const auto results = program.score({{"5", "a"}, {"6", "b"}});
  CHECK(results[1].score == 1.5);
  CHECK(program.restarts() == 1);
}

TEST_CASE("rl/reward_command: nothing that was started is left behind") {
  const Scratch scratch;
  const std::string file = (scratch.path / "pid").string();
  pid_t child = 0;
  {
    RewardCommand program("sleep 1000 & echo $! > " + file + "; " + kEcho, 20);
    (void)program.score({{"5", "a"}});
    std::ifstream(file) >> child;
    REQUIRE(child > 0);
    CHECK(::kill(child, 0) == 0);
  }
  // It was sent SIGKILL; whoever inherits it reaps it.
  std::string state = "R";
  for (int i = 0; i < 200 && ::kill(child, 0) == 0; ++i) {
    std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
    std::string number, name;
    stat >> number >> name >> state;
    if (state == "Z") {
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK((::kill(child, 0) != 0 || state == "Z"));
}

}  // namespace minirl::rl
