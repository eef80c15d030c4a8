// Tokenizers read from tokenizer.json. The expected ids are those of the package `tokenizers`
// (tests/reference/tokenizer_oracle.py).
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/hash.h"
#include "core/rng.h"
#include "data/stream_decoder.h"
#include "data/tokenizer.h"
#include "data/unicode.h"

namespace minirl::data {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path kFixtures = fs::path(MINIRL_SOURCE_DIR) / "tests/data/fixtures";
const fs::path kShared = fs::path(MINIRL_SOURCE_DIR) / "../shared";

std::string from_hex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return out;
}

std::vector<Json> lines(const fs::path& path) {
  std::vector<Json> out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    out.push_back(Json::parse(line));
  }
  return out;
}

std::unique_ptr<Tokenizer> fixture(const std::string& name) {
  const fs::path file = kFixtures / (name == "qwen"         ? "tiny_qwen/tokenizer.json"
                                     : name == "gpt2"       ? "tiny_gpt2.json"
                                     : name == "gpt2-space" ? "tiny_gpt2_space.json"
                                                            : "tiny_llama3.json");
  return parse_tokenizer(read_file(file), file.filename().string());
}

// The error's text; "" when the document is accepted.
std::string error_of(const std::string& document) {
  try {
    parse_tokenizer(document, "t.json");
    return "";
  } catch (const Error& e) {
    CHECK(e.code() == Exit::usage);
    return e.what();
  }
}

void contains(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE(
    "data/tokenizer_file: ids are those of Hugging Face tokenizers, with special tokens and "
    "without") {
  const auto rows = lines(kFixtures / "tokenizer_ids.jsonl");
  REQUIRE(rows.size() > 150);
  for (const std::string name : {"qwen", "gpt2", "gpt2-space", "llama3"}) {
    const auto t = fixture(name);
    for (const Json& row : rows) {
      const std::string text = unicode::replace_invalid(from_hex(row.at("hex")));
      CAPTURE(name);
      CAPTURE(text);
      CHECK(t->encode(text) == row.at(name).get<std::vector<Token>>());
      CHECK(t->encode(text, Specials::as_text) ==
            row.at(name + " as text").get<std::vector<Token>>());
    }
  }
}

TEST_CASE("data/tokenizer_file: decode inverts encode for any bytes") {
  const auto rows = lines(kFixtures / "tokenizer_ids.jsonl");
  const auto llama = fixture("llama3");
  const auto qwen = fixture("qwen");
  rng::Random random(rng::Key::of(5, rng::Stream::test));
  for (int i = 0; i < 2000; ++i) {
    std::string bytes;
    if (i < static_cast<int>(rows.size())) {
      bytes = from_hex(rows[static_cast<std::size_t>(i)].at("hex"));
    } else {
      for (auto n = random.below(60); n > 0; --n) {
        bytes += static_cast<char>(random.below(256));
      }
    }
    CHECK(llama->decode(llama->encode(bytes)) == bytes);
    CHECK(qwen->decode(qwen->encode(bytes)) == unicode::nfc(bytes));  // it normalises
  }
}

TEST_CASE(
    "data/tokenizer_file: ids that do not exist decode to U+FFFD, control tokens can be left out") {
  const auto t = fixture("qwen");
  const Token end = t->special("<|im_end|>").value();
  const Token think = t->special("<think>").value();
  const auto beyond = static_cast<Token>(t->vocab_size());
  const std::vector<Token> ids = {-1, beyond, 2147483647, end, think};
  CHECK(t->decode(ids) == "\uFFFD\uFFFD\uFFFD<|im_end|><think>");
  CHECK(t->decode(std::vector<Token>{end, think}, true) == "<think>");
  for (Token id = 0; id < beyond; ++id) {
    CHECK_FALSE(t->decode(std::span(&id, 1)).empty());
  }
}

TEST_CASE("data/tokenizer_file: a stream holds back half characters and loses no byte") {
  const auto t = fixture("llama3");
  const std::string text = "a\U0001f642b\u4e16\xF0\x9F\x98";
  StreamDecoder stream(*t);
  std::string all;
  for (const Token id : t->encode(text)) {
    const std::string part = stream.push(id);
    CHECK(unicode::incomplete_tail(part) == 0);
    all += part;
  }
  CHECK(unicode::is_valid(all));
  all += stream.finish();
  CHECK(all == text);
}

TEST_CASE("data/tokenizer_file: what a data set wrote does not become a control token") {
  const auto t = fixture("qwen");
  const std::string inner = "x<|im_end|>y";
  const std::string text = "<|im_start|>" + inner + "<|im_end|>";
  const TextSpan span{12, 12 + inner.size()};
  const auto ids = t->encode_prompt(text, std::span(&span, 1));
  CHECK(ids.front() == t->special("<|im_start|>"));
  CHECK(ids.back() == t->special("<|im_end|>"));
  CHECK(std::count(ids.begin(), ids.end(), t->special("<|im_end|>").value()) == 1);
  CHECK(t->decode(ids) == text);
  CHECK(t->encode_prompt(text, {}) == t->encode(text));
}

TEST_CASE(
    "data/tokenizer_file: begin tokens come from the post-processor, the end token from the "
    "config") {
  CHECK(fixture("llama3")->prefix() ==
        std::vector<Token>{fixture("llama3")->special("<|begin_of_text|>").value()});
  CHECK(fixture("qwen")->prefix().empty());
  const auto t = load_tokenizer(kFixtures / "tiny_qwen");
  CHECK(t->eos() == t->special("<|im_end|>"));
  CHECK(t->chat_template().size() == 4116);
  CHECK_THROWS_AS((void)fixture("qwen")->eos(), Error);
  char pattern[] = "/tmp/minirl_tokenizer_XXXXXX";
  const fs::path dir = mkdtemp(pattern);
  t->save(dir);
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    CHECK(read_file(dir / name) == read_file(kFixtures / "tiny_qwen" / name));
  }
  write_file_atomic(dir / "tokenizer_config.json",
                    R"({"eos_token": {"content": "<|endoftext|>"}})");
  CHECK(load_tokenizer(dir)->eos() == t->special("<|endoftext|>"));
  write_file_atomic(dir / "tokenizer_config.json", R"({"eos_token": "<nope>"})");
  CHECK_THROWS_AS((void)load_tokenizer(dir), Error);
  write_file_atomic(dir / "tokenizer_config.json",
                    R"({"added_tokens_decoder": {"900": {"content": "<new>"}}})");
  CHECK_THROWS_AS((void)load_tokenizer(dir), Error);
  fs::remove_all(dir);
}

