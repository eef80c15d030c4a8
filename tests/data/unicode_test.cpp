#include "data/unicode.h"

#include <doctest/doctest.h>

namespace minirl::data::unicode {

TEST_CASE(
    "data/unicode: well-formed UTF-8 is every scalar value once, everything else is one bad byte") {
  for (char32_t p = 0; p < 0x110000; ++p) {
    if (p >= 0xD800 && p <= 0xDFFF) {
      continue;
    }
    std::string s;
    append(s, p);
    const Char c = decode(s, 0);
    REQUIRE(c.point == p);
    REQUIRE(c.length == s.size());
    for (std::size_t cut = 1; cut < s.size(); ++cut) {
      REQUIRE(incomplete_tail(s.substr(0, cut)) == cut);
      REQUIRE(decode(s.substr(0, cut), 0).point == kInvalid);
    }
    REQUIRE(incomplete_tail(s) == 0);
  }
  for (const std::string bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xFF"}) {
    CHECK(decode(bad, 0).point == kInvalid);
    CHECK(decode(bad, 0).length == 1);
    CHECK_FALSE(is_valid(bad));
  }
}

TEST_CASE("data/unicode: bad bytes are replaced as Python replaces them") {
  const std::string r = "\xEF\xBF\xBD";
  const struct {
    std::string bytes, text;
  } cases[] = {{"\x80", r},
               {"a\xC3(b", "a" + r + "(b"},
               {"\xF0\x9F\x98", r},  // one cut character is one mistake
               {"\xF0\x9F\x98z", r + "z"},
               {"\xED\xA0\x80", r + r + r},  // a surrogate is three
               {"\xC0\x80", r + r},
               {"\xE2\x82\xAC\xE2\x82", "\xE2\x82\xAC" + r},
               {"\xF4\x90\x80\x80", r + r + r + r},
               {"ok", "ok"}};
  for (const auto& c : cases) {
    CHECK(replace_invalid(c.bytes) == c.text);
  }
  std::size_t count = 0;
  replace_invalid("\xFF\xFF-\xE2\x82", &count);
  CHECK(count == 3);
}

TEST_CASE("data/unicode: NFC composes, orders marks, leaves exclusions and bad bytes alone") {
  CHECK(nfc("e\u0301") == "\u00e9");
  CHECK(nfc("\u212b") == "\u00c5");  // the angstrom sign
  CHECK(nfc("a\u0315\u0300\u05ae") == "\u00e0\u05ae\u0315");
  CHECK(nfc("\u1100\u1161\u11a8") == "\uac01");  // Hangul
  CHECK(nfc("\uac00\u11a8") == "\uac01");
  CHECK(nfc("\u0958") == "\u0915\u093c");  // excluded from composition
  CHECK(nfc("\u0344") == "\u0308\u0301");
  CHECK(nfc("e\xFF\u0301") == "e\xFF\u0301");  // nothing is combined over a bad byte
  CHECK(is_plainly_nfc("plain \u4e16\u754c \u00e9 \U0001f642"));
  CHECK_FALSE(is_plainly_nfc("e\u0301"));
  for (const std::string s :
       {"e\u0323\u0301", "\u1e9b\u0323", "\u0f71\u0f72\u0f74", "\uac00\u11a7"}) {
    CHECK(nfc(nfc(s)) == nfc(s));
  }
}

TEST_CASE("data/unicode: whitespace is the whole property White_Space and nothing else") {
  std::size_t count = 0;
  for (char32_t p = 0; p < 0x110000; ++p) {
    count += (classes(p) & space) != 0 ? 1U : 0U;
  }
  CHECK(count == 25);
  for (const char32_t p : {0x9, 0xd, 0x20, 0x85, 0xa0, 0x1680, 0x2000, 0x2002, 0x2005, 0x2009,
                           0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000}) {
    CHECK((classes(p) & space) != 0);
  }
  for (const char32_t p : {0x200b, 0x2060, 0xfeff, 0x180e, 0x1c, 0x1f}) {
    CHECK((classes(p) & space) == 0);
  }
  CHECK((classes(0x663) & number) != 0);   // Arabic digit three
  CHECK((classes(0xbd) & number) != 0);    // one half
  CHECK((classes(0x2167) & number) != 0);  // roman eight: a number, not a letter
  CHECK((classes(0x2167) & letter) == 0);
  CHECK((classes(0x4e16) & letter) != 0);
  CHECK(classes(kInvalid) == 0);
}

}  // namespace minirl::data::unicode
