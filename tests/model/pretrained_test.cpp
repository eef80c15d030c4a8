// A checkpoint directory loads whole or not at all, and the error names the file and the field or tensor.
#include "model/pretrained.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "model/safetensors.h"
#include "model/temporary.h"
#include "model/tiny.h"

using namespace minirl;
using namespace minirl::test;

namespace {

using Json = nlohmann::ordered_json;
using Tensors = std::vector<std::pair<std::string, Tensor>>;

/// What loading the directory complains about; exit code 2.
std::string refusal(const std::filesystem::path& directory) {
  try {
    load_pretrained(directory);
  } catch (const Error& e) {
    CHECK(e.code() == Exit::usage);
    return e.what();
  }
  FAIL("accepted");
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Tensors tensors_of(const Decoder& model) {
  Tensors out;
  for (const Param& p : model.params().all()) { out.emplace_back(p.name, p.value.clone()); }
  return out;
}

Tensor& at(Tensors& tensors, const std::string& name) {
  for (auto& [key, tensor] : tensors) {
    if (key == name) { return tensor; }
  }
  FAIL(name);
  return tensors.front().second;
}

void remove(Tensors& tensors, const std::string& name) {
  tensors.erase(std::remove_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.first == name; }), tensors.end());
}

/// A saved tiny model whose files a test changes.
struct Saved {
  TemporaryDirectory directory;
  std::unique_ptr<Decoder> model;
  explicit Saved(bool tied = true, DType dtype = DType::f32) : model(make_decoder(tiny_config(tied), dtype, 5)) { save_pretrained(path(), *model, {1, 2, 3}); }
  const std::filesystem::path& path() const { return directory.path(); }
  void write_config(const Json& doc) const { write_file_atomic(path() / "config.json", doc.dump()); }
  Json config() const { return Json::parse(read_file(path() / "config.json")); }
  void write_weights(const Tensors& tensors) const { write_safetensors(path() / "model.safetensors", tensors, {{"format", "pt"}}); }
};

}  // namespace

TEST_CASE("model/pretrained: what is saved is loaded to the bit, tied and untied, f32 and f64") {
  for (const bool tied : {true, false}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      Saved saved(tied, dtype);
      if (dtype == DType::f64) {  // values that no float holds
        saved.model->params().find("model.norm.weight")->value.data<double>()[3] = 1.0 + 0x1p-40;
        save_pretrained(saved.path(), *saved.model, {});
      }
      const auto loaded = load_pretrained(saved.path(), dtype);
      CHECK(loaded->params().hash() == saved.model->params().hash());
      CHECK(loaded->config().tie_word_embeddings == tied);
      CHECK(loaded->dtype() == dtype);
      const auto other = make_decoder(tiny_config(tied), dtype, 99);
      load_weights(saved.path(), *other);
      CHECK(other->params().hash() == saved.model->params().hash());
      CHECK(saved.config()["torch_dtype"] == (dtype == DType::f64 ? "float64" : "float32"));
    }
  }
}

TEST_CASE("model/pretrained: an f32 checkpoint opens as f64 with the same values, bf16 and f64 ones as f32") {
  Saved saved;
  const auto dual = load_pretrained(saved.path(), DType::f64);
  for (Param& p : dual->params().all()) {
    const Tensor back = p.value.to(DType::f32);
    CHECK(std::memcmp(back.raw(), saved.model->params().find(p.name)->value.raw(), static_cast<std::size_t>(back.bytes())) == 0);
  }
  for (const DType dtype : {DType::bf16, DType::f64}) {
    Tensors tensors = tensors_of(*saved.model);
    for (auto& [name, tensor] : tensors) { tensor = tensor.to(dtype); }
    saved.write_weights(tensors);
    const auto single = load_pretrained(saved.path());
    for (auto& [name, tensor] : tensors) {
      const Tensor want = tensor.to(DType::f32);
      CHECK(std::memcmp(single->params().find(name)->value.raw(), want.raw(), static_cast<std::size_t>(want.bytes())) == 0);
    }
  }
}

