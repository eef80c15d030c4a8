// minirl version: what this binary is, and what it was made of.
#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "core/build_info.h"
#include "core/parallel.h"

namespace minirl::cli {
namespace {

NamedValues libraries() {
  NamedValues all = core_libraries();
  all.emplace_back("nlohmann_json",
                   fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                               NLOHMANN_JSON_VERSION_PATCH));
  all.emplace_back("cli11", CLI11_VERSION);
  return all;
}

std::string text() {
  std::string out;
  const auto block = [&out](const NamedValues& values) {
    for (const auto& [key, value] : values) {
      out += fmt::format("{:<14} {}\n", key, value);
    }
  };
  out += "minirl\n";
  block(build_info());
  block(machine_info());
  out += fmt::format("{:<14} {}\n", "threads", default_threads());
  for (const auto& [key, value] : libraries()) {
    out += fmt::format("{:<14} {} {}\n", "library", key, value);
  }
  return out;
}

std::string json() {
  const auto object = [](const NamedValues& values) {
    nlohmann::ordered_json o = nlohmann::ordered_json::object();
    for (const auto& [key, value] : values) {
      o[key] = value;
    }
    return o;
  };
  const nlohmann::ordered_json doc = {{"name", "minirl"},
                                      {"build", object(build_info())},
                                      {"machine", object(machine_info())},
                                      {"threads", default_threads()},
                                      {"libraries", object(libraries())}};
  return doc.dump(2) + "\n";
}

}  // namespace

void add_version(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand(
      "version", "print version, compiler, flags, instruction set and libraries");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "for programs");
  command->callback([&chosen, as_json] {
    chosen.run = [as_json] {
      std::fputs((*as_json ? json() : text()).c_str(), stdout);
      return Exit::ok;
    };
  });
}

}  // namespace minirl::cli
