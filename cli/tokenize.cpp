// minirl tokenize: the ids of a text, or the tokenizer's files.
#include <cstdio>

#include <fmt/ranges.h>

#include "cli/commands.h"
#include "core/files.h"
#include "data/tokenizer.h"

namespace minirl::cli {

void add_tokenize(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand(
      "tokenize", "print the token ids of a text, or save the built-in tokenizer");
  struct Args {
    std::string text, save;
    bool plain = false;
  };
  const auto args = std::make_shared<Args>();
  command->add_option("TEXT", args->text, "the text");
  command->add_flag("--as-text", args->plain,
                    "names of special tokens inside the text are ordinary bytes");
  command
      ->add_option("--save", args->save,
                   "write tokenizer.json and tokenizer_config.json into this folder")
      ->type_name("FOLDER");
  command->callback([&chosen, args] {
    chosen.run = [args] {
      const auto tokenizer = data::byte_tokenizer();
      if (!args->save.empty()) {
        make_directory(args->save, Exit::usage);
        tokenizer->save(args->save);
        return Exit::ok;
      }
      const auto ids = tokenizer->encode(
          args->text, args->plain ? data::Specials::as_text : data::Specials::parse);
      std::fputs(fmt::format("{}\n", fmt::join(ids, " ")).c_str(), stdout);
      return Exit::ok;
    };
  });
}

}  // namespace minirl::cli
