// Speed of the tokenizer on one thread: bench_tokenizer FOLDER FILE prints MB/s over the whole file
// and line by line. tests/reference/tokenizer_oracle.py --speed compares it with the Python
// package.
#include "data/tokenizer.h"

#include <algorithm>
#include <cstdio>

#include "core/files.h"
#include "core/stopwatch.h"

int main(int argc, char** argv) {
  using namespace minirl;
  if (argc != 3) {
    std::fputs("usage: bench_tokenizer FOLDER FILE\n", stderr);
    return 2;
  }
  try {
    const Stopwatch loading;
    const auto tokenizer = data::load_tokenizer(argv[1]);
    std::printf("loaded in %.3f s\n", loading.seconds());
    const std::string text = read_file(argv[2]);
    const double megabytes = static_cast<double>(text.size()) / 1e6;
    for (const bool by_line : {false, true}) {
      double best = 0;
      std::size_t tokens = 0;
      for (int repeat = 0; repeat < 5; ++repeat) {
        const Stopwatch watch;
        tokens = 0;
        for (std::size_t at = 0; at < text.size();) {
          const std::size_t end =
              by_line ? std::min(text.find('\n', at), text.size() - 1) + 1 : text.size();
          tokens += tokenizer->encode(std::string_view(text).substr(at, end - at)).size();
          at = end;
        }
        best = std::max(best, megabytes / watch.seconds());
      }
      std::printf("%-13s %8.2f MB/s, %zu tokens\n", by_line ? "line by line" : "whole file", best,
                  tokens);
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
