// minirl data/tasks/arithmetic.cpp -- sums, differences and products of two whole numbers, worked
// out in columns from the units up:   37+48=?   ->   7+8=15, 3+4+1=8, so \boxed{85}
#include <algorithm>

#include "core/rng.h"
#include "data/task.h"

namespace minirl::data {
namespace {

struct Problem {
  char op = '+';
  Index a = 0, b = 0;

  Index answer() const { return op == '+' ? a + b : op == '-' ? a - b : a * b; }
  std::string text() const { return fmt::format("{}{}{}", a, op, b); }
};

std::vector<int> digits(Index n) {  // units first
  std::vector<int> out;
  do {
    out.push_back(static_cast<int>(n % 10));
    n /= 10;
  } while (n > 0);
  return out;
}

// The columns as text, and the number that they add up to. `slip_column` (or -1) is where the
// result of a column is off by `slip`; later columns go on from there.
struct Work {
  std::string steps;
  Index result = 0;
};

Work work_out(const Problem& p, int slip_column, int slip) {
  std::vector<int> a = digits(p.a);
  std::vector<int> b = digits(p.b);
  const std::size_t columns = p.op == '*' ? b.size() : std::max(a.size(), b.size());
  a.resize(std::max(columns, a.size()));
  b.resize(columns);
  Work out;
  int carry = 0;  // or borrow
  Index place = 1;
  for (std::size_t i = 0; i < columns; ++i) {
    std::string left;
    int value = 0;
    if (p.op == '+') {
      left = fmt::format("{}+{}", a[i], b[i]);
      value = a[i] + b[i] + carry;
      if (carry > 0) {
        left += fmt::format("+{}", carry);
      }
    } else if (p.op == '-') {
      const int top = a[i] - carry < b[i] ? a[i] + 10 : a[i];
      left = fmt::format("{}-{}", top, b[i]);
      value = top - b[i] - carry;
      if (carry > 0) {
        left += fmt::format("-{}", carry);
      }
      carry = top > 9 ? 1 : 0;
    } else {
      left = fmt::format("{}*{}", p.a, b[i]);
      value = static_cast<int>(p.a) * b[i] + carry;
      if (carry > 0) {
        left += fmt::format("+{}", carry);
      }
    }
    if (static_cast<int>(i) == slip_column) {
      value = value + slip < 0 ? value - slip : value + slip;
    }
    out.steps += fmt::format("{}={}, ", left, value);
    if (p.op == '-') {
      out.result += place * value;
    } else {
      out.result += place * (value % 10);
      carry = value / 10;
    }
    place *= 10;
  }
  if (p.op != '-') {
    out.result += place * carry;
  }
  return out;
}

class Arithmetic final : public Task {
 public:
  explicit Arithmetic(const ParamMap& params)
      : operations_(text_param(params, "operations")),
        max_(integer_param(params, "max_operand")),
        mixture_(Mixture::of(params)) {
    std::string seen;
    for (const char c : operations_) {
      if (std::string_view("+-*").find(c) == std::string_view::npos ||
          seen.find(c) != std::string::npos) {
        fail(Exit::usage,
             fmt::format("operations = \"{}\": write each of + - * at most once", operations_));
      }
      seen += c;
    }
    if (operations_.empty()) {
      fail(Exit::usage, "operations = \"\": at least one of + - * is needed");
    }
  }

  Example train_example(std::uint64_t seed, Index index) const override {
    rng::Random random(
        rng::Key::of(seed, rng::Stream::data).derive(static_cast<std::uint64_t>(index)));
    return example(draw_training(random));
  }

  SupervisedExample supervised_example(std::uint64_t seed, Index index) const override {
    rng::Random random(
        rng::Key::of(seed, rng::Stream::supervised).derive(static_cast<std::uint64_t>(index)));
    const Problem p = draw_training(random);
    SupervisedExample out;
    out.example = example(p);
    out.quality = mixture_.pick(random.uniform());
    out.completion = completion(p, out.quality, random);
    return out;
  }

  std::vector<Example> eval_examples(Index n) const override {
    std::vector<Problem> all;
    for (const char op : operations_) {
      for (Index a = op == '*' ? 2 : 0; a <= (op == '*' ? 9 : max_); ++a) {
        for (Index b = 0; b <= (op == '-' ? a : max_); ++b) {
          if (held_out(identity({op, a, b}))) {
            all.push_back({op, a, b});
          }
        }
      }
    }
    if (n > static_cast<Index>(all.size())) {
      fail(Exit::usage,
           fmt::format("{} problems were asked for, but the task arithmetic holds out only {}", n,
                       all.size()),
           "lower eval.prompts or raise task.max_operand");
    }
    // The first n of a fixed shuffle.
    rng::Random random(rng::Key::of(0, rng::Stream::evaluation_data));
    std::vector<Example> out;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      std::swap(all[i], all[i + random.below(all.size() - i)]);
      out.push_back(example(all[i]));
    }
    return out;
  }

