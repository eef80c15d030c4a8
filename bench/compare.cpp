// minirl bench/compare.cpp -- minirl and PyTorch on the same models, in one go and in turns: medians, spread, ratios.
// usage: bench_compare [--models tiny,small] [--rounds 5] [--threads N] [--html FILE]
// Peers are the pythons in MINIRL_PEER_PYTHON (separated by ':'), else python3; one without torch is left out.
// With MINIRL_LLAMA_BENCH (llama.cpp's llama-batched-bench) and MINIRL_LLAMA_MODEL (a GGUF file) its own table is
// printed too; it only samples.
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <thread>

#include "audit/machine_peak.h"
#include "audit/speed.h"
#include "bench/peer_process.h"
#include "bench/shapes.h"
#include "core/files.h"
#include "core/parallel.h"
#include "core/stopwatch.h"
#include "model/family.h"
#include "model/pretrained.h"
#include "rl/html_page.h"
#include "rl/plot.h"

using namespace minirl;
using bench::PeerProcess;
using Json = nlohmann::json;

namespace {

namespace fs = std::filesystem;

/// Beyond this, contestants are loaded one at a time: two would not fit a small machine.
constexpr Index kLarge = 100'000'000;
/// A text where both compute -log p differs by no more (fp32 sums in another order).
constexpr double kSameLoss = 1e-4;

struct Task {
  std::string name;
  bool train;
  Index count, prompt, length;  // sequences; tokens of a prompt; tokens of a sequence, or new ones
  double tokens() const { return static_cast<double>(count * length); }
};

std::vector<Task> tasks_of(const std::string& model, bool large) {
  const Index fresh = large ? 8 : model == "small" ? 48 : 112;
  std::vector<Task> out = {large ? Task{"train 4 x 128", true, 4, 1, 128} : Task{"train 16 x 128", true, 16, 1, 128}};
  for (const Index batch : {1, 16, 64}) { out.push_back({fmt::format("sample batch {}", batch), false, batch, 16, fresh}); }
  return out;
}

Json request(const Task& t) {
  return t.train ? Json{{"op", "train"}, {"sequences", t.count}, {"length", t.length}}
                 : Json{{"op", "sample"}, {"batch", t.count}, {"prompt", t.prompt}, {"new", t.length}};
}

Json fields(const ModelConfig& c) {
  return {{"vocab_size", c.vocab_size}, {"hidden_size", c.hidden_size},   {"num_layers", c.num_layers},     {"num_heads", c.num_heads},
          {"num_kv_heads", c.num_kv_heads}, {"head_dim", c.head_dim},     {"ffn_size", c.ffn_size},         {"rope_theta", c.rope_theta},
          {"rms_norm_eps", c.rms_norm_eps}, {"initializer_range", c.initializer_range}};
}

/// Who computes: minirl in this process, or a peer in its own.
class Contestant {
 public:
  virtual ~Contestant() = default;
  virtual std::string name() const = 0;
  virtual bool load(const ModelConfig& config, const std::string& weights) = 0;
  virtual void unload() = 0;
  virtual double seconds(const Task& task) = 0;
  virtual double loss() = 0;
  virtual double peak_bytes() = 0;
};

class Ours final : public Contestant {
 public:
  explicit Ours(Exec exec) : exec_(exec) {}
  std::string name() const override { return "minirl"; }
  bool load(const ModelConfig& config, const std::string&) override {
    Arena::global().reset_peak();
    model_ = make_decoder(config, DType::f32, 1);
    return true;
  }
  void unload() override {
    training_.reset();
    model_.reset();
    Arena::global().trim();
  }
  double seconds(const Task& t) override {
    if (t.train) {
      if (!training_) { training_ = std::make_unique<audit::TrainSpeed>(*model_, t.count, t.length); }
      const Stopwatch watch;
      training_->step(exec_);
      return watch.seconds();
    }
    audit::SampleSpeed speed(*model_, t.count, t.prompt, t.length);
    const Stopwatch watch;
    speed.run(exec_);
    return watch.seconds();
  }
  double loss() override { return audit::TrainSpeed(*model_, 4, 128).loss(exec_); }
  double peak_bytes() override { return static_cast<double>(Arena::global().stats().peak_bytes); }
  const Decoder& model() const { return *model_; }

