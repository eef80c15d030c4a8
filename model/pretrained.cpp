#include "model/pretrained.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "core/files.h"
#include "model/safetensors.h"

namespace minirl {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr Index kDefaultHeadDim = 128;            // of the family, where config.json leaves it out
constexpr Index kLargestSize = 2147483647;        // products of two sizes stay an Index
constexpr double kDefaultInitializerRange = 0.02;

Json config_document(const ModelConfig& c, const SpecialIds& ids, DType dtype) {
  Json doc = {{"architectures", {"Qwen3ForCausalLM"}},
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
              {"rope_scaling", nullptr},
              {"attention_bias", false},
              {"attention_dropout", 0.0},
              {"use_sliding_window", false},
              {"sliding_window", nullptr},
              {"max_window_layers", c.num_layers},
              {"tie_word_embeddings", c.tie_word_embeddings},
              {"use_cache", true},
              {"torch_dtype", dtype == DType::f64 ? "float64" : "float32"}};
  const auto id = [&](const char* key, Token t) { doc[key] = t >= 0 ? Json(t) : Json(nullptr); };
  id("bos_token_id", ids.bos);
  id("eos_token_id", ids.eos);
  id("pad_token_id", ids.pad);
  return doc;
}

/// Fields of one config.json; every error names file and field.
class ConfigReader {
 public:
  explicit ConfigReader(const fs::path& path) : path_(path) {
    try {
      doc_ = Json::parse(read_file(path));
    } catch (const Json::exception&) { bad("it is not JSON"); }
    if (!doc_.is_object()) { bad("it is not a JSON object"); }
  }
  [[noreturn]] void bad(const std::string& what) const {
    fail(Exit::usage, fmt::format("'{}': {}", path_.string(), what), "minirl reads checkpoints of the Qwen3 family as Hugging Face saves them");
  }
  bool has(const char* key) const { return doc_.contains(key) && !doc_[key].is_null(); }
  const Json& get(const char* key) const {
    if (!has(key)) { bad(fmt::format("'{}' is missing", key)); }
    return doc_[key];
  }
  double number(const char* key) const { return as_number(key, get(key)); }
  double as_number(const char* key, const Json& value) const {
    if (!value.is_number()) { bad(fmt::format("'{}' = {} is not a number", key, value.dump())); }
    return value.get<double>();
  }
  Index positive(const char* key) const {
    const Json& value = get(key);
    if (!value.is_number_integer()) { bad(fmt::format("'{}' = {} is not a whole number", key, value.dump())); }
    const auto n = value.get<Index>();
    if (n < 1 || n > kLargestSize) { bad(fmt::format("'{}' = {} must be between 1 and {}", key, value.dump(), kLargestSize)); }
    return n;
  }
  std::string text(const char* key) const {
    const Json& value = get(key);
    if (!value.is_string()) { bad(fmt::format("'{}' = {} is not a text", key, value.dump())); }
    return value.get<std::string>();
  }
  bool boolean(const char* key) const {
    const Json& value = get(key);
    if (!value.is_boolean()) { bad(fmt::format("'{}' = {} is not true or false", key, value.dump())); }
    return value.get<bool>();
  }
  void refuse(const char* key, const char* why) const {
    if (has(key) && doc_[key] != false) { bad(fmt::format("'{}' is set: {}", key, why)); }
  }

 private:
  fs::path path_;
  Json doc_;
};

/// 'rope_theta', or where transformers 5 has put it: {"rope_parameters": {"rope_type": "default", "rope_theta": ...}}.
double read_rope_theta(const ConfigReader& config) {
  if (config.has("rope_theta") || !config.has("rope_parameters")) { return config.number("rope_theta"); }
  const Json& rope = config.get("rope_parameters");
  if (!rope.is_object() || !rope.contains("rope_theta")) { config.bad("'rope_parameters.rope_theta' is missing"); }
  if (rope.contains("rope_type") && rope["rope_type"] != "default") { config.bad("'rope_parameters.rope_type' is set: scaled rotary positions are not supported"); }
  return config.as_number("rope_parameters.rope_theta", rope["rope_theta"]);
}

/// What of the format the family has and minirl has not.
void refuse_unsupported(const ConfigReader& config) {
  config.refuse("rope_scaling", "scaled rotary positions are not supported");
  config.refuse("attention_bias", "Qwen3 has no attention biases");
  config.refuse("use_sliding_window", "sliding-window attention is not supported");
  config.refuse("quantization_config", "quantized weights are not supported");
  if (config.has("hidden_act") && config.text("hidden_act") != "silu") { config.bad(fmt::format("'hidden_act' = \"{}\" is not supported, only \"silu\"", config.text("hidden_act"))); }
  if (config.has("layer_types")) {
    for (const Json& type : config.get("layer_types")) {
      if (type != "full_attention") { config.bad(fmt::format("'layer_types' has {}, only \"full_attention\" is supported", type.dump())); }
    }
  }
}

/// The tensors of one weights file, with errors that name file and tensor.
class Weights {
 public:
  explicit Weights(const fs::path& directory) : path_(checked(directory)), file_(path_) {}

