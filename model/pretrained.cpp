#include "model/pretrained.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/files.h"
#include "model/safetensors.h"

namespace minirl {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void bad_config(const std::filesystem::path& path, const std::string& what) {
  fail(Exit::usage, fmt::format("'{}': {}", path.string(), what), "minirl reads checkpoints of the Qwen3 family as Hugging Face saves them");
}

double number(const Json& doc, const char* key, const std::filesystem::path& path) {
  if (!doc.contains(key) || !doc[key].is_number()) { bad_config(path, fmt::format("'{}' is missing or not a number", key)); }
  return doc[key].get<double>();
}

Index whole(const Json& doc, const char* key, const std::filesystem::path& path) {
  if (!doc.contains(key) || !doc[key].is_number_integer()) { bad_config(path, fmt::format("'{}' is missing or not a whole number", key)); }
  return doc[key].get<Index>();
}

}  // namespace

std::string config_json(const ModelConfig& c, const SpecialIds& ids) {
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
              {"torch_dtype", "float32"}};
  const auto id = [&](const char* key, Token t) { doc[key] = t >= 0 ? Json(t) : Json(nullptr); };
  id("bos_token_id", ids.bos);
  id("eos_token_id", ids.eos);
  id("pad_token_id", ids.pad);
  return doc.dump(2) + "\n";
}

ModelConfig read_config_json(const std::filesystem::path& path) {
  Json doc;
  try {
    doc = Json::parse(read_file(path));
  } catch (const Json::exception&) { bad_config(path, "it is not JSON"); }
  if (!doc.is_object()) { bad_config(path, "it is not a JSON object"); }
  ModelConfig c;
  c.family = doc.value("model_type", "");
  if (!DecoderFamilies::contains(c.family)) { bad_config(path, fmt::format("model_type '{}' is not supported", c.family)); }
  c.vocab_size = whole(doc, "vocab_size", path);
  c.hidden_size = whole(doc, "hidden_size", path);
  c.ffn_size = whole(doc, "intermediate_size", path);
  c.num_layers = whole(doc, "num_hidden_layers", path);
  c.num_heads = whole(doc, "num_attention_heads", path);
  c.num_kv_heads = whole(doc, "num_key_value_heads", path);
  c.head_dim = doc.contains("head_dim") && !doc["head_dim"].is_null() ? whole(doc, "head_dim", path) : 128;  // the family's default
  c.max_positions = whole(doc, "max_position_embeddings", path);
  c.rms_norm_eps = number(doc, "rms_norm_eps", path);
  c.rope_theta = number(doc, "rope_theta", path);
  c.initializer_range = doc.contains("initializer_range") ? number(doc, "initializer_range", path) : 0.02;
  if (!doc.contains("tie_word_embeddings") || !doc["tie_word_embeddings"].is_boolean()) { bad_config(path, "'tie_word_embeddings' is missing or not a boolean"); }
  c.tie_word_embeddings = doc["tie_word_embeddings"].get<bool>();
  const auto refuse = [&](const char* key, const char* why) {
    if (doc.contains(key) && !doc[key].is_null() && doc[key] != false) { bad_config(path, fmt::format("'{}' is set: {}", key, why)); }
  };
  refuse("rope_scaling", "scaled rotary positions are not supported");
  refuse("attention_bias", "Qwen3 has no attention biases");
  refuse("use_sliding_window", "sliding-window attention is not supported");
  if (doc.value("hidden_act", "silu") != "silu") { bad_config(path, fmt::format("hidden_act '{}' is not supported", doc.value("hidden_act", ""))); }
  c.validate();
  return c;
}

void save_pretrained(const std::filesystem::path& directory, const Decoder& model, const SpecialIds& ids) {
  write_file_atomic(directory / "config.json", config_json(model.config(), ids));
  Json generation = {{"do_sample", true}, {"temperature", 1.0}, {"top_p", 1.0}, {"top_k", 0}};
  if (ids.eos >= 0) { generation["eos_token_id"] = ids.eos; }
  write_file_atomic(directory / "generation_config.json", generation.dump(2) + "\n");
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const Param& p : model.params().all()) { tensors.emplace_back(p.name, p.value); }
  write_safetensors(directory / "model.safetensors", tensors, {{"format", "pt"}});
}

void load_weights(const std::filesystem::path& directory, Decoder& model) {
  const auto path = directory / "model.safetensors";
  const SafetensorsFile file(path);
  std::set<std::string> left;
  for (const auto& [name, entry] : file.entries()) { left.insert(name); }
  if (model.config().tie_word_embeddings) { left.erase("lm_head.weight"); }  // some tools save the tied copy too
  for (Param& p : model.params().all()) {
    if (!file.contains(p.name)) { fail(Exit::usage, fmt::format("'{}' has no tensor '{}'", path.string(), p.name), "config.json and the weights do not belong together"); }
    const auto& entry = file.entries().at(p.name);
    if (entry.shape != p.value.shape()) {
      fail(Exit::usage, fmt::format("'{}': tensor '{}' is {}, config.json makes it {}", path.string(), p.name, entry.shape.str(), p.value.shape().str()));
    }
    if (entry.dtype != DType::f32 && entry.dtype != DType::bf16 && entry.dtype != DType::f64) {
      fail(Exit::usage, fmt::format("'{}': tensor '{}' holds {}", path.string(), p.name, name(entry.dtype)), "weights are F32, BF16 or F64");
    }
    const Tensor value = file.read(p.name).to(DType::f32);
    for (const float x : value.span<float>()) {
      if (!std::isfinite(x)) { fail(Exit::usage, fmt::format("'{}': tensor '{}' holds a value that is not finite", path.string(), p.name), "this checkpoint is broken; use an earlier one"); }
    }
    p.value = value.to(model.dtype());
    p.touch();
    left.erase(p.name);
  }
  if (!left.empty()) { fail(Exit::usage, fmt::format("'{}' has {} tensors that the model has not, e.g. '{}'", path.string(), left.size(), *left.begin())); }
}

std::unique_ptr<Decoder> load_pretrained(const std::filesystem::path& directory, DType dtype) {
  if (!std::filesystem::is_directory(directory)) { fail(Exit::usage, fmt::format("'{}' is not a checkpoint directory", directory.string()), "give a directory with config.json and model.safetensors"); }
  auto model = make_decoder(read_config_json(directory / "config.json"), dtype, 0);
  load_weights(directory, *model);
  return model;
}

}  // namespace minirl
