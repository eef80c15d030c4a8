// Real text through the binary: tokenizers, data files, preparation, training and evaluation on
// them.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/run_binary.h"
#include "core/error.h"

namespace minirl {
namespace {

using cli_test::Folder;
using Json = nlohmann::json;
namespace fs = std::filesystem;

const fs::path kFixtures = fs::path(MINIRL_SOURCE_DIR) / "tests/data/fixtures";
const fs::path kShared = fs::path(MINIRL_SOURCE_DIR) / "../shared";

std::vector<Json> lines(const std::string& text) {
  std::vector<Json> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out.push_back(Json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return out;
}

void contains(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
}

std::vector<std::string> with_sets(std::vector<std::string> args,
                                   const std::vector<std::string>& sets) {
  for (const auto& s : sets) {
    args.emplace_back("--set");
    args.push_back(s);
  }
  return args;
}

// A tiny Qwen3 of random weights with the small Qwen-like tokenizer: a Hugging Face folder.
void make_model(const Folder& dir) {
  dir.write("one.jsonl", R"({"prompt": "2+2?", "answer": "4"})");
  const auto r = dir.run(with_sets({"train", "qwen3.toml", "--run-name", "base"},
                                   {"model.tokenizer=" + (kFixtures / "tiny_qwen").string(),
                                    "task.name=jsonl",
                                    "task.train=one.jsonl",
                                    "task.eval=one.jsonl",
                                    "reward.name=math",
                                    "pretrain.steps=0",
                                    "pretrain.warmup_steps=0",
                                    "model.hidden_size=32",
                                    "model.num_layers=2",
                                    "model.num_heads=2",
                                    "model.num_kv_heads=1",
                                    "model.head_dim=16",
                                    "model.ffn_size=64",
                                    "model.max_positions=512",
                                    "rollout.max_new_tokens=8",
                                    "rollout.prompts_per_step=2",
                                    "rollout.group_size=2",
                                    "train.updates_per_rollout=1",
                                    "train.steps=0",
                                    "eval.prompts=0",
                                    "eval.samples=1"}));
  INFO(r.err);
  REQUIRE(r.code == 0);
  fs::rename(dir.path / "runs/base/checkpoints/step-000000", dir.path / "model");
  fs::remove(dir.path / "model/progress.json");  // a folder as others make it
  fs::remove(dir.path / "model/optimizer.safetensors");
  fs::remove_all(dir.path / "runs");
}

const char* const kProblems = R"({"id": "a", "prompt": "What is 2 + 2?", "answer": "4"}
{"id": "b", "prompt": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 3 * 3?"}], "reward_model": {"ground_truth": "9"}}
{"id": "c", "prompt": "Half of one? Put it in \\boxed{}.", "answer": 0.5}
)";

}  // namespace

TEST_CASE("cli/text: tokenize converts lines both ways, with bad bytes replaced, kept or refused") {
  const Folder dir;
  const std::string tokenizer = (kFixtures / "tiny_qwen").string();
  dir.write("in.jsonl",
            "{\"id\": 7, \"text\": \"Hi<|im_end|>\"}\n{\"hex\": \"41ff\"}\n\n"
            "{\"messages\": [{\"role\": \"user\", \"content\": \"x<|im_end|>\"}]}\n");
  const auto r = dir.run({"tokenize", "--tokenizer", tokenizer, "--jsonl", "in.jsonl"});
  REQUIRE(r.code == 0);
  const auto rows = lines(r.out);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].at("id") == 7);
  const int end = rows[0].at("ids").back();
  contains(r.err, "1 ill-formed parts");
  CHECK(rows[2].at("text") == "<|im_start|>user\nx<|im_end|><|im_end|>\n<|im_start|>assistant\n");
  int ends = 0;
  for (const int id : rows[2].at("ids")) {
    ends += id == end ? 1 : 0;
  }
  CHECK(ends == 1);  // the one of the data is text
  std::string back;
  for (const auto& row : rows) {
    back += Json{{"ids", row.at("ids")}}.dump() + "\n";
  }
  back += "{\"ids\": [99999, -1]}\n";
  dir.write("back.jsonl", back);
  const auto texts = dir.run({"tokenize", "--tokenizer", tokenizer, "--jsonl", "back.jsonl"});
  REQUIRE(texts.code == 0);
  CHECK(lines(texts.out)[0].at("text") == "Hi<|im_end|>");
  CHECK(lines(texts.out)[1].at("text") == "A\uFFFD");
  CHECK(lines(texts.out)[3].at("text") == "\uFFFD\uFFFD");
  const auto kept = dir.run(
      {"tokenize", "--tokenizer", tokenizer, "--jsonl", "in.jsonl", "--invalid-utf8", "keep"});
  dir.write("kept.jsonl", Json{{"ids", lines(kept.out)[1].at("ids")}}.dump());
  CHECK(lines(dir.run({"tokenize", "--tokenizer", tokenizer, "--jsonl", "kept.jsonl"}).out)[0].at(
            "hex") == "41ff");
  const auto refused = dir.run(
      {"tokenize", "--tokenizer", tokenizer, "--jsonl", "in.jsonl", "--invalid-utf8", "error"});
  CHECK(refused.code == static_cast<int>(Exit::data));
  contains(refused.err, "in.jsonl:2: not valid UTF-8");
  dir.write("bad.jsonl", "{\"text\": \"x\"}\n{\"text\": 7}\n");
  const auto bad = dir.run({"tokenize", "--tokenizer", tokenizer, "--jsonl", "bad.jsonl"});
  CHECK(bad.code == static_cast<int>(Exit::data));
  contains(bad.err, "bad.jsonl:2");
  contains(dir.run({"tokenize", "--tokenizer", dir.path.string(), "x"}).err,
           "has no tokenizer.json");
}

