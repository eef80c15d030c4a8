// Several values: lists, sets, both signs, sequences with an ellipsis.
#include <algorithm>

#include "rl/verifier/equal.h"

namespace minirl::rl::verifier {

bool Equality::has_signs(int node) {
  std::vector<int> todo{node};
  while (!todo.empty()) {
    budget_.spend(1);
    const Node& n = tree_[todo.back()];
    todo.pop_back();
    if (n.kind == Kind::sign) {
      return true;
    }
    todo.insert(todo.end(), n.kids.begin(), n.kids.end());
  }
  return false;
}

int Equality::with_sign(int node, bool plus) {
  budget_.spend(5);
  if (!has_signs(node)) {
    return node;
  }
  Node n = tree_[node];
  if (n.kind == Kind::sign) {
    const int inner = with_sign(n.kids[0], plus);
    const bool positive = plus == (n.text == "+-");
    return positive ? inner : tree_.make(Kind::product, {tree_.number(-1), inner});
  }
  for (int& kid : n.kids) {
    kid = with_sign(kid, plus);
  }
  return tree_.add(std::move(n));
}

/// 1, 2, ..., 10 with its terms; of 1, 2, 3, ..., n only the first two of a progression are kept.
int Equality::written_out(int node) {
  constexpr int kMostTerms = 60;
  const Node n = tree_[node];
  const auto is_dots = [&](int kid) {
    return tree_[kid].kind == Kind::symbol && tree_[kid].text == "ldots";
  };
  if ((n.kind != Kind::list && n.kind != Kind::set) || n.kids.size() < 3 ||
      std::count_if(n.kids.begin(), n.kids.end(), is_dots) != 1) {
    return node;
  }
  const auto dots = std::find_if(n.kids.begin(), n.kids.end(), is_dots);
  std::vector<int> before(n.kids.begin(), dots);
  const std::vector<int> behind(dots + 1, n.kids.end());
  const auto integer = [&](int kid) {
    return tree_[kid].kind == Kind::number ? small_integer(tree_[kid].value) : std::nullopt;
  };
  std::vector<int> terms;
  for (const int kid : before) {
    if (!integer(kid)) {
      return node;
    }
    terms.push_back(*integer(kid));
  }
  if (terms.empty() || behind.empty()) {
    return node;
  }
  const std::int64_t step = terms.size() > 1 ? std::int64_t{terms[1]} - terms[0] : 1;
  for (std::size_t i = 1; i < terms.size(); ++i) {
    if (std::int64_t{terms[i]} - terms[i - 1] != step || step == 0) {
      return node;
    }
  }
  Node out = n;
  const auto last = integer(behind.back());
  if (behind.size() == 1 && last) {
    const std::int64_t span = std::int64_t{*last} - terms[0];
    if (span % step != 0 || span / step < static_cast<std::int64_t>(terms.size()) ||
        span / step >= kMostTerms) {
      return node;
    }
    out.kids.clear();
    for (std::int64_t i = 0; i <= span / step; ++i) {
      out.kids.push_back(tree_.number(terms[0] + i * step));
    }
    return tree_.add(std::move(out));
  }
  if (before.size() > 2) {
    out.kids.assign(before.begin(), before.begin() + 2);
    out.kids.push_back(*dots);
    out.kids.insert(out.kids.end(), behind.begin(), behind.end());
    return tree_.add(std::move(out));
  }
  return node;
}

/// The members of a list or set, both signs written out; a single answer is a list of one.
std::vector<int> Equality::elements(int node) {
  std::vector<int> out;
  const Kind kind = tree_[node].kind;
  const std::vector<int> kids =
      kind == Kind::list || kind == Kind::set ? tree_[node].kids : std::vector<int>{node};
  for (const int kid : kids) {
    if (has_signs(kid)) {
      out.push_back(with_sign(kid, true));
      out.push_back(with_sign(kid, false));
    } else {
      out.push_back(kid);
    }
  }
  return out;
}

bool Equality::same_unordered(const std::vector<int>& a, const std::vector<int>& b, bool as_sets) {
  if (a.size() > 64 || b.size() > 64) {
    if (a.size() != b.size()) {
      return false;
    }
    return same_ordered(a, b);
  }
  if (!as_sets && a.size() != b.size()) {
    return false;
  }
  std::vector<bool> used(b.size(), false);
  for (const int x : a) {
    bool found = false;
    for (std::size_t j = 0; j < b.size() && !found; ++j) {
      if (used[j] && !as_sets) {
        continue;
      }
      if (same(x, b[j])) {
        found = used[j] = true;
      }
    }
    if (!found) {
      return false;
    }
  }
  if (as_sets) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      if (!used[j] && std::none_of(a.begin(), a.end(), [&](int x) { return same(x, b[j]); })) {
        return false;
      }
    }
  }
  return true;
}

bool Equality::same_ordered(const std::vector<int>& a, const std::vector<int>& b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same(a[i], b[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace minirl::rl::verifier
