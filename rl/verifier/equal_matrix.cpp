// Matrices: sums, products, multiples, powers, transposes and determinants of those that are
// written out.
#include <algorithm>

#include "rl/verifier/ball.h"
#include "rl/verifier/equal.h"

namespace minirl::rl::verifier {
namespace {

constexpr std::size_t kMostEntries = 64;
constexpr int kHighestPower = 12;

}  // namespace

bool Equality::has_matrix(int node) {
  std::vector<int> todo{node};
  while (!todo.empty()) {
    budget_.spend(1);
    const Node& n = tree_[todo.back()];
    todo.pop_back();
    if (n.kind == Kind::matrix && n.text.empty()) {
      return true;
    }
    todo.insert(todo.end(), n.kids.begin(), n.kids.end());
  }
  return false;
}

/// Rows in brackets with as many entries as the matrix has columns.
bool Equality::is_grid(const Node& rows, const Node& matrix) const {
  const auto columns = static_cast<std::size_t>(matrix.columns);
  return rows.kids.size() * columns == matrix.kids.size() &&
         std::all_of(rows.kids.begin(), rows.kids.end(), [&](int row) {
           return tree_[row].kind == Kind::tuple && tree_[row].kids.size() == columns;
         });
}

/// By the first row; up to 5 rows.
int Equality::determinant(const Node& matrix) {
  const auto n = static_cast<std::size_t>(matrix.columns);
  if (n * n != matrix.kids.size() || n > 5) {
    throw Stop{"a determinant of another shape"};
  }
  if (n == 1) {
    return matrix.kids[0];
  }
  std::vector<int> terms;
  for (std::size_t j = 0; j < n; ++j) {
    budget_.spend(20);
    Node minor;
    minor.kind = Kind::matrix;
    minor.columns = matrix.columns - 1;
    for (std::size_t r = 1; r < n; ++r) {
      for (std::size_t c = 0; c < n; ++c) {
        if (c != j) {
          minor.kids.push_back(matrix.kids[r * n + c]);
        }
      }
    }
    const int below = determinant(minor);
    terms.push_back(
        tree_.make(Kind::product, {tree_.number(j % 2 == 0 ? 1 : -1), matrix.kids[j], below}));
  }
  return tree_.make(Kind::sum, std::move(terms));
}

int Equality::product_of(const std::vector<int>& kids, int depth) {
  std::vector<int> scalars;
  int matrix = -1;
  for (const int kid : kids) {
    const int value = evaluated(kid, depth + 1);
    if (tree_[value].kind != Kind::matrix) {
      scalars.push_back(value);
      continue;
    }
    if (matrix < 0) {
      matrix = value;
      continue;
    }
    const Node left = tree_[matrix];
    const Node right = tree_[value];
    const auto inner = static_cast<std::size_t>(left.columns);
    const auto columns = static_cast<std::size_t>(right.columns);
    if (inner * columns != right.kids.size() || left.kids.size() > kMostEntries ||
        right.kids.size() > kMostEntries) {
      throw Stop{"a product of matrices that do not fit"};
    }
    Node out;
    out.kind = Kind::matrix;
    out.columns = right.columns;
    for (std::size_t r = 0; r < left.kids.size() / inner; ++r) {
      for (std::size_t c = 0; c < columns; ++c) {
        std::vector<int> terms;
        for (std::size_t k = 0; k < inner; ++k) {
          budget_.spend(10);
          terms.push_back(
              tree_.make(Kind::product, {left.kids[r * inner + k], right.kids[k * columns + c]}));
        }
        out.kids.push_back(tree_.make(Kind::sum, std::move(terms)));
      }
    }
    matrix = tree_.add(std::move(out));
  }
  if (matrix < 0) {
    return tree_.make(Kind::product, std::move(scalars));
  }
  if (scalars.empty()) {
    return matrix;
  }
  Node out = tree_[matrix];
  for (int& kid : out.kids) {
    budget_.spend(10);
    std::vector<int> factors = scalars;
    factors.push_back(kid);
    kid = tree_.make(Kind::product, std::move(factors));
  }
  return tree_.add(std::move(out));
}

/// A matrix or a value; the node itself where there is no matrix below.
int Equality::evaluated(int node, int depth) {
  if (depth > kDeepest) {
    throw Stop{"it nests too deeply"};
  }
  if (!has_matrix(node)) {
    return node;
  }
  const Node n = tree_[node];
  switch (n.kind) {
    case Kind::product:
      return product_of(n.kids, depth);
    case Kind::sum: {
      Node out = tree_[evaluated(n.kids[0], depth + 1)];
      if (out.kind != Kind::matrix) {
        return node;
      }
      for (std::size_t i = 1; i < n.kids.size(); ++i) {
        const Node next = tree_[evaluated(n.kids[i], depth + 1)];
        if (next.kind != Kind::matrix || next.columns != out.columns ||
            next.kids.size() != out.kids.size()) {
          throw Stop{"a sum of matrices that do not fit"};
        }
        for (std::size_t k = 0; k < out.kids.size(); ++k) {
          budget_.spend(10);
          out.kids[k] = tree_.make(Kind::sum, {out.kids[k], next.kids[k]});
        }
      }
      return tree_.add(std::move(out));
    }
    case Kind::power: {
      const Node base = tree_[evaluated(n.kids[0], depth + 1)];
      const Node& exponent = tree_[n.kids[1]];
      if (base.kind != Kind::matrix) {
        return node;
      }
      if (exponent.kind == Kind::symbol && exponent.text == "T") {
        Node out = base;
        const auto columns = static_cast<std::size_t>(base.columns);
        out.kids.clear();
        for (std::size_t c = 0; c < columns; ++c) {
          for (std::size_t r = 0; r < base.kids.size() / columns; ++r) {
            out.kids.push_back(base.kids[r * columns + c]);
          }
        }
        out.columns = static_cast<int>(base.kids.size() / columns);
        return tree_.add(std::move(out));
      }
      const auto times =
          exponent.kind == Kind::number ? small_integer(exponent.value) : std::nullopt;
      if (!times || *times < 1 || *times > kHighestPower) {
        throw Stop{"a power of a matrix"};
      }
      const int one = tree_.add(base);
      return product_of(std::vector<int>(static_cast<std::size_t>(*times), one), depth);
    }
    case Kind::call: {
      const Node inner = tree_[evaluated(n.kids[0], depth + 1)];
      if ((n.text == "det" || n.text == "abs") && inner.kind == Kind::matrix) {
        return determinant(inner);
      }
      return node;
    }
    default:
      return node;
  }
}

int Equality::settled(int node) {
  const Kind kind = tree_[node].kind;
  switch (kind) {
    case Kind::relation:
      return without_approximation(node);
    case Kind::list:
    case Kind::set:
      return written_out(node);
    case Kind::product:
    case Kind::sum:
    case Kind::power:
    case Kind::call:
      return has_matrix(node) ? evaluated(node, 0) : node;
    default:
      return node;
  }
}

}  // namespace minirl::rl::verifier
