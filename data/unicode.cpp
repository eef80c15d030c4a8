#include "data/unicode.h"

#include <algorithm>
#include <unordered_map>

namespace minirl::data::unicode {
namespace {

struct Range {
  char32_t first, last;
};
struct ClassRange {
  char32_t first, last;
  std::uint8_t combining;
};
// The point is `first second`, or `first` alone where second is 0. `composed`: NFC joins them
// again.
struct Decomposition {
  char32_t point, first, second;
  int composed;
};
#include "data/unicode_tables.inc"

constexpr char32_t kPoints = 0x110000;
// Hangul syllables are arithmetic (The Unicode Standard, section 3.12).
constexpr char32_t kSyllables = 0xAC00, kLeading = 0x1100, kVowel = 0x1161, kTrailing = 0x11A7;
constexpr char32_t kLeadingCount = 19, kVowelCount = 21, kTrailingCount = 28;
constexpr char32_t kSyllableCount = kLeadingCount * kVowelCount * kTrailingCount;

bool within(char32_t point, char32_t first, char32_t count) {
  return point >= first && point < first + count;
}

struct Tables {
  std::vector<std::uint8_t> classes = std::vector<std::uint8_t>(kPoints, 0);
  std::unordered_map<char32_t, std::uint8_t> combining;
  std::unordered_map<char32_t, const Decomposition*> decomposition;
  std::unordered_map<std::uint64_t, char32_t> composition;

  Tables() {
    for (const auto& r : kLetters) {
      mark(r.first, r.last, letter);
    }
    for (const auto& r : kNumbers) {
      mark(r.first, r.last, number);
    }
    for (const auto& r : kSpaces) {
      mark(r.first, r.last, space);
    }
    for (const auto& r : kWords) {
      mark(r.first, r.last, word);
    }
    for (const auto& r : kCombining) {
      mark(r.first, r.last, unstable);
      for (char32_t p = r.first; p <= r.last; ++p) {
        combining[p] = r.combining;
      }
    }
    for (const auto& d : kDecompositions) {
      decomposition[d.point] = &d;
      if (d.composed != 0) {
        composition[pair(d.first, d.second)] = d.point;
        mark(d.second, d.second, unstable);
      } else {
        mark(d.point, d.point, unstable);
      }
    }
    mark(kVowel, kVowel + kVowelCount - 1, unstable);
    mark(kTrailing, kTrailing + kTrailingCount - 1, unstable);
  }
  static std::uint64_t pair(char32_t a, char32_t b) { return std::uint64_t{a} << 32 | b; }

 private:
  void mark(char32_t first, char32_t last, std::uint8_t bit) {
    for (char32_t p = first; p <= last; ++p) {
      classes[p] |= bit;
    }
  }
};

const Tables& tables() {
  static const Tables t;
  return t;
}

struct Item {
  char32_t point;
  std::uint8_t combining;
  char byte;  // of kInvalid
};

void decompose(char32_t point, std::vector<Item>& out) {
  if (within(point, kSyllables, kSyllableCount)) {
    const char32_t index = point - kSyllables;
    out.push_back({kLeading + index / (kVowelCount * kTrailingCount), 0, 0});
    out.push_back({kVowel + index % (kVowelCount * kTrailingCount) / kTrailingCount, 0, 0});
    if (index % kTrailingCount != 0) {
      out.push_back({kTrailing + index % kTrailingCount, 0, 0});
    }
    return;
  }
  const Tables& t = tables();
  if (const auto found = t.decomposition.find(point); found != t.decomposition.end()) {
    decompose(found->second->first, out);  // at most a few levels: the tables are acyclic
    if (found->second->second != 0) {
      decompose(found->second->second, out);
    }
    return;
  }
  const auto c = t.combining.find(point);
  out.push_back({point, c == t.combining.end() ? std::uint8_t{0} : c->second, 0});
}

// The character that a b compose to, or 0.
char32_t composed(char32_t a, char32_t b) {
  if (within(a, kLeading, kLeadingCount) && within(b, kVowel, kVowelCount)) {
    return kSyllables + ((a - kLeading) * kVowelCount + (b - kVowel)) * kTrailingCount;
  }
  if (within(a, kSyllables, kSyllableCount) && (a - kSyllables) % kTrailingCount == 0 &&
      within(b, kTrailing + 1, kTrailingCount - 1)) {
    return a + (b - kTrailing);
  }
  const auto found = tables().composition.find(Tables::pair(a, b));
  return found == tables().composition.end() ? 0 : found->second;
}

}  // namespace

Char decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const unsigned b0 = byte(0);
  if (b0 < 0x80) {
    return {b0, 1};
  }
  const unsigned b1 = byte(1);
  const bool c1 = (b1 & 0xC0) == 0x80;
  if (b0 >= 0xC2 && b0 <= 0xDF && c1) {
    return {(b0 & 0x1F) << 6 | (b1 & 0x3F), 2};
  }
  const unsigned b2 = byte(2);
  const bool c2 = (b2 & 0xC0) == 0x80;
  if (b0 >= 0xE0 && b0 <= 0xEF && c1 && c2) {
    const char32_t point = (b0 & 0x0F) << 12 | (b1 & 0x3F) << 6 | (b2 & 0x3F);
    if (point >= 0x800 && (point < 0xD800 || point > 0xDFFF)) {
      return {point, 3};
    }
  }
  const unsigned b3 = byte(3);
  if (b0 >= 0xF0 && b0 <= 0xF4 && c1 && c2 && (b3 & 0xC0) == 0x80) {
    const char32_t point = (b0 & 0x07) << 18 | (b1 & 0x3F) << 12 | (b2 & 0x3F) << 6 | (b3 & 0x3F);
    if (point >= 0x10000 && point < kPoints) {
      return {point, 4};
    }
  }
  return {kInvalid, 1};
}