TEST_CASE("cli/text: prepare strips instructions, removes repetitions and says what it dropped") {
  const Folder dir;
  const std::string before =
      "Solve the following math problem step by step. The last line of your response should be of "
      "the "
      "form Answer: $Answer (without quotes) where $Answer is the answer to the problem.\n\n";
  const std::string after = "\n\nRemember to put your answer on its own line after \"Answer:\".";
  std::string text;
  const auto add = [&](const std::string& problem, const std::string& answer) {
    text +=
        Json{{"prompt", Json::array({{{"role", "user"}, {"content", before + problem + after}}})},
             {"reward_model", {{"ground_truth", answer}, {"style", "rule"}}},
             {"data_source", "math_dapo"}}
            .dump() +
        "\n";
  };
  for (int copy = 0; copy < 3; ++copy) {
    for (int i = 0; i < 6; ++i) {
      add(fmt::format("Find {} + 1.", i), fmt::format("{}", i + 1));
    }
  }
  add("Find  2 + 1.", "3");  // differs in whitespace
  add("What is it?", "1");
  add("What is it?", "2");            // contradicts the former
  add("No answer here?", "\\frac{");  // cannot be scored
  dir.write("dapo.jsonl", text);
  const auto r =
      dir.run({"prepare", "dapo-math", "dapo.jsonl", "--out", "out", "--eval-count", "2"});
  INFO(r.err);
  REQUIRE(r.code == 0);
  const auto train = lines(dir.read("out/train.jsonl"));
  const auto eval = lines(dir.read("out/eval.jsonl"));
  CHECK(train.size() == 4);
  CHECK(eval.size() == 2);
  for (const auto& row : train) {
    CHECK(row.at("prompt").get<std::string>().rfind("Find ", 0) == 0);
    CHECK(row.at("prompt").get<std::string>().back() == '.');
    CHECK(row.at("source") == "math_dapo");
    for (const auto& held : eval) {
      CHECK(row.at("id") != held.at("id"));
      CHECK(row.at("prompt") != held.at("prompt"));
    }
  }
  const Json report = Json::parse(dir.read("out/report.json"));
  CHECK(report.at("rows") == 22);
  CHECK(report.at("dropped").at("repeats an earlier row") == 14);
  CHECK(report.at("dropped").at("the same problem with different answers") == 1);
  CHECK(report.at("changed").at("stripped DAPO's prefix") == 8);
  CHECK(report.at("changed").at("stripped DAPO's suffix") == 8);
  contains(r.out, "cannot be scored");
  // Held-out problems from a file of their own are not trained on.
  const auto split = dir.run(
      {"prepare", "dapo-math", "dapo.jsonl", "--eval-in", "out/eval.jsonl", "--out", "split"});
  REQUIRE(split.code == 0);
  CHECK(lines(dir.read("split/eval.jsonl")).size() == 2);
  CHECK(lines(dir.read("split/train.jsonl")).size() == 4);
  contains(split.out, "is among the held-out problems");
  dir.write("bad.jsonl", text + "{\"prompt\": 3}\n");
  const auto bad = dir.run({"prepare", "dapo-math", "bad.jsonl", "--out", "bad"});
  CHECK(bad.code == static_cast<int>(Exit::data));
  contains(bad.err, "bad.jsonl:23: ");
  CHECK_FALSE(dir.has("bad/train.jsonl"));
  const auto skipped = dir.run({"prepare", "dapo-math", "bad.jsonl", "--out", "bad",
                                "--skip-bad-rows", "--eval-count", "1"});
  CHECK(skipped.code == 0);
  contains(skipped.out, "bad row: ");
  CHECK(dir.run({"prepare", "mathematics", "bad.jsonl", "--out", "x"}).code ==
        static_cast<int>(Exit::usage));
}

