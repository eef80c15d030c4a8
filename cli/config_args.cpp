#include "cli/config_args.h"

#include <charconv>
#include <cstdio>
#include <filesystem>

#include "cli/embedded.h"
#include "core/registry.h"
#include "rl/device.h"

namespace minirl::cli {
namespace {

constexpr std::string_view kExperiments = "experiments/";

// "configs/qwen3-0.6b-gsm8k.toml" and "qwen3-0.6b-gsm8k" -> "qwen3-0.6b-gsm8k"
std::string run_name_of(const std::string& config) {
  const std::filesystem::path file = std::filesystem::path(config).filename();
  return file.extension() == ".toml" ? file.stem().string() : file.string();
}

}  // namespace

void add_device_option(CLI::App& command, std::string& device) {
  command
      .add_option("--device", device,
                  "auto, cpu or cuda; the same as --set runtime.device=NAME. The bits are the same")
      ->type_name("NAME");
}

void tell_device(const rl::Config& config) {
  const rl::DeviceChoice choice = rl::choose_device(config);
  if (!choice.text.empty() && config.runtime.progress != "off") {
    std::fputs(fmt::format("minirl: {}\n", choice.text).c_str(), stderr);
  }
}

void add_set_option(CLI::App& command, std::vector<std::string>& sets) {
  command
      .add_option("--set", sets, "override one key: --set table.key=value; may be repeated")
      ->take_all()
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void add_config_args(CLI::App& command, ConfigArgs& args) {
  command
      .add_option("CONFIG", args.config,
                  "a TOML file, or the name of a bundled config such as qwen3.toml")
      ->required();
  add_set_option(command, args.sets);
  command
      .add_option("--run-name", args.run_name,
                  "name of the run's folder; the same as --set run.name=NAME")
      ->type_name("NAME");
}

std::pair<std::string, ParamValue> parse_parameter(const std::string& text) {
  if (text.find('=') == std::string::npos || text.front() == '=') {
    fail(Exit::usage, fmt::format("'{}' is not an assignment", text),
         "parameters of a loss are written name=value, e.g. delta=0.2");
  }
  const ConfigSource source = ConfigSource::set("algorithm." + text);
  const ConfigSource::Item& item = source.items().front();
  const Scalar value = item.scalar ? *item.scalar : Scalar(item.raw.value_or(""));
  return {item.key.substr(item.key.find('.') + 1), {value, text}};
}

std::string check_seed(const std::string& text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end && value >= 0
             ? std::string()
             : fmt::format("'{}' is not a seed: a whole number from 0 to 9223372036854775807", text);
}

ConfigSource find_config(const std::string& name) {
  std::error_code error;
  if (std::filesystem::is_regular_file(name, error)) {
    return ConfigSource::file(name);
  }
  std::vector<std::string> known;
  std::string list;
  for (const auto& file : embedded_files()) {
    if (file.name.substr(0, kExperiments.size()) == kExperiments) {
      continue;  // those are for `minirl reproduce`
    }
    if (name == file.name || name + ".toml" == file.name) {
      return ConfigSource::text(std::string(file.name), file.text);
    }
    known.emplace_back(file.name);
    list += (list.empty() ? "" : ", ") + std::string(file.name);
  }
  if (std::filesystem::exists(name, error)) {
    fail(Exit::usage, fmt::format("'{}' is not a file", name), "bundled configs: " + list);
  }
  const std::string near = nearest_name(name, known);
  fail(Exit::usage, fmt::format("there is no file and no bundled config '{}'", name),
       (near.empty() ? "" : fmt::format("did you mean {}? ", near)) + "bundled configs: " + list);
}

ChosenConfig load(const ConfigArgs& args) {
  ChosenConfig out{find_config(args.config), {}};
  std::vector<ConfigSource> sources = {out.source};
  for (const auto& s : args.sets) {
    sources.push_back(ConfigSource::set(s));
  }
  if (!args.device.empty()) {
    sources.push_back(ConfigSource::set("runtime.device=" + to_toml(args.device)));
  }
  if (!args.run_name.empty()) {
    sources.push_back(ConfigSource::set("run.name=" + to_toml(args.run_name)));
  }
  out.loaded = rl::load_config(sources);
  rl::name_run(out.loaded, run_name_of(args.config),
               "name of the config");
  return out;
}

}  // namespace minirl::cli