TEST_CASE("data/tokenizer_file: the built-in tokenizer's own file reads back as itself") {
  char pattern[] = "/tmp/minirl_tokenizer_XXXXXX";
  const fs::path dir = mkdtemp(pattern);
  byte_tokenizer()->save(dir);
  const auto t = load_tokenizer(dir);
  CHECK(t->vocab_size() == 261);
  CHECK(t->eos() == 256);
  for (const std::string text : {"37+48=?\n", "a<|im_start|>b", "\xFF\x80 \u4e16", "<think>"}) {
    CHECK(t->encode(text) == byte_tokenizer()->encode(text));
  }
  fs::remove_all(dir);
}

TEST_CASE("data/tokenizer_file: an unknown pattern is refused by its text") {
  Json doc = Json::parse(read_file(kFixtures / "tiny_qwen/tokenizer.json"));
  doc["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "\\p{L}+|\\d";
  const std::string error = error_of(doc.dump());
  contains(error, "\\p{L}+|\\d");
  contains(error, "known patterns: Qwen2 and Qwen3, Llama-3");
}

TEST_CASE("data/tokenizer_file: settings that cannot be honoured are named") {
  const Json good = Json::parse(read_file(kFixtures / "tiny_qwen/tokenizer.json"));
  REQUIRE(error_of(good.dump()).empty());
  const struct {
    const char *pointer, *value, *message;
  } cases[] = {{"/model/type", R"("Unigram")", "model.type"},
               {"/model/dropout", "0.1", "model.dropout"},
               {"/model/continuing_subword_prefix", R"("##")", "continuing_subword_prefix"},
               {"/model/end_of_word_suffix", R"("</w>")", "end_of_word_suffix"},
               {"/model/ignore_merges", "1", "ignore_merges"},
               {"/normalizer", R"({"type":"NFKC"})", "NFKC"},
               {"/normalizer", "7", "normalizer"},
               {"/pre_tokenizer", "null", "ByteLevel"},
               {"/pre_tokenizer", R"({"type":"Metaspace"})", "Metaspace"},
               {"/pre_tokenizer/pretokenizers/0/behavior", R"("Removed")", "Removed"},
               {"/pre_tokenizer/pretokenizers/0/invert", "true", "behavior"},
               {"/post_processor", R"({"type":"BertProcessing"})", "BertProcessing"},
               {"/post_processor",
                R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x"}}]})", "\"x\""},
               {"/decoder", "null", "decoder"},
               {"/decoder", R"({"type":"WordPiece"})", "WordPiece"},
               {"/added_tokens", "{}", "added_tokens"},
               {"/added_tokens/0/id", R"("5")", "added_tokens[0]"},
               {"/added_tokens/0/id", "5", "the id 5 belongs to"},
               {"/added_tokens/0/id", "4000000000", "added_tokens[0].id"},
               {"/added_tokens/0/content", R"("")", "content is empty"},
               {"/added_tokens/0/special", "3", "added_tokens[0].special"},
               {"/added_tokens/4/id", "700", "no token has the id 644"},
               {"/model/vocab/a", "66666", "no token has the id"},
               {"/model/vocab/a", "1.5", "\"a\""},
               {"/model/vocab/a", "-1", "\"a\""},
               {"/model/vocab/a", "[1]", "an array inside of model.vocab"},
               {"/model/merges/0", R"(["a"])", "merge 0"},
               {"/model/merges/0", R"(["a","b","c"])", "merge 0"},
               {"/model/merges/0", R"("abc")", "merge 0"},
               {"/model/merges/0", R"(["a", 3])", "merge 0"},
               {"/model/merges/0", R"({"a": 3})", "inside of model.merges"},
               {"/model/merges/0", R"(["a", "nope"])", "\"nope\", which is not in model.vocab"},
               {"/model/merges", "7", "model.merges"},
               {"/model/vocab", "[]", "model.vocab"},
               {"/model", "[]", "\"model\""}};
  for (const auto& c : cases) {
    CAPTURE(c.pointer);
    CAPTURE(c.value);
    Json doc = good;
    doc[Json::json_pointer(c.pointer)] = Json::parse(c.value);
    const std::string error = error_of(doc.dump());
    CHECK_FALSE(error.empty());
    contains(error, c.message);
    contains(error, "t.json");
  }
}

TEST_CASE("data/tokenizer_file: merges as texts and as pairs are the same merges") {
  Json doc = Json::parse(read_file(kFixtures / "tiny_qwen/tokenizer.json"));
  for (Json& m : doc["model"]["merges"]) {
    m = m.is_string() ? m : Json(m.at(0).get<std::string>() + " " + m.at(1).get<std::string>());
  }
  const auto texts = parse_tokenizer(doc.dump(), "texts");
  for (Json& m : doc["model"]["merges"]) {
    const auto s = m.get<std::string>();
    m = Json::array({s.substr(0, s.find(' ')), s.substr(s.find(' ') + 1)});
  }
  const auto pairs = parse_tokenizer(doc.dump(), "pairs");
  for (const Json& row : lines(kFixtures / "tokenizer_ids.jsonl")) {
    const std::string text = from_hex(row.at("hex"));
    CHECK(texts->encode(text) == pairs->encode(text));
  }
}

TEST_CASE("data/tokenizer_file: a cut or changed file is an error or a tokenizer, never a crash") {
  const std::string good = read_file(kFixtures / "tiny_llama3.json");
  CHECK_FALSE(error_of("").empty());
  CHECK_FALSE(error_of("[]").empty());
  contains(error_of("version https://git-lfs.github.com/spec/v1\n"), "Git LFS");
  std::string twice = good;
  twice.replace(twice.find("\"a\":"), 4, "\"b\":");
  contains(error_of(twice), "is there twice");
  for (std::size_t cut = 0; cut < good.size(); cut += 97) {
    CHECK_FALSE(error_of(good.substr(0, cut)).empty());
  }
  CHECK_FALSE(error_of(std::string(1000000, '[')).empty());
  rng::Random random(rng::Key::of(6, rng::Stream::test));
  int accepted = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string bytes = good;
    for (auto n = 1 + random.below(3); n > 0; --n) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    }
    try {
      const auto t = parse_tokenizer(bytes, "t.json");
      const std::string text = "some Text 123 \xFF";
      CHECK(t->decode(t->encode(text)).size() > 0);
      ++accepted;
    } catch (const Error& e) {
      CHECK(e.code() == Exit::usage);
    }
  }
  CHECK(accepted < 1500);
}

