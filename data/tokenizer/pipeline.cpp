#include "data/tokenizer/pipeline.h"

namespace minirl::data {
namespace {

using Json = nlohmann::json;

class PipelineReader {
 public:
  PipelineReader(const TokenizerFile& file, const std::string& name) : file_(file), name_(name) {}

  Pipeline read() {
    model(file_.rest.at("model"));
    normalizer(part("normalizer"));
    pre_tokenizer(part("pre_tokenizer"));
    if (!byte_level_) {
      refuse("pre_tokenizer", "null or without ByteLevel",
             "only byte-level tokenizers (GPT-2, Llama-3, Qwen) are read");
    }
    post_processor(part("post_processor"));
    decoder(part("decoder"));
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& key, const std::string& value,
                           std::string_view hint = {}) const {
    fail(Exit::usage, fmt::format("'{}': {}: {} is not served", name_, key, value), hint);
  }
  [[noreturn]] void malformed(const std::string& key, const std::string& what) const {
    fail(Exit::usage, fmt::format("'{}': {} {}", name_, key, what));
  }
  Json part(const char* key) const {
    const auto found = file_.rest.find(key);
    return found == file_.rest.end() ? Json() : *found;
  }
  std::string type_of(const Json& j, const std::string& key) const {
    if (!j.is_object() || !j.contains("type") || !j.at("type").is_string()) {
      malformed(key, "is not an object with a \"type\"");
    }
    return j.at("type").get<std::string>();
  }
  bool flag(const Json& j, const std::string& key, const char* member, bool fallback) const {
    const auto found = j.find(member);
    if (found == j.end() || found->is_null()) {
      return fallback;
    }
    if (!found->is_boolean()) {
      malformed(key + "." + member, "is not true or false");
    }
    return found->get<bool>();
  }
  // The list of a Sequence.
  const Json& list(const Json& j, const std::string& key, const char* member) const {
    const auto found = j.find(member);
    if (found == j.end() || !found->is_array()) {
      malformed(key + "." + member, "is not an array");
    }
    return *found;
  }

  void model(const Json& m) {
    const auto type = m.find("type");  // old files have none
    if (type != m.end() && *type != "BPE") {
      refuse("model.type", type->dump(), "only BPE models are read");
    }
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const auto found = m.find(key);
      if (found != m.end() && !found->is_null() && *found != "") {
        refuse(fmt::format("model.{}", key), found->dump());
      }
    }
    const auto dropout = m.find("dropout");
    if (dropout != m.end() && !dropout->is_null() && *dropout != 0.0) {
      refuse("model.dropout", dropout->dump(), "random merges would make ids irreproducible");
    }
    // unk_token, fuse_unk and byte_fallback are about characters without an entry; there are none,
    // since all 256 bytes must have one.
    out_.ignore_merges = flag(m, "model", "ignore_merges", false);
  }

  void normalizer(const Json& j) {
    if (j.is_null()) {
      return;
    }
    const std::string type = type_of(j, "normalizer");
    if (type == "NFC") {
      out_.nfc = true;
    } else if (type == "Sequence") {
      for (const Json& inner : list(j, "normalizer", "normalizers")) {
        normalizer(inner);
      }
    } else {
      refuse("normalizer.type", type, "NFC or none");
    }
  }

  void pre_tokenizer(const Json& j) {
    if (j.is_null()) {
      return;
    }
    const std::string key = "pre_tokenizer";
    const std::string type = type_of(j, key);
    if (type == "Sequence") {
      for (const Json& inner : list(j, key, "pretokenizers")) {
        pre_tokenizer(inner);
      }
      return;
    }
    if (byte_level_) {
      refuse(key, type + " behind ByteLevel");
    }
    if (type == "ByteLevel") {
      byte_level_ = true;
      SplitStage stage;
      stage.prefix_space = flag(j, key, "add_prefix_space", true);
      if (flag(j, key, "use_regex", true)) {
        stage.pattern.kind = SplitPattern::Kind::gpt2;
      }
      out_.stages.push_back(stage);
    } else if (type == "Split") {
      out_.stages.push_back({split(j, key), false});
    } else {
      refuse(key + ".type", type, "ByteLevel, Split and Sequence are read");
    }
  }

