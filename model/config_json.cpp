#include "model/config_json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "model/family.h"
#include "model/rope_scaling.h"
#include "model/weights.h"

namespace minirl {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr Index kLargestSize = 2147483647;  // products of two sizes stay an Index
constexpr double kDefaultInitializerRange = 0.02;

/// Fields of one JSON object of one file; every error names file and field.
class Fields {
 public:
  Fields(const fs::path& path, Json doc, std::string prefix = "")
      : path_(path), doc_(std::move(doc)), prefix_(std::move(prefix)) {}

  static Fields of(const fs::path& path) {
    const std::string text = read_file(path);
    Fields out(path, Json::object());
    if (const std::string other = what_else_it_is(text); !other.empty()) {
      out.bad(other);
    }
    try {
      out.doc_ = Json::parse(text);
    } catch (const Json::exception&) {
      out.bad("it is not JSON");
    }
    if (!out.doc_.is_object()) {
      out.bad("it is not a JSON object");
    }
    return out;
  }

  [[noreturn]] void bad(const std::string& what) const {
    std::string known;
    for (const auto& name : Families::names()) {
      known += (known.empty() ? "" : ", ") + name;
    }
    fail(Exit::usage, fmt::format("'{}': {}", path_.string(), what),
         fmt::format("minirl reads checkpoints of {} as Hugging Face saves them", known));
  }
  std::string key(const char* name) const { return prefix_ + name; }
  bool has(const char* name) const { return doc_.contains(name) && !doc_[name].is_null(); }
  const Json& get(const char* name) const {
    if (!has(name)) {
      bad(fmt::format("'{}' is missing", key(name)));
    }
    return doc_[name];
  }
  double number(const char* name) const {
    const Json& value = get(name);
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      bad(fmt::format("'{}' = {} is not a number", key(name), value.dump()));
    }
    return value.get<double>();
  }
  double number_or(const char* name, double otherwise) const {
    return has(name) ? number(name) : otherwise;
  }
  Index positive(const char* name) const {
    const Json& value = get(name);
    if (!value.is_number_integer()) {
      // 4.0 is a whole number that some writers make of 4.
      if (value.is_number_float() && value.get<double>() >= 1 &&
          value.get<double>() <= static_cast<double>(kLargestSize) &&
          value.get<double>() == std::floor(value.get<double>())) {
        return static_cast<Index>(value.get<double>());
      }
      bad(fmt::format("'{}' = {} is not a whole number", key(name), value.dump()));
    }
    const auto n = value.is_number_unsigned() &&
                           value.get<std::uint64_t>() > static_cast<std::uint64_t>(kLargestSize)
                       ? Index{0}
                       : value.get<Index>();
    if (n < 1 || n > kLargestSize) {
      bad(fmt::format("'{}' = {} must be between 1 and {}", key(name), value.dump(), kLargestSize));
    }
    return n;
  }
  std::string text(const char* name) const {
    const Json& value = get(name);
    if (!value.is_string()) {
      bad(fmt::format("'{}' = {} is not a text", key(name), value.dump()));
    }
    return value.get<std::string>();
  }
  bool boolean(const char* name) const {
    const Json& value = get(name);
    if (!value.is_boolean()) {
      bad(fmt::format("'{}' = {} is not true or false", key(name), value.dump()));
    }
    return value.get<bool>();
  }
  bool boolean_or(const char* name, bool otherwise) const {
    return has(name) ? boolean(name) : otherwise;
  }
  void refuse(const char* name, const char* why) const {
    if (has(name) && doc_[name] != false) {
      bad(fmt::format("'{}' is set: {}", key(name), why));
    }
  }
  /// An object inside.
  Fields inside(const char* name) const {
    const Json& value = get(name);
    if (!value.is_object()) {
      bad(fmt::format("'{}' = {} is not an object", key(name), value.dump()));
    }
    return Fields(path_, value, key(name) + ".");
  }
  Json& json() { return doc_; }
  const Json& json() const { return doc_; }

 private:
  fs::path path_;
  Json doc_;
  std::string prefix_;
};