 private:
  Exec exec_;
  std::unique_ptr<Decoder> model_;
  std::unique_ptr<audit::TrainSpeed> training_;
};

class Peer final : public Contestant {
 public:
  Peer(std::string python, int threads) : python_(std::move(python)), threads_(threads) {
    PeerProcess process(python_, script());
    if (const auto info = process.ask({{"op", "info"}}); info && info->contains("torch")) { name_ = "torch " + info->at("torch").get<std::string>(); }
  }
  bool usable() const { return !name_.empty(); }
  std::string name() const override { return name_; }
  bool load(const ModelConfig& config, const std::string& weights) override {
    config_ = config;
    process_ = std::make_unique<PeerProcess>(python_, script());
    return process_->ask({{"op", "load"}, {"config", fields(config)}, {"threads", threads_}, {"weights", weights.empty() ? Json() : Json(weights)}}).has_value();
  }
  void unload() override { process_.reset(); }
  double seconds(const Task& t) override { return number(request(t), "seconds"); }
  double loss() override {
    Json tokens = Json::array();
    for (std::uint64_t i = 0; i < 4; ++i) { tokens.push_back(audit::speed_tokens(129, i, config_.vocab_size)); }
    return number({{"op", "loss"}, {"tokens", tokens}}, "loss");
  }
  double peak_bytes() override { return process_->peak_bytes(); }

 private:
  static std::string script() { return std::string(MINIRL_SOURCE_DIR) + "/bench/peers/torch_model.py"; }
  double number(const Json& question, const char* key) {
    const auto answer = process_->ask(question);
    if (!answer || !answer->contains(key)) { fail(Exit::runtime, fmt::format("{} ({}) did not answer {}", name_, python_, question.dump().substr(0, 80))); }
    return answer->at(key).get<double>();
  }
  std::string python_, name_;
  int threads_;
  ModelConfig config_;
  std::unique_ptr<PeerProcess> process_;
};

struct Result {
  std::string model, task;
  double tokens, flop;
  std::vector<std::vector<double>> seconds;  // of each contestant
};

// Threads of OpenMP wait actively for a while after their work: nobody else's time may pay for it.
void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(250)); }

