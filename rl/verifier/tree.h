// minirl rl/verifier/tree.h -- an answer as a small expression tree. Nodes live in one vector and
// refer to each other by place, so that nothing recursive is needed to free them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "rl/verifier/rational.h"

namespace minirl::rl::verifier {

enum class Kind {
  number,    // value
  symbol,    // text: "x", "a_1", "pi", "e", "i", "infinity", "reals"
  sum,       // kids
  product,   // kids
  power,     // kids: base, exponent
  call,      // text: "sin", "sqrt", ...; kids: arguments
  degrees,   // kids: number of degrees
  quantity,  // kids: value; text: canonical unit
  sign,      // kids: what has both signs; text: "+-" or "-+"
  text,      // text: words, lower case, single spaces
  list,      // kids: "1, 2 and 3"
  set,       // kids: "\{1, 2\}"
  tuple,     // kids, open, close: also intervals
  matrix,    // kids by rows, columns
  relation,  // kids, ops: a < b <= c
  merge,     // kids: two sets; text: "cup", "cap", "setminus"
  builder,   // kids: what, conditions...: \{x : x > 0\}
  ratio,     // kids: 7:32; text: as written
  based,     // text: digits; value: base
  prose,     // kids: mathematics between words (several); text: all words
};

struct Node {
  Kind kind = Kind::number;
  std::string text;
  Rational value = 0;
  std::vector<int> kids;
  std::vector<std::string> ops;  // of a relation: "=", "<", "<=", ">", ">=", "!=", "in", "~"
  char open = 0, close = 0;
  int columns = 0;
};

class Tree {
 public:
  int add(Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }
  int number(Rational value) {
    Node n;
    n.value = std::move(value);
    return add(std::move(n));
  }
  int make(Kind kind, std::vector<int> kids, std::string text = {}) {
    Node n;
    n.kind = kind;
    n.kids = std::move(kids);
    n.text = std::move(text);
    return add(std::move(n));
  }
  const Node& operator[](int at) const { return nodes_[static_cast<std::size_t>(at)]; }
  Node& operator[](int at) { return nodes_[static_cast<std::size_t>(at)]; }

  /// For people: one line, functional notation.
  std::string show(int at) const;

 private:
  std::vector<Node> nodes_;
};

}  // namespace minirl::rl::verifier
