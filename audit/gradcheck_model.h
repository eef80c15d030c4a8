// minirl audit/gradcheck_model.h -- is the gradient of the user's own model, batch and loss right?
// Every op, every parameter tensor and the loss, in fp64, against differences of the forward pass.
// docs/proof.md.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "audit/losslab.h"
#include "autograd/tape.h"
#include "rl/policy_update.h"

namespace minirl::audit {

/// Analytic against numeric derivatives of one op, one parameter tensor or one loss.
struct GradRow {
  enum class Kind : unsigned char { op, parameter, loss };
  Kind kind = Kind::op;
  std::string name;       // "linear", "model.layers.0.mlp.up_proj.weight", "drpo, per token"
  std::string layer;      // "layer 0", "embedding", "head"; parameters only
  Index coordinates = 0;  // compared
  Index kinks = 0;        // left out: a mask or clip changed within the steps, or the two step
                          // sizes disagree
  double worst = 0;       // |analytic - numeric| / (largest |numeric| of the row + floor)
  std::string where;      // "input 1 [17]", "[3, 5]", "sequence 2, token 7"
  double analytic = 0, numeric = 0;
  Index uses = 0;  // ops: in one forward pass of the model
};

struct GradOptions {
  Index coordinates =
      3;               // of each tensor: a random direction, the largest gradient, the rest random
  double step = 1e-3;  // of a weight; the second step size is twice this
  double threshold = 1e-6;  // of GradRow::worst
  std::uint64_t seed = 1;
};

struct GradReport {
  std::string origin;  // the batch in words
  std::string loss;    // the loss in words
  std::vector<GradRow> rows;
  std::vector<std::string> unchecked;  // ops of the model that have no check of their own
  double threshold = 0, seconds = 0;
  Index tokens = 0, kinks = 0;
  bool passed() const;
  /// Where a wrong backward pass is, from which parameters are wrong; empty if all are right.
  std::string diagnosis() const;
};

/// One op: `build` is a pure function of inputs and parameters, all f64 (autograd/gradcheck.h).
GradRow check_op(const std::string& name,
                 const std::function<Var(Tape&, std::span<const Var>)>& build,
                 std::vector<Tensor> inputs, std::span<Param* const> params, const Exec& exec);

/// Every op that the model of f64 uses, in its own shapes and with its own weights. Ops that are
/// not known here are told in `unchecked`.
std::vector<GradRow> check_ops(Decoder& model, const std::vector<std::vector<Token>>& sequences,
                               double temperature, Index vocabulary, const Exec& exec,
                               std::vector<std::string>& unchecked);

/// A frozen batch under one loss, as the trainer would see it; the model computes in f64.
struct LossProblem {
  Decoder* model = nullptr;
  const rl::Algorithm* algorithm = nullptr;
  std::vector<rl::TrainItem> items;
  rl::LossOptions loss;
  double temperature = 1;
  Index vocabulary = 0;
};
/// Rows of kind loss and parameter. Per token: the loss function alone. Per parameter tensor: the
/// model's backward pass, as the derivative of sum c g log pi + d H with the factors of the loss
/// frozen. Where the reported loss is what is differentiated (Traits::ratio_form): of the loss too.
std::vector<GradRow> check_loss(const LossProblem& problem, const GradOptions& options,
                                const Exec& exec, const std::function<bool()>& interrupted = {});

/// All of it. The batch's live weights are copied to f64.
GradReport check_gradients(LabBatch& batch, const rl::LoadedConfig& loaded,
                           const GradOptions& options, const Exec& exec,
                           const std::function<bool()>& interrupted = {});

std::string gradcheck_text(const GradReport& report);
std::string gradcheck_json(const GradReport& report);

}  // namespace minirl::audit
