// minirl cli/main.cpp -- the command line. Every subcommand has a file of its own (cli/commands.h);
// exit codes are those of core/error.h.
#include <algorithm>
#include <cstdio>
#include <new>

#include "cli/commands.h"
#include "core/registry.h"

namespace {

using minirl::Exit;
using minirl::cli::Chosen;

int report(Exit code, const std::string& message) {
  std::fputs(fmt::format("minirl: error: {}\n", message).c_str(), stderr);
  return static_cast<int>(code);
}

// CLI11 says which argument it did not understand; this adds what was probably meant.
std::string usage_hint(const CLI::App& app, int argc, char** argv) {
  const CLI::App* command = &app;
  std::vector<std::string> known;
  std::string wrong;
  for (const CLI::App* sub : app.get_subcommands({})) {
    known.push_back(sub->get_name());
  }
  for (int i = 1; i < argc && wrong.empty(); ++i) {
    const std::string word = argv[i];
    if (command == &app) {
      for (const CLI::App* sub : app.get_subcommands({})) {
        if (sub->get_name() == word) {
          command = sub;
        }
      }
      if (command != &app) {
        known.clear();
        for (const auto* option : command->get_options({})) {
          for (const auto& name : option->get_lnames()) {
            known.push_back("--" + name);
          }
        }
      } else {
        wrong = word;
      }
    } else if (word.rfind("--", 0) == 0) {
      const std::string name = word.substr(0, word.find('='));
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        wrong = name;
      }
    }
  }
  const std::string near = wrong.empty() ? "" : minirl::nearest_name(wrong, known);
  std::string hint = near.empty() ? "" : fmt::format("did you mean '{}'? ", near);
  return hint + (command == &app
                     ? "minirl --help lists the commands"
                     : fmt::format("minirl {} --help lists its options", command->get_name()));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("minirl: reinforcement learning of a language model that can be checked to the bit",
               "minirl");
  app.require_subcommand(0, 1);
  app.footer("Start with: minirl train qwen3.toml\n");
  Chosen chosen;
  for (int i = 0; i < argc; ++i) {
    chosen.command_line.emplace_back(argv[i]);
  }
  minirl::cli::add_train(app, chosen);
  minirl::cli::add_plan(app, chosen);
  minirl::cli::add_bench(app, chosen);
  minirl::cli::add_eval(app, chosen);
  minirl::cli::add_sample(app, chosen);
  minirl::cli::add_inspect(app, chosen);
  minirl::cli::add_convert(app, chosen);
  minirl::cli::add_init(app, chosen);
  minirl::cli::add_report(app, chosen);
  minirl::cli::add_serve(app, chosen);
  minirl::cli::add_compare(app, chosen);
  minirl::cli::add_reward(app, chosen);
  minirl::cli::add_tokenize(app, chosen);
  minirl::cli::add_prepare(app, chosen);
  minirl::cli::add_explain(app, chosen);
  minirl::cli::add_gradcheck(app, chosen);
  minirl::cli::add_losslab(app, chosen);
  minirl::cli::add_replay(app, chosen);
  minirl::cli::add_reproduce(app, chosen);
  minirl::cli::add_verify(app, chosen);
  minirl::cli::add_doctor(app, chosen);
  minirl::cli::add_version(app, chosen);
  try {
    app.parse(argc, argv);
    if (!chosen.run) {  // no command
      std::fputs(app.help().c_str(), stdout);
      return static_cast<int>(Exit::usage);
    }
    const Exit code = chosen.run();
    // Output that went nowhere (a full disk behind a pipe or a file) is a failure like any other.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      return report(Exit::runtime, "cannot write to standard output\n  hint: is the disk full?");
    }
    return static_cast<int>(code);
  } catch (const CLI::Success& success) {  // --help
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return report(Exit::usage,
                  fmt::format("{}\n  hint: {}", error.what(), usage_hint(app, argc, argv)));
  } catch (const minirl::Error& error) {
    if (error.code() == Exit::interrupted || error.code() == Exit::terminated) {
      std::fputs(fmt::format("\nminirl: {}\n", error.what()).c_str(), stderr);
      return static_cast<int>(error.code());
    }
    return report(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return report(
        Exit::out_of_memory,
        "out of memory\n  hint: lower train.tokens_per_micro or rollout.max_batch, or set "
        "train.recompute_layers = true; `minirl plan` shows where memory goes");
  } catch (const std::exception& error) {
    return report(Exit::runtime, error.what());
  }
}
