#include "model/pretrained.h"

#include <algorithm>
#include <set>

#include "core/files.h"
#include "model/family.h"

namespace minirl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHead = "lm_head.weight";
constexpr const char* kTable = "model.embed_tokens.weight";
constexpr const char* kDisagree = "config.json and the weights do not belong together";

// Buffers of old checkpoints, which are functions of config.json: no parameters.
bool is_buffer(const std::string& name) { return name.ends_with(".rotary_emb.inv_freq"); }

/// The shapes that decide how much memory a model needs, checked before the list of its parameters is
/// made: a wrong config.json then costs nothing.
void check_sizes(const ModelConfig& c, const Weights& weights, const fs::path& config) {
  weights.require(kTable, {c.vocab_size, c.hidden_size});
  const std::string head_dim =
      config_json_names(config, "head_dim")
          ? ""
          : fmt::format("config.json has no head_dim, so that of the family, {}, was taken: add the "
                        "right one",
                        c.head_dim);
  for (Index l = 0; l < c.num_layers; ++l) {
    weights.require(fmt::format("model.layers.{}.self_attn.q_proj.weight", l),
                    {c.q_size(), c.hidden_size}, head_dim);
    weights.require(fmt::format("model.layers.{}.mlp.gate_proj.weight", l),
                    {c.ffn_size, c.hidden_size});
  }
}

/// What a tied model's lm_head.weight means; true: the model is untied after all.
bool head_of_its_own(const Weights& weights, TiedHead tied_head) {
  if (!weights.contains(kHead) || tied_head == TiedHead::table || weights.equal(kHead, kTable)) {
    return false;
  }
  if (tied_head == TiedHead::refuse) {
    weights.bad(kHead,
                fmt::format("config.json says tie_word_embeddings = true, so the head is '{}', but "
                            "the weights also have a '{}' that differs from it",
                            kTable, kHead),
                "say which one is right: model.tied_head (--tied-head) = \"table\" or \"head\"; or, "
                "if the head was trained on its own, set tie_word_embeddings to false in config.json");
  }
  return true;
}

void check_tensors(const std::vector<WeightSpec>& specs, const Weights& weights, bool tied) {
  std::set<std::string> known;
  for (const WeightSpec& spec : specs) {
    weights.require(spec.name, spec.shape);
    known.insert(spec.name);
  }
  std::vector<std::string> left;
  for (const auto& [name, place] : weights.tensors()) {
    if (known.count(name) == 0 && !(tied && name == kHead) && !is_buffer(name)) {
      left.push_back(name);
    }
  }
  if (!left.empty()) {
    weights.bad(left[0],
                fmt::format("the model of config.json has no place for {} of the tensors, e.g. '{}'",
                            left.size(), left[0]),
                kDisagree);
  }
}

std::vector<WeightSpec> specs_of(const Params& params) {
  std::vector<WeightSpec> out;
  for (const Param& p : params.all()) {
    out.push_back({p.name, p.value.shape()});
  }
  return out;
}

}  // namespace

TiedHead tied_head_from_name(std::string_view name) {
  return name == "table" ? TiedHead::table : name == "head" ? TiedHead::head : TiedHead::refuse;
}

void save_pretrained(const fs::path& directory, const Decoder& model, const SpecialIds& ids,
                     const SaveOptions& options) {
  std::vector<TensorHeader> headers;
  StoredType widest = StoredType::BF16;
  for (const Param& p : model.params().all()) {
    headers.push_back(
        {p.name, options.type.value_or(stored_type(p.value.dtype())), p.value.shape()});
    if (p.value.shape().rank == 2 || size_of(headers.back().type) == 8) {
      widest = headers.back().type;  // the matrices decide
    }
  }
  write_file_atomic(directory / "config.json", config_json(model.config(), ids, widest));
  write_file_atomic(directory / "generation_config.json", generation_config_json(ids));
  WeightsWriter writer(directory, headers, options.max_shard_bytes);
  constexpr Index kPiece = Index{1} << 20;
  for (std::size_t i = 0; const Param& p : model.params().all()) {
    const Tensor value = p.value.on_host();
    if (stored_type(value.dtype()) == headers[i++].type) {
      writer.write(std::span(value.raw(), static_cast<std::size_t>(value.bytes())));
      continue;
    }
    const auto pieces = [&](const auto& values) {
      for (Index first = 0; first < value.numel(); first += kPiece) {
        writer.write_values(values.subspan(
            static_cast<std::size_t>(first),
            static_cast<std::size_t>(std::min(kPiece, value.numel() - first))));
      }
    };
    switch (value.dtype()) {
      case DType::f64:
        pieces(value.span<double>());
        break;
      case DType::bf16:
        pieces(value.span<Bf16>());
        break;
      default:
        pieces(value.span<float>());
    }
  }
  writer.finish();
}

OpenedDirectory open_pretrained(const fs::path& directory, TiedHead tied_head) {
  require_model_directory(directory);
  const fs::path path = directory / "config.json";
  ModelConfig config = read_config_json(path);
  Weights weights(directory);
  check_sizes(config, weights, path);
  const bool tied = config.tie_word_embeddings;
  if (tied && head_of_its_own(weights, tied_head)) {
    config.tie_word_embeddings = false;
  }
  check_tensors(model_weights(config), weights, tied);
  return {std::move(config), std::move(weights)};
}

std::unique_ptr<Decoder> load_pretrained(const fs::path& directory, DType dtype,
                                         const LoadOptions& options) {
  const OpenedDirectory opened = open_pretrained(directory, options.tied_head);
  auto model = make_empty_decoder(opened.config, dtype, options.matrices.value_or(dtype));
  std::size_t done = 0;
  for (Param& p : model->params().all()) {
    opened.weights.require_finite(p.name, p.value.dtype());
    opened.weights.read_into(p.name, p.value);
    const auto& entry = opened.weights.tensors().at(p.name).entry;
    done += entry.end - entry.begin;
    if (options.progress) {
      options.progress(done, opened.weights.bytes());
    }
  }
  return model;
}

void load_weights(const fs::path& directory, Decoder& model) {
  const Weights weights(directory);
  const bool tied = model.config().tie_word_embeddings;
  check_tensors(specs_of(model.params()), weights, tied);
  if (tied) {
    head_of_its_own(weights, TiedHead::refuse);
  }
  for (const Param& p : model.params().all()) {
    weights.require_finite(p.name, p.value.dtype());
  }
  for (Param& p : model.params().all()) {
    weights.read_into(p.name, p.value);
  }
  model.params().touch();
}

}  // namespace minirl
