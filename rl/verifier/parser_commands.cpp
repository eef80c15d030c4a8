// LaTeX commands, functions and environments.
#include <optional>

#include "rl/verifier/parser_state.h"
#include "rl/verifier/word_list.h"

namespace minirl::rl::verifier {
namespace {

constexpr std::array<std::string_view, 31> kFunctions{
    "sin",   "cos",  "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "arccot", "sinh",
    "cosh",  "tanh", "log", "ln",  "lg",  "exp", "max",    "min",    "gcd",    "lcm",    "abs",
    "floor", "ceil", "sgn", "det", "deg", "Re",  "Im",     "arg",    "cbrt"};
constexpr std::array<std::string_view, 32> kSymbols{
    "pi",    "alpha", "beta",    "gamma",  "delta", "epsilon", "zeta",  "eta",
    "theta", "iota",  "kappa",   "lambda", "mu",    "nu",      "xi",    "rho",
    "sigma", "tau",   "upsilon", "phi",    "chi",   "psi",     "omega", "Gamma",
    "Delta", "Theta", "Lambda",  "Sigma",  "Phi",   "Omega",   "ell",   "ldots"};
constexpr std::array<std::string_view, 10> kAccents{
    "overline",       "bar", "vec",     "hat",    "tilde", "widetilde",
    "overrightarrow", "dot", "overarc", "widehat"};

}  // namespace

int Parser::command(const std::string& name) {
  if (name == "frac") {
    const int above = argument();
    const int below = argument();
    return quotient(above, below);
  }
  if (name == "sqrt") {
    int index = -1;
    if (take("[")) {
      index = sum();
      expect("]");
    }
    const int inner = argument();
    if (index < 0) {
      return tree_.make(Kind::call, {inner}, "sqrt");
    }
    return tree_.make(Kind::call, {inner, index}, "root");
  }
  if (name == "binom") {
    if (take("(")) {
      const int above = sum();
      expect(",");
      const int below = sum();
      expect(")");
      return tree_.make(Kind::call, {above, below}, "binom");
    }
    const int above = argument();
    return tree_.make(Kind::call, {above, argument()}, "binom");
  }
  if (name == "root") {  // \root 3 \of 4
    const int index = argument();
    if (!is_command("of")) {
      unexpected();
    }
    ++at_;
    const int inner = argument();
    return tree_.make(Kind::call, {inner, index}, "root");
  }
  if (name == "sum" || name == "prod") {
    return repeated(name == "prod");
  }
  if (name.starts_with("basis_")) {
    return symbol(name);
  }
  if (name == "infty") {
    return symbol("infinity");
  }
  if (name == "emptyset") {
    return tree_.make(Kind::set, {});
  }
  if (name == "mathbb") {
    const bool in_group = take("{");
    const std::string letter = token().text;
    ++at_;
    if (in_group) {
      expect("}");
    }
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kSets{
        {{"R", "reals"},
         {"Z", "integers"},
         {"N", "naturals"},
         {"Q", "rationals"},
         {"C", "complexes"}}};
    for (const auto& [from, to] : kSets) {
      if (letter == from) {
        return symbol(std::string(to));
      }
    }
    unexpected();
  }
  if (name.starts_with("begin:")) {
    return matrix(name.substr(6));
  }
  if (name == "lfloor" || name == "lceil") {
    const Inside inside(*this);
    const int inner = sum();
    if (!is_command(name == "lfloor" ? "rfloor" : "rceil")) {
      unexpected();
    }
    ++at_;
    return tree_.make(Kind::call, {inner}, name == "lfloor" ? "floor" : "ceil");
  }
  if (any_of(name, kAccents)) {
    const int inner = argument();
    if (tree_[inner].kind == Kind::number) {
      unexpected();
    }
    return tree_.make(Kind::call, {inner}, name);
  }
  if (name == "angle" || name == "triangle" || name == "measuredangle" || name == "circ" ||
      name == "hbar") {
    return symbol(name);
  }
  if (any_of(name, kFunctions)) {
    return function(name);
  }
  if (any_of(name, kSymbols)) {
    return symbol(name);
  }
  if (name == "prime") {
    return symbol(name);
  }
  throw Stop{"an unknown command"};
}

int Parser::function(std::string name) {
  int power_node = -1;
  int base = -1;
  while (is_mark("^") || is_mark("_")) {
    const bool up = is_mark("^");
    ++at_;
    const int inner = is_mark("{") || is_mark("(") ? primary() : argument();
    (up ? power_node : base) = inner;
  }
  if (power_node >= 0 && tree_[power_node].kind == Kind::number && tree_[power_node].value == -1 &&
      (name == "sin" || name == "cos" || name == "tan" || name == "cot")) {
    name.insert(0, "arc");
    power_node = -1;
  }
  std::vector<int> arguments;
  if (name == "det" && token().type == TokenType::command) {
    arguments = {primary()};
  } else if (is_mark("(") || is_mark("{") || is_mark("[") || is_mark("\\{")) {
    const int inner = primary();
    if (tree_[inner].kind == Kind::tuple || tree_[inner].kind == Kind::set) {
      arguments = tree_[inner].kids;
    } else {
      arguments = {inner};
    }
  } else {
    std::vector<int> factors;
    bool minus = take("-");
    while (starts_factor() &&
           !(token().type == TokenType::command && any_of(token().text, kFunctions) &&
             !factors.empty()) &&
           !(is_mark("(") && !factors.empty())) {
      factors.push_back(factor());
      if (is_mark("/") &&
          (token(1).type == TokenType::number || token(1).type == TokenType::letter)) {
        ++at_;
        const int below = factor();
        factors = {
            quotient(factors.size() == 1 ? factors[0] : tree_.make(Kind::product, factors), below)};
      }
    }
    if (factors.empty()) {
      unexpected();
    }
    int inner = factors.size() == 1 ? factors[0] : tree_.make(Kind::product, std::move(factors));
    if (minus) {
      inner = negative(inner);
    }
    arguments = {inner};
  }
  int out = -1;
  if (base >= 0) {
    if (name != "log" || arguments.size() != 1) {
      unexpected();
    }
    out = quotient(tree_.make(Kind::call, {arguments[0]}, "ln"),
                   tree_.make(Kind::call, {base}, "ln"));
    if (tree_[arguments[0]].kind == Kind::number && tree_[base].kind == Kind::number) {
      out = exact_log(arguments[0], base, out);
    }
  } else {
    out = tree_.make(Kind::call, std::move(arguments), name == "lg" ? "log10" : name);
  }
  return power_node >= 0 ? tree_.make(Kind::power, {out, power_node}) : out;
}

/// log_2 8 = 3
int Parser::exact_log(int of, int base, int otherwise) {
  const Rational& b = tree_[base].value;
  const Rational& x = tree_[of].value;
  if (b <= 1 || x <= 0 || bits(x) > 2000) {
    return otherwise;
  }
  Rational p = 1;
  const bool below = x < 1;
  const Rational goal = below ? Rational(1 / x) : x;
  for (int n = 0; n <= 2000 && p <= goal; ++n) {
    if (p == goal) {
      return tree_.number(below ? -n : n);
    }
    p = multiply(p, b, budget_);
  }
  return otherwise;
}

/// The node with a symbol replaced.
int Parser::replaced(int node, const std::string& name, int by) {
  const Deeper deeper(depth_);
  budget_.spend(10);
  Node n = tree_[node];
  if (n.kind == Kind::symbol && n.text == name) {
    return by;
  }
  if (n.kids.empty()) {
    return node;
  }
  for (int& kid : n.kids) {
    kid = replaced(kid, name, by);
  }
  return tree_.add(std::move(n));
}

int Parser::repeated(bool product) {
  std::string index;
  int low = -1;
  int high = -1;
  while (is_mark("_") || is_mark("^")) {
    const bool below = is_mark("_");
    ++at_;
    const int bound = below && is_mark("{") ? primary() : argument();
    if (below && tree_[bound].kind == Kind::relation && tree_[bound].ops.size() == 1 &&
        tree_[bound].ops[0] == "=" && tree_[tree_[bound].kids[0]].kind == Kind::symbol) {
      index = tree_[tree_[bound].kids[0]].text;
      low = tree_[bound].kids[1];
    } else if (!below) {
      high = bound;
    } else {
      throw Stop{"a sum without a first and a last index"};
    }
  }
  if (index.empty() || high < 0) {
    throw Stop{"a sum without a first and a last index"};
  }
  const int body = term();
  const auto integer = [&](int node) {
    return tree_[node].kind == Kind::number ? small_integer(tree_[node].value) : std::nullopt;
  };
  const auto first = integer(low);
  const auto last = integer(high);
  constexpr int kMostTerms = 400;
  if (!first || !last || *last < *first || *last - *first >= kMostTerms) {
    return tree_.make(Kind::call, {body, tree_.make(Kind::symbol, {}, index), low, high},
                      product ? "prod" : "sum");
  }
  std::vector<int> kids;
  for (int i = *first; i <= *last; ++i) {
    kids.push_back(replaced(body, index, tree_.number(i)));
  }
  return tree_.make(product ? Kind::product : Kind::sum, std::move(kids));
}

int Parser::matrix(const std::string& environment) {
  static constexpr std::array<std::string_view, 10> kMatrices{
      "pmatrix", "bmatrix",     "matrix",  "array", "Bmatrix",
      "tabular", "smallmatrix", "vmatrix", "cases", "dcases"};
  if (!any_of(environment, kMatrices)) {
    throw Stop{"an unknown environment"};
  }
  const Inside inside(*this);
  Node n;
  n.kind = Kind::matrix;
  const bool cases = environment.ends_with("cases");
  int row = 0;
  const auto end_row = [&] {
    if (row == 0) {
      return;
    }
    if (n.columns != 0 && n.columns != row) {
      throw Stop{"rows of different length"};
    }
    n.columns = row;
    row = 0;
  };
  while (!(token().type == TokenType::command && token().text.starts_with("end:"))) {
    if (take("\\\\")) {
      end_row();
      continue;
    }
    if (take("&")) {
      continue;
    }
    n.kids.push_back(item());
    ++row;
    while (cases && (is_mark(",") || is_mark(";") || is_mark("."))) {
      ++at_;
    }
  }
  end_row();
  ++at_;
  if (n.kids.empty()) {
    unexpected();
  }
  if (cases && n.columns == 1) {  // a system: x = 1, y = 2
    return tree_.make(Kind::list, std::move(n.kids));
  }
  if (cases) {
    n.text = "cases";
  }
  const int out = tree_.add(std::move(n));
  return environment == "vmatrix" ? tree_.make(Kind::call, {out}, "det") : out;
}

}  // namespace minirl::rl::verifier
