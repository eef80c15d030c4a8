#include "rl/ledger_hash.h"

#include <algorithm>

#include "core/hash.h"
#include "core/parallel.h"

namespace minirl::rl {
namespace {

template <class T>
void add_values(Hasher& h, std::span<const T> values) {
  h.add(std::as_bytes(values));
}

template <class T>
void add_list(Hasher& h, std::span<const T> values) {
  h.add_value(static_cast<std::uint64_t>(values.size()));
  add_values(h, values);
}

struct Piece {
  const std::byte* data;
  std::size_t bytes;
};

}  // namespace

std::string hash_examples(std::span<const Group> groups) {
  Hasher h;
  for (const Group& g : groups) {
    add_list<Token>(h, g.prompt);
    h.add(g.example.answer);
  }
  return h.hex();
}

std::string hash_examples(std::span<const ScoredSequence> worked) {
  Hasher h;
  for (const ScoredSequence& s : worked) {
    add_list(h, s.prompt);
    add_list(h, s.completion);
  }
  return h.hex();
}

std::string hash_rollouts(std::span<const Group> groups) {
  Hasher h;
  for (const Group& g : groups) {
    for (const Rollout& r : g.rollouts) {
      add_list<Token>(h, r.ids);
      add_values<float>(h, r.logp);
      h.add_value(static_cast<std::uint8_t>(r.stopped ? 1 : 0));
    }
  }
  return h.hex();
}

std::string hash_rewards(std::span<const Group> groups) {
  Hasher h;
  for (const Group& g : groups) {
    for (const Rollout& r : g.rollouts) {
      h.add_value(r.reward);
    }
  }
  return h.hex();
}

std::string hash_advantages(std::span<const TrainItem> items) {
  Hasher h;
  for (const TrainItem& item : items) {
    h.add_value(item.rollout->advantage);
    add_values<double>(h, item.token_advantages);
  }
  return h.hex();
}

std::string hash_tensors(std::span<const std::pair<std::string, Tensor>> tensors,
                         const Exec& exec) {
  std::vector<Piece> pieces;
  std::vector<Tensor> hosts;  // copies live until the pieces are hashed
  for (const auto& [name, on_any] : tensors) {
    const Tensor& tensor = hosts.emplace_back(on_any.on_host());
    for (Index begin = 0; begin < tensor.bytes(); begin += kHashPiece) {
      const Index size = std::min(kHashPiece, tensor.bytes() - begin);
      pieces.push_back({tensor.raw() + begin, static_cast<std::size_t>(size)});
    }
  }
  std::vector<std::string> digests(pieces.size());
  parallel_items(exec.threads, static_cast<Index>(pieces.size()), [&](Index begin, Index end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      Hasher piece;
      piece.add(std::span(pieces[i].data, pieces[i].bytes));
      digests[i] = piece.hex();
    }
  });
  Hasher h;
  std::size_t next = 0;
  for (const auto& [tensor_name, tensor] : tensors) {
    h.add(tensor_name).add(name(tensor.dtype()));
    h.add_value(static_cast<std::uint64_t>(tensor.shape().rank));
    for (int d = 0; d < tensor.shape().rank; ++d) {
      h.add_value(static_cast<std::uint64_t>(tensor.shape()[d]));
    }
    for (Index begin = 0; begin < tensor.bytes(); begin += kHashPiece) {
      h.add(std::as_bytes(std::span(digests[next])));
      ++next;
    }
  }
  return h.hex();
}

std::string hash_weights(const Params& params, const Exec& exec) {
  std::vector<std::pair<std::string, Tensor>> list;
  for (const Param& p : params.all()) {
    list.emplace_back(p.name, p.value);
  }
  return hash_tensors(list, exec);
}

std::string hash_gradients(Params& params, const Exec& exec) {
  std::vector<std::pair<std::string, Tensor>> list;
  for (Param& p : params.all()) {
    list.emplace_back(p.name, p.grad());
  }
  return hash_tensors(list, exec);
}

std::string hash_optimizer(Optimizer& optimizer, const Exec& exec) {
  Hasher h;
  h.add_value(static_cast<std::uint64_t>(optimizer.steps()));
  const std::string moments = hash_tensors(optimizer.state(), exec);
  h.add(std::as_bytes(std::span(moments)));
  return h.hex();
}

std::string hash_build(const NamedValues& build) {
  std::string text;
  for (const auto& [key, value] : build) {
    text += key + " = " + value + "\n";
  }
  return sha256_hex(text);
}

}  // namespace minirl::rl