/// One of rope_scaling and rope_parameters.
RopeScaling read_scaling(const Fields& rope, const Fields& top) {
  RopeScaling s;
  std::string type = "default";
  for (const char* name : {"type", "rope_type"}) {
    if (rope.has(name)) {
      const std::string other = rope.text(name);
      if (type != "default" && other != type) {
        rope.bad(fmt::format("'{}' = \"{}\" contradicts '{}' = \"{}\"", rope.key("type"), type,
                             rope.key("rope_type"), other));
      }
      type = other;
    }
  }
  using Kind = RopeScaling::Kind;
  if (type == "default") {
    return s;
  }
  if (type != "linear" && type != "llama3" && type != "yarn") {
    rope.bad(fmt::format("'{}' = \"{}\": this scaling of rotary positions is not supported, only "
                         "\"linear\", \"llama3\" and \"yarn\"",
                         rope.key(rope.has("rope_type") ? "rope_type" : "type"), type));
  }
  s.kind = type == "linear" ? Kind::linear : type == "llama3" ? Kind::llama3 : Kind::yarn;
  const char* original = "original_max_position_embeddings";
  s.factor = s.kind == Kind::yarn && !rope.has("factor") && rope.has(original)
                 ? static_cast<double>(top.positive("max_position_embeddings")) /
                       static_cast<double>(rope.positive(original))
                 : rope.number("factor");
  if (!(s.factor >= 1)) {
    rope.bad(fmt::format("'{}' = {} must be at least 1", rope.key("factor"), s.factor));
  }
  if (rope.has(original)) {
    s.original_max_positions = rope.positive(original);
  } else if (top.has(original)) {
    s.original_max_positions = top.positive(original);
  } else if (s.kind == Kind::llama3) {
    rope.positive(original);  // says that it is missing
  } else if (s.kind == Kind::yarn) {
    s.original_max_positions = top.positive("max_position_embeddings");
  }
  if (s.kind == Kind::llama3) {
    s.low_freq_factor = rope.number("low_freq_factor");
    s.high_freq_factor = rope.number("high_freq_factor");
  }
  if (s.kind == Kind::yarn) {
    s.beta_fast = rope.number_or("beta_fast", s.beta_fast);
    s.beta_slow = rope.number_or("beta_slow", s.beta_slow);
    s.attention_factor = rope.number_or("attention_factor", 0);
    s.mscale = rope.number_or("mscale", 0);
    s.mscale_all_dim = rope.number_or("mscale_all_dim", 0);
    s.truncate = rope.boolean_or("truncate", true);
    if (rope.has("attention_factor") && !(s.attention_factor > 0)) {
      rope.bad(fmt::format("'{}' = {} must be above 0", rope.key("attention_factor"),
                           s.attention_factor));
    }
  }
  return s;
}

/// rope_theta and the scaling: at the top with "rope_scaling" beside it, or, as transformers 5 writes
/// them, in "rope_parameters" (there perhaps one level further down, for each kind of layer).
void read_rope(const Fields& top, const Family& family, ModelConfig& c) {
  std::optional<double> theta;
  std::optional<RopeScaling> scaling;
  if (top.has("rope_theta")) {
    theta = top.number("rope_theta");
  }
  for (const char* name : {"rope_parameters", "rope_scaling"}) {
    if (!top.has(name)) {
      continue;
    }
    Fields rope = top.inside(name);
    if (rope.has("full_attention")) {
      rope = rope.inside("full_attention");
    }
    if (rope.has("rope_theta")) {
      const double nested = rope.number("rope_theta");
      if (theta && *theta != nested) {
        top.bad(fmt::format("'rope_theta' = {} contradicts '{}' = {}", *theta,
                            rope.key("rope_theta"), nested));
      }
      theta = nested;
    } else if (std::string(name) == "rope_parameters" && !theta) {
      top.bad(fmt::format("'{}' is missing", rope.key("rope_theta")));
    }
    if (rope.has("partial_rotary_factor") && rope.number("partial_rotary_factor") != 1) {
      top.bad(fmt::format("'{}' is set: partly rotated heads are not supported",
                          rope.key("partial_rotary_factor")));
    }
    const RopeScaling found = read_scaling(rope, top);
    if (scaling && !(*scaling == found)) {
      top.bad("'rope_parameters' and 'rope_scaling' contradict each other");
    }
    scaling = found;
  }
  if (!theta && !family.default_rope_theta) {
    top.number("rope_theta");  // says that it is missing
  }
  c.rope_theta = theta ? *theta : *family.default_rope_theta;
  c.rope_scaling = scaling.value_or(RopeScaling{});
  const RopeScaling& s = c.rope_scaling;
  if (s.kind == RopeScaling::Kind::yarn || s.kind == RopeScaling::Kind::linear) {
    // Qwen3 as published keeps max_position_embeddings when yarn is switched on.
    const double longest = s.factor * static_cast<double>(s.original_max_positions);
    c.max_positions =
        std::max(c.max_positions, static_cast<Index>(std::min(longest, double(kLargestSize))));
  }
}

