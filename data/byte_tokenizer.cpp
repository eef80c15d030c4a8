#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "data/tokenizer.h"
#include "data/tokenizer/byte_alphabet.h"

namespace minirl::data {
namespace {

constexpr Index kBytes = 256;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

class ByteTokenizer final : public Tokenizer {
 public:
  std::vector<Token> encode(std::string_view text, Specials mode) const override {
    const TextSpan all{0, text.size()};
    return encode_prompt(text, mode == Specials::parse ? std::span<const TextSpan>()
                                                       : std::span<const TextSpan>(&all, 1));
  }

  std::vector<Token> encode_prompt(std::string_view text,
                                   std::span<const TextSpan> literal) const override {
    std::vector<Token> out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      const SpecialToken* found = nullptr;
      if (text[at] == '<') {
        for (const auto& s : specials_) {  // none is a prefix of another
          if (text.substr(at, s.text.size()) == s.text) {
            found = &s;
          }
        }
      }
      if (found != nullptr && overlaps(literal, at, at + found->text.size())) {
        found = nullptr;
      }
      out.push_back(found != nullptr ? found->id
                                     : static_cast<Token>(static_cast<unsigned char>(text[at])));
      at += found != nullptr ? found->text.size() : 1;
    }
    return out;
  }

  std::string decode(std::span<const Token> ids, bool skip_control) const override {
    std::string out;
    out.reserve(ids.size());
    for (const Token id : ids) {
      if (id >= 0 && id < kBytes) {
        out += static_cast<char>(id);
      } else if (id >= kBytes && id < vocab_size()) {
        const SpecialToken& s = specials_[static_cast<std::size_t>(id - kBytes)];
        if (!(skip_control && s.control)) {
          out += s.text;
        }
      } else {
        out += kReplacement;
      }
    }
    return out;
  }

  Index vocab_size() const override { return kBytes + static_cast<Index>(specials_.size()); }
  Token eos() const override { return specials_.front().id; }
  const std::vector<SpecialToken>& specials() const override { return specials_; }

  void save(const std::filesystem::path& directory) const override {
    using Json = nlohmann::ordered_json;
    Json vocab = Json::object();
    const auto& alphabet = byte_alphabet();
    for (Index b = 0; b < kBytes; ++b) {
      vocab[alphabet[static_cast<std::size_t>(b)]] = b;
    }
    Json added = Json::array();
    Json decoder_table = Json::object();
    for (const auto& s : specials_) {
      Json flags = {{"content", s.text}, {"lstrip", false},      {"normalized", false},
                    {"rstrip", false},   {"single_word", false}, {"special", s.control}};
      decoder_table[std::to_string(s.id)] = flags;
      Json entry = {{"id", s.id}};
      entry.update(flags);
      added.push_back(entry);
    }
    const Json byte_level = {{"type", "ByteLevel"},
                             {"add_prefix_space", false},
                             {"trim_offsets", false},
                             {"use_regex", false}};
    const Json tokenizer = {{"version", "1.0"},
                            {"truncation", nullptr},
                            {"padding", nullptr},
                            {"added_tokens", added},
                            {"normalizer", nullptr},
                            {"pre_tokenizer", byte_level},
                            {"post_processor", nullptr},
                            {"decoder", byte_level},
                            {"model",
                             {{"type", "BPE"},
                              {"dropout", nullptr},
                              {"unk_token", nullptr},
                              {"continuing_subword_prefix", nullptr},
                              {"end_of_word_suffix", nullptr},
                              {"fuse_unk", false},
                              {"byte_fallback", false},
                              {"ignore_merges", false},
                              {"vocab", vocab},
                              {"merges", Json::array()}}}};
    const Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                         {"added_tokens_decoder", decoder_table},
                         {"add_prefix_space", false},
                         {"bos_token", nullptr},
                         {"eos_token", specials_[0].text},
                         {"pad_token", specials_[0].text},
                         {"unk_token", nullptr},
                         {"additional_special_tokens", {specials_[1].text, specials_[2].text}},
                         {"clean_up_tokenization_spaces", false},
                         {"split_special_tokens", false},
                         {"model_max_length", 1000000}};
    write_file_atomic(directory / "tokenizer.json", tokenizer.dump(2) + "\n");
    write_file_atomic(directory / "tokenizer_config.json", config.dump(2) + "\n");
  }

 private:
  std::vector<SpecialToken> specials_ = {{256, "<|endoftext|>", true},
                                         {257, "<|im_start|>", true},
                                         {258, "<|im_end|>", true},
                                         {259, "<think>", false},
                                         {260, "</think>", false}};
};

}  // namespace

bool overlaps(std::span<const TextSpan> spans, std::size_t begin, std::size_t end) {
  const auto after = std::partition_point(spans.begin(), spans.end(),
                                          [&](const TextSpan& s) { return s.end <= begin; });
  return after != spans.end() && after->begin < end;
}

std::string Tokenizer::end_token_words() const {
  const Token id = eos();
  return fmt::format("{} {} (built in)", decode(std::span(&id, 1)), id);
}

const std::string& Tokenizer::chat_template() const {
  static const std::string none;
  return none;
}

std::optional<Token> Tokenizer::special(std::string_view text) const {
  for (const auto& s : specials()) {
    if (s.text == text) {
      return s.id;
    }
  }
  return std::nullopt;
}

std::unique_ptr<Tokenizer> byte_tokenizer() {
  return std::make_unique<ByteTokenizer>();
}

}  // namespace minirl::data
