#include "rl/config_entries.h"

#include "data/task.h"

namespace minirl::rl {

std::vector<std::string> model_families() { return {"qwen3"}; }
std::vector<std::string> schedule_choices() { return {"constant", "linear", "cosine"}; }
std::vector<std::string> aggregation_choices() {
  return {"token-mean", "seq-mean-token-mean", "seq-mean-token-sum-norm", "seq-mean-token-sum", "token-sum"};
}
std::vector<std::string> advantage_choices() { return {"group-mean", "rloo"}; }
std::vector<std::string> reward_choices() { return {"boxed", "countdown"}; }

std::vector<minirl::ParamSpec> task_specs(const std::string& name) { return data::Tasks::find("task", name).params; }

std::vector<minirl::ParamSpec> algorithm_specs(const std::string& name) {
  if (name != "drpo") { fail(Exit::usage, fmt::format("unknown algorithm '{}'", name), "known: drpo"); }
  return {{.name = "delta", .doc = "change of probability |pi - mu| at which the weight of a token is 0", .range = above(0), .hint = "0.2 is comparable with DPPO"}};
}

}  // namespace minirl::rl
