#include "audit/rollout_file.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/files.h"

namespace minirl::audit {
namespace {

using Json = nlohmann::json;

rl::Rollout parse_rollout(const Json& json) {
  rl::Rollout r;
  r.ids = json.at("ids").get<std::vector<Token>>();
  for (const Json& x : json.at("logp")) {  // 9 significant digits: the same fp32 number
    r.logp.push_back(static_cast<float>(x.get<double>()));
  }
  r.stopped = json.at("stopped").get<bool>();
  r.text = json.at("text").get<std::string>();
  r.reward = json.at("reward").get<double>();
  r.advantage = json.at("advantage").get<double>();
  return r;
}

}  // namespace

std::vector<rl::Group> read_rollouts(const std::filesystem::path& path) {
  std::vector<rl::Group> groups;
  const std::string content = read_file(path);
  std::size_t number = 0;
  const auto bad = [&](const std::string& what) {
    fail(Exit::mismatch, fmt::format("{}:{}: {}", path.string(), number, what));
  };
  for (std::size_t begin = 0; begin < content.size();) {
    const auto end = std::min(content.find('\n', begin), content.size());
    const std::string text = content.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    try {
      const Json json = Json::parse(text);
      const auto group = json.at("group").get<std::size_t>();
      const auto sample = json.at("sample").get<std::size_t>();
      const auto prompt = json.at("prompt_ids").get<std::vector<Token>>();
      data::Example example;
      example.id = json.at("example").get<Index>();
      example.prompt = json.at("prompt").get<std::string>();
      example.answer = json.at("answer").get<std::string>();
      if (group == groups.size() && sample == 0) {
        groups.push_back({std::move(example), prompt, {}, {}});
      } else if (group + 1 != groups.size() || sample != groups.back().rollouts.size()) {
        bad(fmt::format("group {}, sample {} is out of order", group, sample));
      } else if (const rl::Group& g = groups.back();
                 prompt != g.prompt || example.answer != g.example.answer ||
                 example.id != g.example.id || example.prompt != g.example.prompt) {
        bad(fmt::format("the prompt or the answer of sample {} is not that of sample 0", sample));
      }
      groups.back().rollouts.push_back(parse_rollout(json));
      if (groups.back().rollouts.back().ids.size() != groups.back().rollouts.back().logp.size()) {
        bad("there is not one log-probability a token");
      }
    } catch (const Json::exception& e) {
      bad(fmt::format("it cannot be understood ({})", e.what()));
    }
  }
  return groups;
}

}  // namespace minirl::audit
