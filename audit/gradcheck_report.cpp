#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "audit/gradcheck_model.h"
#include "core/stopwatch.h"
#include "model/pretrained.h"
#include "rl/algorithm_registry.h"
#include "rl/loss_config.h"

namespace minirl::audit {
namespace {

const char* kind_name(GradRow::Kind kind) {
  switch (kind) {
    case GradRow::Kind::op:
      return "op";
    case GradRow::Kind::parameter:
      return "parameter";
    default:
      return "loss";
  }
}

// Log-probabilities of the reference policy: the folder of kl_reference, else the weights that
// sampled (log pi_old of the batch, frozen before the drift).
void set_reference(LossProblem& problem, LabBatch& batch, const rl::Config& config,
                   const Exec& exec) {
  if (config.algorithm.kl_reference.empty()) {
    for (rl::TrainItem& item : problem.items) {
      item.logp_reference = item.logp_recomputed;
    }
    return;
  }
  const auto reference = load_pretrained(config.algorithm.kl_reference);
  std::vector<rl::ScoredSequence> sequences;
  for (const rl::TrainItem& item : problem.items) {
    sequences.push_back({item.group->prompt, item.rollout->ids});
  }
  auto scores = rl::score_sequences(*reference, exec, sequences, batch.micro);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    problem.items[i].logp_reference = std::move(scores[i].logp);
  }
}

bool failed(const GradRow& row, double threshold) {
  return !(row.worst <= threshold);
}

}  // namespace

GradReport check_gradients(LabBatch& batch, const rl::LoadedConfig& loaded,
                           const GradOptions& options, const Exec& exec,
                           const std::function<bool()>& interrupted) {
  const Stopwatch watch;
  const rl::Config& config = loaded.config;
  const auto algorithm = rl::make_algorithm(config.algorithm.name, config.algorithm.params);
  const auto model = make_decoder(batch.live->config(), DType::f64, 0);
  model->params().copy_values(batch.live->params());

  LossProblem problem;
  problem.model = model.get();
  problem.algorithm = algorithm.get();
  problem.items = batch.items;
  problem.loss = rl::loss_options(config);
  problem.temperature = config.rollout.temperature;
  problem.vocabulary = batch.micro.vocabulary;
  if (rl::needs_reference(*algorithm, config)) {
    set_reference(problem, batch, config, exec);
  }

  GradReport report;
  report.origin = batch.origin;
  report.threshold = options.threshold;
  report.loss = fmt::format("{} {}, {}", algorithm->name(),
                            algorithm->traits().ratio_form
                                ? "(the loss itself is differentiated)"
                                : "(its weight is detached: what is differentiated is the sum of "
                                  "g log pi with g frozen)",
                            rl::agg_mode_name(problem.loss.agg_mode));
  std::vector<std::vector<Token>> sequences;
  for (const rl::TrainItem& item : batch.items) {
    auto& ids = sequences.emplace_back(item.group->prompt.begin(), item.group->prompt.end());
    ids.insert(ids.end(), item.rollout->ids.begin(), item.rollout->ids.end());
    report.tokens += static_cast<Index>(ids.size());
  }
  report.rows =
      check_ops(*model, sequences, problem.temperature, problem.vocabulary, exec, report.unchecked);
  for (GradRow& row : check_loss(problem, options, exec, interrupted)) {
    report.kinks += row.kinks;
    report.rows.push_back(std::move(row));
  }
  report.seconds = watch.seconds();
  return report;
}

bool GradReport::passed() const {
  return std::none_of(rows.begin(), rows.end(),
                      [&](const GradRow& r) { return failed(r, threshold); });
}