void append(std::string& out, char32_t p) {
  const auto put = [&](char32_t bits) { out += static_cast<char>(bits); };
  if (p < 0x80) {
    put(p);
  } else if (p < 0x800) {
    put(0xC0 | p >> 6), put(0x80 | (p & 0x3F));
  } else if (p < 0x10000) {
    put(0xE0 | p >> 12), put(0x80 | (p >> 6 & 0x3F)), put(0x80 | (p & 0x3F));
  } else {
    put(0xF0 | p >> 18), put(0x80 | (p >> 12 & 0x3F)), put(0x80 | (p >> 6 & 0x3F));
    put(0x80 | (p & 0x3F));
  }
}

std::uint8_t classes(char32_t point) {
  static const std::uint8_t* const table = tables().classes.data();
  return point < kPoints ? table[point] : std::uint8_t{0};
}

bool is_plainly_nfc(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    const Char c = decode(text, i);
    if ((classes(c.point) & unstable) != 0) {
      return false;
    }
    i += c.length;
  }
  return true;
}

std::string nfc(std::string_view text) {
  std::vector<Item> items;
  items.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Char c = decode(text, i);
    if (c.point == kInvalid) {
      items.push_back({kInvalid, 0, text[i]});
    } else {
      decompose(c.point, items);
    }
    i += c.length;
  }
  for (std::size_t i = 0; i < items.size();) {  // marks of one base in the order of their classes
    std::size_t end = i + 1;
    if (items[i].combining != 0) {
      while (end < items.size() && items[end].combining != 0) {
        ++end;
      }
      std::stable_sort(items.begin() + static_cast<std::ptrdiff_t>(i),
                       items.begin() + static_cast<std::ptrdiff_t>(end),
                       [](const Item& a, const Item& b) { return a.combining < b.combining; });
    }
    i = end;
  }
  std::vector<Item> joined;
  joined.reserve(items.size());
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t starter = kNone;
  for (const Item& item : items) {
    if (starter != kNone && item.point != kInvalid) {
      // Blocked: something between the starter and this one has the same or a higher class.
      const bool adjacent = starter + 1 == joined.size();
      const bool blocked =
          !adjacent && (joined.back().combining == 0 || joined.back().combining >= item.combining);
      const char32_t whole = blocked ? 0 : composed(joined[starter].point, item.point);
      if (whole != 0) {
        joined[starter].point = whole;
        continue;
      }
    }
    if (item.combining == 0) {
      starter = item.point == kInvalid ? kNone : joined.size();
    }
    joined.push_back(item);
  }
  std::string out;
  out.reserve(text.size() + 8);
  for (const Item& item : joined) {
    if (item.point == kInvalid) {
      out += item.byte;
    } else {
      append(out, item.point);
    }
  }
  return out;
}

bool is_valid(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const Char c = decode(text, i);
    if (c.point == kInvalid) {
      return false;
    }
    i += c.length;
  }
  return true;
}

std::size_t incomplete_tail(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const std::size_t at = text.size() - back;
    const unsigned lead = static_cast<unsigned char>(text[at]);
    if ((lead & 0xC0) == 0x80) {
      continue;
    }
    const std::size_t wanted = lead >= 0xF0 && lead <= 0xF4 ? 4
                               : lead >= 0xE0               ? 3
                               : lead >= 0xC2               ? 2
                                                            : 1;
    if (lead > 0xF4 || wanted <= back) {
      return 0;
    }
    if (back >= 2) {  // the second byte of some leads is narrower: E0, ED, F0, F4
      const unsigned next = static_cast<unsigned char>(text[at + 1]);
      if ((lead == 0xE0 && next < 0xA0) || (lead == 0xED && next > 0x9F) ||
          (lead == 0xF0 && next < 0x90) || (lead == 0xF4 && next > 0x8F)) {
        return 0;
      }
    }
    return back;
  }
  return 0;
}

std::string replace_invalid(std::string_view text, std::size_t* replaced) {
  std::string out;
  out.reserve(text.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size();) {
    const Char c = decode(text, i);
    if (c.point != kInvalid) {
      out += text.substr(i, c.length);
      i += c.length;
      continue;
    }
    // The longest beginning of some character is one error.
    std::size_t length = 1;
    while (length < 3 && i + length < text.size() &&
           incomplete_tail(text.substr(i, length + 1)) == length + 1) {
      ++length;
    }
    out += "\xEF\xBF\xBD";
    ++count;
    i += length;
  }
  if (replaced != nullptr) {
    *replaced += count;
  }
  return out;
}

}  // namespace minirl::data::unicode
