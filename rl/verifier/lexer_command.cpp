// LaTeX commands: what only formats is dropped, synonyms get one name.
#include <array>
#include <utility>

#include "rl/verifier/lexer_state.h"
#include "rl/verifier/word_list.h"

namespace minirl::rl::verifier {
namespace {

constexpr std::array<std::string_view, 56> kSkipped{
    "left",      "right",      "big",          "Big",       "bigg",         "Bigg",
    "bigl",      "bigr",       "Bigl",         "Bigr",      "biggl",        "biggr",
    "Biggl",     "Biggr",      "displaystyle", "textstyle", "scriptstyle",  "limits",
    "large",     "Large",      "LARGE",        "huge",      "Huge",         "small",
    "tiny",      "normalsize", "quad",         "qquad",     "bf",           "rm",
    "it",        "boldmath",   "middle",       "nonumber",  "notag",        "hspace",
    "hfill",     "thinspace",  "enspace",      "space",     "negthinspace", "strut",
    "relax",     "mathstrut",  "newline",      "qed",       "blacksquare",  "checkmark",
    "therefore", "qedsymbol",  "hline",        "cline",     "allowbreak",   "nobreak",
    "break",     "ensuremath"};
constexpr std::array<std::string_view, 17> kText{
    "text", "textbf", "textrm", "textit", "textnormal", "mbox", "textsf", "texttt", "emph",
    "hbox", "textsc", "textup", "textmd", "underline",  "unit", "si",     "textsl"};
constexpr std::array<std::string_view, 18> kFont{
    "mathbf",     "mathrm", "mathit",       "mathsf",  "mathtt", "mathnormal",
    "boldsymbol", "bm",     "operatorname", "boxed",   "fbox",   "mathcal",
    "pmb",        "num",    "mathop",       "mathord", "smash",  "mathbin"};

}  // namespace

std::size_t Lexer::command(std::size_t at, std::size_t end, int depth) {
  if (at >= end) {
    return at;
  }
  if (!is_letter(text_[at])) {
    const char c = text_[at];
    if (c == '{') {
      ++sets_;
      mark("\\{");
    } else if (c == '}') {
      --sets_;
      mark("\\}");
    } else if (c == '$') {
      push(TokenType::text, "$");
    } else if (c == '%') {
      mark("%");
    } else if (c == '\\') {
      if (environments_ > 0) {
        mark("\\\\");
        if (at + 1 < end && text_[at + 1] == '[') {  // \\[4pt]
          const std::size_t close = text_.find("]", at);
          if (close < end && close - at < 12) {
            return close + 1;
          }
        }
      } else {
        space_ = true;
      }
    } else if (c == '|') {
      mark("|");
    } else if (c == '#' || c == '_') {
      throw Stop{"a character that is no part of an answer"};
    } else if (c != '(' && c != ')' && c != '[' && c != ']' && c != '&') {
      space_ = true;  // \, \! \; \: and the like
    } else if (c == '&') {
      push(TokenType::text, "and");
    }
    return at + 1;
  }
  std::size_t stop = at;
  while (stop < end && is_letter(text_[stop])) {
    ++stop;
  }
  std::string name(text_.substr(at, stop - at));
  if (name == "left" || name == "right" || name == "middle") {
    const std::size_t next = skip_spaces(stop, end);
    if (next < end && text_[next] == '.') {
      return next + 1;
    }
    if (next < end && text_[next] == '|') {
      mark(name == "left" ? "lvert" : name == "right" ? "rvert" : "|");
      return next + 1;
    }
    space_ = true;
    return stop;
  }
  if (name == "hspace" || name == "phantom" || name == "hphantom" || name == "vphantom" ||
      name == "tag" || name == "label" || name == "vspace") {
    const std::size_t star = skip_spaces(stop, end);
    const std::size_t next = star < end && text_[star] == '*' ? star + 1 : star;
    return next < end && text_[next] == '{' ? closing(next, end) + 1 : stop;
  }
  if ((name == "implies" || name == "Rightarrow" || name == "to") && out_.empty()) {
    return stop;  // in front of the answer it says nothing
  }
  if (any_of(name, kSkipped)) {
    space_ = true;
    return stop;
  }
  if (name == "qty" || name == "SI") {  // \qty{35}{cm}
    const std::size_t first = skip_spaces(stop, end);
    if (first >= end || text_[first] != '{') {
      throw Stop{"an unknown command"};
    }
    const std::size_t close = closing(first, end);
    const std::size_t second = skip_spaces(close + 1, end);
    if (second >= end || text_[second] != '{') {
      throw Stop{"an unknown command"};
    }
    const std::size_t last = closing(second, end);
    range(first + 1, close, depth + 1);
    unit_content(second + 1, last);
    return last + 1;
  }
  if (name == "R" || name == "Z" || name == "N" || name == "Q") {
    push(TokenType::command, "mathbb");
    push(TokenType::letter, name);
    return stop;
  }
  if (name == "cents" || name == "textcent") {
    push(TokenType::text, "\xc2\xa2");
    return stop;
  }
  if (name == "mathdollar") {
    push(TokenType::text, "$");
    return stop;
  }
  if (name == "equiv") {
    mark("=");
    out_.back().literal = true;  // of a congruence, if a modulus follows
    return stop;
  }
  if (basis(name, stop, end)) {
    return skip_spaces(stop, end) + basis_size_;
  }
  const bool is_text = any_of(name, kText);
  if (is_text || any_of(name, kFont)) {
    std::size_t next = skip_spaces(stop, end);
    if (next < end && text_[next] == '*') {
      ++next;
    }
    if (next >= end || text_[next] != '{') {
      return stop;
    }
    const std::size_t close = closing(next, end);
    content(next + 1, close, depth, is_text, name);
    return close + 1;
  }
  if (name == "not") {
    const std::size_t next = skip_spaces(stop, end);
    const std::string_view rest = text_.substr(next, end - next);
    for (const auto& [from, to] : {std::pair<std::string_view, std::string_view>{"=", "!="},
                                   {"<", ">="},
                                   {">", "<="},
                                   {"\\in", "notin"}}) {
      if (rest.starts_with(from)) {
        if (to == "notin") {
          break;
        }
        mark(to);
        return next + from.size();
      }
    }
    throw Stop{"an unknown command"};
  }
  if (name == "color" || name == "textcolor" || name == "colorbox") {
    const std::size_t next = skip_spaces(stop, end);
    return next < end && text_[next] == '{' ? closing(next, end) + 1 : stop;
  }
  if (name == "begin" || name == "end") {
    const std::size_t next = skip_spaces(stop, end);
    if (next >= end || text_[next] != '{') {
      throw Stop{"an environment without a name"};
    }
    const std::size_t close = closing(next, end);
    std::size_t after = close + 1;
    const std::string environment(text_.substr(next + 1, close - next - 1));
    if (name == "begin" && (environment == "array" || environment == "tabular")) {
      after = skip_spaces(after, end);
      if (after < end && text_[after] == '{') {
        after = closing(after, end) + 1;
      }
    }
    if (environment.starts_with("align") || environment.starts_with("gather") ||
        environment.starts_with("equation") || environment == "split") {
      space_ = true;
      return after;
    }
    environments_ += name == "begin" ? 1 : -1;
    push(TokenType::command, std::string(name).append(":").append(environment));
    return after;
  }
  if (name == "def" || name == "newcommand" || name == "let" || name == "renewcommand" ||
      name == "input" || name == "include") {
    throw Stop{"a definition is no answer"};
  }
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 69> kSame{
      {{"langle", "("},
       {"rangle", ")"},
       {"cr", "\\\\"},
       {"dfrac", "frac"},
       {"tfrac", "frac"},
       {"cfrac", "frac"},
       {"sfrac", "frac"},
       {"nicefrac", "frac"},
       {"dbinom", "binom"},
       {"tbinom", "binom"},
       {"cdot", "*"},
       {"times", "*"},
       {"ast", "*"},
       {"div", "/"},
       {"le", "<="},
       {"leq", "<="},
       {"leqslant", "<="},
       {"leqq", "<="},
       {"ge", ">="},
       {"geq", ">="},
       {"geqslant", ">="},
       {"geqq", ">="},
       {"lt", "<"},
       {"gt", ">"},
       {"ne", "!="},
       {"neq", "!="},
       {"pm", "+-"},
       {"mp", "-+"},
       {"lbrace", "\\{"},
       {"rbrace", "\\}"},
       {"vert", "|"},
       {"lvert", "lvert"},
       {"rvert", "rvert"},
       {"mid", "mid"},
       {"colon", ":"},
       {"percent", "%"},
       {"degree", "deg"},
       {"degrees", "deg"},
       {"approx", "~"},
       {"in", "in"},
       {"lbrack", "["},
       {"rbrack", "]"},
       {"varnothing", "emptyset"},
       {"backslash", "setminus"},
       {"land", "wedge"},
       {"lor", "vee"},
       {"asin", "arcsin"},
       {"acos", "arccos"},
       {"atan", "arctan"},
       {"bigcup", "cup"},
       {"textdollar", "$"},
       {"dots", "ldots"},
       {"cdots", "ldots"},
       {"dotsc", "ldots"},
       {"varphi", "phi"},
       {"varepsilon", "epsilon"},
       {"vartheta", "theta"},
       {"widehat", "hat"},
       {"slash", "/"},
       {"union", "cup"},
       {"lparen", "("},
       {"rparen", ")"},
       {"euro", "\xe2\x82\xac"},
       {"pounds", "\xc2\xa3"},
       {"infin", "infty"},
       {"Bbb", "mathbb"},
       {"surd", "sqrt"},
       {"infinity", "infty"},
       {"mod", "mod"}}};
  for (const auto& [from, to] : kSame) {
    if (name != from) {
      continue;
    }
    if (to == "$" || to == "\xe2\x82\xac" || to == "\xc2\xa3") {
      push(TokenType::text, std::string(to));
    } else if (!is_letter(to[0]) || to == "deg" || to == "lvert" || to == "rvert" || to == "mid" ||
               to == "in") {
      mark(to);
    } else {
      push(TokenType::command, std::string(to));
    }
    return stop;
  }
  push(TokenType::command, std::move(name));
  return stop;
}

}  // namespace minirl::rl::verifier
