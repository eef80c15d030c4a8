// minirl cli/config_args.h -- CONFIG and --set, for every command that takes a configuration.
#pragma once
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "rl/config.h"

namespace minirl::cli {

struct ConfigArgs {
  std::string config;             // a path, or the name of a bundled config with or without ".toml"
  std::vector<std::string> sets;  // table.key=value
  std::string run_name, device;
};

/// --device, wherever a command can compute on one: the same as --set runtime.device=NAME.
void add_device_option(CLI::App& command, std::string& device);
/// Tells on stderr where a command computes, and why.
void tell_device(const rl::Config& config);

/// --set, wherever a command takes settings.
void add_set_option(CLI::App& command, std::vector<std::string>& sets);
void add_config_args(CLI::App& command, ConfigArgs& args);

/// One parameter of a loss as a word of the command line, "delta=0.2": its name and value. Throws
/// Exit::usage.
std::pair<std::string, ParamValue> parse_parameter(const std::string& text);

/// For --seed options: a whole number from 0 to 2^63 - 1; CLI11 alone would clamp larger ones.
std::string check_seed(const std::string& text);

/// The document: the file at that path, else the bundled config of that name. Throws Exit::usage
/// that lists the bundled ones.
ConfigSource find_config(const std::string& name);

struct ChosenConfig {
  ConfigSource source;
  rl::LoadedConfig loaded;  // run.name is set
};
ChosenConfig load(const ConfigArgs& args);

}  // namespace minirl::cli
