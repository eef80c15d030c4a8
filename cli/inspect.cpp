// minirl inspect: what a Hugging Face directory holds.
#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "model/convert.h"
#include "model/staged_directory.h"

namespace minirl::cli {
namespace {

struct InspectArgs {
  std::string directory;
  bool json = false, shapes_only = false;
};

using Json = nlohmann::ordered_json;

/// config.json in numbers, or what is wrong with it: a directory is shown all the same.
Json config_report(const std::string& directory) {
  Json out;
  try {
    const ModelConfig c = open_pretrained(directory).config;
    const DeclaredIds ids = read_declared_ids(directory);
    out = {{"family", c.family},
           {"vocab_size", c.vocab_size},
           {"hidden_size", c.hidden_size},
           {"num_layers", c.num_layers},
           {"num_heads", c.num_heads},
           {"num_kv_heads", c.num_kv_heads},
           {"head_dim", c.head_dim},
           {"ffn_size", c.ffn_size},
           {"rope_theta", c.rope_theta},
           {"max_positions", c.max_positions},
           {"tie_word_embeddings", c.tie_word_embeddings},
           {"eos_token_ids", ids.eos}};
  } catch (const Error& e) {
    out = {{"problem", e.what()}};
  }
  return out;
}

/// Everything is shown, but a script must notice that the directory cannot be used.
Exit verdict(const Json& doc) {
  return doc["config"].contains("problem") ? Exit::usage : Exit::ok;
}

Exit inspect(const InspectArgs& args) {
  const Weights weights(args.directory);
  Json doc = {{"directory", args.directory}, {"config", config_report(args.directory)}};
  Index parameters = 0, embeddings = 0, not_finite = 0;
  Json tensors = Json::array();
  for (const auto& [name, place] : weights.tensors()) {
    const Shape& shape = place.entry.shape;
    const bool is_table = name == "model.embed_tokens.weight" || name == "lm_head.weight";
    parameters += shape.numel();
    embeddings += is_table ? shape.numel() : 0;
    Json row = {{"name", name},
                {"file", weights.path_of(name).filename().string()},
                {"dtype", minirl::name(place.entry.type)},
                {"shape", std::vector<Index>(shape.dim.begin(), shape.dim.begin() + shape.rank)},
                {"parameters", shape.numel()}};
    if (!args.shapes_only && is_floating(place.entry.type)) {
      const TensorStatistics s = tensor_statistics(weights, name);
      row["minimum"] = s.minimum, row["maximum"] = s.maximum, row["mean"] = s.mean;
      row["deviation"] = s.deviation, row["zeros"] = s.zeros, row["not_finite"] = s.not_finite;
      not_finite += s.not_finite;
    }
    tensors.push_back(std::move(row));
  }
  doc["files"] = weights.files();
  doc["bytes"] = weights.bytes();
  doc["tensors"] = weights.tensors().size();
  doc["parameters"] = parameters;
  doc["parameters_without_tables"] = parameters - embeddings;
  if (!args.shapes_only) {
    doc["not_finite"] = not_finite;
  }
  if (args.json) {
    doc["list"] = std::move(tensors);
    std::fputs((doc.dump(2, ' ', false, Json::error_handler_t::replace) + "\n").c_str(), stdout);
    return verdict(doc);
  }
  std::size_t width = 4;
  for (const Json& row : tensors) {
    width = std::max(width, row["name"].get<std::string>().size());
  }
  std::string out = fmt::format("{:<{}}  type  {:<16}", "name", width, "shape");
  out += args.shapes_only ? "\n" : "      minimum      maximum         mean    deviation\n";
  for (const Json& row : tensors) {
    out += fmt::format("{:<{}}  {:<4}  {:<16}", row["name"].get<std::string>(), width,
                       row["dtype"].get<std::string>(), row["shape"].dump());
    if (row.contains("mean")) {
      for (const char* key : {"minimum", "maximum", "mean", "deviation"}) {
        out += fmt::format(" {:>12.5g}", row[key].get<double>());
      }
      if (const auto n = row["not_finite"].get<Index>(); n > 0) {
        out += fmt::format("  {} NOT FINITE", n);
      }
    }
    out += '\n';
  }
  const Json& config = doc["config"];
  out += fmt::format("\n{} tensors, {} parameters ({} without tables), {} in {} file{}\n",
                     weights.tensors().size(), parameters, parameters - embeddings,
                     decimal_bytes(weights.bytes()), weights.files(),
                     weights.files() == 1 ? "" : "s");
  out += config.contains("problem")
             ? fmt::format("minirl cannot load it: {}\n", config["problem"].get<std::string>())
             : fmt::format("{}: {}\n", config["family"].get<std::string>(), config.dump());
  std::fputs(out.c_str(), stdout);
  return verdict(doc);
}

}  // namespace

void add_inspect(CLI::App& app, Chosen& chosen) {
  auto* command =
      app.add_subcommand("inspect", "tensors of a checkpoint: shapes, types, statistics");
  const auto args = std::make_shared<InspectArgs>();
  command->add_option("DIR", args->directory, "Hugging Face folder")->required();
  command->add_flag("--json", args->json, "for programs");
  command->add_flag("--shapes-only", args->shapes_only, "headers only: reads no values");
  command->callback([&chosen, args] { chosen.run = [args] { return inspect(*args); }; });
}

}  // namespace minirl::cli