std::vector<Result> compete(const std::string& model, int rounds, std::span<Contestant* const> all, Ours& ours) {
  const ModelConfig config = bench::shape(model);
  const Index parameters = model_parameter_count(config);
  const bool large = parameters > kLarge;
  std::vector<Result> out;
  std::vector<Task> tasks = tasks_of(model, large);
  for (const Task& t : tasks) {
    const double context = t.train ? static_cast<double>(t.length + 1) / 2 : static_cast<double>(t.prompt) + static_cast<double>(t.length) / 2;
    out.push_back({model, t.name, t.tokens(), audit::forward_flop(config, context) * t.tokens() * (t.train ? 3 : 1), {}});
    out.back().seconds.resize(all.size());
  }
  fmt::print("\n{}: {} parameters\n", model, parameters);
  const fs::path folder = fs::temp_directory_path() / fmt::format("minirl-compare-{}", ::getpid());
  std::string weights;
  if (!large) {
    ours.load(config, "");
    fs::create_directories(folder);
    save_pretrained(folder, ours.model(), {0, -1, 0});
    weights = folder.string();
    double first = 0;
    for (std::size_t c = 0; c < all.size(); ++c) {
      if (!all[c]->load(config, weights)) { fail(Exit::runtime, all[c]->name() + " cannot load the model"); }
      const double loss = all[c]->loss();
      if (c == 0) { first = loss; }
      fmt::print("  {}: loss {:.6f}\n", all[c]->name(), loss);
      if (!(std::abs(loss - first) < kSameLoss)) { fail(Exit::mismatch, fmt::format("{} computes another model: loss {} instead of {}", all[c]->name(), loss, first)); }
    }
  }
  for (int round = 0; round <= (large ? rounds - 1 : rounds); ++round) {
    for (std::size_t turn = 0; turn < all.size(); ++turn) {
      const std::size_t c = (turn + static_cast<std::size_t>(round)) % all.size();  // everyone is first in turn
      if (large && !all[c]->load(config, "")) { fail(Exit::runtime, all[c]->name() + " cannot load the model"); }
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        settle();
        if (large) { all[c]->seconds(tasks[i]); }  // a warm-up of what was just loaded
        const double s = all[c]->seconds(tasks[i]);
        if (large || round > 0) { out[i].seconds[c].push_back(s); }
      }
      if (large) {
        fmt::print("  round {} of {}: {}, peak {:.1f} GiB; seconds:", round + 1, rounds, all[c]->name(), all[c]->peak_bytes() / 1073741824.0);
        for (const Result& r : out) { fmt::print(" {} {:.3f};", r.task, r.seconds[c].back()); }
        fmt::print("\n");
        std::fflush(stdout);
        all[c]->unload();
      }
    }
  }
  if (!large) {
    for (Contestant* c : all) {
      fmt::print("  {}: peak memory {:.0f} MiB{}\n", c->name(), c->peak_bytes() / 1048576.0, c == all.front() ? " of tensors" : " resident");
      c->unload();
    }
  }
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return out;
}

/// Median and middle half of the ratio to the faster peer, round by round.
audit::Spread ratios(const Result& r) {
  std::vector<double> out;
  std::vector<double> medians;
  for (std::size_t c = 1; c < r.seconds.size(); ++c) { medians.push_back(audit::spread_of(r.seconds[c]).median); }
  const auto fastest = static_cast<std::size_t>(std::min_element(medians.begin(), medians.end()) - medians.begin()) + 1;
  for (std::size_t i = 0; i < r.seconds[0].size(); ++i) { out.push_back(r.seconds[fastest][i] / r.seconds[0][i]); }
  return audit::spread_of(out);
}

std::string page(const std::vector<Result>& results, std::span<Contestant* const> all, const std::string& machine) {
  std::string body = fmt::format("<h1>minirl and its peers</h1><p class=\"dim\">{}. Medians of rounds in alternation; bars are shares of the fastest of a line.</p>", rl::html_escape(machine));
  std::string model;
  for (const Result& r : results) {
    if (r.model != model) { body += fmt::format("<h2>{}</h2>", rl::html_escape(model = r.model)); }
    double best = 0;
    std::vector<double> rate;
    for (const auto& s : r.seconds) { best = std::max(best, rate.emplace_back(r.tokens / audit::spread_of(s).median)); }
    const std::size_t height = 24 * all.size() + 4;
    std::string bars;
    for (std::size_t c = 0; c < all.size(); ++c) {
      bars += fmt::format("<text x=\"0\" y=\"{0}\" fill=\"currentColor\">{1}</text><rect x=\"170\" y=\"{2}\" width=\"{3:.1f}\" height=\"16\" fill=\"{4}\"/>"
                          "<text x=\"{5:.1f}\" y=\"{0}\" fill=\"currentColor\">{6:.0f} tokens/s</text>",
                          24 * c + 17, rl::html_escape(all[c]->name()), 24 * c + 5, 360 * rate[c] / best, c == 0 ? "#2a78d6" : "#9aa3af", 178 + 360 * rate[c] / best, rate[c]);
    }
    body += fmt::format("<p>{}{}</p><svg role=\"img\" aria-label=\"{}\" viewBox=\"0 0 680 {}\" style=\"width:100%;max-width:680px;font:13px system-ui\">{}</svg>",
                        rl::html_escape(r.task), all.size() > 1 ? fmt::format(": {:.2f} times the faster peer", ratios(r).median) : "", rl::html_escape(r.model + ", " + r.task), height, bars);
  }
  return rl::html_page("Peers", body);
}

}  // namespace

