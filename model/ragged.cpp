#include "model/ragged.h"

namespace minirl {

Ragged pack_sequences(std::span<const std::span<const Token>> sequences, const Exec& exec) {
  Index total = 0;
  for (const auto& s : sequences) { total += static_cast<Index>(s.size()); }
  auto plan = std::make_shared<ops::RunPlan>();
  plan->tile_ids.reserve(sequences.size());
  Ragged batch{Tensor::empty({total}, DType::i32, exec), Tensor::empty({total}, DType::i32, exec), nullptr, {0}};
  Index row = 0;
  for (const auto& s : sequences) {
    const Index length = static_cast<Index>(s.size());
    MINIRL_CHECK(length > 0, "a sequence of a batch is empty");
    std::vector<int> tiles(static_cast<std::size_t>((length + kernels::kKeyTile - 1) / kernels::kKeyTile));
    for (int& t : tiles) { t = plan->tiles++; }
    plan->tile_ids.push_back(std::move(tiles));
    plan->runs.push_back({row, length, 0, plan->tile_ids.back().data()});
    for (Index i = 0; i < length; ++i) {
      batch.ids.data<std::int32_t>()[row + i] = s[static_cast<std::size_t>(i)];
      batch.positions.data<std::int32_t>()[row + i] = static_cast<std::int32_t>(i);
    }
    row += length;
    batch.first_row.push_back(row);
  }
  batch.plan = std::move(plan);
  return batch;
}

}  // namespace minirl
