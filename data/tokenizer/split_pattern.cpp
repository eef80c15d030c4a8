#include "data/tokenizer/split_pattern.h"

#include "data/unicode.h"

namespace minirl::data {
namespace {

using unicode::Char;
using unicode::classes;

// A position in a text and the character there.
class Cursor {
 public:
  Cursor(std::string_view text, std::size_t at) : text_(text), at_(at) { look(); }

  bool end() const { return at_ >= text_.size(); }
  std::size_t at() const { return at_; }
  char32_t point() const { return point_; }
  bool letter() const { return (class_ & unicode::letter) != 0; }
  bool number() const { return (class_ & unicode::number) != 0; }
  bool space() const { return (class_ & unicode::space) != 0; }
  // [^\s\p{L}\p{N}]; an ill-formed byte is one of these.
  bool other() const {
    return !end() && (class_ & (unicode::letter | unicode::number | unicode::space)) == 0;
  }
  bool newline() const { return point_ == '\r' || point_ == '\n'; }
  void step() {
    at_ += length_;
    look();
  }

 private:
  void look() {
    if (end()) {
      point_ = 0, class_ = 0, length_ = 0;
      return;
    }
    const auto byte = static_cast<unsigned char>(text_[at_]);
    const Char c = byte < 0x80 ? Char{byte, 1} : unicode::decode(text_, at_);
    point_ = c.point, length_ = c.length, class_ = classes(c.point);
  }

  std::string_view text_;
  std::size_t at_;
  char32_t point_ = 0;
  unsigned length_ = 0;
  std::uint8_t class_ = 0;
};

// Bytes of "'s", "'re", ... at `at`, or 0. With `fold`, capital letters too, and the long s, which
// is an s where case does not count.
std::size_t contraction(std::string_view text, std::size_t at, bool fold) {
  const std::string_view rest = text.substr(at + 1, 2);
  const auto letter = [&](std::size_t i) -> char {
    if (i >= rest.size()) {
      return '\0';
    }
    const char c = rest[i];
    return fold && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const char a = letter(0);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') {
    return 2;
  }
  if (fold && rest == "\xC5\xBF") {
    return 3;
  }
  const char b = letter(1);
  return ((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

template <class Is>
std::size_t run(Cursor c, Is is) {
  while (!c.end() && is(c)) {
    c.step();
  }
  return c.at();
}

// \s+(?!\S)|\s+ : a run of whitespace leaves its last character to a word that follows.
std::size_t whitespace(Cursor c) {
  std::size_t last = c.at();
  const std::size_t begin = c.at();
  while (!c.end() && c.space()) {
    last = c.at();
    c.step();
  }
  return c.end() || last == begin ? c.at() : last;
}

std::size_t next_gpt2(std::string_view text, std::size_t at) {
  Cursor c(text, at);
  if (c.point() == '\'') {
    if (const std::size_t bytes = contraction(text, at, false); bytes > 0) {
      return at + bytes;
    }
  }
  Cursor word = c;
  if (c.point() == ' ') {
    word.step();
  }
  if (word.letter()) {
    return run(word, [](const Cursor& x) { return x.letter(); });
  }
  if (word.number()) {
    return run(word, [](const Cursor& x) { return x.number(); });
  }
  if (word.other()) {
    return run(word, [](const Cursor& x) { return x.other(); });
  }
  return whitespace(c);
}

std::size_t next_modern(std::string_view text, std::size_t at, int digits) {
  Cursor c(text, at);
  if (c.point() == '\'') {
    if (const std::size_t bytes = contraction(text, at, true); bytes > 0) {
      return at + bytes;
    }
  }
  const auto is_letter = [](const Cursor& x) { return x.letter(); };
  if (c.letter()) {
    return run(c, is_letter);
  }
  if (c.number()) {
    for (int i = 0; i < digits && !c.end() && c.number(); ++i) {
      c.step();
    }
    return c.at();
  }
  Cursor after = c;
  after.step();
  if (!c.newline() && !after.end() && after.letter()) {
    return run(after, is_letter);  // one other character belongs to the word behind it
  }
  if (c.other() || (c.point() == ' ' && after.other())) {
    const std::size_t symbols =
        run(c.other() ? c : after, [](const Cursor& x) { return x.other(); });
    return run(Cursor(text, symbols), [](const Cursor& x) { return x.newline(); });
  }
  std::size_t behind_newline = at;  // \s*[\r\n]+ : up to the last newline of the whitespace
  for (Cursor w = c; !w.end() && w.space();) {
    const bool newline = w.newline();
    w.step();
    if (newline) {
      behind_newline = w.at();
    }
  }
  return behind_newline > at ? behind_newline : whitespace(c);
}

struct Known {
  std::string_view name, regex;
  SplitPattern pattern;
};

constexpr SplitPattern kGpt2{SplitPattern::Kind::gpt2, 0};
constexpr SplitPattern kOneDigit{SplitPattern::Kind::modern, 1};
constexpr SplitPattern kThreeDigits{SplitPattern::Kind::modern, 3};
const Known kKnown[] = {
    {"Qwen2 and Qwen3",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kOneDigit},
    {"Llama-3",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kThreeDigits},
    // The published cl100k_base: possessive where nothing could be given back anyway.
    {"cl100k",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)",
     kThreeDigits},
    {"GPT-2", R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     kGpt2},
};

}  // namespace

std::size_t SplitPattern::next(std::string_view text, std::size_t at) const {
  switch (kind) {
    case Kind::gpt2:
      return next_gpt2(text, at);
    case Kind::modern:
      return next_modern(text, at, digits);
    case Kind::whole:
      break;
  }
  return text.size();
}

std::optional<SplitPattern> find_split_pattern(std::string_view regex) {
  for (const auto& k : kKnown) {
    if (k.regex == regex) {
      return k.pattern;
    }
  }
  return std::nullopt;
}

std::string known_split_patterns() {
  std::string out;
  for (const auto& k : kKnown) {
    out += (out.empty() ? "" : ", ") + std::string(k.name);
  }
  return out;
}

}  // namespace minirl::data