int main(int argc, char** argv) try {
  std::map<std::string, std::string> options = {{"--models", "tiny,small"}, {"--rounds", "5"}, {"--threads", std::to_string(default_threads())}, {"--html", ""}};
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 >= argc || options.count(argv[i]) == 0) { fail(Exit::usage, fmt::format("'{}' is not understood", argv[i]), "--models LIST, --rounds N, --threads N, --html FILE"); }
    options[argv[i]] = argv[i + 1];
  }
  const int threads = std::atoi(options["--threads"].c_str()), rounds = std::atoi(options["--rounds"].c_str());
  if (threads < 1 || rounds < 1) { fail(Exit::usage, "--threads and --rounds are whole numbers from 1"); }
  const Exec exec{.threads = threads};
  Ours ours(exec);
  std::vector<std::unique_ptr<Peer>> peers;
  const char* given = std::getenv("MINIRL_PEER_PYTHON");
  std::istringstream pythons(given != nullptr ? given : "python3");
  for (std::string python; std::getline(pythons, python, ':');) {
    auto peer = std::make_unique<Peer>(python, threads);
    if (peer->usable()) { peers.push_back(std::move(peer)); } else { fmt::print("{} has no torch: left out (MINIRL_PEER_PYTHON names others)\n", python); }
  }
  std::vector<Contestant*> all = {&ours};
  for (const auto& p : peers) { all.push_back(p.get()); }
  double peak = audit::fma_peak(threads);
  std::vector<Result> results;
  std::istringstream models(options["--models"]);
  for (std::string model; std::getline(models, model, ',');) {
    for (Result& r : compete(model, rounds, all, ours)) { results.push_back(std::move(r)); }
  }
  peak = std::max(peak, audit::fma_peak(threads));
  const std::string machine = fmt::format("{} threads, {}, fma peak {:.0f} GFLOP/s, {} rounds", threads, name(active_isa()), peak, rounds);
  fmt::print("\n{}; tokens/s, median [middle half]\n\n{:11} {:16}", machine, "model", "task");
  for (const Contestant* c : all) { fmt::print(" | {:>28}", c->name()); }
  fmt::print(" | ratio to the faster peer | of fma peak\n");
  for (const Result& r : results) {
    fmt::print("{:11} {:16}", r.model, r.task);
    for (const auto& s : r.seconds) {
      const audit::Spread t = audit::spread_of(s);
      fmt::print(" | {:>28}", fmt::format("{:.0f} [{:.0f}, {:.0f}]", r.tokens / t.median, r.tokens / t.high, r.tokens / t.low));
    }
    const audit::Spread ratio = all.size() > 1 ? ratios(r) : audit::Spread{};
    fmt::print(" | {:>24} | {:.0f}%\n", all.size() > 1 ? fmt::format("{:.2f} [{:.2f}, {:.2f}]", ratio.median, ratio.low, ratio.high) : "", 100 * r.flop / audit::spread_of(r.seconds[0]).median / 1e9 / peak);
  }
  if (!options["--html"].empty()) {
    write_file_atomic(options["--html"], page(results, all, machine));
    fmt::print("\nwritten: {}\n", options["--html"]);
  }
  const char *llama = std::getenv("MINIRL_LLAMA_BENCH"), *gguf = std::getenv("MINIRL_LLAMA_MODEL");
  if (llama != nullptr && gguf != nullptr) {
    const std::string command = fmt::format("'{}' -m '{}' -c 16384 -npp 16 -ntg 112 -npl 1,16,64 -t {}", llama, gguf, threads);
    fmt::print("\n{}\n", command);
    std::fflush(stdout);
    if (std::system(command.c_str()) != 0) { fail(Exit::runtime, "llama.cpp's bench failed"); }
  }
} catch (const Error& e) {
  fmt::print(stderr, "error: {}\n", e.what());
  return static_cast<int>(e.code());
}
