#include "data/tokenizer/bpe.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <queue>
#include <unordered_map>

#include "data/tokenizer/byte_alphabet.h"

namespace minirl::data {
namespace {

constexpr std::size_t kShort = 32;  // up to so many bytes a scan beats a heap

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93ULL;
  x ^= x >> 32;
  return x;
}

std::uint64_t hash_bytes(std::string_view s) {
  std::uint64_t h = 0x9E3779B97F4A7C15ULL ^ s.size();
  while (s.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, s.data(), 8);
    h = mix(h ^ word) * 0x9FB21C651E98DF25ULL;
    s.remove_prefix(8);
  }
  std::uint64_t word = 0;
  std::memcpy(&word, s.data(), s.size());
  return mix(h ^ word) ^ h >> 29;
}

std::uint64_t pair_of(Token a, Token b) {
  return std::uint64_t{static_cast<std::uint32_t>(a)} << 32 | static_cast<std::uint32_t>(b);
}

std::size_t table_size(std::size_t entries) {
  return std::bit_ceil(entries * 2 + 16);
}

[[noreturn]] void bad(const std::string& name, const std::string& what) {
  fail(Exit::usage, fmt::format("'{}': {}", name, what),
       "the file is damaged or not a byte-level BPE");
}

}  // namespace

Bpe::Bpe(const TokenizerFile& file, bool ignore_merges, const std::string& name)
    : ignore_merges_(ignore_merges) {
  std::size_t count = 0;
  for (const auto& [text, id] : file.vocab) {
    count = std::max(count, static_cast<std::size_t>(id) + 1);
  }
  // Texts by id, so that the table of bytes is laid out once.
  std::vector<const std::string*> entries(count, nullptr);
  std::unordered_map<std::string_view, Token> by_text;
  by_text.reserve(file.vocab.size());
  for (const auto& [text, id] : file.vocab) {
    if (!by_text.emplace(text, id).second) {
      bad(name, fmt::format("the entry \"{}\" of model.vocab is there twice", text));
    }
    entries[static_cast<std::size_t>(id)] = &text;
  }
  is_bytes_.assign(count, false);
  offsets_.assign(1, 0);
  for (std::size_t id = 0; id < count; ++id) {
    if (entries[id] != nullptr) {  // else an added token's
      const auto bytes = alphabet_bytes(*entries[id]);
      is_bytes_[id] = bytes.has_value() && !bytes->empty();
      text_ += bytes ? *bytes : *entries[id];
    }
    offsets_.push_back(static_cast<std::uint32_t>(text_.size()));
  }
  words_.assign(table_size(count), -1);
  for (std::size_t id = 0; id < count; ++id) {
    if (!is_bytes_[id]) {
      continue;
    }
    std::size_t slot = hash_bytes(bytes(static_cast<Token>(id))) & (words_.size() - 1);
    while (words_[slot] >= 0) {
      slot = (slot + 1) & (words_.size() - 1);
    }
    words_[slot] = static_cast<Token>(id);
  }
  for (std::size_t b = 0; b < 256; ++b) {
    const char byte = static_cast<char>(b);
    byte_ids_[b] = find(std::string_view(&byte, 1));
    if (byte_ids_[b] < 0) {
      bad(name, fmt::format("no entry of model.vocab stands for the byte 0x{:02X} (\"{}\")", b,
                            byte_alphabet()[b]));
    }
  }
  merges_.assign(table_size(file.merges.size()), Merge{});
  for (std::size_t rank = 0; rank < file.merges.size(); ++rank) {
    const std::string& left = file.merges[rank].first;
    const std::string& right = file.merges[rank].second;
    const auto id_of = [&](const std::string& text) {
      const auto found = by_text.find(text);
      if (found == by_text.end()) {
        bad(name,
            fmt::format("merge {} (\"{}\" + \"{}\") needs \"{}\", which is not in model.vocab",
                        rank, left, right, text));
      }
      return found->second;
    };
    const Token a = id_of(left);
    const Token b = id_of(right);
    const Merge merge{pair_of(a, b), static_cast<std::uint32_t>(rank), id_of(left + right)};
    std::size_t slot = mix(merge.pair) & (merges_.size() - 1);
    while (merges_[slot].pair != kNoPair && merges_[slot].pair != merge.pair) {
      slot = (slot + 1) & (merges_.size() - 1);
    }
    merges_[slot] = merge;  // of a pair that is there twice the last one counts, as in `tokenizers`
  }
  reachable_ = std::make_unique<std::atomic<std::uint8_t>[]>(count);
}

std::string_view Bpe::bytes(Token id) const {
  const auto at = static_cast<std::size_t>(id);
  return std::string_view(text_).substr(offsets_[at], offsets_[at + 1] - offsets_[at]);
}

