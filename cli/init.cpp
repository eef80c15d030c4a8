// minirl init: a published shape with random weights, for dry runs of everything.
#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/config_args.h"
#include "cli/progress.h"
#include "core/files.h"
#include "core/signals.h"
#include "data/tokenizer.h"
#include "model/convert.h"
#include "model/family.h"
#include "model/model_presets.h"
#include "model/staged_directory.h"

namespace minirl::cli {
namespace {

namespace fs = std::filesystem;

struct InitArgs {
  std::string preset, out, dtype = "f32", shard = "5GB", tokenizer;
  std::int64_t seed = 1;
  Index vocab_size = 0;
};

/// The id of a special token that tokenizer_config.json names (as a text, or an object with 'content').
Token named_id(const nlohmann::json& config, const nlohmann::json& tokenizer, const char* key) {
  if (!config.contains(key) || config[key].is_null()) {
    return -1;
  }
  const nlohmann::json& named = config[key].is_object() ? config[key].value("content", nlohmann::json())
                                                        : config[key];
  for (const auto& token : tokenizer.value("added_tokens", nlohmann::json::array())) {
    if (token.value("content", nlohmann::json()) == named) {
      return token.value("id", Token{-1});
    }
  }
  return -1;
}

SpecialIds ids_of(const fs::path& directory) {
  try {
    const auto config = nlohmann::json::parse(read_file(directory / "tokenizer_config.json"));
    const auto tokenizer = nlohmann::json::parse(read_file(directory / "tokenizer.json"));
    return {named_id(config, tokenizer, "eos_token"), named_id(config, tokenizer, "bos_token"),
            named_id(config, tokenizer, "pad_token")};
  } catch (const nlohmann::json::exception&) {
    fail(Exit::usage, fmt::format("the tokenizer's files in '{}' are not JSON", directory.string()));
  }
}

Exit init(const InitArgs& args) {
  ModelConfig config = find_model_preset(args.preset).config;
  if (args.vocab_size > 0) {
    config.vocab_size = args.vocab_size;
  }
  InitOptions options;
  options.seed = static_cast<std::uint64_t>(args.seed);
  options.type = weights_type_from_name(args.dtype);
  options.max_shard_bytes = parse_bytes(args.shard, "--max-shard-size");
  catch_signals();
  options.progress = byte_progress("writing");
  const auto bytes = static_cast<std::size_t>(model_parameter_count(config)) * size_of(options.type);
  require_disk_space(args.out, bytes);
  StagedDirectory staged(args.out);
  SpecialIds ids;
  if (args.tokenizer.empty()) {
    const auto tokenizer = data::byte_tokenizer();
    if (config.vocab_size < tokenizer->vocab_size()) {
      fail(Exit::usage,
           fmt::format("--vocab-size {} is smaller than the built-in tokenizer's {}",
                       config.vocab_size, tokenizer->vocab_size()));
    }
    tokenizer->save(staged.path());
    ids = {tokenizer->eos(), -1, tokenizer->eos()};
  } else {
    ids = ids_of(args.tokenizer);
    copy_tokenizer_files(args.tokenizer, staged.path());
  }
  write_random_model(staged.path(), config, ids, options);
  staged.publish();
  std::fputs(fmt::format("{}: {} with {} random parameters, {} of weights as {}\n", args.out,
                         args.preset, model_parameter_count(config), decimal_bytes(bytes),
                         args.dtype)
                 .c_str(),
             stdout);
  return Exit::ok;
}

}  // namespace

void add_init(CLI::App& app, Chosen& chosen) {
  std::string names;
  for (const ModelPreset& p : model_presets()) {
    names += (names.empty() ? "" : ", ") + p.name;
  }
  auto* command =
      app.add_subcommand("init", "a published shape with random weights, as a Hugging Face folder");
  const auto args = std::make_shared<InitArgs>();
  command->add_option("--preset", args->preset, names)->required();
  command->add_option("--out", args->out, "new folder; must not exist")->required();
  command->add_option("--seed", args->seed, "of the random weights")->check(check_seed)
      ->capture_default_str();
  command->add_option("--dtype", args->dtype, "f32, bf16 or f16")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->capture_default_str();
  command->add_option("--max-shard-size", args->shard, "largest file of weights, such as 2GB")
      ->capture_default_str();
  command->add_option("--vocab-size", args->vocab_size, "rows of the table, if not the preset's")
      ->check(CLI::Range(1, 1 << 24));
  command->add_option("--tokenizer", args->tokenizer,
                      "folder whose tokenizer files are copied; default: the built-in tokenizer");
  command->callback([&chosen, args] { chosen.run = [args] { return init(*args); }; });
}

}  // namespace minirl::cli
