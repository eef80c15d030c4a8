// minirl audit/losslab.h -- one frozen batch under many losses: per-token weights and gradients with
// their reasons, and what each loss' gradient is through the model.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "model/decoder.h"
#include "rl/config.h"
#include "rl/policy_update.h"

namespace minirl::audit {

/// A batch of scored rollouts with everything frozen, and live weights that have moved on from those
/// that sampled.
struct LabBatch {
  std::string origin;               // in words, for headings
  std::vector<rl::Group> groups;    // items point into it
  std::vector<rl::TrainItem> items;
  std::unique_ptr<Decoder> live;
  rl::LossOptions loss;             // aggregation and horizon, common to all losses
  rl::MicroBatchOptions micro;
};

struct LabOptions {
  Index prompts = 8;      // of the config's task
  Index step = 0;         // whose prompts and sampling keys
  Index drift = 3;        // optimizer updates between the weights that sampled and the live ones
  double drift_lr = 0;    // 0: train.lr of the config
  bool made_rewards = false;  // seeded coin flips instead of the reward: for weights that know nothing
  Index topk = 0;         // largest K of the losses
};
/// Samples with `model` (through the config's mismatch dial), scores, sets advantages, then makes the
/// drift by updates with the config's algorithm on the same rollouts. `model` becomes the live one.
LabBatch make_lab_batch(std::unique_ptr<Decoder> model, const data::Tokenizer& tokenizer, const rl::LoadedConfig& loaded,
                        const LabOptions& options, const Exec& exec);

struct LabLoss {
  std::string label;  // "drpo delta=0.2"
  std::string name;
  ParamMap params;
};

/// A token of the batch, the same for all losses.
struct LabToken {
  std::size_t sequence = 0, position = 0;
  Token id = 0;
  rl::TokenInput input;
};

struct LabResult {
  LabLoss loss;
  std::string formula, page, aggregation;
  std::vector<rl::TokenResult> tokens;  // in the order of LabReport::tokens
  double value = 0;                     // aggregated loss
  double gradient_norm = 0;             // through the model, all parameters
  double masked = 0, masked_positive = 0, masked_negative = 0, corrective = 0;  // fractions, as the metrics
  double weight_mean = 0, weight_min = 0, weight_max = 0;
  // Directional derivative along the gradient against central differences of an f64 copy of the
  // model: relative errors. chain: of sum_t c_t g_t log pi_t with g frozen. loss: of the loss value
  // itself, where its derivative is g (Traits::ratio_form); NaN otherwise.
  double chain_error = 0, loss_error = 0;
};

struct LabReport {
  std::string origin;
  std::size_t sequences = 0;
  std::vector<LabToken> tokens;
  std::vector<LabResult> results;
  std::vector<std::vector<double>> cosine;  // of the gradients; NaN where one is 0
  double prob_absdiff_mean = 0, ratio_min = 0, ratio_max = 0;
};
/// Errors above this are a fault (exit 3): the gradients are f32, the differences f64.
inline constexpr double kLabTolerance = 2e-3;

/// Every loss on the batch. The live weights are the same before and after.
LabReport run_losslab(LabBatch& batch, const std::vector<LabLoss>& losses, const Exec& exec);

std::string lab_text(const LabReport& report);
std::string lab_json(const LabReport& report);
/// One row a token; columns w, g, loss and reasons of every loss.
std::string lab_csv(const LabReport& report, const data::Tokenizer& tokenizer);
std::string lab_html(const LabReport& report, const data::Tokenizer& tokenizer);

}  // namespace minirl::audit
