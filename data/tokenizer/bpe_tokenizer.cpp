#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "data/tokenizer.h"
#include "data/tokenizer/added_tokens.h"
#include "data/tokenizer/bpe.h"
#include "data/tokenizer/pipeline.h"
#include "data/unicode.h"

namespace minirl::data {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// What the files say, as they say it: saved again byte for byte.
struct SourceFile {
  std::string name, text;
};

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(TokenizerFile file, const std::string& name)
      : pipeline_(read_pipeline(file, name)), bpe_(file, pipeline_.ignore_merges, name) {
    std::vector<AddedToken> raw;
    std::vector<AddedToken> normalised;
    std::vector<std::string> raw_texts;
    std::vector<std::string> normalised_texts;
    std::stable_sort(file.added.begin(), file.added.end(),
                     [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
    size_ = bpe_.size();
    for (const auto& t : file.added) {
      size_ = std::max(size_, static_cast<Index>(t.id) + 1);
      specials_.push_back({t.id, t.content, t.special});
      (t.normalized ? normalised_texts : raw_texts)
          .push_back(t.normalized && pipeline_.nfc ? unicode::nfc(t.content) : t.content);
      (t.normalized ? normalised : raw).push_back(t);
    }
    special_at_.assign(static_cast<std::size_t>(size_), -1);
    for (std::size_t i = 0; i < specials_.size(); ++i) {
      special_at_[static_cast<std::size_t>(specials_[i].id)] = static_cast<int>(i);
    }
    raw_ = std::make_unique<AddedTokenFinder>(std::move(raw), std::move(raw_texts));
    normalised_ =
        std::make_unique<AddedTokenFinder>(std::move(normalised), std::move(normalised_texts));
  }

  std::vector<Token> encode(std::string_view text, Specials mode) const override {
    if (mode == Specials::parse) {
      return encode(text, AddedTokenFinder::Ignore{});
    }
    return encode(text, [](const AddedToken& t, std::size_t, std::size_t) { return t.special; });
  }

  std::vector<Token> encode_prompt(std::string_view text,
                                   std::span<const TextSpan> literal) const override {
    return encode(text, [literal](const AddedToken& t, std::size_t begin, std::size_t end) {
      return t.special && overlaps(literal, begin, end);
    });
  }

  std::string decode(std::span<const Token> ids, bool skip_control) const override {
    std::string out;
    for (const Token id : ids) {
      const bool known = id >= 0 && static_cast<Index>(id) < size_;
      const int special = known ? special_at_[static_cast<std::size_t>(id)] : -1;
      if (!known) {
        out += kReplacement;
      } else if (special < 0) {
        out += bpe_.bytes(id);
      } else if (const SpecialToken& s = specials_[static_cast<std::size_t>(special)];
                 !(skip_control && s.control)) {
        out += s.text;
      }
    }
    return out;
  }

  std::vector<Token> prefix() const override { return pipeline_.prefix; }
  std::vector<Token> suffix() const override { return pipeline_.suffix; }
  Index vocab_size() const override { return size_; }
  const std::vector<SpecialToken>& specials() const override { return specials_; }
  const std::string& chat_template() const override { return chat_template_; }
  Token eos() const override {
    if (eos_ < 0) {
      fail(Exit::usage, "the tokenizer's files name no end token",
           "write \"eos_token\" into tokenizer_config.json");
    }
    return eos_;
  }

  std::vector<Token> end_tokens() const override {
    std::vector<Token> out;
    for (const auto& e : ends_) {
      out.push_back(e.id);
    }
    return out.empty() ? std::vector<Token>{eos()} : out;
  }
  std::string end_token_words() const override {
    std::string out;
    for (const auto& e : ends_) {
      out += fmt::format("{}{} {} ({})", out.empty() ? "" : ", ", decode(std::span(&e.id, 1), false), e.id,
                         e.sources);
    }
    return out;
  }

  void save(const fs::path& directory) const override {
    for (const auto& file : files_) {
      write_file_atomic(directory / file.name, file.text);
    }
  }

  void keep(std::string name, std::string text) {
    files_.push_back({std::move(name), std::move(text)});
  }
  void set_eos(const std::string& text, const std::string& where) {
    const auto id = special(text);
    if (!id) {
      fail(Exit::usage, fmt::format("'{}': eos_token \"{}\" is not an added token", where, text),
           "it must be among added_tokens of tokenizer.json");
    }
    eos_ = *id;
    add_end(*id, "tokenizer_config.json", where);
  }
  // `id` from `file` of the model; the first one is also the end token where the tokenizer's own
  // files name none.
  void add_end(std::int64_t id, const std::string& file, const std::string& where) {
    if (id < 0 || id >= size_) {
      fail(Exit::usage,
           fmt::format("'{}': eos_token_id {} is not an id of the tokenizer, which has {}", where,
                       id, size_));
    }
    const auto token = static_cast<Token>(id);
    eos_ = eos_ < 0 ? token : eos_;
    for (auto& e : ends_) {
      if (e.id == token) {
        e.sources += ", " + file;
        return;
      }
    }
    ends_.push_back({token, file});
  }
  void set_chat_template(std::string text) { chat_template_ = std::move(text); }

 private:
  std::vector<Token> encode(std::string_view text, const AddedTokenFinder::Ignore& ignore) const {
    std::vector<Token> out;
    std::vector<AddedTokenFinder::Piece> pieces;
    raw_->split(text, ignore, pieces);
    std::vector<AddedTokenFinder::Piece> inner;
    for (const auto& piece : pieces) {
      if (piece.id >= 0) {
        out.push_back(piece.id);
        continue;
      }
      const bool plain = !pipeline_.nfc || unicode::is_plainly_nfc(piece.text);
      const std::string normal = plain ? std::string() : unicode::nfc(piece.text);
      const std::string_view used = plain ? piece.text : std::string_view(normal);
      if (normalised_->empty()) {
        encode_piece(used, 0, out);
        continue;
      }
      // Spans are positions in the whole text, so they reach a normalised piece only where
      // normalising moved nothing; elsewhere no control token is found inside of it.
      const auto offset = static_cast<std::size_t>(piece.text.data() - text.data());
      inner.clear();
      normalised_->split(
          used,
          [&](const AddedToken& t, std::size_t begin, std::size_t end) {
            return ignore && (plain ? ignore(t, offset + begin, offset + end)
                                    : t.special && ignore(t, offset, offset + piece.text.size()));
          },
          inner);
      for (const auto& part : inner) {
        if (part.id >= 0) {
          out.push_back(part.id);
        } else {
          encode_piece(part.text, 0, out);
        }
      }
    }
    return out;
  }

  void encode_piece(std::string_view text, std::size_t stage, std::vector<Token>& out) const {
    if (stage == pipeline_.stages.size()) {
      bpe_.encode(text, out);
      return;
    }
    const SplitStage& s = pipeline_.stages[stage];
    std::string spaced;
    if (s.prefix_space && text.front() != ' ') {
      spaced.reserve(text.size() + 1);
      spaced.push_back(' ');
      spaced.append(text);
      text = spaced;
    }
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = s.pattern.next(text, at);
      encode_piece(text.substr(at, end - at), stage + 1, out);
      at = end;
    }
  }

  Pipeline pipeline_;
  Bpe bpe_;
  Index size_ = 0;
  std::vector<SpecialToken> specials_;  // by id
  std::vector<int> special_at_;         // id -> index into specials_, or -1
  std::unique_ptr<AddedTokenFinder> raw_, normalised_;
  std::vector<SourceFile> files_;
  struct End {
    Token id;
    std::string sources;
  };
  std::vector<End> ends_;
  std::string chat_template_;
  Token eos_ = -1;
};

Json parse_json(const std::string& text, const std::string& name) {
  try {
    Json out = Json::parse(text);
    if (!out.is_object()) {
      fail(Exit::usage, fmt::format("'{}' is not a JSON object", name));
    }
    return out;
  } catch (const Json::exception& error) {
    fail(Exit::usage, fmt::format("'{}' is not JSON: {}", name, error.what()));
  }
}

// A token in tokenizer_config.json: a text, or an added token as an object.
std::string token_text(const Json& config, const char* key, const std::string& name) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) {
    return "";
  }
  if (found->is_string()) {
    return found->get<std::string>();
  }
  if (found->is_object() && found->contains("content") && found->at("content").is_string()) {
    return found->at("content").get<std::string>();
  }
  fail(Exit::usage, fmt::format("'{}': {} is neither a text nor an added token", name, key));
}

