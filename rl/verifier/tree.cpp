#include "rl/verifier/tree.h"

#include <array>

namespace minirl::rl::verifier {
namespace {

void write(const Tree& tree, int at, std::string& out) {
  static constexpr std::array<std::string_view, 20> kNames{
      "",         "",      "sum",     "product", "power", "",      "degrees",
      "quantity", "sign",  "text",    "list",    "set",   "tuple", "matrix",
      "relation", "merge", "builder", "ratio",   "based", "prose"};
  if (out.size() > 600) {
    if (!out.ends_with("...")) {
      out += "...";
    }
    return;
  }
  const Node& n = tree[at];
  if (n.kind == Kind::number) {
    if (bits(n.value) > 1000) {
      out += "(a long number)";
      return;
    }
    out.append(digits_of(numerator(n.value)));
    if (!is_integer(n.value)) {
      out.append("/").append(digits_of(denominator(n.value)));
    }
    return;
  }
  if (n.kind == Kind::symbol) {
    out += n.text;
    return;
  }
  out += n.kind == Kind::call ? std::string_view(n.text) : kNames[static_cast<std::size_t>(n.kind)];
  if (n.kind == Kind::tuple) {
    out.append({' ', n.open, n.close});
  }
  if (n.kind != Kind::call && !n.text.empty()) {
    out.append(" '").append(n.text).append("'");
  }
  if (n.kind == Kind::based) {
    out.append(" base ").append(digits_of(numerator(n.value)));
  }
  if (n.kids.empty()) {
    return;
  }
  out += "(";
  for (std::size_t i = 0; i < n.kids.size(); ++i) {
    if (i > 0) {
      if (n.kind == Kind::relation) {
        out.append(" ").append(n.ops[i - 1]).append(" ");
      } else {
        out.append(", ");
      }
    }
    write(tree, n.kids[i], out);
  }
  out += ")";
}

}  // namespace

std::string Tree::show(int at) const {
  std::string out;
  write(*this, at, out);
  return out;
}

}  // namespace minirl::rl::verifier
