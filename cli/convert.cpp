// minirl convert: a Hugging Face directory with weights of another type or other files.
#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/progress.h"
#include "core/files.h"
#include "core/signals.h"
#include "model/convert.h"

namespace minirl::cli {
namespace {

struct ConvertArgs {
  std::string in, out, dtype = "keep", shard = "5GB", tied_head = "refuse";
};

Exit convert(const ConvertArgs& args) {
  ConvertOptions options;
  if (args.dtype != "keep") {
    options.type = weights_type_from_name(args.dtype);
  }
  options.max_shard_bytes = parse_bytes(args.shard, "--max-shard-size");
  options.tied_head = tied_head_from_name(args.tied_head);
  catch_signals();
  options.progress = byte_progress("converting");
  const auto tokenizer = std::filesystem::path(args.in) / "tokenizer.json";
  if (std::filesystem::exists(tokenizer) && !nlohmann::json::accept(read_file(tokenizer))) {
    fail(Exit::usage, fmt::format("'{}' is not JSON", tokenizer.string()),
         "the file is damaged: download it again, or take it away to convert the weights alone");
  }
  convert_directory(args.in, args.out, options);
  const Weights weights(args.out);
  std::fputs(fmt::format("{}: {} tensors, {} bytes in {} file{}\n", args.out,
                         weights.tensors().size(), weights.bytes(), weights.files(),
                         weights.files() == 1 ? "" : "s")
                 .c_str(),
             stdout);
  return Exit::ok;
}

}  // namespace

void add_convert(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand(
      "convert", "write a checkpoint anew: other type of weights, other sizes of files");
  const auto args = std::make_shared<ConvertArgs>();
  command->add_option("IN", args->in, "Hugging Face folder")->required();
  command->add_option("OUT", args->out, "new folder; must not exist")->required();
  command
      ->add_option("--dtype", args->dtype,
                   "keep, f32, bf16 or f16; rounded to nearest, ties to even")
      ->check(CLI::IsMember({"keep", "f32", "bf16", "f16"}))
      ->capture_default_str();
  command
      ->add_option("--max-shard-size", args->shard,
                   "largest file of weights, such as 2GB; more become several files and an index")
      ->capture_default_str();
  command
      ->add_option("--tied-head", args->tied_head,
                   "what a head means that differs from the table of a tied model: refuse, table "
                   "(leave it out) or head (untie the model)")
      ->check(CLI::IsMember({"refuse", "table", "head"}))
      ->capture_default_str();
  command->callback([&chosen, args] { chosen.run = [args] { return convert(*args); }; });
}

}  // namespace minirl::cli