TEST_CASE("model/pretrained: config.json has every field and comes back as it went") {
  ModelConfig c = tiny_config(false);
  c.rope_theta = 12345.678;
  c.rms_norm_eps = 3e-6;
  c.initializer_range = 0.123;
  const TemporaryDirectory directory;
  write_file_atomic(directory.path() / "config.json", config_json(c, {7, -1, 8}));
  const ModelConfig r = read_config_json(directory.path() / "config.json");
  CHECK(r.family == "qwen3");
  CHECK(r.vocab_size == c.vocab_size);
  CHECK(r.hidden_size == c.hidden_size);
  CHECK(r.num_layers == c.num_layers);
  CHECK(r.num_heads == c.num_heads);
  CHECK(r.num_kv_heads == c.num_kv_heads);
  CHECK(r.head_dim == c.head_dim);
  CHECK(r.ffn_size == c.ffn_size);
  CHECK(r.rope_theta == c.rope_theta);
  CHECK(r.rms_norm_eps == c.rms_norm_eps);
  CHECK(r.initializer_range == c.initializer_range);
  CHECK(r.tie_word_embeddings == c.tie_word_embeddings);
  CHECK(r.max_positions == c.max_positions);
  const Json doc = Json::parse(config_json(c, {7, -1, 8}));
  CHECK(doc["architectures"][0] == "Qwen3ForCausalLM");
  CHECK(doc["eos_token_id"] == 7);
  CHECK(doc["bos_token_id"].is_null());
  CHECK(doc["pad_token_id"] == 8);
}

TEST_CASE("model/pretrained: every field of config.json that is missing or wrong is named") {
  const Saved saved;
  const Json good = saved.config();
  const auto refused = [&](const Json& doc, const std::string& field) {
    saved.write_config(doc);
    const std::string message = refusal(saved.path());
    CAPTURE(message);
    CHECK(contains(message, (saved.path() / "config.json").string()));
    CHECK(contains(message, field));
  };
  for (const std::string field : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
                                  "max_position_embeddings", "rms_norm_eps", "rope_theta", "tie_word_embeddings", "model_type"}) {
    CAPTURE(field);
    Json doc = good;
    doc.erase(field);
    refused(doc, fmt::format("'{}' is missing", field));
    for (const Json& wrong : {Json(nullptr), Json(Json::array({1})), Json(Json::object())}) {
      doc[field] = wrong;
      refused(doc, field);
    }
    doc[field] = field == "model_type" ? Json(3) : Json("3");
    refused(doc, field);
  }
  for (const std::string field : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
                                  "max_position_embeddings"}) {
    CAPTURE(field);
    for (const Json& wrong : {Json(0), Json(-4), Json(2.5), Json(true), Json(std::uint64_t{1} << 63), Json(std::int64_t{1} << 40)}) {
      Json doc = good;
      doc[field] = wrong;
      refused(doc, fmt::format("'{}' = {}", field, wrong.dump()));
    }
  }
  const std::vector<std::pair<const char*, Json>> unsupported = {
      {"model_type", "gpt2"}, {"hidden_act", "gelu"}, {"hidden_act", 3}, {"rope_scaling", {{"type", "yarn"}}}, {"attention_bias", true}, {"mlp_bias", true}, {"use_sliding_window", 1}, {"max_window_layers", -1},
      {"quantization_config", {{"bits", 4}}}, {"layer_types", {"full_attention", "sliding_attention"}}, {"rms_norm_eps", 0}, {"rms_norm_eps", -1e-6},
      {"rope_theta", 1}, {"rope_theta", -1e4}, {"head_dim", 7}, {"head_dim", 258}, {"num_key_value_heads", 3}};
  for (const auto& entry : unsupported) {
    const std::string field = entry.first;
    CAPTURE(field);
    Json doc = good;
    if (field == "max_window_layers") { doc["use_sliding_window"] = true, doc["sliding_window"] = 128; }
    doc[field] = entry.second;
    refused(doc, field);
  }
  for (const char* text : {"", "not JSON", "{\"vocab_size\": 53", "[]", "3"}) {
    write_file_atomic(saved.path() / "config.json", text);
    CHECK(contains(refusal(saved.path()), "config.json"));
  }
  saved.write_config(good);
  CHECK(load_pretrained(saved.path())->params().hash() == saved.model->params().hash());
}

