// Problems in files: JSONL and parquet.
#include "data/dataset.h"

#include <cstdlib>
#include <set>

#include <doctest/doctest.h>

#include "core/files.h"
#include "data/task.h"

namespace minirl::data {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    char pattern[] = "/tmp/minirl_data_XXXXXX";
    path_ = mkdtemp(pattern);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string write(const std::string& name, const std::string& text) const {
    write_file_atomic(path_ / name, text);
    return (path_ / name).string();
  }

 private:
  fs::path path_;
};

std::string error_of(const std::string& path, DatasetOptions options = {}) {
  try {
    read_dataset(path, options);
    return "";
  } catch (const Error& e) {
    CHECK(e.code() == Exit::data);
    return e.what();
  }
}

void contains(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
}

const std::string kFixtures = std::string(MINIRL_SOURCE_DIR) + "/tests/data/fixtures";

ParamMap files(const std::string& train, const std::string& eval) {
  return {{"train", {train, "test"}}, {"eval", {eval, "test"}}};
}

}  // namespace

TEST_CASE("data/dataset: plain rows and verl's layout") {
  const Folder folder;
  const auto set =
      read_dataset(folder.write("a.jsonl", R"({"prompt": "2+2?", "answer": "4", "more": [1]}

{"prompt": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}], "reward_model": {"ground_truth": "7", "style": "rule"}, "extra_info": {"index": 3}}
{"id": "x", "prompt": "half", "answer": 0.5})"),
                   {});
  REQUIRE(set.examples.size() == 3);
  CHECK(set.examples[0].prompt == "2+2?");
  CHECK(set.examples[0].answer == "4");
  CHECK(set.examples[0].where.substr(set.examples[0].where.size() - 9) == "a.jsonl:1");
  CHECK(set.examples[1].messages.size() == 2);
  CHECK(set.examples[1].prompt == "U");
  CHECK(set.examples[1].answer == "7");
  CHECK(set.examples[1].label == "3");
  CHECK(set.examples[1].where.substr(set.examples[1].where.size() - 2) == ":3");
  CHECK(set.examples[2].answer == "0.5");
  CHECK(set.examples[2].id == 2);
}

TEST_CASE("data/dataset: the first bad row stops with file and line") {
  const Folder folder;
  const struct {
    const char *row, *message;
  } cases[] = {
      {"{\"prompt\": \"x\", ", "not a JSON object: not JSON"},
      {"[1, 2]", "not an object but array"},
      {"\"text\"", "not an object but string"},
      {"{\"answer\": \"4\"}", "no \"prompt\""},
      {"{\"prompt\": null, \"answer\": \"4\"}", "no \"prompt\""},
      {"{\"prompt\": 7, \"answer\": \"4\"}", "neither a text nor a list of messages"},
      {"{\"prompt\": [], \"answer\": \"4\"}", "neither a text nor a list of messages"},
      {"{\"prompt\": [{\"role\": \"user\"}], \"answer\": \"4\"}", "message 0 has no texts"},
      {"{\"prompt\": [{\"role\": \"assistant\", \"content\": \"a\"}], \"answer\": \"4\"}",
       "ends with the assistant"},
      {"{\"prompt\": \" \\n\", \"answer\": \"4\"}", "the prompt is empty"},
      {"{\"prompt\": \"x\"}", "neither \"answer\" nor reward_model.ground_truth"},
      {"{\"prompt\": \"x\", \"answer\": \"\"}", "the answer is empty"},
      {"{\"prompt\": \"x\", \"answer\": [\"4\"]}", "neither a text nor a number"},
      {"{\"prompt\": \"x\", \"answer\": \"4\", \"id\": {}}", "the id is neither"},
      {"{\"prompt\": \"\xff\", \"answer\": \"4\"}", "not JSON"}};
  const std::string good = "{\"prompt\": \"g\", \"answer\": \"1\"}\n";
  for (const auto& c : cases) {
    CAPTURE(c.row);
    const std::string path = folder.write("b.jsonl", good + c.row + "\n" + good);
    const std::string error = error_of(path);
    contains(error, "b.jsonl:2: ");
    contains(error, c.message);
    DatasetOptions skip;
    skip.on_bad_row = OnBadRow::skip;
    const auto set = read_dataset(path, skip);
    CHECK(set.examples.size() == 2);
    CHECK(set.skipped_total() == 1);
  }
  contains(error_of(folder.write("e.jsonl", "\n\n")), "no usable row");
  CHECK_THROWS_WITH_AS(
      (void)read_dataset(folder.write("l.jsonl", "version https://git-lfs.github.com/spec/v1\noid"),
                         {}),
      doctest::Contains("Git LFS"), Error);
  // Windows line ends and a byte order mark are no mistakes.
  CHECK(read_dataset(folder.write("w.jsonl", "\xEF\xBB\xBF{\"prompt\": \"a\", \"answer\": 1}\r\n"),
                     {})
            .examples.size() == 1);
  CHECK_THROWS_AS((void)read_dataset("/nowhere/x.jsonl", {}), Error);
}

