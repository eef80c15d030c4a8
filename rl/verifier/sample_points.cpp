// Equality by evaluation at fixed points.
#include <algorithm>
#include <set>

#include "rl/verifier/ball.h"
#include "rl/verifier/ball_arithmetic.h"

namespace minirl::rl::verifier {

std::optional<Ball> constant_value(const Tree& tree, int node, Budget& budget) {
  return Evaluator(tree, budget, {}).at(node);
}

std::vector<std::string> free_symbols(const Tree& tree, std::initializer_list<int> nodes,
                                      Budget& budget) {
  std::set<std::string> names;
  std::vector<int> todo(nodes);
  while (!todo.empty()) {
    const int at = todo.back();
    todo.pop_back();
    budget.spend(1);
    const Node& n = tree[at];
    if (n.kind == Kind::symbol && n.text != "pi" && n.text != "e" && n.text != "i" &&
        n.text != "infinity" && n.text != "reals") {
      names.insert(n.text);
    }
    todo.insert(todo.end(), n.kids.begin(), n.kids.end());
  }
  if (names.size() > 12) {
    throw Stop{"too many symbols"};
  }
  return {names.begin(), names.end()};
}

namespace {

constexpr int kSamples = 6;

bool uses(const Tree& tree, int root, Budget& budget, std::string_view symbol,
          std::string_view function) {
  std::vector<int> todo{root};
  while (!todo.empty()) {
    const Node& n = tree[todo.back()];
    todo.pop_back();
    budget.spend(1);
    if ((n.kind == Kind::symbol && n.text == symbol) ||
        (n.kind == Kind::call && n.text == function)) {
      return true;
    }
    todo.insert(todo.end(), n.kids.begin(), n.kids.end());
  }
  return false;
}

enum class Verdict { equal, different, nowhere };

Verdict compare_at_points(const Tree& tree, int a, int b, Budget& budget, Readings readings,
                          bool whole, bool complex) {
  const auto symbols = free_symbols(tree, {a, b}, budget);
  Evaluator evaluator(tree, budget, readings);
  int defined = 0;
  int half_defined = 0;
  const int samples = symbols.empty() ? 1 : kSamples;
  for (int s = 0; s < samples; ++s) {
    evaluator.set_point(s, whole, symbols);
    const auto x = evaluator.at(a);
    const auto y = evaluator.at(b);
    if (!x || !y) {
      half_defined += x || y ? 1 : 0;
      continue;
    }
    if (!complex && !symbols.empty() && (!is_real(*x) || !is_real(*y))) {
      continue;
    }
    const Real distance = mp::abs(x->re - y->re) + mp::abs(x->im - y->im);
    const Real error = x->error + y->error;
    if (distance > 8 * error) {
      return Verdict::different;
    }
    // Agreement means something only when the error is far below the values.
    if (error > Real(1e-40) * (size(*x) + size(*y)) && error > Real(1e-60)) {
      throw Stop{"equal as far as can be computed"};
    }
    ++defined;
  }
  if (defined == 0 && half_defined > 0) {
    return Verdict::different;
  }
  return defined > 0 ? Verdict::equal : Verdict::nowhere;
}

}  // namespace

bool equal_numerically(const Tree& tree, int a, int b, Budget& budget) {
  const bool complex = uses(tree, a, budget, "i", "") || uses(tree, b, budget, "i", "");
  const bool integers = uses(tree, a, budget, "", "factorial") ||
                        uses(tree, b, budget, "", "factorial") ||
                        uses(tree, a, budget, "", "binom") || uses(tree, b, budget, "", "binom");
  const bool two_logs = uses(tree, a, budget, "", "log") || uses(tree, b, budget, "", "log");
  for (const bool natural : {false, true}) {
    if (natural && !two_logs) {
      break;
    }
    Verdict v = compare_at_points(tree, a, b, budget, {natural}, integers, complex);
    if (v == Verdict::nowhere && !integers) {
      v = compare_at_points(tree, a, b, budget, {natural}, true, complex);
    }
    if (v == Verdict::nowhere) {
      throw Stop{"not defined at any sample point"};
    }
    if (v == Verdict::equal) {
      return true;
    }
  }
  return false;
}

}  // namespace minirl::rl::verifier
