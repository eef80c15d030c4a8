#include "rl/verifier/verify.h"

#include <new>
#include <optional>
#include <stdexcept>

#include "rl/verifier/choice.h"
#include "rl/verifier/equal.h"
#include "rl/verifier/extract.h"
#include "rl/verifier/parser.h"

namespace minirl::rl::verifier {
namespace {

/// Placeholders that are no answer, whatever the gold is.
bool is_placeholder(std::string_view text) {
  const std::string words = plain_words(text);
  return (words.empty() && text.find("\\{") == std::string_view::npos) || words == "?" ||
         words == "ldots" || words == "dots" || words == "..." || words == "text your answer" ||
         words == "your answer" || words == "answer" || words == "text" || words == "cdots";
}

/// Letters only, one spelling for \text{Evelyn}, Evelyn and evelyn; empty if there is anything
/// else.
std::string spelled(const std::vector<Token>& tokens) {
  std::string out;
  bool words = false;
  for (const Token& t : tokens) {
    if (t.type == TokenType::end) {
      break;
    }
    if (t.type != TokenType::letter && t.type != TokenType::word && t.type != TokenType::text) {
      return {};
    }
    words = words || t.type != TokenType::letter;
    if (t.space && !out.empty() && t.type != TokenType::letter) {
      out += ' ';
    }
    out += t.text;
  }
  return out.size() >= 2 ? out : std::string();
}

bool has_word(const std::vector<Token>& tokens) {
  for (const Token& t : tokens) {
    if (t.type == TokenType::word || t.type == TokenType::text) {
      return true;
    }
  }
  return false;
}

bool has_plain_comma(std::string_view text) {
  return text.find(',') != std::string_view::npos;
}

struct Side {
  std::vector<Token> tokens;
  std::string_view fault;  // why it could not be read
};

Side read(std::string_view text, bool thousands, Budget& budget) {
  Side s;
  try {
    s.tokens = lex(text, {thousands}, budget);
  } catch (const Stop& stop) {
    s.fault = stop.why;
  }
  return s;
}

bool compare_once(std::string_view gold, std::string_view answer, bool thousands, Budget& budget,
                  Verdict& out) {
  const Side g = read(gold, thousands, budget);
  const Side a = read(answer, thousands, budget);
  if (!g.fault.empty() || !a.fault.empty()) {
    // What cannot be read can still be the same text.
    const bool same = g.fault.empty() == a.fault.empty() &&
                      plain_words(gold) == plain_words(answer) &&
                      gold.find('\0') == std::string_view::npos;
    out.why = same ? "the same text"
                   : "not understood: " + std::string(a.fault.empty() ? g.fault : a.fault);
    return same;
  }
  const std::string sg = spelled(g.tokens);
  const std::string sa = spelled(a.tokens);
  if (!sg.empty() && !sa.empty() && (has_word(g.tokens) || has_word(a.tokens)) &&
      plain_words(sg) == plain_words(sa)) {
    out.why = "the same words";
    return true;
  }
  Tree tree;
  int gold_root = -1;
  int answer_root = -1;
  std::string_view fault;
  try {
    gold_root = parse(g.tokens, tree, budget);
    out.gold_tree = tree.show(gold_root);
  } catch (const Stop& stop) {
    fault = stop.why;
  }
  try {
    answer_root = parse(a.tokens, tree, budget);
    out.answer_tree = tree.show(answer_root);
  } catch (const Stop& stop) {
    fault = stop.why;
  }
  if (gold_root < 0 || answer_root < 0) {
    const bool same =
        (gold_root < 0) == (answer_root < 0) && plain_words(gold) == plain_words(answer);
    out.why = same ? "the same text" : "not understood: " + std::string(fault);
    return same;
  }
  Equality equality(tree, budget);
  const bool same = equality.same(gold_root, answer_root);
  out.why = std::string(equality.why());
  if (out.why.empty()) {
    out.why = same ? "the same" : "different";
  }
  return same;
}

}  // namespace

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::right:
      return "right";
    case Outcome::wrong:
      return "wrong";
    case Outcome::undecided:
      return "undecided";
    case Outcome::no_answer:
      return "no answer";
    case Outcome::bad_gold:
      return "bad gold";
  }
  return "";
}