  Index prompt_bytes_max() const override {
    return static_cast<Index>(2 * digits(max_).size() + 4);
  }
  Index completion_bytes_max() const override {
    const auto columns = static_cast<Index>(digits(max_).size());
    return columns * 11 + 11 + columns + 1;  // "9+9+1=19, " a column, then "so \boxed{...}"
  }

 private:
  // Equal for a+b and b+a, so that no held-out sum was trained on the other way round.
  std::uint64_t identity(const Problem& p) const {
    const bool swap = p.op != '-' && p.a > p.b;
    const auto low = static_cast<std::uint64_t>(swap ? p.b : p.a);
    const auto high = static_cast<std::uint64_t>(swap ? p.a : p.b);
    return static_cast<std::uint64_t>(p.op) << 48 | low << 24 | high;
  }

  Problem draw_training(rng::Random& random) const {
    while (true) {
      Problem p;
      p.op = operations_[random.below(operations_.size())];
      p.a = p.op == '*' ? random.range(2, 9) : random.range(0, max_);
      p.b = random.range(0, max_);
      if (p.op == '-' && p.a < p.b) {
        std::swap(p.a, p.b);
      }
      if (!held_out(identity(p))) {
        return p;
      }
    }
  }

  Example example(const Problem& p) const {
    const Index op = static_cast<Index>(std::string_view("+-*").find(p.op));
    return {(op * (max_ + 1) + p.a) * (max_ + 1) + p.b, p.text() + "=?\n",
            std::to_string(p.answer())};
  }

  std::string completion(const Problem& p, Quality quality, rng::Random& random) const {
    const Work right = work_out(p, -1, 0);
    MINIRL_CHECK(right.result == p.answer(), "{} worked out to {}", p.text(), right.result);
    switch (quality) {
      case Quality::good:
        return fmt::format("{}so \\boxed{{{}}}", right.steps, right.result);
      case Quality::unboxed:
        return fmt::format("{}so {}", right.steps, right.result);
      case Quality::wrong:
        return wrong(p, random);
      case Quality::malformed:
        break;
    }
    switch (random.below(3)) {
      case 0:
        return fmt::format("{}so \\boxed{{{}", right.steps, right.result);  // never closes
      case 1:
        return fmt::format("{}so boxed({})", right.steps, right.result);
      default:
        return fmt::format("hmm, {} and {}, hmm, {} and {}", p.a, p.b, p.a, p.b);
    }
  }

  // Mostly a guess without work, sometimes work with a slip in one column.
  std::string wrong(const Problem& p, rng::Random& random) const {
    if (random.below(4) == 0) {
      const auto columns = digits(p.op == '*' ? p.b : std::max(p.a, p.b)).size();
      const int column = static_cast<int>(random.below(columns));
      const int slip = random.below(2) == 0 ? 1 : 2;
      const Work w = work_out(p, column, slip);
      if (w.result != p.answer()) {
        return fmt::format("{}so \\boxed{{{}}}", w.steps, w.result);
      }
    }
    const Index away = random.range(1, 9);
    const bool below = random.below(2) == 0 && p.answer() >= away;
    return fmt::format("maybe \\boxed{{{}}}", below ? p.answer() - away : p.answer() + away);
  }

  std::string operations_;
  Index max_;
  Mixture mixture_;
};

std::vector<ParamSpec> params() {
  std::vector<ParamSpec> out = {
      {.name = "operations",
       .type = ScalarType::text,
       .doc =
           "which of + - *; a difference is never negative, a product has one factor from 2 to 9",
       .fallback = std::string("+-")},
      {.name = "max_operand",
       .type = ScalarType::integer,
       .doc = "largest number in a problem",
       .fallback = std::int64_t{99},
       .range = between(9, 999)}};
  for (auto& p : mixture_params(0.30, 0.25, 0.15)) {
    out.push_back(std::move(p));
  }
  return out;
}

const bool registered = Tasks::add(
    "arithmetic", {"two whole numbers and + - or *, worked out in columns", "boxed", params(),
                   [](const ParamMap& p) { return std::make_unique<Arithmetic>(p); }});

}  // namespace
}  // namespace minirl::data