// A text, or a list of named texts, of which "default" is used.
std::string template_text(const Json& config, const std::string& name) {
  const auto found = config.find("chat_template");
  if (found == config.end() || found->is_null()) {
    return "";
  }
  if (found->is_string()) {
    return found->get<std::string>();
  }
  if (found->is_array()) {
    for (const Json& entry : *found) {
      if (entry.is_object() && entry.value("name", Json()) == "default" &&
          entry.contains("template") && entry.at("template").is_string()) {
        return entry.at("template").get<std::string>();
      }
    }
  }
  fail(Exit::usage,
       fmt::format("'{}': chat_template is neither a text nor a list with a \"default\"", name));
}

// eos_token_id of config.json or generation_config.json: a number, a list of numbers, or null.
void add_ends(BpeTokenizer& out, const fs::path& directory, const char* file) {
  const fs::path path = directory / file;
  std::error_code error;
  if (!fs::exists(path, error)) {
    return;
  }
  const Json config = parse_json(read_file(path), path.string());
  const auto ids = config.find("eos_token_id");
  if (ids == config.end() || ids->is_null()) {
    return;
  }
  const Json list = ids->is_array() ? *ids : Json::array({*ids});
  for (const Json& id : list) {
    if (!id.is_number_integer()) {
      fail(Exit::usage,
           fmt::format("'{}': eos_token_id is {}, not a whole number or a list of them",
                       path.string(), ids->dump()));
    }
    out.add_end(id.get<std::int64_t>(), file, path.string());
  }
}

}  // namespace

