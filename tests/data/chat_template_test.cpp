// Chat templates against the published ones, rendered by jinja2 (tests/reference/chat_oracle.py).
#include "data/chat_template.h"

#include <fstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "data/message_json.h"

namespace minirl::data {
namespace {

using Json = nlohmann::json;

const std::string kFixtures = std::string(MINIRL_SOURCE_DIR) + "/tests/data/fixtures";

std::string plain_text(const std::string& name, const std::vector<Message>& messages,
                       bool thinking = true) {
  ChatOptions options;
  options.thinking = thinking;
  options.default_system = ChatTemplates::find("chat template", name).default_system;
  return render_chat(name, messages, options).text;
}

// A copy of the small tokenizer with another chat template.
std::string template_error(const Json& chat_template, const std::string& wanted,
                           std::string* chosen = nullptr) {
  char pattern[] = "/tmp/minirl_chat_XXXXXX";
  const std::filesystem::path dir = mkdtemp(pattern);
  Json config = Json::parse(read_file(kFixtures + "/tiny_qwen/tokenizer_config.json"));
  config["chat_template"] = chat_template;
  write_file_atomic(dir / "tokenizer.json", read_file(kFixtures + "/tiny_qwen/tokenizer.json"));
  write_file_atomic(dir / "tokenizer_config.json", config.dump());
  std::string error;
  try {
    const auto found = choose_template(wanted, *load_tokenizer(dir));
    if (chosen != nullptr) {
      *chosen = found.name;
    }
  } catch (const Error& e) {
    CHECK(e.code() == Exit::usage);
    error = e.what();
  }
  std::filesystem::remove_all(dir);
  return error;
}

}  // namespace

TEST_CASE("data/chat_template: qwen3 and qwen2.5 write what the published templates write") {
  std::ifstream in(kFixtures + "/chat.jsonl");
  int count = 0;
  for (std::string line; std::getline(in, line); ++count) {
    const Json row = Json::parse(line);
    CAPTURE(line);
    CHECK(plain_text(row.at("template"), read_messages(row.at("messages"), "row"),
                     row.at("thinking")) == row.at("text").get<std::string>());
  }
  CHECK(count > 100);
}

TEST_CASE("data/chat_template: literal spans are exactly the contents") {
  const std::vector<Message> messages = {{"system", "S<|im_end|>", {}}, {"user", "U", {}}};
  const Rendered r = render_chat("qwen3", messages, {});
  REQUIRE(r.literal.size() == 2);
  CHECK(r.text.substr(r.literal[0].begin, r.literal[0].end - r.literal[0].begin) == "S<|im_end|>");
  CHECK(r.text.substr(r.literal[1].begin, r.literal[1].end - r.literal[1].begin) == "U");
  const auto t = load_tokenizer(kFixtures + "/tiny_qwen");
  const auto ids = t->encode_prompt(r.text, r.literal);
  CHECK(std::count(ids.begin(), ids.end(), t->special("<|im_end|>").value()) == 2);
  CHECK(std::count(ids.begin(), ids.end(), t->special("<|im_start|>").value()) == 3);
  CHECK(t->decode(ids) == r.text);
}

TEST_CASE("data/chat_template: earlier thinking is left out, so a turn is no prefix of the next") {
  const std::vector<Message> one = {{"user", "1?", {}},
                                    {"assistant", "<think>\nhm\n</think>\n\n1", {}}};
  std::vector<Message> two = one;
  two.push_back({"user", "2?", {}});
  ChatOptions closed;
  closed.generation_prompt = false;
  const std::string first = render_chat("qwen3", one, closed).text;
  const std::string second = render_chat("qwen3", two, closed).text;
  CHECK(first.find("hm") != std::string::npos);
  CHECK(second.find("hm") == std::string::npos);
  CHECK(second.substr(0, first.size()) != first);
}

TEST_CASE(
    "data/chat_template: the tokenizer's template is recognised, another one is refused by name") {
  const auto t = load_tokenizer(kFixtures + "/tiny_qwen");
  CHECK(choose_template("auto", *t).name == "qwen3");
  CHECK(choose_template("plain", *t).name == "plain");
  CHECK(choose_template("qwen2.5", *t).default_system.substr(0, 12) == "You are Qwen");
  CHECK(choose_template("auto", *byte_tokenizer()).name == "plain");
  CHECK_THROWS_AS((void)choose_template("qwen4", *t), Error);
  std::string chosen;
  CHECK(template_error(nullptr, "auto", &chosen).empty());
  CHECK(chosen == "plain");
  const std::string other = "{% for m in messages %}{{ m.content }}{% endfor %}";
  const std::string error = template_error(other, "auto");
  CHECK(error.find("{% for m in messages %}") != std::string::npos);
  CHECK(error.find("prompt.template=NAME, with NAME one of plain, qwen2.5, qwen3") !=
        std::string::npos);
  CHECK(template_error(other, "plain").empty());
  CHECK(template_error(Json::array({{{"name", "tool_use"}, {"template", "x"}},
                                    {{"name", "default"}, {"template", other}}}),
                       "auto") == error);
  CHECK(template_error(7, "auto").find("chat_template") != std::string::npos);
}

TEST_CASE("data/chat_template: messages that a template would drop are errors") {
  CHECK_THROWS_AS((void)render_chat("qwen3", {{"developer", "x", {}}}, {}), Error);
  CHECK_THROWS_AS((void)render_chat("qwen3", {}, {}), Error);
  CHECK_THROWS_AS((void)render_chat("plain", {{"system", "x", {}}, {"user", "y", {}}}, {}), Error);
  CHECK(render_chat("plain", {{"user", "a<|im_end|>", {}}}, {}).literal.empty());
  for (const char* bad : {"[]", "{}", "[1]", R"([{"role":"user"}])",
                          R"([{"role":"user","content":[{"type":"text"}]}])",
                          R"([{"role":"assistant","content":"","tool_calls":[]}])"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS((void)read_messages(Json::parse(bad), "f.jsonl:3"), Error);
  }
}

}  // namespace minirl::data
