#include "data/tokenizer/tokenizer_file.h"

#include <optional>

namespace minirl::data {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kIdLimit = 1 << 24;
constexpr std::size_t kDepthLimit = 64;

// Receives the document value by value. model.vocab and model.merges go straight into their
// vectors, all else becomes a Json.
class Reader final : public nlohmann::json_sax<Json> {
 public:
  Reader(TokenizerFile& out, const std::string& name) : out_(out), name_(name) {}

  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(number_integer_t v) override { return number(v, true); }
  bool number_unsigned(number_unsigned_t v) override {
    return number(static_cast<std::int64_t>(v), v < static_cast<number_unsigned_t>(kIdLimit));
  }
  bool number_float(number_float_t v, const string_t&) override { return value(v); }
  bool binary(binary_t&) override { return false; }
  bool string(string_t& v) override {
    if (where_ == Where::merges) {
      const auto space = v.find(' ');
      if (space == std::string::npos || space == 0 || space + 1 == v.size() ||
          v.find(' ', space + 1) != std::string::npos) {
        bad(fmt::format("merge {} is \"{}\", not two tokens with a space between them",
                        out_.merges.size(), v));
      }
      out_.merges.emplace_back(v.substr(0, space), v.substr(space + 1));
      return true;
    }
    if (where_ == Where::merge_pair) {
      pair_.push_back(std::move(v));
      return true;
    }
    return value(std::move(v));
  }
  bool key(string_t& v) override {
    if (where_ != Where::elsewhere) {
      if (where_ != Where::vocab) {
        bad("an object inside of model.merges");
      }
      vocab_key_ = std::move(v);
      return true;
    }
    Json& top = *stack_.back();
    if (top.contains(v)) {
      bad(fmt::format("the key \"{}\" is there twice", v));
    }
    key_ = v;
    return true;
  }
  bool start_object(std::size_t) override {
    if (where_ != Where::elsewhere) {
      bad(fmt::format("an object inside of {}", where_name()));
    }
    if (in_model() && key_ == "vocab") {
      require_first("vocab");
      where_ = Where::vocab;
      return true;
    }
    return open(Json::object());
  }
  bool end_object() override {
    if (where_ == Where::vocab) {
      where_ = Where::elsewhere;
      return true;
    }
    stack_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override {
    if (where_ == Where::merges) {
      where_ = Where::merge_pair;
      pair_.clear();
      return true;
    }
    if (where_ != Where::elsewhere) {
      bad(fmt::format("an array inside of {}", where_name()));
    }
    if (in_model() && key_ == "merges") {
      require_first("merges");
      where_ = Where::merges;
      return true;
    }
    return open(Json::array());
  }
  bool end_array() override {
    if (where_ == Where::merge_pair) {
      if (pair_.size() != 2) {
        bad(fmt::format("merge {} has {} parts instead of two", out_.merges.size(), pair_.size()));
      }
      out_.merges.emplace_back(std::move(pair_[0]), std::move(pair_[1]));
      where_ = Where::merges;
      return true;
    }
    if (where_ == Where::merges) {
      where_ = Where::elsewhere;
      return true;
    }
    stack_.pop_back();
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override {
    std::string what = error.what();  // "[json.exception.parse_error.101] parse error at line ..."
    if (const auto end = what.find("] "); end != std::string::npos) {
      what = what.substr(end + 2);
    }
    bad("not JSON: " + what, "is the file complete? download it again");
  }

  bool has_vocab() const { return has_vocab_; }
  bool has_merges() const { return has_merges_; }

 private:
  enum class Where { elsewhere, vocab, merges, merge_pair };

  [[noreturn]] void bad(const std::string& what, std::string_view hint = {}) const {
    fail(Exit::usage, fmt::format("'{}': {}", name_, what), hint);
  }
  const char* where_name() const { return where_ == Where::vocab ? "model.vocab" : "model.merges"; }
  bool in_model() const {
    return stack_.size() == 2 && stack_.back()->is_object() && stack_.back() == model_;
  }
  void require_first(const char* what) {
    bool& seen = std::string_view(what) == "vocab" ? has_vocab_ : has_merges_;
    if (seen) {
      bad(fmt::format("the key \"{}\" is there twice", what));
    }
    seen = true;
  }
  bool number(std::int64_t v, bool fits) {
    if (where_ == Where::vocab) {
      if (!fits || v < 0 || v >= kIdLimit) {
        bad(fmt::format("the id of \"{}\" is not a whole number from 0 to {}", vocab_key_,
                        kIdLimit - 1));
      }
      out_.vocab.emplace_back(std::move(vocab_key_), static_cast<Token>(v));
      return true;
    }
    return value(v);
  }
  bool value(Json v) {
    if (where_ == Where::vocab) {
      bad(fmt::format("the id of \"{}\" is not a whole number", vocab_key_));
    }
    if (where_ != Where::elsewhere) {
      bad(fmt::format("merge {} holds something else than texts", out_.merges.size()));
    }
    put(std::move(v));
    return true;
  }
  Json* put(Json v) {
    if (stack_.empty()) {
      out_.rest = std::move(v);
      return &out_.rest;
    }
    Json& top = *stack_.back();
    if (top.is_array()) {
      top.push_back(std::move(v));
      return &top.back();
    }
    return &(top[key_] = std::move(v));
  }
  bool open(Json v) {
    if (stack_.size() >= kDepthLimit) {
      bad("nested too deeply");
    }
    const bool model =
        stack_.size() == 1 && v.is_object() && key_ == "model" && stack_.back()->is_object();
    Json* at = put(std::move(v));
    if (model) {
      model_ = at;
    }
    stack_.push_back(at);
    return true;
  }

  TokenizerFile& out_;
  const std::string& name_;
  Where where_ = Where::elsewhere;
  std::vector<Json*> stack_;  // open containers; the parents of an open one are not changed
  const Json* model_ = nullptr;
  std::string key_, vocab_key_;
  std::vector<std::string> pair_;
  bool has_vocab_ = false, has_merges_ = false;
};

[[noreturn]] void bad_file(const std::string& name, const std::string& what) {
  fail(Exit::usage, fmt::format("'{}': {}", name, what));
}

bool flag(const Json& entry, const char* key, bool fallback, const std::string& where,
          const std::string& name) {
  const auto found = entry.find(key);
  if (found == entry.end()) {
    return fallback;
  }
  if (!found->is_boolean()) {
    bad_file(name, fmt::format("{}.{} is not true or false", where, key));
  }
  return found->get<bool>();
}

std::vector<AddedToken> read_added(const Json& rest, const std::string& name) {
  std::vector<AddedToken> out;
  const auto list = rest.find("added_tokens");
  if (list == rest.end() || list->is_null()) {
    return out;
  }
  if (!list->is_array()) {
    bad_file(name, "added_tokens is not an array");
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Json& e = (*list)[i];
    const std::string where = fmt::format("added_tokens[{}]", i);
    if (!e.is_object() || !e.contains("id") || !e.contains("content") ||
        !e.at("id").is_number_integer() || !e.at("content").is_string()) {
      bad_file(name, where + " is not an object with a whole number \"id\" and a text \"content\"");
    }
    AddedToken t;
    const auto id = e.at("id").get<std::int64_t>();
    if (id < 0 || id >= kIdLimit) {
      bad_file(name, fmt::format("{}.id = {} is not from 0 to {}", where, id, kIdLimit - 1));
    }
    t.id = static_cast<Token>(id);
    t.content = e.at("content").get<std::string>();
    if (t.content.empty()) {
      bad_file(name, where + ".content is empty");
    }
    t.special = flag(e, "special", false, where, name);
    t.single_word = flag(e, "single_word", false, where, name);
    t.lstrip = flag(e, "lstrip", false, where, name);
    t.rstrip = flag(e, "rstrip", false, where, name);
    t.normalized = flag(e, "normalized", !t.special, where, name);
    out.push_back(std::move(t));
  }
  return out;
}

// Every id from 0 on belongs to exactly one text.
void check_ids(const TokenizerFile& file, const std::string& name) {
  std::vector<const std::string*> owner;
  const auto claim = [&](Token id, const std::string& text) {
    const auto at = static_cast<std::size_t>(id);
    if (at >= owner.size()) {
      owner.resize(at + 1, nullptr);
    }
    if (owner[at] != nullptr && *owner[at] != text) {
      bad_file(name,
               fmt::format("the id {} belongs to \"{}\" and to \"{}\"", id, *owner[at], text));
    }
    owner[at] = &text;
  };
  for (const auto& [text, id] : file.vocab) {
    claim(id, text);
  }
  for (const auto& t : file.added) {
    claim(t.id, t.content);
  }
  for (std::size_t i = 0; i < owner.size(); ++i) {
    if (owner[i] == nullptr) {
      bad_file(name,
               fmt::format("no token has the id {}, but ids go up to {}", i, owner.size() - 1));
    }
  }
}

}  // namespace

TokenizerFile parse_tokenizer_json(std::string_view text, const std::string& name) {
  TokenizerFile out;
  if (text.substr(0, 23) == "version https://git-lfs") {
    fail(Exit::usage, fmt::format("'{}' is the pointer of Git LFS, not the file itself", name),
         "run git lfs pull, or download the file");
  }
  Reader reader(out, name);
  Json::sax_parse(text.begin(), text.end(), &reader);
  const auto model = out.rest.is_object() ? out.rest.find("model") : out.rest.end();
  if (!out.rest.is_object() || model == out.rest.end() || !model->is_object()) {
    bad_file(name, "there is no object \"model\": not a tokenizer.json of `tokenizers`");
  }
  if (!reader.has_vocab()) {
    bad_file(name, "model.vocab is missing or not an object of texts and ids");
  }
  if (!reader.has_merges()) {
    bad_file(name, "model.merges is missing or not an array: only BPE models can be read");
  }
  out.added = read_added(out.rest, name);
  out.rest.erase("added_tokens");
  check_ids(out, name);
  return out;
}

}  // namespace minirl::data