TEST_CASE("cli/text: prepare reads GSM8K, MATH and AIME rows") {
  const Folder dir;
  dir.write("gsm.jsonl", R"({"question": "How much?", "answer": "work\n#### 1,234"}
{"question": "How many?", "answer": "a, b\n#### -5"})");
  REQUIRE(dir.run({"prepare", "gsm8k", "gsm.jsonl", "--out", "g", "--eval-count", "1"}).code == 0);
  std::vector<std::string> answers = {lines(dir.read("g/train.jsonl"))[0].at("answer"),
                                      lines(dir.read("g/eval.jsonl"))[0].at("answer")};
  std::sort(answers.begin(), answers.end());
  CHECK(answers == std::vector<std::string>{"-5", "1234"});
  dir.write(
      "math.jsonl",
      R"({"problem": "P?", "level": "Level 1", "solution": "so \\boxed{1} no \\boxed{\\frac{1}{2}}."}
{"problem": "Q?", "solution": "\\boxed{9}", "answer": "10", "unique_id": "test/x.json"})");
  REQUIRE(dir.run({"prepare", "math", "math.jsonl", "--out", "m", "--eval-count", "0"}).code == 0);
  CHECK(lines(dir.read("m/train.jsonl"))[0].at("answer") == "\\frac{1}{2}");
  CHECK(lines(dir.read("m/train.jsonl"))[1].at("answer") == "10");
  CHECK_FALSE(dir.has("m/eval.jsonl"));
  dir.write("aime.jsonl", R"({"ID": "2024-I-1", "Problem": "P?", "Solution": "s", "Answer": 204})");
  REQUIRE(dir.run({"prepare", "aime", "aime.jsonl", "--out", "a"}).code == 0);
  CHECK(lines(dir.read("a/eval.jsonl"))[0].at("answer") == "204");
  CHECK_FALSE(dir.has("a/train.jsonl"));
  if (!fs::exists(kShared / "data/aime24_test.jsonl")) {
    MESSAGE("skipped: ../shared/data is not here");
    return;
  }
  REQUIRE(
      dir.run({"prepare", "aime", (kShared / "data/aime24_test.jsonl").string(), "--out", "a24"})
          .code == 0);
  CHECK(lines(dir.read("a24/eval.jsonl")).size() == 30);
  REQUIRE(
      dir.run({"prepare", "gsm8k", (kShared / "data/gsm8k_test.jsonl").string(), "--out", "g8k"})
          .code == 0);
  CHECK(lines(dir.read("g8k/eval.jsonl")).size() == 256);
  CHECK(lines(dir.read("g8k/train.jsonl")).size() == 1319 - 256);
}