const Bpe::Merge* Bpe::find(Token a, Token b) const {
  const std::uint64_t pair = pair_of(a, b);
  for (std::size_t slot = mix(pair) & (merges_.size() - 1);;
       slot = (slot + 1) & (merges_.size() - 1)) {
    if (merges_[slot].pair == pair) {
      return &merges_[slot];
    }
    if (merges_[slot].pair == kNoPair) {
      return nullptr;
    }
  }
}

Token Bpe::find(std::string_view wanted) const {
  for (std::size_t slot = hash_bytes(wanted) & (words_.size() - 1);;
       slot = (slot + 1) & (words_.size() - 1)) {
    if (words_[slot] < 0 || bytes(words_[slot]) == wanted) {
      return words_[slot];
    }
  }
}

void Bpe::encode(std::string_view piece, std::vector<Token>& out) const {
  const Token whole = find(piece);
  if (whole >= 0 && ignore_merges_) {
    out.push_back(whole);
    return;
  }
  if (whole >= 0) {  // most words of most texts
    auto& state = reachable_[static_cast<std::size_t>(whole)];
    std::uint8_t known = state.load(std::memory_order_relaxed);
    if (known == 0) {
      std::vector<Token> ids;
      merge(piece, ids);
      known = ids.size() == 1 && ids[0] == whole ? 1 : 2;
      state.store(known, std::memory_order_relaxed);
    }
    if (known == 1) {
      out.push_back(whole);
      return;
    }
  }
  merge(piece, out);
}

void Bpe::merge(std::string_view piece, std::vector<Token>& out) const {
  if (piece.size() > kShort) {
    merge_long(piece, out);
    return;
  }
  Token ids[kShort];
  const Merge* pairs[kShort];  // of ids[i] and ids[i + 1]
  std::size_t n = piece.size();
  for (std::size_t i = 0; i < n; ++i) {
    ids[i] = byte_ids_[static_cast<unsigned char>(piece[i])];
  }
  for (std::size_t i = 0; i + 1 < n; ++i) {
    pairs[i] = find(ids[i], ids[i + 1]);
  }
  while (n > 1) {
    std::size_t best = n;
    for (std::size_t i = 0; i + 1 < n; ++i) {
      if (pairs[i] != nullptr && (best == n || pairs[i]->rank < pairs[best]->rank)) {
        best = i;
      }
    }
    if (best == n) {
      break;
    }
    ids[best] = pairs[best]->into;
    for (std::size_t i = best + 1; i + 1 < n; ++i) {
      ids[i] = ids[i + 1];
      if (i + 2 < n) {
        pairs[i] = pairs[i + 1];
      }
    }
    --n;
    if (best > 0) {
      pairs[best - 1] = find(ids[best - 1], ids[best]);
    }
    if (best + 1 < n) {
      pairs[best] = find(ids[best], ids[best + 1]);
    }
  }
  out.insert(out.end(), ids, ids + n);
}

void Bpe::merge_long(std::string_view piece, std::vector<Token>& out) const {
  struct Node {
    Token id;
    std::int64_t before, after;  // neighbours, -1: none; id -1: merged away
  };
  struct Candidate {
    std::uint32_t rank;
    std::int64_t left;
    Token a, b, into;
    bool operator<(const Candidate& o) const {  // the top of the queue is the lowest
      return rank != o.rank ? rank > o.rank : left > o.left;
    }
  };
  const auto n = static_cast<std::int64_t>(piece.size());
  std::vector<Node> nodes;
  nodes.reserve(piece.size());
  for (std::int64_t i = 0; i < n; ++i) {
    nodes.push_back({byte_ids_[static_cast<unsigned char>(piece[static_cast<std::size_t>(i)])],
                     i - 1, i + 1 < n ? i + 1 : -1});
  }
  const auto node = [&](std::int64_t i) -> Node& { return nodes[static_cast<std::size_t>(i)]; };
  std::priority_queue<Candidate> queue;
  const auto propose = [&](std::int64_t left) {
    if (left < 0 || node(left).after < 0) {
      return;
    }
    const Token a = node(left).id;
    const Token b = node(node(left).after).id;
    if (const Merge* m = find(a, b); m != nullptr) {
      queue.push({m->rank, left, a, b, m->into});
    }
  };
  for (std::int64_t i = 0; i < n; ++i) {
    propose(i);
  }
  while (!queue.empty()) {
    const Candidate c = queue.top();
    queue.pop();
    Node& left = node(c.left);
    if (left.id != c.a || left.after < 0 || node(left.after).id != c.b) {
      continue;  // one of the two has become something else
    }
    Node& right = node(left.after);
    left.id = c.into;
    right.id = -1;
    left.after = right.after;
    if (right.after >= 0) {
      node(right.after).before = c.left;
    }
    propose(left.before);
    propose(c.left);
  }
  for (std::int64_t i = 0; i >= 0; i = node(i).after) {
    out.push_back(node(i).id);
  }
}

}  // namespace minirl::data
