#include "data/prepare.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/hash.h"
#include "data/dataset.h"

namespace minirl::data {
namespace {

using Json = nlohmann::json;

// How a data set writes the answer.
enum class AnswerForm : unsigned char { plain, hashes, boxed };

struct Source {
  std::string_view name;
  AnswerForm form;
};
constexpr Source kSources[] = {{"aime", AnswerForm::plain},
                               {"dapo-math", AnswerForm::plain},
                               {"gsm8k", AnswerForm::hashes},
                               {"math", AnswerForm::boxed}};

struct Instruction {
  std::string_view name, text;
  bool before;  // the problem; otherwise behind it
};
constexpr Instruction kInstructions[] = {
    {"DAPO's prefix",
     "Solve the following math problem step by step. The last line of your response should be of "
     "the "
     "form Answer: $Answer (without quotes) where $Answer is the answer to the problem.",
     true},
    {"DAPO's suffix", "Remember to put your answer on its own line after \"Answer:\".", false},
    {"verl's suffix for GSM8K",
     "Let's think step by step and output the final answer after \"####\".", false},
    {"verl's suffix for MATH",
     "Let's think step by step and output the final answer within \\boxed{}.", false},
    {"Qwen's suffix", "Please reason step by step, and put your final answer within \\boxed{}.",
     false}};

std::string trim(std::string_view s) {
  const auto begin = s.find_first_not_of(" \t\r\n");
  const auto end = s.find_last_not_of(" \t\r\n");
  return begin == std::string_view::npos ? std::string()
                                         : std::string(s.substr(begin, end - begin + 1));
}

const Json* member(const Json& row, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto found = row.find(key);
    if (found != row.end() && !found->is_null()) {
      return &*found;
    }
  }
  return nullptr;
}

struct BadRow {
  std::string why;
};

// A text, or the one user message of a conversation.
std::string problem_text(const Json& row) {
  const Json* p = member(row, {"prompt", "problem", "question", "Problem", "Question"});
  if (p == nullptr) {
    throw BadRow{"none of prompt, problem and question"};
  }
  if (p->is_string()) {
    return p->get<std::string>();
  }
  if (!p->is_array()) {
    throw BadRow{"the prompt is neither a text nor a list of messages"};
  }
  const Json* user = nullptr;
  for (const Json& m : *p) {
    if (!m.is_object() || !m.contains("role") || !m.contains("content") ||
        !m.at("content").is_string()) {
      throw BadRow{"a message without role and content"};
    }
    if (m.at("role") == "user") {
      if (user != nullptr) {
        throw BadRow{"a conversation of several questions"};
      }
      user = &m.at("content");
    } else if (m.at("role") != "system") {
      throw BadRow{"a conversation with answers in it"};
    }
  }
  if (user == nullptr) {
    throw BadRow{"a conversation without a question of the user"};
  }
  return user->get<std::string>();
}

// The content of the last \boxed{...} or \fbox{...}.
std::string last_box(const std::string& text) {
  std::size_t open = std::string::npos;
  for (const char* command : {"\\boxed", "\\fbox", "\\framebox"}) {
    const std::size_t at = text.rfind(std::string(command) + "{");
    if (at != std::string::npos && (open == std::string::npos || at > open)) {
      open = at;
    }
  }
  if (open == std::string::npos) {
    return "";
  }
  const std::size_t begin = text.find('{', open) + 1;
  int depth = 1;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;  // an escaped brace does not count
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}' && --depth == 0) {
      return text.substr(begin, i - begin);
    }
  }
  return "";
}

// GSM8K: what stands behind the last "####", without the commas of thousands.
std::string behind_hashes(const std::string& text) {
  const std::size_t at = text.rfind("####");
  const std::string out = trim(text.substr(at + 4));
  const auto digit = [&](std::size_t i) {
    return i < out.size() && out[i] >= '0' && out[i] <= '9';
  };
  std::string plain;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool thousands = out[i] == ',' && i > 0 && digit(i - 1) && digit(i + 1) && digit(i + 2) &&
                           digit(i + 3) && !digit(i + 4);
    if (!thousands) {
      plain += out[i];
    }
  }
  return plain;
}