TEST_CASE("cli/text: a Hugging Face folder and a data file train, resume, evaluate and sample") {
  const Folder dir;
  make_model(dir);
  dir.write("problems.jsonl", kProblems);
  // A second end token, as base models declare it: a run stops at either, and so do its
  // checkpoints.
  const int end = Json::parse(dir.read("model/config.json")).at("eos_token_id");
  dir.write("model/generation_config.json",
            Json{{"eos_token_id", {end - 1, end - 2}}, {"temperature", 0.3}, {"top_k", 20}}.dump());
  const auto train = [&](const std::string& name, const std::vector<std::string>& more) {
    auto args = with_sets(
        {"train", "qwen3.toml", "--run-name", name},
        {"model.checkpoint=model", "task.name=jsonl", "task.train=problems.jsonl",
         "task.eval=problems.jsonl", "reward.name=math", "pretrain.steps=0",
         "pretrain.warmup_steps=0", "rollout.max_new_tokens=8", "rollout.prompts_per_step=2",
         "rollout.group_size=2", "train.updates_per_rollout=1", "train.steps=3",
         "train.lr_schedule=constant", "eval.prompts=0", "eval.samples=2", "eval.top_p=0.9",
         "checkpoint.every=1", "checkpoint.keep=0"});
    args.insert(args.end(), more.begin(), more.end());
    return dir.run(args);
  };
  const auto r = train("run", {});
  INFO(r.err);
  REQUIRE(r.code == 0);
  contains(r.err, "problems.jsonl: 3 problems");
  contains(r.err, "template qwen3, thinking");
  // The prompt is the chat template with the reward's instruction, once.
  const Json first = lines(dir.read("runs/run/rollouts/step-000001.jsonl"))[0];
  contains(first.dump(), "prompt");
  // The checkpoint is a whole Hugging Face folder with the tokenizer's own files.
  const std::string last = "runs/run/checkpoints/step-000003/";
  CHECK(dir.read(last + "tokenizer.json") == read_file(kFixtures / "tiny_qwen/tokenizer.json"));
  const std::vector<int> ends =
      Json::parse(dir.read(last + "generation_config.json")).at("eos_token_id");
  CHECK(ends == std::vector<int>{end, end - 1, end - 2});
  contains(r.err, fmt::format("<|im_end|> {} (tokenizer_config.json, config.json)", end));
  // Three steps in one go, or two processes.
  REQUIRE(train("cut", {"--set", "train.steps=1"}).code == 0);
  const auto resumed = train("cut", {"--resume"});
  INFO(resumed.err);
  REQUIRE(resumed.code == 0);
  const auto hash = [&](const std::string& run) {
    return Json::parse(dir.read("runs/" + run + "/checkpoints/step-000003/progress.json"))
        .at("weights_hash");
  };
  CHECK(hash("run") == hash("cut"));
  // Evaluation of the folder on a file, with the protocol of AIME.
  const auto eval =
      dir.run({"eval", "runs/run/checkpoints/step-000003", "--data", "problems.jsonl", "--preset",
               "aime", "--samples", "4", "--max-new-tokens", "6", "--out", "eval.json", "--table"});
  INFO(eval.err);
  REQUIRE(eval.code == 0);
  const Json doc = Json::parse(dir.read("eval.json"));
  CHECK(doc.at("problems") == 3);
  CHECK(doc.at("samples") == 4);
  CHECK(doc.at("sampling").at("temperature") == 0.7);
  CHECK(doc.at("sampling").at("top_p") == 0.95);
  CHECK(doc.at("sampling").at("filtered") == true);
  CHECK(doc.at("sampling").at("template") == "qwen3");
  CHECK(doc.at("verifier").at("name") == "math");
  CHECK_FALSE(doc.at("verifier").at("version").get<std::string>().empty());
  CHECK(doc.at("pass_at").size() == 3);
  CHECK(doc.at("rows").at(0).at("label") == "a");
  contains(eval.out, "maj@4");
  contains(eval.out, "temperature 0.7, top-p 0.95, top-k off");
  const auto greedy =
      dir.run({"eval", "runs/run/checkpoints/step-000003", "--data", "problems.jsonl", "--greedy",
               "--samples", "1", "--max-new-tokens", "6", "--json"});
  CHECK(Json::parse(greedy.out).at("sampling").at("greedy") == true);
  CHECK(Json::parse(greedy.out).at("sampling").at("filtered") == false);
  const auto sample = dir.run({"sample", "model", "--prompt", "Hi", "--template", "qwen3",
                               "--top-k", "5", "--max-new-tokens", "4", "--json"});
  INFO(sample.err);
  REQUIRE(sample.code == 0);
  CHECK(Json::parse(sample.out).at(0).at("filtered") == true);
  // Off is 0 or -1; and nothing is inherited from generation_config.json (temperature 0.3, top-k 20).
  const auto top_k = [&](const std::string& k) {
    return dir.run({"eval", "runs/run/checkpoints/step-000003", "--data", "problems.jsonl", "--samples",
                    "2", "--max-new-tokens", "4", "--json", "--top-p", "1", "--top-k", k});
  };
  CHECK(top_k("-2").code == static_cast<int>(Exit::usage));
  const Json off = Json::parse(top_k("0").out);
  CHECK(off == Json::parse(top_k("-1").out));
  CHECK(off.at("sampling").at("temperature") == 1.0);
  CHECK(off.at("sampling").at("filtered") == false);
}