  const SafetensorsFile& file() const { return file_; }
  [[noreturn]] void bad(const std::string& what, std::string_view hint = {}) const { fail(Exit::usage, fmt::format("'{}': {}", path_.string(), what), hint); }

  void require(const std::string& name, const Shape& shape) const {
    if (!file_.contains(name)) { bad(fmt::format("it has no tensor '{}'", name), "config.json and the weights do not belong together"); }
    const auto& entry = file_.entries().at(name);
    if (entry.shape != shape) {
      bad(fmt::format("tensor '{}' is {}, config.json makes it {}", name, entry.shape.str(), shape.str()), "config.json and the weights do not belong together");
    }
    if (entry.dtype != DType::f32 && entry.dtype != DType::bf16 && entry.dtype != DType::f64) {
      bad(fmt::format("tensor '{}' holds {}", name, minirl::name(entry.dtype)), "weights are F32, BF16 or F64");
    }
  }
  /// The values as `dtype`; all of them are finite.
  Tensor read(const std::string& name, DType dtype) const {
    Tensor value = file_.read(name);
    if (value.dtype() != dtype) { value = value.to(dtype); }
    const auto check = [&](const auto& values) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (!std::isfinite(values[i])) {
          bad(fmt::format("tensor '{}' holds {} at index {}, as {}", name, values[i], i, minirl::name(dtype)), "this checkpoint is broken; use an earlier one");
        }
      }
    };
    if (dtype == DType::f64) { check(value.span<double>()); } else { check(value.span<float>()); }
    return value;
  }

 private:
  static fs::path checked(const fs::path& directory) {
    const fs::path path = directory / "model.safetensors";
    if (!fs::exists(path) && fs::exists(directory / "model.safetensors.index.json")) {
      fail(Exit::usage, fmt::format("'{}' holds weights in several files", directory.string()), "merge them into one model.safetensors first");
    }
    return path;
  }
  fs::path path_;
  SafetensorsFile file_;
};

/// A tied model has no head of its own; some tools save the copy of the table all the same. It may be left out only if it is one.
void check_tied_head(const Weights& weights) {
  const std::string head = "lm_head.weight", table = "model.embed_tokens.weight";
  const auto &a = weights.file().entries().at(head), &b = weights.file().entries().at(table);
  bool equal = a.dtype == b.dtype && a.shape == b.shape;
  if (equal) {
    const Tensor x = weights.file().read(head), y = weights.file().read(table);
    equal = std::memcmp(x.raw(), y.raw(), static_cast<std::size_t>(x.bytes())) == 0;
  }
  if (!equal) {
    weights.bad(fmt::format("config.json says tie_word_embeddings = true, so the head is '{}', but the file also has a '{}' that differs from it", table, head),
                "if the head was trained on its own, set tie_word_embeddings to false in config.json; otherwise remove the tensor");
  }
}

/// The shapes that decide how much memory a model needs, checked before it is made: a wrong config.json then costs nothing.
void check_sizes(const ModelConfig& c, const Weights& weights) {
  weights.require("model.embed_tokens.weight", {c.vocab_size, c.hidden_size});
  for (Index l = 0; l < c.num_layers; ++l) {
    weights.require(fmt::format("model.layers.{}.self_attn.q_proj.weight", l), {c.q_size(), c.hidden_size});
    weights.require(fmt::format("model.layers.{}.mlp.gate_proj.weight", l), {c.ffn_size, c.hidden_size});
  }
}