std::string answer_of(const Json& row, AnswerForm form) {
  const Json* model = member(row, {"reward_model"});
  const Json* answer =
      model != nullptr && model->is_object() ? member(*model, {"ground_truth"}) : nullptr;
  if (answer == nullptr) {
    answer = member(row, {"answer", "Answer", "expected_answer", "final_answer"});
  }
  if (answer != nullptr && !answer->is_string() && !answer->is_number()) {
    throw BadRow{"the answer is neither a text nor a number"};
  }
  std::string text = answer != nullptr ? answer_text(*answer) : "";
  if (form == AnswerForm::hashes && text.find("####") != std::string::npos) {
    text = behind_hashes(text);
  } else if (form == AnswerForm::hashes && text.find_first_of("\n ") != std::string::npos) {
    throw BadRow{"a worked answer without \"####\" before the final one"};  // one word is the answer itself
  }
  if (text.empty() && form == AnswerForm::boxed) {
    const Json* solution = member(row, {"solution", "Solution"});
    if (solution != nullptr && solution->is_string()) {
      text = last_box(solution->get<std::string>());
    }
  }
  text = trim(text);
  if (text.empty()) {
    throw BadRow{form == AnswerForm::boxed ? "neither an answer nor a box in the solution"
                                           : "no answer"};
  }
  return text;
}

// Texts that differ in whitespace alone are one problem.
std::string identity(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!space) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  return sha256_hex(trim(out));
}

struct Problem {
  PreparedRow row;
  std::string identity;
  bool held_out = false, conflict = false;
};

class Collector {
 public:
  Collector(const PrepareOptions& options, const Source& source)
      : options_(options), source_(source) {}

  void read(const std::vector<std::filesystem::path>& files, bool held_out) {
    const auto wanted = [](const std::string& c) {
      static const std::set<std::string> names = {"prompt",
                                                  "problem",
                                                  "question",
                                                  "Problem",
                                                  "Question",
                                                  "answer",
                                                  "Answer",
                                                  "expected_answer",
                                                  "final_answer",
                                                  "solution",
                                                  "Solution",
                                                  "data_source",
                                                  "reward_model.ground_truth"};
      return names.count(c) > 0 || c.rfind("prompt.", 0) == 0;
    };
    for (const auto& file : files) {
      for_each_row(
          file, wanted,
          [&](Json&& row, const std::string& where) {
            ++out_.rows;
            try {
              add(row, held_out);
            } catch (const BadRow& bad) {
              refuse(where, bad.why);
            }
          },
          [&](const std::string& where, const std::string& why) {
            ++out_.rows;
            refuse(where, options_.skip_bad_rows ? "not a JSON object" : why);
          });
    }
  }

  Prepared finish() {
    std::vector<Problem*> kept;
    for (Problem& p : problems_) {
      if (p.conflict) {
        ++out_.dropped["the same problem with different answers"];
      } else if (const std::string fault = gold_fault(p.row.answer); !fault.empty()) {
        ++out_.dropped["the gold answer cannot be scored: " + fault];
      } else {
        kept.push_back(&p);
      }
    }
    hold_out(kept);
    for (Problem* p : kept) {
      (p->held_out ? out_.eval : out_.train).push_back(std::move(p->row));
    }
    return std::move(out_);
  }

 private:
  std::string gold_fault(const std::string& answer) const {
    return options_.gold_fault ? options_.gold_fault(answer) : "";
  }
  void refuse(const std::string& where, const std::string& why) {
    if (!options_.skip_bad_rows) {
      fail(Exit::data, fmt::format("{}: {}", where, why),
           "correct the row, or count and skip such rows with --skip-bad-rows");
    }
    ++out_.dropped["bad row: " + why];
  }

