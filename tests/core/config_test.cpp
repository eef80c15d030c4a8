#include "core/config.h"

#include <cmath>
#include <cstring>

#include <doctest/doctest.h>

namespace minirl {
namespace {

enum class Mood { calm, wild };

struct Toy {
  Index steps = 10;
  int threads = 0;
  double lr = 0.5, cap = 1.0, norm = 1.0;
  bool tie = true;
  std::string name = "toy", mode = "mean";
  Mood mood = Mood::calm;
  std::string algorithm = "plain";
  ParamMap params;
};

std::vector<ParamSpec> specs_of(const std::string& name) {
  if (name == "plain") {
    return {};
  }
  if (name == "drpo") {
    return {{.name = "delta", .doc = "a threshold", .range = above(0), .hint = "0.2 is usual"},
            {.name = "anchor",
             .type = ScalarType::text,
             .fallback = std::string("rollout"),
             .choices = {"rollout", "recomputed"}}};
  }
  if (name == "spo") {
    return {{.name = "delta", .fallback = 12.5, .range = above(0)}};
  }
  fail(Exit::usage, "unknown algorithm '" + name + "'", "known: drpo, plain, spo");
}

void bind(Schema& s, Toy& t) {
  s.table("train", "training");
  s.field("steps", &t.steps, between(0, 1000), "updates");
  s.field("lr", &t.lr, above_to(0, 1), "learning rate");
  s.field("cap", &t.cap, or_infinity(above(0)), "ratio cap");
  s.field("max_grad_norm", &t.norm, or_word(above(0), "off", HUGE_VAL), "norm");
  s.field("mode", &t.mode, {"mean", "sum"}, "aggregation");
  s.field("mood", &t.mood, {{"calm", Mood::calm}, {"wild", Mood::wild}}, "mood");
  s.table("run", "the run");
  s.field("name", &t.name, "a name").no_effect_on_results();
  s.field("tie", &t.tie, "tied");
  s.field("threads", &t.threads, at_least(0), "threads").no_effect_on_results();
  s.table("algorithm", "the loss");
  s.entry("name", &t.algorithm, &t.params, specs_of, "which");
  s.instead("train.learning_rate", "write train.lr");
}

struct Loaded {
  Toy toy;
  std::vector<ResolvedKey> keys;
};

Loaded load(std::string_view toml, const std::vector<std::string>& sets = {}) {
  Loaded out;
  Schema schema;
  bind(schema, out.toy);
  std::vector<ConfigSource> sources;
  if (!toml.empty()) {
    sources.push_back(ConfigSource::text("t.toml", toml));
  }
  for (const auto& s : sets) {
    sources.push_back(ConfigSource::set(s));
  }
  schema.resolve(sources);
  out.keys = schema.keys();
  return out;
}

std::string error_of(std::string_view toml, const std::vector<std::string>& sets = {}) {
  try {
    load(toml, sets);
  } catch (const Error& error) {
    CHECK(error.code() == Exit::usage);
    return error.what();
  }
  return "(accepted)";
}

std::string origin(const Loaded& l, const std::string& key) {
  for (const auto& k : l.keys) {
    if (k.key == key) {
      return k.origin;
    }
  }
  return "?";
}

}  // namespace

TEST_CASE("core/config: defaults, then the file, then --set; every key knows where it came from") {
  const Loaded l = load("[train]\nsteps = 20\nlr = 1\n", {"train.lr=0.25", "run.name=2024"});
  CHECK(l.toy.steps == 20);
  CHECK(l.toy.lr == 0.25);
  CHECK(l.toy.name == "2024");
  CHECK(l.toy.mode == "mean");
  CHECK(origin(l, "train.steps") == "t.toml:2");
  CHECK(origin(l, "train.lr") == "--set train.lr=0.25");
  CHECK(origin(l, "train.mode") == "default");
  CHECK(load("").toy.steps == 10);
  CHECK(load("train = {steps = 3}\nrun.tie = false").toy.steps == 3);
}

TEST_CASE(
    "core/config: a mistake is named with its place, what is allowed and what was probably meant") {
  struct Case {
    const char* toml;
    std::vector<const char*> parts;
  };
  const std::vector<Case> cases = {
      {"[train]\n\nstep = 3",
       {"t.toml:3: unknown key 'train.step'", "did you mean 'train.steps'?", "steps, lr, cap"}},
      {"[trian]\nsteps = 3", {"t.toml:1: unknown table [trian]", "did you mean [train]?"}},
      {"[train]\nthreads = 3",
       {"t.toml:2: unknown key 'train.threads'", "did you mean 'run.threads'?"}},
      {"[train]\nlearning_rate = 3", {"unknown key 'train.learning_rate'", "write train.lr"}},
      {"steps = 3", {"t.toml:1: unknown key 'steps'", "did you mean 'train.steps'?"}},
      {"train = 3", {"'train' is a table, not a key", "[train]"}},
      {"[train.steps]\na = 1",
       {"t.toml:1: 'train.steps' must be a whole number from 0 to 1000, not a table"}},
      {"[train]\nsteps = \"3\"",
       {"'train.steps' must be a whole number from 0 to 1000, not the text \"3\""}},
      {"[train]\nsteps = 3.0", {"'train.steps' must be a whole number from 0 to 1000, not 3.0"}},
      {"[train]\nsteps = true", {"not true"}},
      {"[train]\nsteps = [3]", {"not an array"}},
      {"[train]\nsteps = 2024-01-01", {"not a date or time"}},
      {"[train]\nsteps = -1",
       {"t.toml:2: 'train.steps' must be a whole number from 0 to 1000, not -1", "updates"}},
      {"[train]\nsteps = 99999999999999999999", {"t.toml:2: not valid TOML"}},
      {"[train]\nlr = 0", {"'train.lr' must be a number above 0 and at most 1, not 0"}},
      {"[train]\nlr = nan", {"'train.lr'", "not nan"}},
      {"[train]\nlr = inf", {"'train.lr'", "not inf"}},
      {"[train]\ncap = -inf", {"'train.cap'", "(or inf), not -inf"}},
      {"[train]\nmax_grad_norm = inf", {"above 0 or \"off\", not inf"}},
      {"[train]\nmax_grad_norm = \"of\"", {"or \"off\", not the text \"of\""}},
      {"[train]\nmode = \"men\"",
       {"must be one of \"mean\", \"sum\", not the text \"men\"", "did you mean \"mean\"?"}},
      {"[train]\nmood = \"sad\"", {"must be one of \"calm\", \"wild\""}},
      {"[run]\ntie = 1", {"'run.tie' must be true or false, not 1"}},
      {"[run]\nname = 1", {"'run.name' must be a text, not 1"}},
      {"[run]\nthreads = 3000000000",
       {"'run.threads' must be a whole number from 0 to 2147483647"}},
      {"[train]\nlr = 1\nlr = 2", {"t.toml:3: not valid TOML", "lr"}},
      {"[train]\nlr = \n", {"t.toml:2: not valid TOML"}},
      {"[train\n", {"t.toml:1: not valid TOML"}},
      {"\"train.lr\" = 0.5", {"unknown key '\"train.lr\"'"}},
      {"[algorithm]\nname = \"drpoo\"",
       {"t.toml:2: 'algorithm.name': unknown algorithm 'drpoo'", "known: drpo"}},
      {"[algorithm]\nname = \"drpo\"",
       {"t.toml:2: 'algorithm.delta' is missing: algorithm 'drpo' needs it", "above 0",
        "0.2 is usual"}},
      {"[algorithm]\nname = \"drpo\"\ndelta = 0",
       {"t.toml:3: 'algorithm.delta' must be a number above 0, not 0"}},
      {"[algorithm]\nname = \"drpo\"\ndelat = 1",
       {"t.toml:3: unknown key 'algorithm.delat': algorithm 'drpo' has no such parameter",
        "did you mean 'algorithm.delta'?"}},
      {"[algorithm]\ndelta = 1",
       {"algorithm 'plain' has no such parameter", "takes no parameters"}},
      {"[algorithm]\nname = \"drpo\"\ndelta = 1\nanchor = \"rolout\"",
       {"did you mean \"rollout\"?"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.toml);
    const std::string error = error_of(c.toml);
    for (const char* part : c.parts) {
      CHECK_MESSAGE(error.find(part) != std::string::npos, error);
    }
  }
}

TEST_CASE("core/config: --set goes through the same checks and is named in errors") {
  struct Case {
    const char* set;
    const char* part;
  };
  for (const Case c :
       {Case{"train.lr", "--set train.lr: there is no '='"},
        {"lr=1", "does not say which table"},
        {"=1", "not a dotted key"},
        {"train..lr=1", "not a dotted key"},
        {"train.lr=", "--set train.lr=: 'train.lr' must be a number"},
        {"train.lr=abc", "not the text \"abc\""},
        {"train.lr=2", "at most 1, not 2"},
        {"train.steps=1e3", "not 1000.0"},
        {"train.steps=99999999999999999999", "not the text \"99999999999999999999\""},
        {"train.stepz=1", "did you mean 'train.steps'?"},
        {"foo.bar=1", "unknown key 'foo.bar'"},
        {"train.lr=1\nrun.tie=false", "not the text"},
        {"run.tie=[true]", "not an array"},
        {"train.mode=\"men\"", "did you mean \"mean\"?"},
        {"a.b.c=1", "unknown key 'a.b.c'"}}) {
    CAPTURE(c.set);
    const std::string error = error_of("", {c.set});
    CHECK_MESSAGE(error.find(c.part) != std::string::npos, error);
    CHECK_MESSAGE(error.find("--set") == 0, error);
  }
  CHECK(load("", {"train.mode=sum"}).toy.mode == "sum");
  CHECK(load("", {"train.mode = \"sum\""}).toy.mode == "sum");
  CHECK(load("", {"run.name="}).toy.name.empty());
  CHECK(load("", {"train.max_grad_norm=off"}).toy.norm == HUGE_VAL);
  CHECK(load("", {"train.cap=inf"}).toy.cap == HUGE_VAL);
}

TEST_CASE("core/config: all problems are told at once, in the order of lines") {
  const std::string error =
      error_of("[train]\nzzz = 1\nlr = 5\n[run]\ntie = 3\n[nope]\na = 1\nb = 2\n");
  CHECK(error.find("4 problems") == 0);
  const auto a = error.find("t.toml:2"), b = error.find("t.toml:3"), c = error.find("t.toml:5"),
             d = error.find("t.toml:6");
  CHECK(a < b);
  CHECK(b < c);
  CHECK(c < d);
  CHECK(d != std::string::npos);
  CHECK(error.find("nope.a") == std::string::npos);  // one message for the whole unknown table
}

TEST_CASE("core/config: choosing another algorithm drops the parameters of the former one") {
  const char* file = "[algorithm]\nname = \"drpo\"\ndelta = 0.2\n";
  CHECK(real_param(load(file).toy.params, "delta") == 0.2);
  CHECK(text_param(load(file).toy.params, "anchor") == "rollout");
  CHECK(load(file, {"algorithm.name=plain"}).toy.params.empty());
  CHECK(real_param(load(file, {"algorithm.name=spo"}).toy.params, "delta") == 12.5);
  // The order of --set arguments for different keys does not matter.
  CHECK(real_param(load(file, {"algorithm.delta=3", "algorithm.name=spo"}).toy.params, "delta") ==
        3.0);
  CHECK(real_param(load(file, {"algorithm.name=spo", "algorithm.delta=3"}).toy.params, "delta") ==
        3.0);
  CHECK(real_param(load(file, {"algorithm.name=drpo"}).toy.params, "delta") == 0.2);
  CHECK(
      error_of(file, {"algorithm.name=plain", "algorithm.delta=3"}).find("has no such parameter") !=
      std::string::npos);
}

TEST_CASE("core/config: the resolved document resolves to the same values and the same hash") {
  const Loaded first = load(
      "[train]\nlr = 0.1\ncap = inf\nmax_grad_norm = \"off\"\nmood = \"wild\"\n[run]\nname = \"a "
      "\\\"b\\\" # \\\\ \\n\\u0001\"\n",
      {"algorithm.name=drpo", "algorithm.delta=0.30000000000000004", "train.steps=7"});
  const std::string text = resolved_toml(first.keys, "title");
  const Loaded second = load(text);
  CHECK(second.toy.lr == first.toy.lr);
  CHECK(second.toy.cap == HUGE_VAL);
  CHECK(second.toy.norm == HUGE_VAL);
  CHECK(second.toy.mood == Mood::wild);
  CHECK(second.toy.name == first.toy.name);
  const double a = real_param(first.toy.params, "delta"),
               b = real_param(second.toy.params, "delta");
  CHECK(std::memcmp(&a, &b, sizeof a) == 0);
  CHECK(config_hash(first.keys) == config_hash(second.keys));
  CHECK(text.find("steps = 7") != std::string::npos);
  CHECK(text.find("# --set train.steps=7") != std::string::npos);
  CHECK(text.find("# t.toml:2") != std::string::npos);
}

TEST_CASE(
    "core/config: the hash sees every value; the results hash only those that change results") {
  const std::string base = config_hash(load("").keys);
  CHECK(base.size() == 64);
  CHECK(config_hash(load("[train]\nlr = 0.5").keys) == base);  // the default, written out
  CHECK(config_hash(load("[train]\nlr = 0.5000000000000001").keys) != base);
  CHECK(config_hash(load("[run]\nthreads = 3").keys) != base);
  CHECK(results_hash(load("[run]\nthreads = 3").keys) == results_hash(load("").keys));
  CHECK(results_hash(load("[run]\ntie = false").keys) != results_hash(load("").keys));
}

TEST_CASE("core/config: reals are written as the shortest text with the same bits") {
  for (const double v : {0.1, 1.0, 1e-6, 1e22, -0.0, 5e-324, 1.7976931348623157e308, 1.0 / 3.0}) {
    const std::string text = to_toml(v);
    CAPTURE(text);
    const auto source = ConfigSource::set("a.b=" + text);
    const double back = std::get<double>(*source.items()[0].scalar);
    CHECK(std::memcmp(&v, &back, sizeof v) == 0);
  }
  CHECK(to_toml(1.0) == "1.0");
  CHECK(to_toml(std::int64_t{1}) == "1");
}

}  // namespace minirl
