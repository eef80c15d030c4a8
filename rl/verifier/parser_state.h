// minirl rl/verifier/parser_state.h -- the recursive-descent parser behind parse(): tokens to a
// tree. Its member functions live in parser.cpp (lists), parser_items.cpp (one item with its words
// and relations), parser_terms.cpp (sums, terms, factors), parser_primary.cpp (names, brackets,
// groups) and parser_commands.cpp (LaTeX commands). Private to these files.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "rl/verifier/lexer.h"
#include "rl/verifier/tree.h"

namespace minirl::rl::verifier {

class Parser {
 public:
  Parser(std::vector<Token> tokens, Tree& tree, Budget& budget)
      : tokens_(std::move(tokens)), tree_(tree), budget_(budget) {}

  int run();

 private:
  const Token& token(std::size_t ahead = 0) const;
  bool is_mark(std::string_view text, std::size_t ahead = 0) const;
  bool is_command(std::string_view text, std::size_t ahead = 0) const;
  bool is_words(std::size_t ahead = 0) const;
  bool is_join(std::size_t ahead = 0) const;
  bool take(std::string_view text);
  void expect(std::string_view text);
  [[noreturn]] void unexpected() const;

  struct Deeper {
    explicit Deeper(int& depth) : depth_(depth) {
      if (++depth_ > kDeepest) {
        throw Stop{"it nests too deeply"};
      }
    }
    ~Deeper() { --depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    int& depth_;
  };

  /// ((x)) and {{x}} are (x) and {x}: thousands of them are harmless.
  void collapse();

  void join_numerals();
  void plain_basis();
  bool at_closer() const;
  bool at_separator() const { return is_mark(",") || is_mark(";") || is_join(); }

  /// Items up to a closer: one alone, or a list.
  int items();

  /// One item: mathematics with words around it.
  int item();

  int with_words(std::vector<int>& pieces, const std::string& before,
                 std::vector<std::string>& after, const std::string& currency);
  int congruence(int value, bool equivalent);
  bool is_currency(std::size_t ahead = 0) const;

  /// \text{km}/\text{h}, \text{cm}^2, \frac{\text{m}}{\text{s}}
  std::string unit_words();
  /// The unit that a fraction of words at this place is, and where it ends; empty: it is none.
  std::string unit_fraction(std::size_t& end) const;
  bool words_in_parentheses() const;
  /// "1 hour 30 minutes", "7 to 32", "204 base 5": several pieces that are one value; else -1.
  int compound(const std::vector<int>& pieces, const std::vector<std::string>& after);

  bool is_relation() const;

  int relation(int first);

  int operand();

  int ratio();
  std::string spelling() const;
  std::string spelling_ahead() const;

  int negative(int node);

  int sum();

  bool is_set(int node) const;

  bool starts_factor() const;

  int quotient(int above, int below);

  bool proper(int node) const;

  int term();

  int signed_factor();
  int counted();
  int minutes_of(int degrees);

  int percent(int value);

  int factor();

  bool is_digits_in_parentheses() const;

  int based();

  int exponent(int base);

  /// {x} or one token: \frac12.
  int argument();

  std::string subscript();

  int symbol(std::string name);

  int primary();

  struct Inside {  // what holds outside a bracket does not hold inside
    explicit Inside(Parser& p)
        : p_(p),
          nested_(std::exchange(p.nested_, 1)),
          set_(std::exchange(p.in_set_, 0)),
          bars_(std::exchange(p.bars_, 0)),
          french_(std::exchange(p.french_, 0)) {}
    ~Inside() {
      p_.nested_ = nested_;
      p_.in_set_ = set_;
      p_.bars_ = bars_;
      p_.french_ = french_;
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    Parser& p_;
    int nested_, set_, bars_, french_;
  };

  bool is_application(const std::string& letter) const;
  int application(const std::string& letter);
  int combination();
  int bracket(char open);

  int group();

  int set();

  int command(const std::string& name);

  int function(std::string name);

  /// log_2 8 = 3
  int exact_log(int of, int base, int otherwise);

  int matrix(const std::string& environment);
  /// \sum and \prod between two integers, written out.
  int repeated(bool product);
  int replaced(int node, const std::string& name, int by);

  std::vector<Token> tokens_;
  Tree& tree_;
  Budget& budget_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int nested_ = 0, bars_ = 0, in_set_ = 0, french_ = 0;
  std::size_t end_ = 0;  // scratch of unit_fraction
  bool split_ = false;
  bool equivalent_ = false;  // right of \equiv
  std::string currency_;
};

}  // namespace minirl::rl::verifier