  void add(const Json& row, bool held_out) {
    std::vector<std::string> stripped;
    std::string text = strip_instructions(problem_text(row), &stripped);
    if (text.empty()) {
      throw BadRow{"the problem is empty"};
    }
    std::string answer = answer_of(row, source_.form);
    const std::string id = identity(text);
    const auto [known, fresh] = by_identity_.emplace(id, problems_.size());
    if (!fresh) {
      Problem& first = problems_[known->second];
      first.conflict |= first.row.answer != answer;
      ++out_.dropped[held_out == first.held_out ? "repeats an earlier row"
                     : held_out                 ? "repeats a training problem"
                                                : "is among the held-out problems"];
      return;
    }
    for (const auto& name : stripped) {
      ++out_.changed["stripped " + name];
    }
    const Json* from = member(row, {"data_source"});
    problems_.push_back(
        {{fmt::format("{}-{}", source_.name, id.substr(0, 16)), std::move(text), std::move(answer),
          from != nullptr && from->is_string() ? from->get<std::string>()
                                               : std::string(source_.name)},
         id,
         held_out,
         false});
  }

  void hold_out(std::vector<Problem*>& kept) {
    if (!options_.eval_inputs.empty()) {
      return;
    }
    const auto size = static_cast<Index>(kept.size());
    if (options_.eval_count > size) {
      fail(Exit::usage,
           fmt::format("{} problems are to be held out, but there are {}", options_.eval_count,
                       size),
           fmt::format("say how many: --eval-count={} (-1: all), or name a file of held-out ones: --eval-in", size / 5));
    }
    std::vector<Problem*> by_hash = kept;
    std::sort(by_hash.begin(), by_hash.end(),
              [](const Problem* a, const Problem* b) { return a->identity < b->identity; });
    const Index count = options_.eval_count < 0 ? size : options_.eval_count;
    for (Index i = 0; i < count; ++i) {
      by_hash[static_cast<std::size_t>(i)]->held_out = true;
    }
  }

  const PrepareOptions& options_;
  const Source& source_;
  std::vector<Problem> problems_;
  std::unordered_map<std::string, std::size_t> by_identity_;
  Prepared out_;
};

}  // namespace

std::vector<std::string> prepared_names() {
  std::vector<std::string> out;
  for (const auto& s : kSources) {
    out.emplace_back(s.name);
  }
  return out;
}

std::string strip_instructions(const std::string& text, std::vector<std::string>* which) {
  std::string out = trim(text);
  for (bool found = true; found;) {
    found = false;
    for (const auto& i : kInstructions) {
      const std::size_t size = i.text.size();
      const std::string_view view = out;
      const bool there =
          view.size() >= size &&
          (i.before ? view.substr(0, size) == i.text : view.substr(view.size() - size) == i.text);
      if (there) {
        out = trim(i.before ? view.substr(size) : view.substr(0, view.size() - size));
        found = true;
        if (which != nullptr) {
          which->emplace_back(i.name);
        }
      }
    }
  }
  return out;
}

Prepared prepare(const PrepareOptions& options) {
  for (const Source& source : kSources) {
    if (source.name == options.name) {
      Collector collector(options, source);
      collector.read(options.eval_inputs, true);  // first: what is held out is not trained on
      collector.read(options.inputs, false);
      return collector.finish();
    }
  }
  std::string names;
  for (const auto& n : prepared_names()) {
    names += (names.empty() ? "" : ", ") + n;
  }
  fail(Exit::usage, fmt::format("unknown data set '{}'", options.name), "known: " + names);
}

std::string to_jsonl(const std::vector<PreparedRow>& rows) {
  std::string out;
  for (const auto& r : rows) {
    const nlohmann::ordered_json line = {
        {"id", r.id}, {"prompt", r.prompt}, {"answer", r.answer}, {"source", r.source}};
    out += line.dump() + "\n";
  }
  return out;
}

}  // namespace minirl::data
