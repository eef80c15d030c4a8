// A small run through the binary: what it leaves behind, and that interruption changes nothing.
#include <algorithm>
#include <csignal>
#include <set>
#include <sstream>
#include <thread>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/embedded.h"
#include "cli/run_binary.h"
#include "core/error.h"
#include "data/task.h"
#include "rl/config.h"

namespace minirl {
namespace {

using cli_test::Folder;
using cli_test::tiny_run;
using Json = nlohmann::json;

std::vector<Json> rows(const Folder& dir, const std::string& run = "qwen3") {
  std::vector<Json> out;
  std::istringstream in(dir.read("runs/" + run + "/metrics.jsonl"));
  for (std::string line; std::getline(in, line);) {
    out.push_back(Json::parse(line));
  }
  return out;
}

std::string weights_hash(const Folder& dir, const std::string& checkpoint,
                         const std::string& run = "qwen3") {
  return Json::parse(dir.read("runs/" + run + "/checkpoints/" + checkpoint + "/progress.json"))
      .at("weights_hash")
      .get<std::string>();
}

// Everything in the metrics that does not depend on the clock or the machine.
std::string numbers(const Folder& dir, const std::string& run = "qwen3") {
  std::string out;
  for (Json row : rows(dir, run)) {
    if (row.at("kind") == "run") {
      continue;
    }
    for (auto it = row.begin(); it != row.end();) {
      it = it.key().rfind("perf/", 0) == 0 ? row.erase(it) : std::next(it);
    }
    out += row.dump() + "\n";
  }
  return out;
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    out.push_back(line);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("cli: a run leaves the documented folder, readable by programs and people") {
  const Folder dir;
  const auto r = dir.run(tiny_run());
  REQUIRE_MESSAGE(r.code == 0, r.err);
  for (const char* part : {"avg@2", "pass@2", "before (step 0)", "after (step 4)",
                           "gold:", "runs/qwen3/report.html", "minirl sample runs/qwen3"}) {
    CHECK_MESSAGE(r.out.find(part) != std::string::npos, r.out);
  }
  for (const char* file :
       {"config.toml", "config.resolved.toml", "env.json", "metrics.jsonl", "report.html",
        "eval/step-000000.json", "eval/step-000002.json", "eval/step-000004.json",
        "rollouts/step-000001.jsonl", "rollouts/step-000004.jsonl",
        "checkpoints/step-000000/model.safetensors", "checkpoints/step-000004/tokenizer.json",
        "checkpoints/step-000004/config.json"}) {
    CHECK_MESSAGE(dir.has(std::string("runs/qwen3/") + file), file);
  }
  const auto all = rows(dir);
  REQUIRE(all.size() == 1 + 6 + 4 + 3);
  CHECK(all[0].at("kind") == "run");
  CHECK(all[0].at("config_toml").at("train.steps") == "4");
  Index train = 0;
  for (const auto& row : all) {
    if (row.at("kind") != "train") {
      continue;
    }
    CHECK(row.at("step") == ++train);
    CHECK(row.at("reward/mean").get<double>() >= -1);  // the penalty of length
    CHECK(row.contains("train/loss"));
  }
  CHECK(train == 4);
  // docs/formats.md knows every field.
  const std::string page = read_file(std::string(MINIRL_SOURCE_DIR) + "/docs/formats.md");
  for (const auto& row : all) {
    for (const auto& item : row.items()) {
      const std::string key = item.key();
      const auto slash = key.find('/');
      const bool reason = key.rfind("_fraction") == key.size() - 9;
      const std::string group = key.substr(0, slash == std::string::npos ? 0 : slash);
      const std::string told =
          group == "policy" || group == "last_update" ? key.substr(slash + 1) : key;
      const auto named = [&](std::string_view name) {
        return page.find(fmt::format("`{}`", name)) != std::string::npos;
      };
      const auto without = [&](std::string_view end) {
        return told.size() > end.size() ? told.substr(0, told.size() - end.size()) : told;
      };
      const bool known =
          named(told) || named(without("_lower")) || (reason && named(without("_fraction")));
      CHECK_MESSAGE(known, key << " is not in docs/formats.md");
    }
  }
  const Json rollout =
      Json::parse(dir.read("runs/qwen3/rollouts/step-000001.jsonl")
                      .substr(0, dir.read("runs/qwen3/rollouts/step-000001.jsonl").find('\n')));
  CHECK(rollout.at("ids").size() == rollout.at("logp").size());
  const std::string html = dir.read("runs/qwen3/report.html");
  CHECK(html.find("<svg") != std::string::npos);
  CHECK(html.find("http://") == std::string::npos);
  CHECK(html.find("https://") == std::string::npos);
  const Json env = Json::parse(dir.read("runs/qwen3/env.json"));
  CHECK(env.at("starts").size() == 1);
  CHECK(env.at("starts")[0].at("build").contains("compiler"));
}

TEST_CASE("cli: the resolved configuration is the same configuration") {
  const Folder dir;
  REQUIRE(dir.run(tiny_run()).code == 0);
  const Json env = Json::parse(dir.read("runs/qwen3/env.json"));
  const auto plan = dir.run({"plan", "runs/qwen3/config.resolved.toml", "--json"});
  REQUIRE(plan.code == 0);
  CHECK(Json::parse(plan.out).at("config_sha256") == env.at("starts")[0].at("config_sha256"));
  // And it makes the same bits.
  REQUIRE(dir.run({"train", "runs/qwen3/config.resolved.toml", "--run-name", "again"}).code == 0);
  CHECK(weights_hash(dir, "step-000004") == weights_hash(dir, "step-000004", "again"));
  CHECK(numbers(dir) == numbers(dir, "again"));
}

TEST_CASE(
    "cli: a signal leaves a checkpoint and its exit code, and the resumed run ends with the same "
    "bits") {
  const Folder alone;
  REQUIRE(alone.run(tiny_run({"--set", "pretrain.steps=60"})).code == 0);
  for (const auto& [number, code] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143)}) {
    const Folder dir;
    const pid_t self = getpid();
    // The child signals itself from a timer, so that the test does not race with its start.
    const auto r = dir.run(tiny_run({"--set", "pretrain.steps=60"}), [number = number] {
      if (fork() == 0) {
        const pid_t parent = getppid();
        usleep(120000);
        kill(parent, number);
        _exit(0);
      }
    });
    CHECK(getpid() == self);
    if (r.code == 0) {
      MESSAGE("[SKIP] the run was over before the signal came");
      continue;
    }
    CHECK_MESSAGE(r.code == code, r.err);
    CHECK_MESSAGE(r.err.find("--resume") != std::string::npos, r.err);
    const auto resumed = dir.run(tiny_run({"--set", "pretrain.steps=60", "--resume"}));
    REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
    CHECK(weights_hash(dir, "step-000004") == weights_hash(alone, "step-000004"));
    CHECK(sorted_lines(numbers(dir)) == sorted_lines(numbers(alone)));
    CHECK(Json::parse(dir.read("runs/qwen3/env.json")).at("starts").size() == 2);
  }
}

TEST_CASE("cli: a killed run resumes to the same bits, without a doubled or torn line") {
  const Folder alone;
  REQUIRE(alone.run(tiny_run()).code == 0);
  const Folder dir;
  for (int i = 0; i < 20; ++i) {
    auto args = tiny_run();
    if (dir.has("runs/qwen3/env.json")) {
      args.emplace_back("--resume");
    }
    const auto r = dir.run(args, [i] {
      if (fork() == 0) {
        const pid_t parent = getppid();
        usleep(static_cast<useconds_t>(15000 + 9000 * i));
        kill(parent, SIGKILL);
        _exit(0);
      }
    });
    if (r.code == 0) {
      break;
    }
  }
  auto args = tiny_run();
  if (dir.has("runs/qwen3/env.json")) {
    args.emplace_back("--resume");
  }
  const auto last = dir.run(args);
  CHECK_MESSAGE((last.code == 0 || last.err.find("nothing is left") != std::string::npos),
                last.err);
  CHECK(weights_hash(dir, "step-000004") == weights_hash(alone, "step-000004"));
  std::set<std::pair<std::string, Index>> seen;
  for (const auto& row : rows(dir)) {
    CHECK(seen.emplace(row.at("kind").get<std::string>(), row.value("step", Index{0})).second);
  }
  CHECK(sorted_lines(numbers(dir)) == sorted_lines(numbers(alone)));
}

TEST_CASE("cli: under a constant learning rate a longer run is the shorter one continued") {
  const Folder dir;
  const std::vector<std::string> constant = {"--set", "train.lr_schedule=constant"};
  const auto args = [&](std::vector<std::string> more) {
    more.insert(more.end(), constant.begin(), constant.end());
    return tiny_run(std::move(more));
  };
  REQUIRE(dir.run(args({})).code == 0);
  const auto longer = dir.run(args({"--resume", "--set", "train.steps=6"}));
  REQUIRE_MESSAGE(longer.code == 0, longer.err);
  REQUIRE(dir.run(args({"--run-name", "straight", "--set", "train.steps=6"})).code == 0);
  // Under a schedule the length is part of what was computed.
  const auto scheduled =
      dir.run(tiny_run({"--run-name", "linear", "--set", "train.lr_schedule=linear"}));
  REQUIRE(scheduled.code == 0);
  const auto refused = dir.run(tiny_run({"--run-name", "linear", "--resume", "--set",
                                         "train.lr_schedule=linear", "--set", "train.steps=6"}));
  CHECK(refused.code == 2);
  CHECK_MESSAGE(refused.err.find("train.steps: 4 before, 6 now") != std::string::npos, refused.err);
  CHECK(weights_hash(dir, "step-000006") == weights_hash(dir, "step-000006", "straight"));
}

TEST_CASE("cli: eval and sample work on a run and on a checkpoint, and are reproducible") {
  const Folder dir;
  REQUIRE(dir.run(tiny_run()).code == 0);
  const auto eval = dir.run({"eval", "runs/qwen3", "--json", "--out", "e.json"});
  REQUIRE_MESSAGE(eval.code == 0, eval.err);
  // The same weights, problems and keys as the run's own last evaluation.
  CHECK(Json::parse(dir.read("e.json")) ==
        Json::parse(dir.read("runs/qwen3/eval/step-000004.json")));
  CHECK(Json::parse(eval.out).at("step") == 4);
  CHECK(dir.run({"eval", "runs/qwen3/checkpoints/step-000000", "--greedy"}).code == 0);
  const auto one = dir.run({"sample", "runs/qwen3", "--prompt", "1+2=?\\n", "-n", "2", "--json"});
  REQUIRE_MESSAGE(one.code == 0, one.err);
  const Json samples = Json::parse(one.out);
  CHECK(samples.size() == 2);
  CHECK(samples[0].at("prompt") == "1+2=?\n");
  CHECK(one.out ==
        dir.run({"sample", "runs/qwen3", "--prompt", "1+2=?\\n", "-n", "2", "--json"}).out);
  CHECK(dir.run({"sample", "runs/qwen3"}).out.find("gold:") != std::string::npos);
  const auto elsewhere = dir.run(
      {"sample", "runs/qwen3/checkpoints/step-000004", "--config", "qwen3", "--problems", "1"});
  CHECK_MESSAGE(elsewhere.code == 0, elsewhere.err);
  CHECK(dir.run({"sample", "runs/qwen3", "--prompt", ""}).code == 2);
  CHECK(dir.run({"sample", "runs/qwen3", "--max-new-tokens", "100000"}).code == 2);
}

TEST_CASE("cli: every bundled config is found by name with or without .toml and makes a plan") {
  const Folder dir;
  REQUIRE(cli::embedded_files().size() >= 2);
  for (const auto& file : cli::embedded_files()) {
    const std::string name(file.name);
    if (name.rfind("experiments/", 0) == 0) {
      continue;  // not a configuration of a run: tests/audit
    }
    CAPTURE(name);
    if (file.text.find("name = \"jsonl\"") != std::string_view::npos &&
        !data::Tasks::contains("jsonl")) {
      MESSAGE("skipped: this build has no task that reads files");
      continue;
    }
    const auto text = dir.run({"plan", name});
    CHECK_MESSAGE(text.code == 0, text.err);
    // delta = 12.5 is out of reach, which a plan says.
    const bool out_of_reach = name == "qwen3-4b-base-drpo-dapo.toml";
    CHECK((text.out.find("warning") == std::string::npos) == !out_of_reach);
    CHECK(dir.run({"plan", name.substr(0, name.rfind('.'))}).out == text.out);
    const auto json = dir.run({"train", name, "--dry-run"});
    CHECK(json.code == 0);
    CHECK(json.out == text.out);
  }
  CHECK_FALSE(dir.has("runs"));  // nothing was touched
}

TEST_CASE("cli: the embedded default writes out the defaults; the loss' threshold has none") {
  std::string text;
  for (const auto& file : cli::embedded_files()) {
    if (file.name == "qwen3.toml") {
      text = std::string(file.text);
    }
  }
  const auto written = rl::load_config({ConfigSource::text("qwen3.toml", text)});
  const auto defaults = rl::load_config(
      {ConfigSource::text("least.toml", "[algorithm]\nname = \"drpo\"\ndelta = 0.2\n")});
  REQUIRE(written.keys.size() == defaults.keys.size());
  for (std::size_t i = 0; i < written.keys.size(); ++i) {
    CHECK_MESSAGE(written.keys[i].toml == defaults.keys[i].toml,
                  written.keys[i].key << ": rl/config.h has " << defaults.keys[i].toml
                                      << ", configs/qwen3.toml has " << written.keys[i].toml);
  }
}

TEST_CASE("cli: a plan says whether the loss' boundary can be reached") {
  const Folder dir;
  const auto json = [&](const std::string& delta) {
    const auto r = dir.run({"plan", "qwen3", "--json", "--set", "algorithm.delta=" + delta});
    REQUIRE(r.code == 0);
    return Json::parse(r.out);
  };
  const Json tight = json("0.2");
  CHECK(tight.at("algorithm").at("boundary_reachable") == true);
  CHECK(tight.at("expected_first_update_ratio") == 1.0);
  CHECK(tight.at("step").at("completions") ==
        tight.at("step").at("updates").get<Index>() *
            tight.at("step").at("completions_per_update").get<Index>());
  const Json wide = json("12.5");
  CHECK(wide.at("algorithm").at("boundary_reachable") == false);
  CHECK(wide.at("algorithm").at("weight_lower").get<double>() == doctest::Approx(0.92));
  CHECK(wide.at("warnings").size() == 1);
}

TEST_CASE("cli: tokenize prints ids and saves the tokenizer") {
  const Folder dir;
  CHECK(dir.run({"tokenize", "a<|im_end|>"}).out == "97 258\n");
  CHECK(dir.run({"tokenize", "--as-text", "<|"}).out == "60 124\n");
  CHECK(dir.run({"tokenize", "--save", "tok"}).code == 0);
  CHECK(dir.run({"tokenize"}).code == 2);
  CHECK(dir.run({"tokenize", "a", "--save", "tok"}).code == 2);
  const auto unknown = dir.run({"tokenize", "--ids", "97", "99999"});
  CHECK(unknown.code == 2);
  CHECK_MESSAGE(unknown.err.find("99999 is not an id") != std::string::npos, unknown.err);
  CHECK(dir.has("tok/tokenizer.json"));
}

}  // namespace minirl