Verdict compare(std::string_view gold, std::string_view answer) {
  Verdict out;
  out.extracted = std::string(answer.substr(0, kLongestAnswer));
  if (is_placeholder(gold.substr(0, kLongestAnswer)) &&
      plain_words(gold.substr(0, kLongestAnswer)).empty()) {
    out.outcome = Outcome::bad_gold;
    out.why = "the gold answer is empty";
    return out;
  }
  if (answer.size() > kLongestAnswer || gold.size() > kLongestAnswer) {
    out.outcome = Outcome::undecided;
    out.why = "the answer is too long";
    return out;
  }
  if (is_placeholder(answer)) {
    out.outcome = Outcome::no_answer;
    out.why = "a placeholder is no answer";
    return out;
  }
  Budget budget;
  try {
    bool bare_gold = false;
    bool bare_answer = false;
    const char letter = choice_letter(gold, bare_gold);
    const char chosen = choice_letter(answer, bare_answer);
    bool same = false;
    // A single small letter on both sides is a symbol.
    const bool capital = gold.find_first_of("ABCDEFGHIJ") != std::string_view::npos ||
                         answer.find_first_of("ABCDEFGHIJ") != std::string_view::npos;
    const bool capital_gold = gold.find_first_of("ABCDEFGHIJ") != std::string_view::npos;
    if (letter != 0 && chosen != 0 && capital && (bare_gold || bare_answer) &&
        (letter != 'E' || capital_gold || !bare_gold)) {
      same = letter == chosen;
      out.why = same ? "the same choice" : "different choices";
    } else {
      same = compare_once(gold, answer, true, budget, out);
      if (!same && has_plain_comma(gold) && has_plain_comma(answer)) {
        Verdict second;
        if (compare_once(gold, answer, false, budget, second)) {
          same = true;
          out = second;
          out.extracted = std::string(answer);
        }
      }
    }
    out.outcome = same ? Outcome::right : Outcome::wrong;
  } catch (const Stop& stop) {
    out.outcome = Outcome::undecided;
    out.why = stop.why;
  } catch (const std::bad_alloc&) {
    out.outcome = Outcome::undecided;
    out.why = "too much memory";
  } catch (const std::runtime_error& error) {  // of the arithmetic: overflow, division by zero
    out.outcome = Outcome::undecided;
    out.why = error.what();
  }
  out.work = budget.spent();
  return out;
}

Verdict verify(std::string_view gold, std::string_view completion, Extraction extraction) {
  const Extracted found = extract(completion, extraction);
  Verdict out;
  if (found.parts.empty()) {
    out.why = std::string(found.why);
    return out;
  }
  // Joined boxes that repeat one value are one answer.
  std::vector<std::string_view> parts;
  for (const std::string_view part : found.parts) {
    bool known = false;
    for (const std::string_view other : parts) {
      known = known || other == part;
    }
    if (!known) {
      parts.push_back(part);
    }
    if (parts.size() > 16) {
      break;
    }
  }
  if (parts.size() == 1) {
    return compare(gold, parts[0]);
  }
  bool one_value = true;
  for (std::size_t i = 1; i < parts.size() && i < 4 && one_value; ++i) {
    one_value = compare(parts[0], parts[i]).outcome == Outcome::right;
  }
  if (one_value && parts.size() <= 4) {
    return compare(gold, parts[0]);
  }
  std::string joined;
  for (const std::string_view part : parts) {
    joined.append(joined.empty() ? "" : " ; ").append(part.substr(0, kLongestAnswer));
  }
  return compare(gold, joined);
}

std::string gold_fault(std::string_view gold) {
  if (is_placeholder(gold)) {
    return plain_words(gold).empty() ? "it is empty" : "it is a placeholder";
  }
  Budget budget;
  try {
    Tree tree;
    const auto tokens = lex(gold, {}, budget);
    if (!spelled(tokens).empty()) {
      return "";
    }
    const int root = parse(tokens, tree, budget);
    Equality equality(tree, budget);
    if (tree[root].kind == Kind::number) {
      return "";
    }
    Tree again;
    const Verdict self = compare(gold, gold);
    if (self.outcome != Outcome::right) {
      return "it does not equal itself: " + self.why;
    }
    return "";
  } catch (const Stop& stop) {
    return "it cannot be read: " + std::string(stop.why);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

}  // namespace minirl::rl::verifier