/// Layers from max_window_layers on have the window, if use_sliding_window says so and there is one;
/// layer_types, where it is written, decides by itself.
void refuse_windows(const Fields& top, const ModelConfig& c) {
  if (top.has("layer_types")) {
    const Json& types = top.get("layer_types");
    if (!types.is_array() || static_cast<Index>(types.size()) != c.num_layers) {
      top.bad(fmt::format("'layer_types' is not a list of 'num_hidden_layers' = {} types",
                          c.num_layers));
    }
    for (const Json& type : types) {
      if (type != "full_attention") {
        top.bad(fmt::format("'layer_types' has {}, only \"full_attention\" is supported",
                            type.dump()));
      }
    }
    return;
  }
  if (!top.boolean_or("use_sliding_window", false)) {
    return;
  }
  const bool no_window =
      top.json().contains("sliding_window") && top.json()["sliding_window"].is_null();
  bool no_layer = false;
  if (top.has("max_window_layers")) {
    const Json& first = top.get("max_window_layers");
    if (!first.is_number_integer() || first.get<Index>() < 0) {
      top.bad(fmt::format("'max_window_layers' = {} is not a whole number", first.dump()));
    }
    no_layer = first.get<Index>() >= c.num_layers;
  }
  if (!no_window && !no_layer) {
    top.bad("'use_sliding_window' is set and layers from 'max_window_layers' on have a window: "
            "sliding-window attention is not supported");
  }
}

/// What of the format the families have and minirl has not.
void refuse_unsupported(const Fields& top, const Family& family, const ModelConfig& c) {
  if (!family.attention_bias_is_fixed) {
    top.refuse("attention_bias", "attention with biases is another architecture, which is not "
                                 "supported");
  }
  top.refuse("mlp_bias", "feed-forward layers with biases are not supported");
  top.refuse("quantization_config", "quantized weights are not supported");
  if (top.has("partial_rotary_factor") && top.number("partial_rotary_factor") != 1) {
    top.bad("'partial_rotary_factor' is set: partly rotated heads are not supported");
  }
  if (top.has("hidden_act") && top.text("hidden_act") != "silu") {
    top.bad(fmt::format("'hidden_act' = \"{}\" is not supported, only \"silu\"",
                        top.text("hidden_act")));
  }
  refuse_windows(top, c);
}

void add_ids(const Fields& top, const char* field, Index vocabulary, std::set<Token>& out) {
  if (!top.has(field)) {
    return;
  }
  const Json& value = top.get(field);
  const Json list = value.is_array() ? value : Json::array({value});
  for (const Json& id : list) {
    if (!id.is_number_integer() || id.get<std::int64_t>() < 0 ||
        (vocabulary > 0 && id.get<std::int64_t>() >= vocabulary) ||
        id.get<std::int64_t>() > std::numeric_limits<Token>::max()) {
      top.bad(fmt::format("'{}' = {} is not a token id{}", field, value.dump(),
                          vocabulary > 0 ? fmt::format(" below the vocabulary's {}", vocabulary)
                                         : std::string()));
    }
    out.insert(id.get<Token>());
  }
}

Json scaling_json(const RopeScaling& s) {
  if (s.kind == RopeScaling::Kind::none) {
    return nullptr;
  }
  Json out = {{"rope_type", name(s.kind)}, {"factor", s.factor}};
  if (s.original_max_positions > 0) {
    out["original_max_position_embeddings"] = s.original_max_positions;
  }
  if (s.kind == RopeScaling::Kind::llama3) {
    out["low_freq_factor"] = s.low_freq_factor;
    out["high_freq_factor"] = s.high_freq_factor;
  }
  if (s.kind == RopeScaling::Kind::yarn) {
    out["beta_fast"] = s.beta_fast;
    out["beta_slow"] = s.beta_slow;
    for (const auto& [key, value] : {std::pair{"attention_factor", s.attention_factor},
                                     {"mscale", s.mscale},
                                     {"mscale_all_dim", s.mscale_all_dim}}) {
      if (value > 0) {
        out[key] = value;
      }
    }
    if (!s.truncate) {
      out["truncate"] = false;
    }
  }
  return out;
}

}  // namespace

std::string config_json(const ModelConfig& c, const SpecialIds& ids, StoredType type) {
  const Family& family = Families::find("model family", c.family);
  Json doc = {{"architectures", {family.architecture}},
              {"model_type", c.family},
              {"vocab_size", c.vocab_size},
              {"hidden_size", c.hidden_size},
              {"intermediate_size", c.ffn_size},
              {"num_hidden_layers", c.num_layers},
              {"num_attention_heads", c.num_heads},
              {"num_key_value_heads", c.num_kv_heads},
              {"head_dim", c.head_dim},
              {"hidden_act", "silu"},
              {"max_position_embeddings", c.max_positions},
              {"initializer_range", c.initializer_range},
              {"rms_norm_eps", c.rms_norm_eps},
              {"rope_theta", c.rope_theta},
              {"rope_scaling", scaling_json(c.rope_scaling)}};
  if (!family.attention_bias_is_fixed) {
    doc["attention_bias"] = false;
  }
  doc["attention_dropout"] = 0.0;
  doc["use_sliding_window"] = false;
  doc["sliding_window"] = nullptr;
  doc["max_window_layers"] = c.num_layers;
  doc["tie_word_embeddings"] = c.tie_word_embeddings;
  doc["use_cache"] = true;
  doc["torch_dtype"] = torch_name(type);
  const auto id = [&](const char* key, Token t) { doc[key] = t >= 0 ? Json(t) : Json(nullptr); };
  id("bos_token_id", ids.bos);
  id("eos_token_id", ids.eos);
  id("pad_token_id", ids.pad);
  return doc.dump(2) + "\n";
}

