#include "rl/verifier/unicode.h"

#include <array>
#include <cstdint>
#include <utility>

#include "rl/verifier/budget.h"

namespace minirl::rl::verifier {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t size = 1;
};

Character decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const unsigned first = byte(0);
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  if (first >= 0xF0 && follows(1) && follows(2) && follows(3)) {
    return {
        ((first & 7U) << 18) | ((byte(1) & 63U) << 12) | ((byte(2) & 63U) << 6) | (byte(3) & 63U),
        4};
  }
  if (first >= 0xE0 && first < 0xF0 && follows(1) && follows(2)) {
    return {((first & 15U) << 12) | ((byte(1) & 63U) << 6) | (byte(2) & 63U), 3};
  }
  if (first >= 0xC0 && first < 0xE0 && follows(1)) {
    return {((first & 31U) << 6) | (byte(1) & 63U), 2};
  }
  return {first >= 0x80 ? 0xFFFDU : first, 1};
}

constexpr std::array<std::pair<std::uint32_t, std::string_view>, 134> kSame{
    {{0xA0, " "},
     {0xAD, ""},
     {0xB0, "^\\circ "},
     {0xB1, "\\pm "},
     {0xB5, "\\mu "},
     {0xB7, "\\cdot "},
     {0xBA, "^\\circ "},
     {0xBC, " 1/4 "},
     {0xBD, " 1/2 "},
     {0xBE, " 3/4 "},
     {0xD7, "\\times "},
     {0xD8, "\\emptyset "},
     {0xF7, "\\div "},
     {0x2DA, "^\\circ "},
     {0x66B, "."},
     {0x66C, ","},
     {0x2002, " "},
     {0x2003, " "},
     {0x2007, " "},
     {0x2009, " "},
     {0x200A, " "},
     {0x200B, ""},
     {0x200C, ""},
     {0x200D, ""},
     {0x2010, "-"},
     {0x2011, "-"},
     {0x2012, "-"},
     {0x2013, "-"},
     {0x2014, "-"},
     {0x2018, "`"},
     {0x2019, "'"},
     {0x201C, "\""},
     {0x201D, "\""},
     {0x2022, "\\cdot "},
     {0x2026, "\\ldots "},
     {0x202F, " "},
     {0x2032, "'"},
     {0x2033, "''"},
     {0x2044, "/"},
     {0x205F, " "},
     {0x2060, ""},
     {0x2102, "\\mathbb{C}"},
     {0x210F, "\\hbar "},
     {0x2113, "\\ell "},
     {0x2115, "\\mathbb{N}"},
     {0x211A, "\\mathbb{Q}"},
     {0x211D, "\\mathbb{R}"},
     {0x2124, "\\mathbb{Z}"},
     {0x2150, " 1/7 "},
     {0x2151, " 1/9 "},
     {0x2152, " 1/10 "},
     {0x2153, " 1/3 "},
     {0x2154, " 2/3 "},
     {0x2155, " 1/5 "},
     {0x2156, " 2/5 "},
     {0x2157, " 3/5 "},
     {0x2158, " 4/5 "},
     {0x2159, " 1/6 "},
     {0x215A, " 5/6 "},
     {0x215B, " 1/8 "},
     {0x215C, " 3/8 "},
     {0x215D, " 5/8 "},
     {0x215E, " 7/8 "},
     {0x2192, "->"},
     {0x2200, "\\text{ for all }"},
     {0x2205, "\\emptyset "},
     {0x2206, "\\Delta "},
     {0x2208, "\\in "},
     {0x220F, "\\prod "},
     {0x2211, "\\sum "},
     {0x2212, "-"},
     {0x2213, "\\mp "},
     {0x2215, "/"},
     {0x2216, "\\setminus "},
     {0x2217, "*"},
     {0x2218, "^\\circ "},
     {0x2219, "\\cdot "},
     {0x221D, "~"},
     {0x221E, "\\infty "},
     {0x2220, "\\angle "},
     {0x2227, "\\text{ and }"},
     {0x2228, "\\text{ or }"},
     {0x2229, "\\cap "},
     {0x222A, "\\cup "},
     {0x222B, "\\int "},
     {0x2243, "\\approx "},
     {0x2245, "\\approx "},
     {0x2248, "\\approx "},
     {0x2260, "\\ne "},
     {0x2261, "\\equiv "},
     {0x2264, "\\le "},
     {0x2265, "\\ge "},
     {0x2266, "\\le "},
     {0x2267, "\\ge "},
     {0x226A, "<"},
     {0x2295, "\\oplus "},
     {0x22C2, "\\cap "},
     {0x22C3, "\\cup "},
     {0x22C5, "\\cdot "},
     {0x22EF, "\\ldots "},
     {0x2300, "\\emptyset "},
     {0x2308, "\\lceil "},
     {0x2309, "\\rceil "},
     {0x230A, "\\lfloor "},
     {0x230B, "\\rfloor "},
     {0x2329, "("},
     {0x232A, ")"},
     {0x25B3, "\\triangle "},
     {0x2715, "\\times "},
     {0x2716, "\\times "},
     {0x27E8, "("},
     {0x27E9, ")"},
     {0x2A2F, "\\times "},
     {0x2A7D, "\\le "},
     {0x2A7E, "\\ge "},
     {0x3000, " "},
     {0x3001, ","},
     {0x3002, "."},
     {0x3008, "("},
     {0x3009, ")"},
     {0x338F, "\\text{ kg}"},
     {0x339C, "\\text{ mm}"},
     {0x339D, "\\text{ cm}"},
     {0x339E, "\\text{ km}"},
     {0x33A0, "\\text{ cm}^2"},
     {0x33A1, "\\text{ m}^2"},
     {0xFE63, "-"},
     {0xFE6A, "%"},
     {0xFEFF, ""},
     {0xFF04, "\\$"},
     {0xFF05, "%"},
     {0xFF0D, "-"},
     {0xFF61, "."},
     {0x1D6A4, "i"}}};

