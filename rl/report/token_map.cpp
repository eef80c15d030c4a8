#include "rl/report/token_map.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "rl/html_text.h"
#include "rl/report/trail_reader.h"

namespace minirl::rl::report {
namespace {

namespace fs = std::filesystem;

// What is shown at most: it keeps the page small.
constexpr std::size_t kSteps = 6, kSequences = 6, kPromptTokens = 60, kTokens = 300;
constexpr std::size_t kTokenBytes = 80;  // of the text of one token

std::vector<fs::path> spread(const std::vector<fs::path>& all, std::size_t wanted) {
  if (all.size() <= wanted) {
    return all;
  }
  std::vector<fs::path> out;
  for (std::size_t i = 0; i < wanted; ++i) {
    out.push_back(all[i * (all.size() - 1) / (wanted - 1)]);
  }
  return out;
}

// The words that occur, each once; tokens name their numbers.
class Words {
 public:
  std::size_t number(const std::string& word) {
    const auto at =
        static_cast<std::size_t>(std::find(all_.begin(), all_.end(), word) - all_.begin());
    if (at == all_.size()) {
      all_.push_back(word);
    }
    return at;
  }
  std::string json() const {
    return nlohmann::json(all_).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  }

 private:
  std::vector<std::string> all_;
};

// The order is that of the script: id, words, then mu, pi, ratio, TV, KL, D, A, w, g, share, H.
std::string numbers(const TrailToken& t, Words& words) {
  std::string why;
  for (const std::string& w : t.why) {
    why += fmt::format("{}{}", why.empty() ? "" : ",", words.number(w));
  }
  std::string out = fmt::format("[{},[{}]", t.id, why);
  if (!t.prompt) {
    for (const double v : {t.mu, t.pi, t.ratio, t.tv, t.kl, t.divergence, t.advantage, t.weight,
                           t.gradient, t.share, t.entropy}) {
      out += std::isfinite(v) ? fmt::format(",{:.5g}", v) : std::string(",null");
    }
  }
  return out + "]";
}

std::string meta(const TrailSequence& s) {
  std::string out = fmt::format("<b>completion {}</b> of update {}", s.sequence, s.update + 1);
  const auto first =
      std::find_if(s.tokens.begin(), s.tokens.end(), [](const TrailToken& t) { return !t.prompt; });
  if (first != s.tokens.end()) {
    out += fmt::format(", A = {:+.3g}", first->advantage);
  }
  if (s.judged) {
    out += fmt::format(", reward {:g} <span class=\"dim\">({}; gold <code>{}</code>{})</span>",
                       s.reward, html_visible(s.verdict, 120), html_visible(s.answer, 60),
                       s.extracted.empty()
                           ? ", no answer found"
                           : ", found <code>" + html_visible(s.extracted, 60) + "</code>");
  }
  return out;
}

std::string sequence_html(const TrailSequence& s, Words& words) {
  std::string spans;
  std::string rows;
  if (s.prompt_left_out > 0) {
    spans += fmt::format("<span class=\"ctl\">{} more tokens &hellip; </span>", s.prompt_left_out);
  }
  for (const TrailToken& t : s.tokens) {
    spans += fmt::format(
        "<span class=\"t{}\" tabindex=\"{}\">{}</span>",
        t.prompt   ? " given"
        : t.masked ? " masked"
                   : "",
        rows.empty() ? 0 : -1,
        t.text.empty() ? "<span class=\"ctl\">&empty;</span>" : html_visible(t.text, kTokenBytes));
    rows += (rows.empty() ? "" : ",") + numbers(t, words);
  }
  if (s.left_out > 0) {
    spans += fmt::format("<span class=\"ctl\"> &hellip; {} more tokens</span>", s.left_out);
  }
  return fmt::format(
      "<div class=\"completion\"><p>{}</p><div class=\"tokens\" role=\"group\" "
      "aria-label=\"tokens of completion {}; arrow keys move\">{}</div>"
      "<script type=\"application/json\">[{}]</script></div>",
      meta(s), s.sequence, spans, rows);
}

constexpr const char* kControls =
    R"(<p><label>Colour by <select class="token-colour">
<option value="10">push on log pi (-g)</option><option value="4">ratio pi / mu</option><option value="5">TV, |pi - mu|</option><option value="6">KL</option>
<option value="7">D, what the loss tests</option><option value="8">advantage A</option><option value="9">weight w</option><option value="11">share of the loss</option><option value="12">entropy</option><option value="2">mu</option></select></label>
<span class="key"><span class="t p6">more</span> <span class="t n6">less</span> <span class="t masked">masked</span> <span class="t given">prompt</span></span></p>
)";

constexpr const char* kNoTrail =
    "<p>This run recorded no token trail. <code>--set audit.trail=sample</code> records some "
    "completions of every step while training, and changes no result; <code>minirl replay RUN "
    "--step N --token I,T</code> makes the numbers of any token again.</p>";

}  // namespace

std::string token_map(const RunView& run, const std::string& id) {
  if (run.trails().empty()) {
    return kNoTrail;
  }
  Words words;
  std::string steps;
  for (const fs::path& file : spread(run.trails(), kSteps)) {
    const TrailExcerpt excerpt = read_trail(file, kSequences, kPromptTokens, kTokens);
    const std::string name = file.filename().string();
    const std::string step = name.substr(5, name.find('.') - 5);
    steps += fmt::format(
        "<details id=\"{}-{}\"{}><summary>Step {} <span class=\"dim\">{} of {} recorded "
        "completions</span></summary>",
        id, step, steps.empty() ? " open" : "", std::stoll("0" + step), excerpt.sequences.size(),
        excerpt.recorded);
    if (!excerpt.note.empty()) {
      steps += "<p class=\"warn\">" + html_visible(excerpt.note, 400) + "</p>";
    }
    for (const TrailSequence& s : excerpt.sequences) {
      steps += sequence_html(s, words);
    }
    steps += "</details>";
  }
  return fmt::format(
      "<p class=\"dim\">What the loss made of every token, and why. Point at a token, tap it, or "
      "focus it and use the arrow keys. {} of {} recorded steps; chosen by their place, not by "
      "how they look.</p>{}<div class=\"map\"><div>{}</div><aside class=\"facts\" "
      "aria-live=\"polite\"><p class=\"dim\">No token is chosen.</p></aside></div>"
      "<script type=\"application/json\" class=\"words\">{}</script>",
      std::min(kSteps, run.trails().size()), run.trails().size(), kControls, steps,
      script_json(words.json()));
}

}  // namespace minirl::rl::report