std::string generation_config_json(const SpecialIds& ids) {
  Json doc = {{"do_sample", true}, {"temperature", 1.0}, {"top_p", 1.0}, {"top_k", 0}};
  if (ids.eos >= 0) {
    doc["eos_token_id"] = ids.eos;
  }
  return doc.dump(2) + "\n";
}

ModelConfig read_config_json(const fs::path& path) {
  const Fields top = Fields::of(path);
  ModelConfig c;
  c.family = top.text("model_type");
  if (!Families::contains(c.family)) {
    top.bad(fmt::format("'model_type' = \"{}\" is not supported", c.family));
  }
  const Family& family = Families::find("model family", c.family);
  c.vocab_size = top.positive("vocab_size");
  c.hidden_size = top.positive("hidden_size");
  c.ffn_size = top.positive("intermediate_size");
  c.num_layers = top.positive("num_hidden_layers");
  c.num_heads = top.positive("num_attention_heads");
  c.num_kv_heads = family.kv_heads_default_to_heads && !top.has("num_key_value_heads")
                       ? c.num_heads
                       : top.positive("num_key_value_heads");
  if (c.num_heads % c.num_kv_heads != 0) {
    top.bad(fmt::format(
        "'num_attention_heads' = {} is not a multiple of 'num_key_value_heads' = {}", c.num_heads,
        c.num_kv_heads));
  }
  c.head_dim = top.has("head_dim") ? top.positive("head_dim") : family.default_head_dim(c);
  c.max_positions = top.positive("max_position_embeddings");
  c.rms_norm_eps = top.number("rms_norm_eps");
  c.initializer_range = top.number_or("initializer_range", kDefaultInitializerRange);
  c.tie_word_embeddings = family.default_tied && !top.has("tie_word_embeddings")
                              ? *family.default_tied
                              : top.boolean("tie_word_embeddings");
  read_rope(top, family, c);
  refuse_unsupported(top, family, c);
  if (!(c.rms_norm_eps > 0)) {
    top.bad(fmt::format("'rms_norm_eps' = {} must be above 0", c.rms_norm_eps));
  }
  if (!(c.rope_theta > 1)) {
    top.bad(fmt::format("'rope_theta' = {} must be above 1", c.rope_theta));
  }
  try {
    c.validate();
  } catch (const Error& e) {
    top.bad(e.what());
  }
  return c;
}

bool config_json_names(const fs::path& path, const char* field) {
  return Fields::of(path).has(field);
}

std::string config_json_with(const fs::path& path, StoredType type, bool tied) {
  Fields top = Fields::of(path);
  Json& doc = top.json();
  doc.contains("dtype") ? doc["dtype"] = torch_name(type) : doc["torch_dtype"] = torch_name(type);
  doc["tie_word_embeddings"] = tied;
  return doc.dump(2) + "\n";
}

DeclaredIds read_declared_ids(const fs::path& directory) {
  DeclaredIds out;
  std::set<Token> eos;
  const Fields config = Fields::of(directory / "config.json");
  const Index vocabulary = config.has("vocab_size") ? config.positive("vocab_size") : 0;
  std::vector<Fields> files = {config};
  std::error_code ignored;
  if (fs::exists(directory / "generation_config.json", ignored)) {
    files.push_back(Fields::of(directory / "generation_config.json"));
  }
  for (const Fields& file : files) {
    add_ids(file, "eos_token_id", vocabulary, eos);
    for (const auto& [field, id] : {std::pair{"bos_token_id", &out.bos}, {"pad_token_id", &out.pad}}) {
      std::set<Token> one;
      // -1 and ids beyond the table serve some writers as "none": padding is never looked up here.
      if (file.has(field) && file.json()[field].is_number_integer() &&
          (file.json()[field].get<std::int64_t>() < 0 ||
           (vocabulary > 0 && file.json()[field].get<std::int64_t>() >= vocabulary))) {
        continue;
      }
      add_ids(file, field, vocabulary, one);
      if (!one.empty()) {
        *id = *one.begin();
      }
    }
  }
  out.eos.assign(eos.begin(), eos.end());
  return out;
}

}  // namespace minirl