/// Greek letters from alpha on, as they follow each other in every block.
constexpr std::array<std::string_view, 25> kGreek{
    "alpha", "beta",   "gamma",   "delta", "epsilon", "zeta",    "eta",  "theta", "iota",
    "kappa", "lambda", "mu",      "nu",    "xi",      "omicron", "pi",   "rho",   "sigma",
    "sigma", "tau",    "upsilon", "phi",   "chi",     "psi",     "omega"};

/// A Greek letter of the ordinary or a mathematical block as a command; empty: it is none.
std::string greek(std::uint32_t code) {
  std::uint32_t place = 25;
  bool capital = false;
  if (code >= 0x3B1 && code <= 0x3C9) {
    place = code - 0x3B1;
  } else if (code >= 0x391 && code <= 0x3A9) {
    place = code - 0x391;
    capital = true;
  } else if (code >= 0x1D6A8 && code <= 0x1D7C9) {
    const std::uint32_t within = (code - 0x1D6A8) % 58;
    capital = within < 25;
    place = capital ? within : within >= 26 ? within - 26 : 25;
  }
  if (place >= 25) {
    return {};
  }
  std::string name(kGreek[place]);
  if (capital) {
    name[0] = static_cast<char>(name[0] - 'a' + 'A');
  }
  return name.insert(0, 1, '\\').append(" ");
}

/// The ASCII character that a full-width or mathematical letter shows; 0: none.
char plain_letter(std::uint32_t code) {
  if (code >= 0xFF01 && code <= 0xFF5E) {
    return static_cast<char>(code - 0xFEE0);
  }
  if (code >= 0x1D400 && code <= 0x1D6A3) {
    const std::uint32_t within = (code - 0x1D400) % 52;
    return static_cast<char>(within < 26 ? 'A' + within : 'a' + within - 26);
  }
  return code == 0x210E ? 'h' : '\0';
}

/// Marks that only direct the display.
bool is_invisible(std::uint32_t code) {
  return (code >= 0x200B && code <= 0x200F) || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x2069) || (code >= 0xFE00 && code <= 0xFE0F) ||
         code == 0xFEFF || code == 0xAD || code == 0x180E || code == 0x61C;
}

/// A letter of a script that is not part of mathematics: it makes a word.
bool is_foreign_letter(std::uint32_t code) {
  return (code >= 0x3040 && code <= 0x30FF) || (code >= 0x3400 && code <= 0x9FFF) ||
         (code >= 0xAC00 && code <= 0xD7AF) || (code >= 0x400 && code <= 0x52F) ||
         (code >= 0xC0 && code <= 0x24F && code != 0xD7 && code != 0xF7 && code != 0xD8) ||
         (code >= 0x620 && code <= 0x64A) || (code >= 0x5D0 && code <= 0x5EA) ||
         (code >= 0x904 && code <= 0x939) || code == 0x3005;
}