TEST_CASE("cli/text: problems that cannot be used stop a run before it begins, or are counted") {
  const Folder dir;
  make_model(dir);
  const auto train = [&](const std::vector<std::string>& sets) {
    std::vector<std::string> all = {"model.checkpoint=model",
                                    "task.name=jsonl",
                                    "task.train=p.jsonl",
                                    "task.eval=good.jsonl",
                                    "reward.name=math",
                                    "pretrain.steps=0",
                                    "pretrain.warmup_steps=0",
                                    "rollout.max_new_tokens=4",
                                    "rollout.prompts_per_step=2",
                                    "rollout.group_size=2",
                                    "train.updates_per_rollout=1",
                                    "train.steps=1",
                                    "eval.prompts=0",
                                    "eval.samples=1"};
    all.insert(all.end(), sets.begin(), sets.end());
    return dir.run(with_sets({"train", "qwen3.toml", "--run-name", "r"}, all));
  };
  dir.write("good.jsonl", kProblems);
  std::string longer;
  for (int i = 0; i < 300; ++i) {
    longer += "very ";
  }
  dir.write("p.jsonl", std::string(kProblems) + R"({"prompt": "bad gold", "answer": "\\frac{"})" +
                           "\n" + R"({"prompt": ")" + longer + R"(", "answer": "1"})" + "\n");
  auto r = train({});
  CHECK(r.code == static_cast<int>(Exit::data));
  contains(r.err, "p.jsonl:4: the gold answer");
  CHECK_FALSE(dir.has("runs/r"));
  r = train({"task.bad_rows=skip", "prompt.max_tokens=150"});
  CHECK(r.code == static_cast<int>(Exit::data));
  contains(r.err, "p.jsonl:5: the prompt has ");
  r = train({"task.bad_rows=skip", "prompt.max_tokens=150", "prompt.too_long=drop"});
  INFO(r.err);
  CHECK(r.code == 0);
  fs::remove_all(dir.path / "runs/r");
  contains(r.err, "left out 1 problems: the prompt is longer than 150 tokens");
  contains(r.err, "left out 1 problems: the reward math cannot read the gold answer");
  contains(train({"prompt.instruction=Say it"}).err, "does not ask for what the reward");
  contains(train({"pretrain.steps=5"}).err, "no worked answers");
  contains(train({"task.train=nowhere.jsonl"}).err, "there is no file 'nowhere.jsonl'");
  contains(train({"task.train=good.jsonl", "eval.prompts=50"}).err, "fewer than 50");
  contains(train({"rollout.top_p=0.9"}).err, "rollout.top_p");
  // Without a task of files the table would do nothing.
  contains(dir.run(with_sets({"plan", "qwen3.toml"}, {"prompt.template=qwen3"})).err, "no effect");
  // A template that is not built in.
  Json config = Json::parse(dir.read("model/tokenizer_config.json"));
  config["chat_template"] = "{{ messages }}";
  dir.write("model/tokenizer_config.json", config.dump());
  contains(train({"task.train=good.jsonl"}).err, "prompt.template=NAME, with NAME one of");
}

}  // namespace minirl
