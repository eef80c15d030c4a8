#include "data/tokenizer.h"

#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/files.h"

namespace minirl::data {
namespace {

const char* const kTexts[] = {"",
                              "37+48=?\n",
                              "so \\boxed{85}",
                              "Grüße, 世界 🙂",
                              "<|endoftext|>",
                              "a<|im_start|>user\nhi<|im_end|>b",
                              "<think>hm</think> <|endoftext|",
                              "<<|im_end|>>",
                              "  two  spaces\t\r\n"};

}  // namespace

TEST_CASE("data/tokenizer: decode inverts encode for every byte and every text") {
  const auto t = byte_tokenizer();
  std::string all;
  for (int b = 0; b < 256; ++b) {
    all += static_cast<char>(b);
  }
  const auto ids = t->encode(all);
  REQUIRE(ids.size() == 256);
  for (int b = 0; b < 256; ++b) {
    CHECK(ids[static_cast<std::size_t>(b)] == b);
  }
  CHECK(t->decode(ids) == all);
  for (const std::string text : kTexts) {
    CAPTURE(text);
    CHECK(t->decode(t->encode(text)) == text);
    CHECK(t->decode(t->encode(text, Specials::as_text)) == text);
    CHECK(t->encode(text, Specials::as_text).size() == text.size());
  }
}

TEST_CASE(
    "data/tokenizer: special tokens are found inside a text, and only when they are asked for") {
  const auto t = byte_tokenizer();
  CHECK(t->vocab_size() == 261);
  CHECK(t->eos() == 256);
  CHECK(t->encode("a<|im_start|>b") == std::vector<Token>{'a', 257, 'b'});
  CHECK(t->encode("<<|im_end|>>") == std::vector<Token>{'<', 258, '>'});
  CHECK(t->encode("<think></think>") == std::vector<Token>{259, 260});
  CHECK(t->encode("<|endoftext|").size() == 12);
  CHECK(t->encode("<|endoftext|>", Specials::as_text).size() == 13);
  CHECK(t->special("<|endoftext|>") == t->eos());
  CHECK_FALSE(t->special("<|pad|>").has_value());
}

TEST_CASE(
    "data/tokenizer: any ids decode; unknown ones become U+FFFD, control tokens can be left out") {
  const auto t = byte_tokenizer();
  const std::vector<Token> ids = {'a', -1, 261, 2147483647, -2147483647 - 1, 'b', 256};
  CHECK(t->decode(ids) ==
        "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
        "b<|endoftext|>");
  const std::vector<Token> end = {'b', 259, 256};
  CHECK(t->decode(end, true) == "b<think>");
}

TEST_CASE("data/tokenizer: the saved tokenizer.json maps every byte's character to the byte") {
  char pattern[] = "/tmp/minirl_tokenizer_XXXXXX";
  const std::filesystem::path dir = mkdtemp(pattern);
  const auto t = byte_tokenizer();
  t->save(dir);
  const auto json = nlohmann::json::parse(read_file(dir / "tokenizer.json"));
  const auto& vocab = json.at("model").at("vocab");
  REQUIRE(vocab.size() == 256);
  CHECK(vocab.at("A") == 'A');
  CHECK(vocab.at("\u0120") == ' ');   // the well-known G with a dot
  CHECK(vocab.at("\u010a") == '\n');  // and C with a dot
  CHECK(vocab.at("\u00ff") == 255);
  CHECK(vocab.at("\u0143") == 0xad);
  std::vector<bool> seen(256, false);
  for (const auto& [text, id] : vocab.items()) {
    seen[id.get<std::size_t>()] = true;
  }
  CHECK(std::find(seen.begin(), seen.end(), false) == seen.end());
  CHECK(json.at("added_tokens").size() == 5);
  const auto config = nlohmann::json::parse(read_file(dir / "tokenizer_config.json"));
  CHECK(config.at("eos_token") == "<|endoftext|>");
  std::filesystem::remove_all(dir);
}

}  // namespace minirl::data
