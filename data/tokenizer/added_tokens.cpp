#include "data/tokenizer/added_tokens.h"

#include <algorithm>

#include "data/unicode.h"

namespace minirl::data {
namespace {

// The start of the character that ends at `end`.
std::size_t previous(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && end - at < 4 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) {
    --at;
  }
  return at + unicode::decode(text, at).length == end ? at : end - 1;
}

bool is(std::string_view text, std::size_t at, unicode::Class what) {
  return (unicode::classes(unicode::decode(text, at).point) & what) != 0;
}

bool inside_word(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin > 0 && is(text, previous(text, begin), unicode::word)) ||
         (end < text.size() && is(text, end, unicode::word));
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens, std::vector<std::string> texts)
    : tokens_(std::move(tokens)), texts_(std::move(texts)) {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    by_byte_[static_cast<unsigned char>(texts_[i].front())].push_back(i);
  }
  for (auto& list : by_byte_) {
    std::stable_sort(list.begin(), list.end(), [this](std::size_t a, std::size_t b) {
      return texts_[a].size() > texts_[b].size();
    });
  }
}

void AddedTokenFinder::split(std::string_view text, const Ignore& ignore,
                             std::vector<Piece>& out) const {
  std::size_t done = 0;  // what is before this is in `out`
  for (std::size_t at = 0; at < text.size();) {
    const auto& candidates = by_byte_[static_cast<unsigned char>(text[at])];
    const auto found = std::find_if(candidates.begin(), candidates.end(), [&](std::size_t i) {
      return text.substr(at, texts_[i].size()) == texts_[i];
    });
    if (found == candidates.end()) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[*found];
    std::size_t begin = at;
    std::size_t end = at + texts_[*found].size();
    at = end;
    if ((ignore && ignore(token, begin, end)) ||
        (token.single_word && inside_word(text, begin, end))) {
      continue;
    }
    if (token.lstrip) {
      while (begin > done) {
        const std::size_t before = previous(text, begin);
        if (before < done || !is(text, before, unicode::space)) {
          break;
        }
        begin = before;
      }
    }
    if (token.rstrip) {
      while (end < text.size() && is(text, end, unicode::space)) {
        end += unicode::decode(text, end).length;
      }
    }
    if (done < begin) {
      out.push_back({text.substr(done, begin - done), -1});
    }
    out.push_back({text.substr(begin, end - begin), token.id});
    done = end;
  }
  if (done < text.size()) {
    out.push_back({text.substr(done), -1});
  }
}

}  // namespace minirl::data
