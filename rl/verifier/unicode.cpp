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

constexpr std::array<std::pair<std::uint32_t, std::string_view>, 74> kSame{{{0x2212, "-"},
                                                                            {0x2010, "-"},
                                                                            {0x2011, "-"},
                                                                            {0x2012, "-"},
                                                                            {0x2013, "-"},
                                                                            {0x2014, "-"},
                                                                            {0xFE63, "-"},
                                                                            {0xFF0D, "-"},
                                                                            {0xD7, "\\times "},
                                                                            {0xF7, "\\div "},
                                                                            {0xB7, "\\cdot "},
                                                                            {0x22C5, "\\cdot "},
                                                                            {0x2219, "\\cdot "},
                                                                            {0x2217, "*"},
                                                                            {0xB1, "\\pm "},
                                                                            {0x2213, "\\mp "},
                                                                            {0x2044, "/"},
                                                                            {0x2215, "/"},
                                                                            {0x3C0, "\\pi "},
                                                                            {0x221E, "\\infty "},
                                                                            {0x2264, "\\le "},
                                                                            {0x2265, "\\ge "},
                                                                            {0x2A7D, "\\le "},
                                                                            {0x2A7E, "\\ge "},
                                                                            {0x2260, "\\ne "},
                                                                            {0x2248, "\\approx "},
                                                                            {0x222A, "\\cup "},
                                                                            {0x2229, "\\cap "},
                                                                            {0x2208, "\\in "},
                                                                            {0x2205, "\\emptyset "},
                                                                            {0xD8, "\\emptyset "},
                                                                            {0xB0, "^\\circ "},
                                                                            {0x211D, "\\mathbb{R}"},
                                                                            {0x2124, "\\mathbb{Z}"},
                                                                            {0x2216, "\\setminus "},
                                                                            {0x3B8, "\\theta "},
                                                                            {0x3B1, "\\alpha "},
                                                                            {0x3B2, "\\beta "},
                                                                            {0x3B3, "\\gamma "},
                                                                            {0x3BB, "\\lambda "},
                                                                            {0x3C6, "\\phi "},
                                                                            {0x3C9, "\\omega "},
                                                                            {0x3BC, "\\mu "},
                                                                            {0xBD, " 1/2 "},
                                                                            {0xBC, " 1/4 "},
                                                                            {0xBE, " 3/4 "},
                                                                            {0x2153, " 1/3 "},
                                                                            {0x2154, " 2/3 "},
                                                                            {0x215B, " 1/8 "},
                                                                            {0xA0, " "},
                                                                            {0x2002, " "},
                                                                            {0x2003, " "},
                                                                            {0x2007, " "},
                                                                            {0x2009, " "},
                                                                            {0x200A, " "},
                                                                            {0x202F, " "},
                                                                            {0x205F, " "},
                                                                            {0x3000, " "},
                                                                            {0x200B, ""},
                                                                            {0x200C, ""},
                                                                            {0x200D, ""},
                                                                            {0x2060, ""},
                                                                            {0xFEFF, ""},
                                                                            {0xAD, ""},
                                                                            {0x2026, "\\ldots "},
                                                                            {0xFF0C, ","},
                                                                            {0xFF08, "("},
                                                                            {0xFF09, ")"},
                                                                            {0xFF1D, "="},
                                                                            {0xFF0B, "+"},
                                                                            {0xFF05, "%"},
                                                                            {0xFF04, "\\$"},
                                                                            {0x3001, ","},
                                                                            {0xFF0E, "."}}};

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
