// minirl rl/report.h -- report.html: one page about a run, readable without a network.
#pragma once
#include <filesystem>
#include <string>

namespace minirl::rl {

/// The page for the run in `folder`, made of metrics.jsonl, eval/, config.resolved.toml and
/// env.json; what is not there yet is left out. Throws Exit::usage when a file is damaged.
std::string report_html(const std::filesystem::path& folder);

}  // namespace minirl::rl
