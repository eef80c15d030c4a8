// minirl rl/report/token_map.h -- completions token by token, coloured by what the loss made of
// each; hovering, focusing or tapping a token shows its numbers and reasons.
#pragma once
#include <string>

#include "rl/report/run_view.h"

namespace minirl::rl::report {

/// A few completions of a few recorded steps, from the first to the newest; where there is no
/// trail, how to get one.
/// `id`: of the page, unlike that of any other map on it.
std::string token_map(const RunView& run, const std::string& id);
std::string token_map_style();
std::string token_map_script();

}  // namespace minirl::rl::report
