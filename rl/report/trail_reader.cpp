#include "rl/report/trail_reader.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>

#include <nlohmann/json.hpp>

#include "data/zstd_stream.h"
#include "rl/algorithm.h"

namespace minirl::rl::report {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kPiece = 1 << 20;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of a trail, unpacked
constexpr std::uintmax_t kMostRollouts = 64 << 20;        // a larger rollout file is not searched

// Calls `see` for every whole line. False: the file is longer than kMostBytes.
bool for_lines(const fs::path& file, const std::function<void(const std::string&)>& see) {
  data::ZstdReader in(file);
  std::string rest;
  for (std::size_t read = 0; read < kMostBytes;) {
    const std::string piece = in.read(kPiece);
    read += piece.size();
    rest += piece;
    std::size_t begin = 0;
    for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      see(rest.substr(begin, end - begin));
      begin = end + 1;
    }
    rest.erase(0, begin);
    if (piece.size() < kPiece) {
      return true;
    }
  }
  return false;
}

// The "sequence" of a line without parsing it: numbers come before texts in a line. -1: none.
Index sequence_of(const std::string& line) {
  static const std::string key = "\"sequence\":";
  const auto at = line.find(key);
  return at == std::string::npos ? -1 : std::strtoll(line.c_str() + at + key.size(), nullptr, 10);
}

bool is_mask(const std::string& name) {
  for (std::uint32_t bit = 1; bit != 0; bit <<= 1) {
    if ((kMaskedBits & bit) != 0 && reason_name(bit) == name) {
      return true;
    }
  }
  return false;
}

TrailToken token_of(const Json& line) {
  TrailToken t;
  t.prompt = line.at("part") == "prompt";
  t.id = line.at("id").get<Index>();
  t.text = line.at("text").get<std::string>();
  t.why = line.at("why").get<std::vector<std::string>>();
  if (t.prompt) {
    return t;
  }
  const auto number = [&](const char* key) {
    const auto found = line.find(key);
    return found != line.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  t.mu = number("mu");
  t.pi = number("pi");
  t.ratio = number("ratio");
  t.tv = number("tv");
  t.kl = number("kl");
  t.divergence = number("divergence");
  t.advantage = number("A");
  t.weight = number("w");
  t.gradient = number("g");
  t.share = number("share");
  t.entropy = number("entropy");
  for (const Json& m : line.at("masks")) {
    t.masked = t.masked || is_mask(m.get<std::string>());
  }
  return t;
}

void add(TrailSequence& s, const Json& line, std::size_t prompt_tokens, std::size_t tokens) {
  s.update = line.at("update").get<Index>();
  s.step = line.at("step").get<Index>();
  s.group = line.at("group").get<Index>();
  s.sample = line.at("sample").get<Index>();
  TrailToken t = token_of(line);
  const auto completion = static_cast<std::size_t>(std::count_if(
      s.tokens.begin(), s.tokens.end(), [](const TrailToken& x) { return !x.prompt; }));
  if (!t.prompt && completion >= tokens) {
    s.left_out += 1;
    return;
  }
  s.tokens.push_back(std::move(t));
  if (s.tokens.back().prompt && s.tokens.size() > prompt_tokens) {
    s.tokens.erase(s.tokens.begin());
    s.prompt_left_out += 1;
  }
}

// Reward and verdict stand in the line of that number of the step's rollout file.
void add_verdicts(const fs::path& rollouts, std::vector<TrailSequence>& sequences) {
  std::error_code error;
  if (const auto size = fs::file_size(rollouts, error); error || size > kMostRollouts) {
    return;
  }
  std::ifstream in(rollouts);
  Index number = 0;
  for (std::string line; std::getline(in, line); ++number) {
    for (TrailSequence& s : sequences) {
      const Json row = s.sequence == number ? Json::parse(line, nullptr, false) : Json();
      if (!row.is_object()) {
        continue;
      }
      s.answer = row.value("answer", "");
      s.extracted = row.value("extracted", "");
      s.verdict = row.value("why", "");
      s.reward = row.value("reward", 0.0);
      s.judged = true;
    }
  }
}

}  // namespace

TrailExcerpt read_trail(const fs::path& file, std::size_t wanted, std::size_t prompt_tokens,
                        std::size_t tokens) {
  TrailExcerpt out;
  try {
    std::vector<Index> all;  // in the order of the file; the lines of a sequence are together
    bool whole = for_lines(file, [&](const std::string& line) {
      const Index sequence = sequence_of(line);
      if (sequence >= 0 && (all.empty() || all.back() != sequence)) {
        all.push_back(sequence);
      }
    });
    out.recorded = all.size();
    for (std::size_t i = 0; i < std::min(wanted, all.size()); ++i) {
      out.sequences.emplace_back();
      out.sequences.back().sequence = all[i * all.size() / std::min(wanted, all.size())];
    }
    whole = for_lines(file,
                      [&](const std::string& line) {
                        const Index sequence = sequence_of(line);
                        for (TrailSequence& s : out.sequences) {
                          if (s.sequence == sequence) {
                            add(s, Json::parse(line), prompt_tokens, tokens);
                          }
                        }
                      }) &&
            whole;
    out.note = whole ? "" : "only the first GiB of the file was looked at";
    const std::string name = file.filename().string();
    add_verdicts(
        file.parent_path().parent_path() / "rollouts" / (name.substr(0, name.find('.')) + ".jsonl"),
        out.sequences);
  } catch (const Error& error) {
    out.note = error.what();
  } catch (const Json::exception& error) {
    out.note =
        fmt::format("'{}' has a line that is not one of a trail: {}", file.string(), error.what());
  }
  return out;
}

}  // namespace minirl::rl::report
