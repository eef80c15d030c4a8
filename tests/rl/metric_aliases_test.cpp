// Names of other tools: values, what is left out, and the table of docs/formats.md.
#include "rl/metric_aliases.h"

#include <doctest/doctest.h>

#include "core/files.h"

namespace minirl::rl {
namespace {

double value(const std::vector<Metric>& metrics, const std::string& key) {
  for (const Metric& m : metrics) {
    if (m.key == key) {
      return m.value;
    }
  }
  FAIL("no metric " << key);
  return 0;
}

}  // namespace

TEST_CASE("rl/metric_aliases: values are ours, terms that are absent count as 0") {
  std::vector<Metric> ours = {{"train/loss", 0.75, "", ""},
                              {"policy/kl_k1", 0.01, "nats", ""},
                              {"reward/mean", 0.5, "", ""},
                              {"reward/std", 9, "", ""},
                              {"reward/group_std_mean", 0.25, "", ""},
                              {"rollout/length_mean", 12, "tokens", ""}};
  auto verl = metric_aliases("verl", ours);
  CHECK(value(verl, "actor/pg_loss") == 0.75);
  CHECK(value(verl, "actor/ppo_kl") == 0.01);
  CHECK(value(verl, "critic/rewards/mean") == 0.5);
  CHECK(value(verl, "response_length/mean") == 12);
  CHECK(verl.size() == 5);  // with critic/score/mean; what we have not has no name
  ours.push_back({"train/kl_loss", 0.125, "", ""});
  ours.push_back({"train/entropy_loss", -0.5, "", ""});
  ours.push_back({"reward/kl_penalty_mean", 0.25, "", ""});
  verl = metric_aliases("verl", ours);
  CHECK(value(verl, "actor/pg_loss") == 0.75 - 0.125 + 0.5);
  CHECK(value(verl, "critic/rewards/mean") == 0.25);
  CHECK(value(verl, "critic/score/mean") == 0.5);
  const auto trl = metric_aliases("trl", ours);
  CHECK(value(trl, "reward") == 0.5);
  CHECK(value(trl, "reward_std") == 0.25);
  CHECK(value(trl, "completions/mean_length") == 12);
  CHECK(metric_aliases("none", ours).empty());
}

TEST_CASE("rl/metric_aliases: every alias stands in docs/formats.md with what it is made of") {
  const std::string page =
      read_file(std::filesystem::path(MINIRL_SOURCE_DIR) / "docs" / "formats.md");
  for (const std::string style : {"verl", "trl"}) {
    CHECK(alias_table(style).size() > 8);
    for (const MetricAlias& alias : alias_table(style)) {
      std::string row = fmt::format("| `{}` |", alias.name);
      for (std::size_t i = 0; i < alias.terms.size(); ++i) {
        const bool minus = alias.terms[i].front() == '-';
        row += fmt::format(" {}`{}`", minus ? "- " : "", alias.terms[i].substr(minus ? 1 : 0));
      }
      CAPTURE(row);
      CHECK(page.find(row) != std::string::npos);
    }
  }
}

}  // namespace minirl::rl