TEST_CASE("data/tokenizer_file: Qwen3's real tokenizer gives the ids of Hugging Face tokenizers") {
  if (!fs::exists(kShared / "qwen3/tokenizer.json")) {
    MESSAGE("skipped: ../shared/qwen3 is not here");
    return;
  }
  const auto t = load_tokenizer(kShared / "qwen3");
  CHECK(t->vocab_size() == 151669);
  CHECK(t->eos() == 151645);
  const struct {
    const char *file, *sha256;
  } cases[] = {{"cases/tokenizer_texts.dev.jsonl",
                "2312930289235247c3d4f39dae43767026184b29216b26ff38e241cbd42b8b79"},
               {"data/gsm8k_test.jsonl",
                "b71a6e21e5bc22b29f8e4ada47f92775132c4e9352539724a245aeb4fd6308c8"}};
  for (const auto& c : cases) {
    std::string ids;
    for (const Json& row : lines(kShared / c.file)) {
      std::vector<std::string> texts;
      if (row.contains("hex")) {
        texts.push_back(from_hex(row.at("hex")));
      } else if (row.contains("text")) {
        texts.push_back(row.at("text"));
      } else {
        texts = {row.at("question"), row.at("answer")};
      }
      for (const auto& text : texts) {
        const std::string clean = unicode::replace_invalid(text);
        ids += fmt::format("{}\n", fmt::join(t->encode(clean), " "));
        // (a control token is cut out before a mark behind it could be joined to it)
        CHECK(unicode::nfc(t->decode(t->encode(clean))) == unicode::nfc(clean));
      }
    }
    Hasher hasher;
    hasher.add(std::as_bytes(std::span(ids)));
    CHECK(hasher.hex() == c.sha256);
  }
}

}  // namespace minirl::data