TEST_CASE("data/dataset: two problems of one id are refused, even where rows may be skipped") {
  const Folder folder;
  DatasetOptions skip;
  skip.on_bad_row = OnBadRow::skip;
  const std::string error =
      error_of(folder.write("d.jsonl",
                            "{\"id\": 7, \"prompt\": \"a\", \"answer\": \"1\"}\n"
                            "{\"id\": \"7\", \"prompt\": \"b\", \"answer\": \"2\"}\n"),
               skip);
  contains(error, "d.jsonl:2: the id \"7\" was there before");
  contains(error, "d.jsonl:1");
}

TEST_CASE("data/dataset: parquet rows are checked like lines") {
  DatasetOptions skip;
  skip.on_bad_row = OnBadRow::skip;
  const std::string path = kFixtures + "/parquet/snappy_v1.parquet";
  contains(error_of(path), "snappy_v1.parquet: row 12: no \"prompt\"");
  const auto set = read_dataset(path, skip);
  CHECK(set.examples.size() == 20);  // two without messages, two without a gold answer
  CHECK(set.skipped_total() == 4);
  CHECK(set.examples[0].label == "id-0");
  CHECK(set.examples[0].messages[0].role == "system");
  CHECK(set.examples[1].answer == "2");
}

TEST_CASE("data/dataset: an epoch has every problem once, in an order of (seed, epoch) alone") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 23; ++i) {
    text += fmt::format("{{\"prompt\": \"p{}\", \"answer\": \"{}\"}}\n", i, i);
  }
  const std::string train = folder.write("t.jsonl", text);
  const auto task = make_task("jsonl", files(train, train));
  std::vector<std::string> first;
  std::vector<std::string> second;
  for (Index i = 0; i < 23; ++i) {
    first.push_back(task->train_example(1, i).prompt);
  }
  for (Index i = 23; i < 46; ++i) {
    second.push_back(task->train_example(1, i).prompt);
  }
  CHECK(std::set<std::string>(first.begin(), first.end()).size() == 23);
  CHECK(std::set<std::string>(second.begin(), second.end()).size() == 23);
  CHECK(first != second);
  // Any index first, as a resumed run asks for it.
  const auto resumed = make_task("jsonl", files(train, train));
  CHECK(resumed->train_example(1, 30).prompt == second[7]);
  CHECK(resumed->train_example(1, 4).prompt == first[4]);
  CHECK(resumed->train_example(2, 4).prompt != resumed->train_example(2, 5).prompt);
  std::vector<std::string> other;
  for (Index i = 0; i < 23; ++i) {
    other.push_back(resumed->train_example(2, i).prompt);
  }
  CHECK(other != first);
  CHECK(task->eval_examples(0).size() == 23);
  CHECK(task->eval_examples(5)[4].prompt == "p4");
  CHECK_THROWS_AS((void)task->eval_examples(24), Error);
  CHECK_THROWS_AS((void)task->supervised_example(1, 0), Error);
  const auto shorter = make_task("jsonl", files(train, train));
  CHECK(shorter->drop([](const Example& e) { return e.answer == "3"; }) ==
        2);  // train and held-out
  CHECK(shorter->eval_examples(0).size() == 22);
  CHECK_THROWS_AS((void)shorter->drop([](const Example&) { return true; }), Error);
}

}  // namespace minirl::data
