#include "rl/report/compare.h"

#include <algorithm>
#include <fstream>

namespace minirl::rl::report {
namespace {

namespace fs = std::filesystem;

// The steps of a ledger, one after the other: it may be long. Ends at a line that is damaged or not
// finished.
class LedgerSteps {
 public:
  explicit LedgerSteps(const fs::path& file) : in_(file, std::ios::binary) {
    there_ = in_.is_open();
    next();
  }
  bool there() const { return there_; }
  const std::optional<LedgerLine>& now() const { return now_; }
  const std::optional<LedgerLine>& start() const { return start_; }  // the first genesis line
  const std::string& fault() const { return fault_; }

  void next() {
    now_.reset();
    std::string text;
    while (fault_.empty() && std::getline(in_, text) && !in_.eof()) {
      number_ += 1;
      try {
        now_ = parse_ledger_line(text, number_);
      } catch (const Error& error) {
        fault_ = error.what();
        return;
      }
      if (!now_->start) {
        return;
      }
      if (!start_) {
        start_ = now_;
      }
      now_.reset();
    }
  }

 private:
  std::ifstream in_;
  std::optional<LedgerLine> now_, start_;
  std::string fault_;
  std::size_t number_ = 0;
  bool there_ = false;
};

// The first part in which two lines of one step differ; empty: none.
std::string first_difference(const LedgerStep& a, const LedgerStep& b) {
  for (const auto& [name, part] :
       {std::pair("examples", &LedgerStep::examples), std::pair("rollouts", &LedgerStep::rollouts),
        std::pair("rewards", &LedgerStep::rewards),
        std::pair("advantages", &LedgerStep::advantages)}) {
    if (a.*part != b.*part) {
      return name;
    }
  }
  for (std::size_t i = 0; i < std::max(a.gradients.size(), b.gradients.size()); ++i) {
    if (i >= a.gradients.size() || i >= b.gradients.size() || a.gradients[i] != b.gradients[i]) {
      return fmt::format("gradients of update {}", i + 1);
    }
  }
  return a.optimizer != b.optimizer ? "optimizer" : a.weights != b.weights ? "weights" : "";
}

// Pretraining comes before training.
std::pair<bool, Index> order(const LedgerStep& s) {
  return {s.phase == Phase::train, s.step};
}

const ResolvedKey* find_key(const RunView& run, const std::string& key) {
  if (!run.config()) {
    return nullptr;
  }
  const auto& keys = run.config()->keys;
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const ResolvedKey& k) { return k.key == key; });
  return found == keys.end() ? nullptr : &*found;
}

}  // namespace

std::string Agreement::words() const {
  const auto at = [](const Place& p) { return step_words(p.phase, p.step); };
  if (!differs_at) {
    return common_steps > 0 ? fmt::format("bit-identical in all {} steps that both have, up to {}",
                                          common_steps, at(*equal_until))
                            : "no step in common";
  }
  const std::string where = fmt::format("first difference: {} at {}", part, at(*differs_at));
  return equal_until ? fmt::format("bit-identical up to {}, {}", at(*equal_until), where)
                     : "different from the beginning, " + where;
}

Agreement compare_ledgers(const fs::path& a, const fs::path& b) {
  Agreement out;
  LedgerSteps x(a);
  LedgerSteps y(b);
  for (const auto& [ledger, file] : {std::pair(&x, &a), std::pair(&y, &b)}) {
    if (!ledger->there()) {
      out.note = fmt::format("'{}' is not there", file->string());
      return out;
    }
  }
  if (x.start() && y.start() && order(x.start()->values) == order(y.start()->values) &&
      x.start()->values.weights != y.start()->values.weights) {
    out.differs_at = {x.start()->values.phase, x.start()->values.step};
    out.part = "initial weights";
    return out;
  }
  while (x.now() && y.now()) {
    const LedgerStep& s = x.now()->values;
    const LedgerStep& t = y.now()->values;
    if (order(s) != order(t)) {  // a part of one chain is missing
      (order(s) < order(t) ? x : y).next();
      continue;
    }
    if (const std::string part = first_difference(s, t); !part.empty()) {
      out.differs_at = {s.phase, s.step};
      out.part = part;
      break;
    }
    out.equal_until = {s.phase, s.step};
    out.common_steps += 1;
    x.next();
    y.next();
  }
  out.note = !x.fault().empty() ? x.fault() : y.fault();
  return out;
}

std::vector<SettingDifference> setting_differences(const std::vector<const RunView*>& runs) {
  std::vector<std::string> keys;  // of all runs, in the order of the schema
  for (const RunView* run : runs) {
    for (const ResolvedKey& k : run->config() ? run->config()->keys : std::vector<ResolvedKey>{}) {
      if (k.key != "run.name" && k.key != "run.dir" &&
          std::find(keys.begin(), keys.end(), k.key) == keys.end()) {
        keys.push_back(k.key);
      }
    }
  }
  std::vector<SettingDifference> out;
  for (const std::string& key : keys) {
    SettingDifference d{key, {}, false};
    for (const RunView* run : runs) {
      const ResolvedKey* k = find_key(*run, key);
      d.values.push_back(k == nullptr ? "-" : k->toml);
      d.changes_results = d.changes_results || (k != nullptr && k->changes_results);
    }
    if (std::adjacent_find(d.values.begin(), d.values.end(), std::not_equal_to<>()) !=
        d.values.end()) {
      out.push_back(std::move(d));
    }
  }
  std::stable_partition(out.begin(), out.end(),
                        [](const SettingDifference& d) { return d.changes_results; });
  return out;
}

std::optional<Interval> evaluation_difference(const RunView& a, const RunView& b) {
  if (a.evaluations().empty() || b.evaluations().empty()) {
    return std::nullopt;
  }
  const Evaluation& x = a.evaluations().back();
  const Evaluation& y = b.evaluations().back();
  if (x.rows.size() < 2 || !same_problems(x, y)) {
    return std::nullopt;
  }
  return improvement(x, y);
}

}  // namespace minirl::rl::report