std::unique_ptr<Tokenizer> parse_tokenizer(std::string_view text, const std::string& name) {
  auto out = std::make_unique<BpeTokenizer>(parse_tokenizer_json(text, name), name);
  out->keep("tokenizer.json", std::string(text));
  return out;
}

std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& directory, const fs::path& model) {
  const fs::path main = directory / "tokenizer.json";
  std::error_code error;
  if (!fs::exists(main, error)) {
    fail(Exit::usage, fmt::format("'{}' has no tokenizer.json", directory.string()),
         "a slow tokenizer (vocab.json, *.model) is not read: save it once with save_pretrained of "
         "a fast one");
  }
  std::string text = read_file(main);
  auto out =
      std::make_unique<BpeTokenizer>(parse_tokenizer_json(text, main.string()), main.string());
  out->keep("tokenizer.json", std::move(text));
  const fs::path config = directory / "tokenizer_config.json";
  if (fs::exists(config, error)) {
    text = read_file(config);
    const Json parsed = parse_json(text, config.string());
    if (const std::string eos = token_text(parsed, "eos_token", config.string()); !eos.empty()) {
      out->set_eos(eos, config.string());
    }
    out->set_chat_template(template_text(parsed, config.string()));
    if (const auto more = parsed.find("added_tokens_decoder");
        more != parsed.end() && more->is_object()) {
      for (const auto& [id, token] : more->items()) {
        const std::string content =
            token.is_object() ? token_text(token, "content", config.string()) : "";
        const auto known = out->special(content);
        if (!known || std::to_string(*known) != id) {
          fail(Exit::usage,
               fmt::format("'{}' adds the token {} \"{}\", which tokenizer.json does not have",
                           config.string(), id, content),
               "the two files are of different models: take both from one directory");
        }
      }
    }
    out->keep("tokenizer_config.json", std::move(text));
  }
  for (const char* name : {"chat_template.jinja", "special_tokens_map.json", "added_tokens.json",
                           "vocab.json", "merges.txt"}) {
    if (fs::is_regular_file(directory / name, error)) {
      text = read_file(directory / name);
      if (std::string_view(name) == "chat_template.jinja") {
        out->set_chat_template(text);  // newer files keep the template here
      }
      out->keep(name, std::move(text));
    }
  }
  const fs::path& declared = model.empty() ? directory : model;
  add_ends(*out, declared, "config.json");
  add_ends(*out, declared, "generation_config.json");
  return out;
}

}  // namespace minirl::data
