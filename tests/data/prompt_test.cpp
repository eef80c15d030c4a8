// From problems to prompts: instruction, template, begin and end tokens.
#include "data/prompt.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

#include "core/files.h"

namespace minirl::data {
namespace {

const std::filesystem::path kFixtures =
    std::filesystem::path(MINIRL_SOURCE_DIR) / "tests/data/fixtures";
const std::string kBox = "Put the final answer within \\boxed{}.";

Example problem(const std::string& text, const std::string& system = "") {
  Example e;
  if (!system.empty()) {
    e.messages.push_back({"system", system, {}});
  }
  e.messages.push_back({"user", text, {}});
  e.prompt = text;
  e.where = "p.jsonl:1";
  return e;
}

}  // namespace

TEST_CASE("data/prompt: the instruction is put behind a problem once, where nobody asked before") {
  const auto t = load_tokenizer(kFixtures / "tiny_qwen");
  PromptOptions options;
  options.instruction = kBox;
  const PromptFormat format(*t, options);
  CHECK(format.template_name() == "qwen3");
  CHECK(format.render(problem("2+2?")).text ==
        "<|im_start|>user\n2+2?\n\n" + kBox + "<|im_end|>\n<|im_start|>assistant\n");
  CHECK(format.render(problem("2+2? Use \\boxed{x}.")).text ==
        "<|im_start|>user\n2+2? Use \\boxed{x}.<|im_end|>\n<|im_start|>assistant\n");
  CHECK(format.render(problem("2+2?", "Answer in \\boxed{}.")).text.find(kBox) ==
        std::string::npos);
  options.system = "Use \\boxed{}.";
  CHECK(PromptFormat(*t, options).render(problem("2+2?")).text ==
        "<|im_start|>system\nUse \\boxed{}.<|im_end|>\n<|im_start|>user\n2+2?<|im_end|>\n"
        "<|im_start|>assistant\n");
  options.thinking = false;
  const std::string quiet = PromptFormat(*t, options).render(problem("2+2?")).text;
  CHECK(quiet.substr(quiet.size() - 19) == "<think>\n\n</think>\n\n");
  CHECK(asks_for("End with Answer: 4", "End with a line \"Answer: \""));
  CHECK_FALSE(asks_for("in a box", kBox));
  CHECK(asks_for("anything", ""));
}

TEST_CASE(
    "data/prompt: a begin token comes once, and only where the template does not write markup") {
  const auto t = parse_tokenizer(read_file(kFixtures / "tiny_llama3.json"), "llama");
  const Token begin = t->special("<|begin_of_text|>").value();
  const PromptFormat format(*t, {});
  CHECK(format.template_name() == "plain");
  auto ids = format.encode(problem("hello"));
  CHECK(ids.front() == begin);
  CHECK(std::count(ids.begin(), ids.end(), begin) == 1);
  ids = format.encode(problem("<|begin_of_text|>hello"));  // rendered elsewhere, with its own
  CHECK(std::count(ids.begin(), ids.end(), begin) == 1);
  CHECK_THROWS_WITH_AS((void)format.encode(problem("x", "system")),
                       doctest::Contains("p.jsonl:1: the template plain writes one user message"),
                       Error);
  PromptOptions chat;
  chat.chat_template = "qwen2.5";
  ids = PromptFormat(*t, chat).encode(problem("hello"));
  CHECK(std::count(ids.begin(), ids.end(), begin) == 0);
}

TEST_CASE("data/prompt: problems that are made up are taken as they are") {
  const auto t = byte_tokenizer();
  PromptOptions options;
  options.instruction = kBox;
  Example e;
  e.prompt = "37+48=?\n";
  CHECK(PromptFormat(*t, options).encode(e) == t->encode(e.prompt));
}

TEST_CASE("data/prompt: a completion ends at every end token that the files declare") {
  char pattern[] = "/tmp/minirl_prompt_XXXXXX";
  const std::filesystem::path dir = mkdtemp(pattern);
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    write_file_atomic(dir / name, read_file(kFixtures / "tiny_qwen" / name));
  }
  const auto end = load_tokenizer(dir)->special("<|im_end|>").value();
  const auto text_end = load_tokenizer(dir)->special("<|endoftext|>").value();
  CHECK(load_tokenizer(dir)->end_tokens() == std::vector<Token>{end});
  // A base model: config.json names another one than the tokenizer; no padding token is not token
  // 0.
  write_file_atomic(dir / "config.json",
                    fmt::format(R"({{"eos_token_id": {}, "pad_token_id": null}})", text_end));
  CHECK(load_tokenizer(dir)->end_tokens() == std::vector<Token>{end, text_end});
  CHECK(load_tokenizer(dir)->eos() == end);
  write_file_atomic(
      dir / "generation_config.json",
      fmt::format(R"({{"eos_token_id": [{}, {}, 5], "temperature": 0.7, "top_k": 20}})", end,
                  text_end));
  CHECK(load_tokenizer(dir)->end_tokens() == std::vector<Token>{end, text_end, 5});
  CHECK(
      load_tokenizer(dir)->end_token_words() ==
      fmt::format("<|im_end|> {} (tokenizer_config.json, generation_config.json), <|endoftext|> {} "
                  "(config.json, generation_config.json), {} 5 (generation_config.json)",
                  end, text_end, load_tokenizer(dir)->decode(std::vector<Token>{5})));
  write_file_atomic(dir / "config.json", R"({"eos_token_id": null})");
  CHECK(load_tokenizer(dir)->end_tokens().size() == 3);
  for (const char* bad : {R"({"eos_token_id": "<|im_end|>"})", R"({"eos_token_id": [1.5]})",
                          R"({"eos_token_id": 99999})", R"({"eos_token_id": -1})", "[]", "{"}) {
    CAPTURE(bad);
    write_file_atomic(dir / "config.json", bad);
    CHECK_THROWS_WITH_AS((void)load_tokenizer(dir), doctest::Contains("config.json"), Error);
  }
  // The end tokens of another model folder.
  std::filesystem::create_directory(dir / "model");
  write_file_atomic(dir / "model/config.json", R"({"eos_token_id": 7})");
  CHECK(load_tokenizer(dir, dir / "model")->end_tokens() == std::vector<Token>{end, 7});
  std::filesystem::remove_all(dir);
}

}  // namespace minirl::data