TEST_CASE("model/pretrained: fields that other writers leave out or place elsewhere are understood") {
  const Saved saved;
  Json doc = saved.config();
  for (const char* field : {"initializer_range", "hidden_act", "attention_bias", "use_sliding_window", "rope_scaling", "torch_dtype", "architectures"}) { doc.erase(field); }
  doc["an_unknown_field"] = 1;
  doc["layer_types"] = {"full_attention", "full_attention"};
  doc.erase("rope_theta");
  doc["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 10000}};
  saved.write_config(doc);
  CHECK(load_pretrained(saved.path())->config().rope_theta == 1e4);
  CHECK(load_pretrained(saved.path())->params().hash() == saved.model->params().hash());
  doc["rope_parameters"] = {{"rope_type", "dynamic"}, {"rope_theta", 10000}};
  saved.write_config(doc);
  CHECK(contains(refusal(saved.path()), "'rope_parameters.rope_type' = \"dynamic\": this scaling of rotary positions is not supported"));
  doc["rope_parameters"] = Json::object();
  saved.write_config(doc);
  CHECK(contains(refusal(saved.path()), "rope_parameters.rope_theta"));
  ModelConfig wide = tiny_config();
  wide.head_dim = 128;  // the family's default
  save_pretrained(saved.path(), *make_decoder(wide, DType::f32, 1), {});
  doc = saved.config();
  doc.erase("head_dim");
  saved.write_config(doc);
  CHECK(load_pretrained(saved.path())->config().head_dim == 128);
}

TEST_CASE("model/pretrained: missing, unexpected, misshapen and broken tensors are named and leave a model as it was") {
  struct Fault {
    std::string what;
    std::function<void(Tensors&)> make;
    std::vector<std::string> message;
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::string k_proj = "model.layers.1.self_attn.k_proj.weight", table = "model.embed_tokens.weight";
  const std::vector<Fault> faults = {
      {"a missing matrix", [&](Tensors& t) { remove(t, k_proj); }, {"no tensor '" + k_proj + "'"}},
      {"a missing norm", [&](Tensors& t) { remove(t, "model.norm.weight"); }, {"no tensor 'model.norm.weight'"}},
      {"a missing table", [&](Tensors& t) { remove(t, table); }, {"no tensor '" + table + "'"}},
      {"no tensors", [&](Tensors& t) { t.clear(); }, {"no tensor"}},
      {"a tensor too many", [&](Tensors& t) { t.emplace_back("model.layers.0.self_attn.q_proj.bias", Tensor::zeros({32}, DType::f32)); }, {"'model.layers.0.self_attn.q_proj.bias'", "no place for 1"}},
      {"a layer too many", [&](Tensors& t) { t.emplace_back("model.layers.2.input_layernorm.weight", Tensor::zeros({24}, DType::f32)); }, {"'model.layers.2.input_layernorm.weight'"}},
      {"names of another library", [&](Tensors& t) { for (auto& [name, tensor] : t) { name = "transformer." + name; } }, {"no tensor"}},
      {"transposed", [&](Tensors& t) { at(t, k_proj) = at(t, k_proj).view({24, 16}); }, {"'" + k_proj + "' is (24, 16)", "makes it (16, 24)"}},
      {"flat", [&](Tensors& t) { at(t, k_proj) = at(t, k_proj).view({384}); }, {"'" + k_proj + "' is (384)"}},
      {"one row too few", [&](Tensors& t) { at(t, table) = at(t, table).slice(0, 52); }, {"'" + table + "' is (52, 24)", "makes it (53, 24)"}},
      {"whole numbers", [&](Tensors& t) { at(t, k_proj) = Tensor::zeros({16, 24}, DType::i32); }, {"'" + k_proj + "' holds i32"}},
      {"NaN", [&](Tensors& t) { at(t, k_proj).data<float>()[100] = kNan; }, {"'" + k_proj + "' holds nan at index 100"}},
      {"infinity", [&](Tensors& t) { at(t, "model.norm.weight").data<float>()[23] = -INFINITY; }, {"'model.norm.weight' holds -inf at index 23"}},
      {"NaN in bf16", [&](Tensors& t) { Tensor& x = at(t, k_proj); x.data<float>()[5] = kNan; x = x.to(DType::bf16); }, {"'" + k_proj + "' holds nan at index 5"}},
      {"a double that no float holds", [&](Tensors& t) { Tensor x = at(t, k_proj).to(DType::f64); x.data<double>()[7] = 1e300; at(t, k_proj) = x; }, {"'" + k_proj + "' holds inf at index 7"}},
  };
  const Saved saved;
  for (const Fault& fault : faults) {
    CAPTURE(fault.what);
    Tensors tensors = tensors_of(*saved.model);
    fault.make(tensors);
    saved.write_weights(tensors);
    const std::string message = refusal(saved.path());
    CAPTURE(message);
    CHECK(contains(message, (saved.path() / "model.safetensors").string()));
    for (const std::string& part : fault.message) { CHECK_MESSAGE(contains(message, part), part); }
    const auto existing = make_decoder(tiny_config(), DType::f32, 8);
    const std::string before = existing->params().hash();
    CHECK_THROWS_AS(load_weights(saved.path(), *existing), Error);
    CHECK(existing->params().hash() == before);
  }
}

TEST_CASE("model/pretrained: a config that asks for more than the weights hold is refused before memory is taken") {
  const Saved saved;
  for (const auto& entry : {std::pair{"vocab_size", "model.embed_tokens.weight"}, {"hidden_size", "model.embed_tokens.weight"},
                            {"num_hidden_layers", "model.layers.2.self_attn.q_proj.weight"}, {"intermediate_size", "model.layers.0.mlp.gate_proj.weight"},
                            {"num_attention_heads", "model.layers.0.self_attn.q_proj.weight"}}) {
    const std::string field = entry.first;
    CAPTURE(field);
    Json doc = saved.config();
    doc[field] = 2147483646;
    saved.write_config(doc);
    CHECK(contains(refusal(saved.path()), entry.second));
    saved.write_config(Json::parse(config_json(tiny_config(), {})));
  }
}

TEST_CASE("model/pretrained: a tied model may come with a copy of its table as head, but not with another head") {
  const Saved saved;
  Tensors tensors = tensors_of(*saved.model);
  tensors.emplace_back("lm_head.weight", at(tensors, "model.embed_tokens.weight").clone());
  saved.write_weights(tensors);
  CHECK(load_pretrained(saved.path())->params().hash() == saved.model->params().hash());
  tensors.back().second.data<float>()[77] += 0.5F;
  saved.write_weights(tensors);
  const std::string message = refusal(saved.path());
  CAPTURE(message);
  CHECK(contains(message, "tie_word_embeddings = true"));
  CHECK(contains(message, "'lm_head.weight' that differs"));
  CHECK(contains(message, "set tie_word_embeddings to false"));
  Json doc = saved.config();
  doc["tie_word_embeddings"] = false;  // the advice works
  saved.write_config(doc);
  CHECK(load_pretrained(saved.path())->params().find("lm_head.weight") != nullptr);
  tensors.back().second = tensors.back().second.slice(0, 52);
  saved.write_weights(tensors);
  CHECK(contains(refusal(saved.path()), "'lm_head.weight' is (52, 24)"));
  doc["tie_word_embeddings"] = true;
  saved.write_config(doc);
  CHECK(contains(refusal(saved.path()), "differs"));
}

TEST_CASE("model/pretrained: an untied model needs its head") {
  const Saved saved(false);
  Tensors tensors = tensors_of(*saved.model);
  remove(tensors, "lm_head.weight");
  saved.write_weights(tensors);
  CHECK(contains(refusal(saved.path()), "no tensor 'lm_head.weight'"));
}

TEST_CASE("model/pretrained: directories that are none, or lack a file, are named") {
  const Saved saved;
  CHECK(contains(refusal(saved.path() / "none"), "is not a checkpoint directory"));
  CHECK(contains(refusal(saved.path() / "config.json"), "is not a checkpoint directory"));
  std::filesystem::rename(saved.path() / "model.safetensors", saved.path() / "moved");
  CHECK(contains(refusal(saved.path()), "model.safetensors"));
  write_file_atomic(saved.path() / "model.safetensors.index.json", "{}");
  CHECK(contains(refusal(saved.path()), "no 'weight_map'"));
  std::filesystem::remove(saved.path() / "config.json");
  CHECK(contains(refusal(saved.path()), "config.json"));
}

TEST_CASE("model/pretrained: a loaded model computes with the loaded weights, packed forms included") {
  const Saved saved;
  const auto other = make_decoder(tiny_config(), DType::f32, 99);
  const auto ids = random_tokens(40, 3);
  const auto before = training_logp(*other, ids, {});
  load_weights(saved.path(), *other);
  const auto after = training_logp(*other, ids, {});
  CHECK_FALSE(same_bits(before, after));
  CHECK(same_bits(after, training_logp(*saved.model, ids, {})));
}
