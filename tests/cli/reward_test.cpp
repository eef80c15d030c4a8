// The reward command through the binary.
#include <doctest/doctest.h>

#include "cli/run_binary.h"

namespace minirl {
namespace {

using cli_test::Folder;

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("cli/reward: explain says what was found, how it was read and which rule decided") {
  const Folder dir;
  const auto r =
      dir.run({"reward", "explain", "--gold", "\\frac{1}{2}", "--completion", "so \\boxed{0.5}"});
  CHECK(r.code == 0);
  CHECK_MESSAGE(has(r.out, "answer     0.5"), r.out);
  CHECK_MESSAGE(has(r.out, "gold is    1/2"), r.out);
  CHECK_MESSAGE(has(r.out, "equal numbers"), r.out);
  CHECK_MESSAGE(has(r.out, "score      1"), r.out);
  const auto none = dir.run({"reward", "explain", "--gold", "5", "--completion", "five"});
  CHECK(none.code == 0);
  CHECK_MESSAGE(has(none.out, "(none)"), none.out);
  CHECK(dir.run({"reward", "explain", "--gold", "5", "--completion", "5", "--reward", "maths"})
            .code == 2);
}

TEST_CASE(
    "cli/reward: test counts, compares with another reward and fails on an unexpected verdict") {
  const Folder dir;
  dir.write("good.jsonl",
            "{\"gold\": \"12\", \"completion\": \"\\\\boxed{12}\", \"expect\": true}\n\n{\"gold\": "
            "\"12\", \"completion\": \"\\\\boxed{(1,2)}\", \"expect\": false}\n");
  const auto good = dir.run({"reward", "test", "good.jsonl", "--against", "math_boxed"});
  CHECK(good.code == 0);
  CHECK_MESSAGE(has(good.out, "2 rows, 1 right, 2 answered"), good.out);
  CHECK_MESSAGE(
      has(good.out, "math against math_boxed: both 1, only math 0, only math_boxed 1, neither 0"),
      good.out);
  CHECK_MESSAGE(has(good.out, "expected verdicts: 2 of 2"), good.out);
  dir.write("bad.jsonl",
            "{\"gold\": \"12\", \"completion\": \"\\\\boxed{13}\", \"expect\": true}\n");
  const auto bad = dir.run({"reward", "test", "bad.jsonl"});
  CHECK(bad.code == 3);
  CHECK_MESSAGE(has(bad.out, "bad.jsonl:1: expected 1, got 0"), bad.out);
  dir.write("broken.jsonl", "{\"gold\": 12}\n");
  const auto broken = dir.run({"reward", "test", "broken.jsonl"});
  CHECK(broken.code == 6);
  CHECK_MESSAGE(has(broken.err, "broken.jsonl:1"), broken.err);
}

TEST_CASE("cli/reward: rows of a file can ask for the answer line by their ids") {
  const Folder dir;
  dir.write(
      "rows.jsonl",
      "{\"id\": \"a-line-1\", \"gold\": \"13\", \"completion\": \"Answer: 13\", \"expect\": true}\n"
      "{\"id\": \"a-last-1\", \"gold\": \"13\", \"completion\": \"Answer: 13\", \"expect\": "
      "false}\n");
  CHECK(dir.run({"reward", "test", "rows.jsonl"}).code == 3);
  const auto both = dir.run({"reward", "test", "rows.jsonl", "--answer-line-for", "-line-"});
  CHECK_MESSAGE(both.code == 0, both.out);
  CHECK_MESSAGE(has(both.out, "expected verdicts: 2 of 2"), both.out);
}

TEST_CASE("cli/verify: reward counts and shows where graders disagree, for people and machines") {
  const Folder dir;
  dir.write("rows.jsonl",
            "{\"gold\": \"12\", \"completion\": \"\\\\boxed{(1,2)}\"}\n"
            "{\"gold\": \"\\\\frac{3}{2}\", \"completion\": \"\\\\boxed{1.5}\"}\n");
  const auto text =
      dir.run({"verify", "reward", "rows.jsonl", "--graders", "math_boxed,hendrycks"});
  CHECK(text.code == 0);
  CHECK_MESSAGE(has(text.out, "math against math_boxed: 1 of 1 disagreements"), text.out);
  CHECK_MESSAGE(has(text.out, "rows.jsonl:1: only math_boxed says right"), text.out);
  CHECK_MESSAGE(has(text.out, "rows.jsonl:2: only math says right"), text.out);
  const auto json = dir.run({"verify", "reward", "rows.jsonl", "--json"});
  CHECK(json.code == 0);
  CHECK_MESSAGE(has(json.out, "\"only_grader\": 1"), json.out);
  CHECK_MESSAGE(has(json.out, "\"name\": \"math_last_number\""), json.out);
  CHECK(dir.run({"verify"}).code == 2);
  CHECK(dir.run({"verify", "reward", "none.jsonl"}).code == 2);
  CHECK(dir.run({"verify", "reward", "rows.jsonl", "--graders", "maths"}).code == 2);
}

}  // namespace minirl