std::string GradReport::diagnosis() const {
  std::string out;
  for (const GradRow& r : rows) {
    if (r.kind == GradRow::Kind::op && failed(r, threshold)) {
      out += fmt::format("the backward pass of the op {} is wrong by itself\n", r.name);
    }
    if (r.kind == GradRow::Kind::loss && failed(r, threshold) &&
        r.name.find("per token") != std::string::npos) {
      out += fmt::format("the derivative that the loss {} declares is not that of its value\n",
                         r.name);
    }
  }
  // An error in the backward pass spoils everything that lies before it in the forward pass.
  const GradRow* last_wrong = nullptr;
  const GradRow* first_right = nullptr;
  for (const GradRow& r : rows) {
    if (r.kind != GradRow::Kind::parameter) {
      continue;
    }
    if (failed(r, threshold)) {
      last_wrong = &r;
      first_right = nullptr;
    } else if (last_wrong != nullptr && first_right == nullptr) {
      first_right = &r;
    }
  }
  if (last_wrong != nullptr) {
    out += fmt::format(
        "in the order of the forward pass, {} is the last parameter with a wrong gradient{}: look "
        "at its own op and at what lies between\n",
        last_wrong->name,
        first_right != nullptr
            ? fmt::format(" and {} the first right one after it", first_right->name)
            : std::string(" and none after it is right"));
  }
  return out;
}

std::string gradcheck_text(const GradReport& report) {
  std::string out =
      fmt::format("{}\n{} tokens in fp64; {}\n", report.origin, report.tokens, report.loss);
  const auto line = [&](const GradRow& r, const std::string& name) {
    return fmt::format("{:<48}{:>7}{:>7}{:>11.1e}  {:<26}{:>14.6g}{:>14.6g}{}\n", name,
                       r.coordinates, r.kinks, r.worst, r.where, r.analytic, r.numeric,
                       failed(r, report.threshold) ? "  WRONG" : "");
  };
  const auto head = [](const char* what) {
    return fmt::format("\n{:<48}{:>7}{:>7}{:>11}  {:<26}{:>14}{:>14}\n", what, "checked", "kinks",
                       "worst", "where", "analytic", "numeric");
  };
  out += head("op, alone");
  for (const GradRow& r : report.rows) {
    if (r.kind == GradRow::Kind::op) {
      out += line(r, fmt::format("{} (x{})", r.name, r.uses));
    }
  }
  for (const std::string& op : report.unchecked) {
    out += fmt::format("{:<48} no check of its own; it is part of the checks below\n", op);
  }
  out += head("loss");
  for (const GradRow& r : report.rows) {
    if (r.kind == GradRow::Kind::loss) {
      out += line(r, r.name);
    }
  }
  out += head("parameter, through the model and the loss");
  std::map<std::string, double> layers;
  std::vector<std::string> order;
  for (const GradRow& r : report.rows) {
    if (r.kind == GradRow::Kind::parameter) {
      out += line(r, r.name);
      if (layers.count(r.layer) == 0) {
        order.push_back(r.layer);
      }
      layers[r.layer] = std::max(layers[r.layer], r.worst);
    }
  }
  out += "\nlayer                  worst\n";
  for (const std::string& name : order) {
    out += fmt::format("{:<20}{:>8.1e}\n", name, layers[name]);
  }
  out +=
      fmt::format("\n{} derivatives left out at kinks: a mask or a clip changed within the steps\n",
                  report.kinks);
  out += report.passed()
             ? fmt::format("every gradient agrees within {:g}, in {:.1f} s\n", report.threshold,
                           report.seconds)
             : fmt::format("\nwrong (limit {:g}):\n{}", report.threshold, report.diagnosis());
  return out;
}

std::string gradcheck_json(const GradReport& report) {
  using Json = nlohmann::ordered_json;
  Json doc = {{"format", 1},
              {"origin", report.origin},
              {"loss", report.loss},
              {"threshold", report.threshold},
              {"tokens", report.tokens},
              {"passed", report.passed()},
              {"kinks", report.kinks},
              {"diagnosis", report.diagnosis()},
              {"unchecked", report.unchecked},
              {"rows", Json::array()}};
  for (const GradRow& r : report.rows) {
    doc["rows"].push_back({{"kind", kind_name(r.kind)},
                           {"name", r.name},
                           {"layer", r.layer},
                           {"uses", r.uses},
                           {"coordinates", r.coordinates},
                           {"kinks", r.kinks},
                           {"worst", r.worst},
                           {"where", r.where},
                           {"analytic", r.analytic},
                           {"numeric", r.numeric}});
  }
  return doc.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace minirl::audit