  SplitPattern split(const Json& j, const std::string& key) const {
    const auto pattern = j.find("pattern");
    if (pattern == j.end() || !pattern->is_object() || !pattern->contains("Regex") ||
        !pattern->at("Regex").is_string()) {
      malformed(key + ".pattern", "is not an object with a text \"Regex\"");
    }
    if (j.value("behavior", Json()) != "Isolated" || flag(j, key, "invert", false)) {
      refuse(key + ".behavior", j.value("behavior", Json()).dump(), "Isolated, without invert");
    }
    const std::string regex = pattern->at("Regex").get<std::string>();
    const auto known = find_split_pattern(regex);
    if (!known) {
      refuse(key + ".pattern", regex,
             "known patterns: " + known_split_patterns() +
                 "; another pattern would cut texts into other tokens");
    }
    return *known;
  }

  void post_processor(const Json& j) {
    if (j.is_null()) {
      return;
    }
    const std::string type = type_of(j, "post_processor");
    if (type == "Sequence") {
      for (const Json& inner : list(j, "post_processor", "processors")) {
        post_processor(inner);
      }
    } else if (type == "TemplateProcessing") {
      template_processing(j);
    } else if (type != "ByteLevel") {  // ByteLevel only moves offsets
      refuse("post_processor.type", type);
    }
  }

  void template_processing(const Json& j) {
    const std::string key = "post_processor.single";
    bool seen = false;
    for (const Json& item : list(j, "post_processor", "single")) {
      if (!item.is_object()) {
        malformed(key, "holds something else than objects");
      }
      if (item.contains("Sequence")) {
        if (seen) {
          malformed(key, "has the text twice");
        }
        seen = true;
        continue;
      }
      const auto special = item.find("SpecialToken");
      if (special == item.end() || !special->is_object() || !special->contains("id") ||
          !special->at("id").is_string()) {
        malformed(key, "holds something else than Sequence and SpecialToken");
      }
      const auto name = special->at("id").get<std::string>();
      const auto table = j.find("special_tokens");
      const auto entry = table != j.end() && table->is_object() ? table->find(name) : j.end();
      if (table == j.end() || !table->is_object() || entry == table->end() || !entry->is_object() ||
          !entry->contains("ids") || !entry->at("ids").is_array()) {
        malformed(key, fmt::format("names \"{}\", which special_tokens does not explain", name));
      }
      for (const Json& id : entry->at("ids")) {
        const bool known = id.is_number_integer() && belongs(id.get<std::int64_t>());
        if (!known) {
          malformed(key,
                    fmt::format("gives \"{}\" the id {}, which no token has", name, id.dump()));
        }
        (seen ? out_.suffix : out_.prefix).push_back(id.get<Token>());
      }
    }
    if (!seen) {
      malformed(key, "has no place for the text");
    }
  }
  bool belongs(std::int64_t id) const {
    return id >= 0 && id < static_cast<std::int64_t>(file_.vocab.size() + file_.added.size());
  }

  void decoder(const Json& j) const {
    if (j.is_null()) {
      malformed("decoder", "is null: a byte-level tokenizer is decoded by ByteLevel");
    }
    const std::string type = type_of(j, "decoder");
    if (type == "Sequence") {
      for (const Json& inner : list(j, "decoder", "decoders")) {
        decoder(inner);
      }
    } else if (type != "ByteLevel") {
      refuse("decoder.type", type, "only ByteLevel is read");
    }
  }

  const TokenizerFile& file_;
  const std::string& name_;
  Pipeline out_;
  bool byte_level_ = false;
};

}  // namespace

Pipeline read_pipeline(const TokenizerFile& file, const std::string& name) {
  return PipelineReader(file, name).read();
}

}  // namespace minirl::data
