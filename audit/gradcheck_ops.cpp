// The ops of a model one by one, in its own shapes.
#include <map>
#include <set>

#include "audit/gradcheck_model.h"
#include "autograd/gradcheck.h"
#include "model/rope_scaling.h"

namespace minirl::audit {
namespace {

constexpr Index kRows = 5;          // tokens of an op's input
constexpr Index kCoordinates = 12;  // of each input and parameter

Tensor normal(Shape shape, std::uint64_t seed) {
  Tensor t = Tensor::empty(shape, DType::f64);
  rng::Random random(rng::Key::of(seed, rng::Stream::sample).derive(0x67726164));
  for (double& x : t.span<double>()) {
    x = random.normal();
  }
  return t;
}

Tensor integers(const std::vector<std::int32_t>& v) {
  return Tensor::from<std::int32_t>({static_cast<Index>(v.size())}, v);
}

// Every (op, parameter) of one forward pass, in order.
struct Used {
  std::string op, place;
};
std::vector<Used> ops_of(Decoder& model, const std::vector<std::vector<Token>>& sequences,
                         double temperature, Index vocabulary, const Exec& exec) {
  std::vector<Used> out;
  std::vector<std::span<const Token>> spans;
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> targets;
  Index row = 0;
  for (const auto& s : sequences) {
    spans.emplace_back(s);
    row += static_cast<Index>(s.size());
    rows.push_back(static_cast<std::int32_t>(row - 1));
    targets.push_back(s.front());
  }
  Tape tape(false, exec);
  tape.watch([&](std::string_view op, std::string_view place, const Tensor&) {
    out.push_back({std::string(op), std::string(place)});
  });
  model.token_logp({tape, nullptr}, pack_sequences(spans, exec), integers(rows), integers(targets),
                   {.temperature = temperature, .vocabulary = vocabulary});
  return out;
}

class OpChecks {
 public:
  OpChecks(Decoder& model, double temperature, Index vocabulary, const Exec& exec)
      : model_(model),
        c_(model.config()),
        temperature_(temperature),
        vocabulary_(vocabulary),
        exec_(exec) {}

  /// False: there is no check of an op of this name.
  bool run(const Used& use, std::vector<GradRow>& rows) {
    Param* p = use.place.empty() ? nullptr : model_.params().find(use.place);
    const Param* w = p;
    const auto add = [&](const std::string& what, const auto& build, std::vector<Tensor> inputs,
                         std::vector<Param*> params) {
      rows.push_back(check_op(what, build, std::move(inputs), params, exec_));
    };
    if (use.op == "linear" && p != nullptr) {
      add(shaped("linear", w->value.shape()),
          [p](Tape& t, std::span<const Var> in) { return ops::linear(t, in[0], {p}); },
          {normal({kRows, w->value.shape()[1]}, 1)}, {p});
    } else if (use.op == "rmsnorm" && p != nullptr) {
      const double eps = c_.rms_norm_eps;
      add(shaped("rmsnorm", w->value.shape()),
          [p, eps](Tape& t, std::span<const Var> in) { return ops::rmsnorm(t, in[0], {p}, eps); },
          {normal({kRows, w->value.numel()}, 2)}, {p});
    } else if (use.op == "add_bias" && p != nullptr) {
      add(shaped("add_bias", w->value.shape()),
          [p](Tape& t, std::span<const Var> in) { return ops::add_bias(t, in[0], {p}); },
          {normal({kRows, w->value.numel()}, 3)}, {p});
    } else if (use.op == "embedding" && p != nullptr) {
      // A table has far more rows than ids: look at rows that are used, one of them twice.
      Param part("table", w->value.slice(0, std::min<Index>(w->value.shape()[0], 8)).clone(exec_),
                 true);
      const Tensor near =
          integers({3, 0, 3, 7 % static_cast<std::int32_t>(part.value.shape()[0]), 1});
      add(shaped("embedding", w->value.shape()),
          [&part, near](Tape& t, std::span<const Var>) { return ops::embedding(t, {&part}, near); },
          {}, {&part});
    } else if (use.op == "add") {
      add("add", [](Tape& t, std::span<const Var> in) { return ops::add(t, in[0], in[1]); },
          {normal({kRows, c_.hidden_size}, 4), normal({kRows, c_.hidden_size}, 5)}, {});
    } else if (use.op == "swiglu") {
      add("swiglu", [](Tape& t, std::span<const Var> in) { return ops::swiglu(t, in[0], in[1]); },
          {normal({kRows, c_.ffn_size}, 6), normal({kRows, c_.ffn_size}, 7)}, {});
    } else if (use.op == "view") {
      add("view",
          [this](Tape& t, std::span<const Var> in) {
            return ops::view(t, in[0], {kRows, c_.num_heads, c_.head_dim});
          },
          {normal({kRows, c_.q_size()}, 8)}, {});
    } else if (use.op == "gather_rows") {
      const Tensor some = integers({3, 0, 4});
      add("gather_rows",
          [some](Tape& t, std::span<const Var> in) { return ops::gather_rows(t, in[0], some); },
          {normal({kRows, c_.hidden_size}, 9)}, {});
    } else if (use.op == "rope") {
      const RopeFrequencies f = rope_frequencies(c_);
      const Index positions = std::min<Index>(c_.max_positions, 4096);
      const auto table = ops::RopeTable::make(positions, f.frequency, f.magnitude, DType::f64);
      const Tensor at = integers({0, 1, static_cast<std::int32_t>(positions / 2), 1,
                                  static_cast<std::int32_t>(positions - 1)});
      add("rope",
          [table, at](Tape& t, std::span<const Var> in) { return ops::rope(t, in[0], table, at); },
          {normal({kRows, c_.num_heads, c_.head_dim}, 10)}, {});
    } else if (use.op == "attention") {
      attention(rows);
    } else if (use.op == "token_logp" && p != nullptr) {
      head(p, rows);
    } else {
      return false;
    }
    return true;
  }

