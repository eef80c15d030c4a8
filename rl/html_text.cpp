#include "rl/html_text.h"

#include <fmt/format.h>

#include "data/unicode.h"

namespace minirl::rl {
namespace {

// Characters that are invisible or change the order of what follows.
bool deceptive(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff0 && c <= 0xfffb) ||
         (c >= 0xe0000 && c <= 0xe0fff);
}

std::string spelled(char32_t c) {
  return c == '\t'   ? "\\t"
         : c == '\r' ? "\\r"
         : c < 0x100 ? fmt::format("\\x{:02x}", static_cast<unsigned>(c))
                     : fmt::format("U+{:04X}", static_cast<unsigned>(c));
}

}  // namespace

std::string html_escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string html_visible(std::string_view text, std::size_t limit, bool mark_ends) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (limit > 0 && at >= limit) {
      return out +
             fmt::format("<span class=\"ctl\">&hellip; {} more bytes</span>", text.size() - at);
    }
    const data::unicode::Char c = data::unicode::decode(text, at);
    if (c.point == data::unicode::kInvalid) {
      out += "\xef\xbf\xbd";  // U+FFFD
    } else if (c.point == '\n') {
      out += mark_ends ? "<span class=\"ctl\">&crarr;</span>\n" : "\n";
    } else if (deceptive(c.point)) {
      out += "<span class=\"ctl\">" + spelled(c.point) + "</span>";
    } else {
      out += html_escape(text.substr(at, c.length));
    }
    at += c.length;
  }
  return out;
}

std::string script_json(std::string json) {
  for (std::size_t at = 0; (at = json.find('<', at)) != std::string::npos;) {
    json.replace(at, 1, "\\u003c");
  }
  return json;
}

}  // namespace minirl::rl