/// Joins of Chinese and Japanese lists.
std::string_view foreign_join(std::string_view word) {
  return word == "\xe5\x92\x8c" || word == "\xe4\xb8\x8e" || word == "\xe5\x8f\x8a" ? "and"
         : word == "\xe6\x88\x96" || word == "\xe6\x88\x96\xe8\x80\x85"             ? "or"
                                                                                    : "";
}

/// The ASCII character that a super- or subscript raises or lowers; 0: none.
char raised(std::uint32_t code) {
  switch (code) {
    case 0xB9:
      return '1';
    case 0xB2:
      return '2';
    case 0xB3:
      return '3';
    case 0x2070:
      return '0';
    case 0x207A:
      return '+';
    case 0x207B:
      return '-';
    case 0x207F:
      return 'n';
    case 0x2071:
      return 'i';
    default:
      return code >= 0x2074 && code <= 0x2079 ? static_cast<char>('4' + (code - 0x2074)) : '\0';
  }
}
char lowered(std::uint32_t code) {
  return code >= 0x2080 && code <= 0x2089 ? static_cast<char>('0' + (code - 0x2080)) : '\0';
}

/// Decimal digits of other scripts.
char foreign_digit(std::uint32_t code) {
  for (const std::uint32_t zero : {0x660U, 0x6F0U, 0x966U, 0x9E6U, 0xE50U, 0xFF10U, 0x1D7CEU,
                                   0x1D7D8U, 0x1D7E2U, 0x1D7ECU, 0x1D7F6U}) {
    if (code >= zero && code <= zero + 9) {
      return static_cast<char>('0' + (code - zero));
    }
  }
  return '\0';
}

}  // namespace

std::string to_latex(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Character c = decode(text, at);
    if (c.code < 0x80) {
      if ((c.code < 0x20 && c.code != '\n' && c.code != '\t' && c.code != '\r') || c.code == 0x7F) {
        throw Stop{"a control character"};
      }
      out += static_cast<char>(c.code);
      ++at;
      continue;
    }
    if (is_invisible(c.code)) {
      at += c.size;
      continue;
    }
    if (is_foreign_letter(c.code)) {
      const std::size_t begin = at;
      for (Character d = c; at < text.size() && is_foreign_letter(d.code); d = decode(text, at)) {
        at += d.size;
      }
      const std::string_view word = text.substr(begin, at - begin);
      const std::string_view join = foreign_join(word);
      out.append("\\text{").append(join.empty() ? word : join).append("}");
      continue;
    }
    if (raised(c.code) != '\0' || lowered(c.code) != '\0') {
      const bool up = raised(c.code) != '\0';
      out += up ? "^{" : "_{";
      for (Character d = c;; d = decode(text, at)) {
        const char digit = at < text.size() ? (up ? raised(d.code) : lowered(d.code)) : '\0';
        if (digit == '\0') {
          break;
        }
        out += digit;
        at += d.size;
      }
      out += '}';
      continue;
    }
    if (c.code == 0x221A ||
        c.code == 0x221B) {  // the root takes the whole number, name or group after it
      at += c.size;
      out += c.code == 0x221A ? "\\sqrt" : "\\sqrt[3]";
      while (at < text.size() && text[at] == ' ') {
        ++at;
      }
      std::size_t end = at;
      while (end < text.size() && text[end] >= '0' && text[end] <= '9') {
        ++end;
      }
      if (end > at) {
        out.append("{").append(text, at, end - at).append("}");
        at = end;
      }
      continue;
    }
    const std::string letter = greek(c.code);
    if (!letter.empty()) {
      out += letter;
      at += c.size;
      continue;
    }
    const char plain = plain_letter(c.code);
    if (plain != '\0' && plain != '%' && plain != '$') {
      out += plain;
      at += c.size;
      continue;
    }
    const char digit = foreign_digit(c.code);
    if (digit != '\0') {
      out += digit;
      at += c.size;
      continue;
    }
    bool found = false;
    for (const auto& [code, latex] : kSame) {
      if (code == c.code) {
        out += latex;
        found = true;
        break;
      }
    }
    if (!found) {
      out.append(text, at, c.size);
    }
    at += c.size;
  }
  return out;
}

}  // namespace minirl::rl::verifier