 private:
  static std::string shaped(const char* op, const Shape& shape) {
    return fmt::format("{} {}", op, shape.str());
  }

  // Two sequences, one across the border of a key tile.
  void attention(std::vector<GradRow>& rows) {
    std::vector<Token> longer(kernels::kKeyTile + 3);
    std::vector<Token> shorter(2);
    const std::vector<std::span<const Token>> spans = {longer, shorter};
    const auto plan = pack_sequences(spans, exec_).plan;
    const auto n = static_cast<Index>(longer.size() + shorter.size());
    const double scale = 1.0 / fmath::sqrt(static_cast<double>(c_.head_dim));
    rows.push_back(check_op(
        "attention",
        [plan, scale](Tape& t, std::span<const Var> in) {
          return ops::attention(t, in[0], in[1], in[2], plan, scale, nullptr);
        },
        {normal({n, c_.num_heads, c_.head_dim}, 11), normal({n, c_.num_kv_heads, c_.head_dim}, 12),
         normal({n, c_.num_kv_heads, c_.head_dim}, 13)},
        {}, exec_));
  }

  // Twice: log-probabilities alone (supervised updates), and with entropies, where both rows of the
  // output have a derivative. The kernels have a branch for each.
  void head(Param* p, std::vector<GradRow>& rows) {
    head(p, false, rows);
    rows.back().uses = 1;
    head(p, true, rows);
  }
  void head(Param* p, bool entropy, std::vector<GradRow>& rows) {
    const Index used = vocabulary_ > 0 ? vocabulary_ : p->value.shape()[0];
    const Tensor targets = integers({0, 1, static_cast<std::int32_t>(used - 1)});
    const ops::LogProbOptions options{
        .temperature = temperature_, .entropy = entropy, .vocabulary = vocabulary_, .chunk_rows = 2};
    Param* const params[] = {p};
    rows.push_back(check_op(
        shaped(entropy ? "token_logp, entropy" : "token_logp", p->value.shape()),
        [p, targets, options](Tape& t, std::span<const Var> in) {
          return ops::token_logp(t, in[0], {p}, targets, options);
        },
        {normal({3, p->value.shape()[1]}, 14)}, params, exec_));
  }

  Decoder& model_;
  const ModelConfig& c_;
  double temperature_;
  Index vocabulary_;
  Exec exec_;
};

}  // namespace

GradRow check_op(const std::string& name,
                 const std::function<Var(Tape&, std::span<const Var>)>& build,
                 std::vector<Tensor> inputs, std::span<Param* const> params, const Exec& exec) {
  const GradCheckResult r =
      gradcheck(build, inputs, params, exec, {.max_coordinates = kCoordinates});
  for (Param* p : params) {
    p->zero_grads();
  }
  GradRow row;
  row.name = name;
  row.coordinates = r.coordinates;
  row.worst = r.worst;
  row.where = r.where;
  row.analytic = r.analytic;
  row.numeric = r.numeric;
  return row;
}

std::vector<GradRow> check_ops(Decoder& model, const std::vector<std::vector<Token>>& sequences,
                               double temperature, Index vocabulary, const Exec& exec,
                               std::vector<std::string>& unchecked) {
  OpChecks checks(model, temperature, vocabulary, exec);
  std::vector<GradRow> rows;
  std::map<std::string, std::size_t> seen;  // op and shape: its row
  std::set<std::string> unknown;
  for (const Used& use : ops_of(model, sequences, temperature, vocabulary, exec)) {
    const Param* p = use.place.empty() ? nullptr : model.params().find(use.place);
    const std::string key =
        p == nullptr ? use.op : fmt::format("{} {}", use.op, p->value.shape().str());
    if (const auto at = seen.find(key); at != seen.end()) {
      ++rows[at->second].uses;
      continue;
    }
    if (unknown.count(key) != 0) {
      continue;
    }
    if (!checks.run(use, rows)) {
      unknown.insert(key);
      unchecked.push_back(key);
      continue;
    }
    rows.back().uses = 1;
    seen[key] = rows.size() - 1;
  }
  return rows;
}

}  // namespace minirl::audit