void load_values(const Weights& weights, Decoder& model) {
  std::set<std::string> left;
  for (const auto& [name, entry] : weights.file().entries()) { left.insert(name); }
  for (const Param& p : model.params().all()) {
    weights.require(p.name, p.value.shape());
    left.erase(p.name);
  }
  if (model.config().tie_word_embeddings && left.erase("lm_head.weight") != 0) { check_tied_head(weights); }
  if (!left.empty()) {
    weights.bad(fmt::format("the model of config.json has no place for {} of its tensors, e.g. '{}'", left.size(), *left.begin()), "config.json and the weights do not belong together");
  }
  std::vector<Tensor> values;  // all or nothing: a model that exists is not left half loaded
  for (const Param& p : model.params().all()) { values.push_back(weights.read(p.name, model.dtype())); }
  std::size_t i = 0;
  for (Param& p : model.params().all()) { p.value = std::move(values[i++]); }
  model.params().touch();
}

}  // namespace

std::string config_json(const ModelConfig& config, const SpecialIds& ids) { return config_document(config, ids, DType::f32).dump(2) + "\n"; }

ModelConfig read_config_json(const fs::path& path) {
  const ConfigReader config(path);
  ModelConfig c;
  c.family = config.text("model_type");
  if (!DecoderFamilies::contains(c.family)) { config.bad(fmt::format("'model_type' = \"{}\" is not supported", c.family)); }
  c.vocab_size = config.positive("vocab_size");
  c.hidden_size = config.positive("hidden_size");
  c.ffn_size = config.positive("intermediate_size");
  c.num_layers = config.positive("num_hidden_layers");
  c.num_heads = config.positive("num_attention_heads");
  c.num_kv_heads = config.positive("num_key_value_heads");
  c.head_dim = config.has("head_dim") ? config.positive("head_dim") : kDefaultHeadDim;
  c.max_positions = config.positive("max_position_embeddings");
  c.rms_norm_eps = config.number("rms_norm_eps");
  c.rope_theta = read_rope_theta(config);
  c.initializer_range = config.has("initializer_range") ? config.number("initializer_range") : kDefaultInitializerRange;
  c.tie_word_embeddings = config.boolean("tie_word_embeddings");
  refuse_unsupported(config);
  if (c.num_heads % c.num_kv_heads != 0) { config.bad(fmt::format("'num_attention_heads' = {} is not a multiple of 'num_key_value_heads' = {}", c.num_heads, c.num_kv_heads)); }
  if (!(c.rms_norm_eps > 0)) { config.bad(fmt::format("'rms_norm_eps' = {} must be above 0", c.rms_norm_eps)); }
  if (!(c.rope_theta > 1)) { config.bad(fmt::format("'rope_theta' = {} must be above 1", c.rope_theta)); }
  try {
    c.validate();
  } catch (const Error& e) { config.bad(e.what()); }
  return c;
}

void save_pretrained(const fs::path& directory, const Decoder& model, const SpecialIds& ids) {
  write_file_atomic(directory / "config.json", config_document(model.config(), ids, model.dtype()).dump(2) + "\n");
  Json generation = {{"do_sample", true}, {"temperature", 1.0}, {"top_p", 1.0}, {"top_k", 0}};
  if (ids.eos >= 0) { generation["eos_token_id"] = ids.eos; }
  write_file_atomic(directory / "generation_config.json", generation.dump(2) + "\n");
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const Param& p : model.params().all()) { tensors.emplace_back(p.name, p.value); }
  write_safetensors(directory / "model.safetensors", tensors, {{"format", "pt"}});
}

void load_weights(const fs::path& directory, Decoder& model) { load_values(Weights(directory), model); }

std::unique_ptr<Decoder> load_pretrained(const fs::path& directory, DType dtype) {
  if (!fs::is_directory(directory)) {
    fail(Exit::usage, fmt::format("'{}' is not a checkpoint directory", directory.string()), "give a directory with config.json and model.safetensors");
  }
  const ModelConfig config = read_config_json(directory / "config.json");
  const Weights weights(directory);
  check_sizes(config, weights);
  auto model = make_decoder(config, dtype, 0);
  load_values(weights, *model);
  return model;
}

}  // namespace minirl
