// Directories of weights: shards and their index, adapters, types, and how each can be wrong.
#include "model/weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "core/files.h"
#include "model/convert.h"
#include "model/family.h"
#include "model/model_presets.h"
#include "model/staged_directory.h"
#include "model/temporary.h"
#include "model/tiny.h"

using namespace minirl;
using namespace minirl::test;

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string refusal(const fs::path& directory, const LoadOptions& options = {}) {
  try {
    load_pretrained(directory, DType::f32, options);
  } catch (const Error& e) {
    CHECK(e.code() == Exit::usage);
    return e.what();
  }
  FAIL("accepted");
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string kIndex = "model.safetensors.index.json";
std::string shard(int i, int n) { return fmt::format("model-{:05}-of-{:05}.safetensors", i, n); }

/// A tiny model in four shards.
struct Sharded {
  TemporaryDirectory directory;
  std::unique_ptr<Decoder> model = make_decoder(tiny_config(), DType::f32, 5);
  Sharded() {
    SaveOptions options;
    options.max_shard_bytes = 14000;
    save_pretrained(path(), *model, {1, 2, 3}, options);
    REQUIRE(Weights(path()).files() == 4);
  }
  const fs::path& path() const { return directory.path(); }
  Json index() const { return Json::parse(read_file(path() / kIndex)); }
  void write_index(const Json& doc) const { write_file_atomic(path() / kIndex, doc.dump()); }
  void map(const std::string& tensor, const Json& file) const {
    Json doc = index();
    doc["weight_map"][tensor] = file;
    write_index(doc);
  }
  void rename(const std::string& from, const std::string& to) const {
    fs::rename(path() / from, path() / to);
  }
};

struct Fault {
  std::string what;
  std::function<void(const Sharded&)> make;
  std::vector<std::string> message;
};

std::vector<Fault> faults() {
  const std::string last = "model.norm.weight", table = "model.embed_tokens.weight";
  return {
      {"index empty", [](auto& s) { write_file_atomic(s.path() / kIndex, ""); }, {kIndex, "not JSON"}},
      {"index cut", [](auto& s) { write_file_atomic(s.path() / kIndex, read_file(s.path() / kIndex).substr(0, 99)); }, {kIndex, "not JSON"}},
      {"index a list", [](auto& s) { s.write_index(Json::array()); }, {kIndex, "no 'weight_map'"}},
      {"index without map", [](auto& s) { s.write_index({{"metadata", Json::object()}}); }, {kIndex, "no 'weight_map'"}},
      {"map empty", [](auto& s) { s.write_index({{"weight_map", Json::object()}}); }, {"no 'weight_map'"}},
      {"map a list", [](auto& s) { s.write_index({{"weight_map", {1}}}); }, {"no 'weight_map'"}},
      {"index a Git LFS pointer", [](auto& s) { write_file_atomic(s.path() / kIndex, "version https://git-lfs.github.com/spec/v1\n"); }, {kIndex, "Git LFS pointer"}},
      {"index an HTML page", [](auto& s) { write_file_atomic(s.path() / kIndex, "<!DOCTYPE html>"); }, {kIndex, "HTML"}},
      {"index names a tensor twice", [](auto& s) { write_file_atomic(s.path() / kIndex, R"({"weight_map":{"a":"x.safetensors","a":"y.safetensors"}})"); }, {"'a' is listed twice"}},
      {"shard a number", [=](auto& s) { s.map(last, 3); }, {kIndex, last, "is 3, not a name"}},
      {"shard in the folder above", [=](auto& s) { s.map(last, "../model-00001-of-00004.safetensors"); }, {kIndex, last, "../model", "same folder"}},
      {"shard with an absolute name", [=](auto& s) { s.map(last, "/etc/passwd"); }, {kIndex, last, "/etc/passwd", "same folder"}},
      {"shard in a folder below", [=](auto& s) { s.map(last, "a/b.safetensors"); }, {last, "same folder"}},
      {"shard '..'", [=](auto& s) { s.map(last, ".."); }, {last, "same folder"}},
      {"shard without a name", [=](auto& s) { s.map(last, ""); }, {last, "same folder"}},
      {"shard with a backslash", [=](auto& s) { s.map(last, "..\\x.safetensors"); }, {last, "same folder"}},
      {"shard with a zero byte", [=](auto& s) { s.map(last, std::string("x\0y", 3)); }, {last, "same folder"}},
      {"shard a link to elsewhere", [](auto& s) {
         const fs::path other = s.path().parent_path() / (s.path().filename().string() + "-outside");
         fs::rename(s.path() / shard(2, 4), other);
         fs::create_symlink(other, s.path() / shard(2, 4));
       }, {shard(2, 4), "link that leads outside"}},
      {"shard a dangling link", [](auto& s) {
         fs::remove(s.path() / shard(2, 4));
         fs::create_symlink("nowhere", s.path() / shard(2, 4));
       }, {shard(2, 4), "No such file"}},
      {"shard a folder", [](auto& s) {
         fs::remove(s.path() / shard(2, 4));
         fs::create_directory(s.path() / shard(2, 4));
       }, {shard(2, 4), "not a regular file"}},
      {"a shard absent", [](auto& s) { fs::remove(s.path() / shard(3, 4)); }, {kIndex, "lists 4 files, of which 1 are absent", shard(3, 4), "incomplete"}},
      {"two shards absent", [](auto& s) { fs::remove(s.path() / shard(3, 4)); fs::remove(s.path() / shard(1, 4)); }, {"2 are absent"}},
      {"shards renamed, index stale", [](auto& s) {
         for (int i = 1; i <= 4; ++i) { s.rename(shard(i, 4), shard(i, 8)); }
       }, {"lists 4 files, of which 4 are absent", shard(1, 8), "index is stale"}},
      {"a shard cut short", [](auto& s) { fs::resize_file(s.path() / shard(2, 4), fs::file_size(s.path() / shard(2, 4)) - 100); }, {shard(2, 4), "cut short"}},
      {"a shard empty", [](auto& s) { fs::resize_file(s.path() / shard(2, 4), 0); }, {shard(2, 4), "0 bytes"}},
      {"a shard a Git LFS pointer", [](auto& s) { write_file_atomic(s.path() / shard(4, 4), "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"); }, {shard(4, 4), "Git LFS pointer"}},
      {"a shard an HTML page", [](auto& s) { write_file_atomic(s.path() / shard(4, 4), "<html>429 Too Many Requests</html>"); }, {shard(4, 4), "HTML"}},
      {"index names another shard", [=](auto& s) { s.map(last, shard(1, 4)); }, {kIndex, last, fmt::format("is in '{}', but that file does not hold it", shard(1, 4)), fmt::format("('{}' does)", shard(4, 4))}},
      {"index names a tensor that nobody has", [](auto& s) { s.map("model.layers.7.w", shard(1, 4)); }, {kIndex, "'model.layers.7.w'", "does not hold it"}},
      {"tensor that the index does not list", [=](auto& s) {
         Json doc = s.index();
         doc["weight_map"].erase(last);
         s.write_index(doc);
       }, {shard(4, 4), last, "not listed"}},
      {"tensor in two shards", [](auto& s) {
         fs::copy_file(s.path() / shard(4, 4), s.path() / "copy.safetensors");
         s.map("another", "copy.safetensors");
       }, {"is also in"}},
      {"tensor that was never listed", [=](auto& s) {
         Json doc = s.index();
         for (auto it = doc["weight_map"].begin(); it != doc["weight_map"].end();) {
           it = it.value() == shard(4, 4) ? doc["weight_map"].erase(it) : std::next(it);
         }
         s.write_index(doc);
         fs::remove(s.path() / shard(4, 4));
       }, {"no tensor", "is listed, and none of its 3 files holds it"}},
      {"single file and index", [](auto& s) { fs::copy_file(s.path() / shard(4, 4), s.path() / "model.safetensors"); }, {"has both model.safetensors and " + kIndex}},
      {"shards without an index", [](auto& s) { fs::remove(s.path() / kIndex); }, {"has neither model.safetensors nor " + kIndex, shard(1, 4)}},
      {"PyTorch archives only", [](auto& s) {
         for (int i = 1; i <= 4; ++i) { fs::remove(s.path() / shard(i, 4)); }
         fs::remove(s.path() / kIndex);
         write_file_atomic(s.path() / "pytorch_model.bin", "PK");
       }, {"has no model.safetensors, only 'pytorch_model.bin'", "convert the weights first"}},
      {"a LoRA adapter", [](auto& s) {
         for (int i = 1; i <= 4; ++i) { fs::remove(s.path() / shard(i, 4)); }
         fs::remove(s.path() / kIndex);
         write_file_atomic(s.path() / "adapter_config.json", R"({"r":16,"lora_alpha":32,"use_rslora":true,"base_model_name_or_path":"Qwen/Qwen3-4B"})");
         write_file_atomic(s.path() / "adapter_model.safetensors", "x");
       }, {"LoRA adapter, not a model", "Qwen/Qwen3-4B", "r 16", "lora_alpha 32", "use_rslora true", "merge"}},
      {"config.json a Git LFS pointer", [](auto& s) { write_file_atomic(s.path() / "config.json", "version https://git-lfs.github.com/spec/v1\n"); }, {"config.json", "Git LFS pointer"}},
      {"config.json an HTML page", [](auto& s) { write_file_atomic(s.path() / "config.json", "<!DOCTYPE html>"); }, {"config.json", "HTML"}},
  };
}

Json config_of(const fs::path& directory) {
  return Json::parse(read_file(directory / "config.json"));
}
void write_config(const fs::path& directory, const Json& doc) {
  write_file_atomic(directory / "config.json", doc.dump());
}

}  // namespace

TEST_CASE("model/weights: every fault of a sharded directory is one clear error with file and tensor") {
  const auto table = faults();
  CHECK(table.size() >= 36);
  for (const Fault& fault : table) {
    CAPTURE(fault.what);
    const Sharded sharded;
    fault.make(sharded);
    const std::string message = refusal(sharded.path());
    CAPTURE(message);
    CHECK(contains(message, sharded.path().string()));
    CHECK(message.find('\n') == message.find("\n  hint: "));
    for (const std::string& part : fault.message) {
      CHECK_MESSAGE(contains(message, part), part);
    }
    fs::remove(sharded.path().string() + "-outside");
  }
}

TEST_CASE("model/weights: links of the Hub's cache are followed") {
  const TemporaryDirectory cache;
  const fs::path snapshot = cache.path() / "models--x/snapshots/0123", blobs = cache.path() / "models--x/blobs";
  fs::create_directories(snapshot);
  fs::create_directories(blobs);
  const auto model = make_decoder(tiny_config(), DType::f32, 5);
  save_pretrained(snapshot, *model, {});
  fs::rename(snapshot / "model.safetensors", blobs / "abc");
  fs::create_symlink("../../blobs/abc", snapshot / "model.safetensors");
  CHECK(load_pretrained(snapshot)->params().hash() == model->params().hash());
}

TEST_CASE("model/weights: progress comes tensor by tensor and ends at all bytes") {
  const Sharded sharded;
  LoadOptions options;
  std::vector<std::size_t> seen;
  std::size_t all = 0;
  options.progress = [&](std::size_t done, std::size_t total) {
    seen.push_back(done);
    all = total;
  };
  const auto model = load_pretrained(sharded.path(), DType::f32, options);
  CHECK(seen.size() == model->params().all().size());
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  CHECK(seen.back() == all);
  CHECK(all == Weights(sharded.path()).bytes());
}

TEST_CASE("model/weights: the user may say what the head of a tied model means") {
  const TemporaryDirectory directory;
  const auto untied = make_decoder(tiny_config(false), DType::f32, 5);
  save_pretrained(directory.path(), *untied, {});
  Json doc = config_of(directory.path());
  doc["tie_word_embeddings"] = true;
  write_config(directory.path(), doc);
  const std::string message = refusal(directory.path());
  CHECK(contains(message, "'lm_head.weight' that differs"));
  CHECK(contains(message, "model.tied_head"));
  LoadOptions options;
  options.tied_head = TiedHead::head;
  const auto with_head = load_pretrained(directory.path(), DType::f32, options);
  CHECK(with_head->params().hash() == untied->params().hash());
  CHECK_FALSE(with_head->config().tie_word_embeddings);
  options.tied_head = TiedHead::table;
  const auto with_table = load_pretrained(directory.path(), DType::f32, options);
  CHECK(with_table->params().find("lm_head.weight") == nullptr);
  CHECK(with_table->config().tie_word_embeddings);
  const ConvertOptions convert{.tied_head = TiedHead::head};
  convert_directory(directory.path(), directory.path() / "out", convert);
  CHECK(config_of(directory.path() / "out")["tie_word_embeddings"] == false);
  CHECK(load_pretrained(directory.path() / "out")->params().hash() == untied->params().hash());
}

TEST_CASE("model/stored_type: every half is the float of its bits and comes back") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_value(half);
    const int exponent = static_cast<int>(bits >> 10 & 31U), mantissa = static_cast<int>(bits & 1023U);
    if (exponent == 31) {
      CHECK((mantissa == 0 ? std::isinf(value) : std::isnan(value)));
      CHECK((half_bits(value) & 0x7c00U) == 0x7c00U);
      continue;
    }
    const double want = (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25)) * ((bits & 0x8000U) != 0 ? -1 : 1);
    REQUIRE(static_cast<double>(value) == want);
    REQUIRE(half_bits(value) == half);
  }
}

TEST_CASE("model/stored_type: rounding is to the nearest half, ties to even") {
  rng::Random random(rng::Key::of(3, rng::Stream::test));
  const auto check = [](float x) {
    const std::uint16_t got = half_bits(x);
    const float value = half_value(got);
    if (std::abs(x) >= 65520) {
      REQUIRE(std::isinf(value));
      return;
    }
    REQUIRE(std::isfinite(value));
    for (const int step : {-1, 1}) {  // neither neighbour is nearer; a tie goes to the even one
      const auto other = static_cast<std::uint16_t>(got + step);
      if ((other & 0x7fffU) > 0x7bffU || ((other ^ got) & 0x8000U) != 0) { continue; }
      const double mine = std::abs(double(value) - double(x)), theirs = std::abs(double(half_value(other)) - double(x));
      REQUIRE(mine <= theirs);
      if (mine == theirs) { REQUIRE((got & 1U) == 0); }
    }
  };
  for (int i = 0; i < 200000; ++i) {
    check(std::bit_cast<float>((random.bits() & 0x8fffffffU) | 0x30000000U));  // around the range of halves
    check(static_cast<float>(random.normal()));
  }
  for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {  // exact ties
    check((half_value(static_cast<std::uint16_t>(bits)) + half_value(static_cast<std::uint16_t>(bits + 1))) / 2);
  }
  CHECK(half_bits(65519.99F) == 0x7bff);
  CHECK(half_bits(65520.0F) == 0x7c00);
  CHECK(half_bits(-1e30F) == 0xfc00);
}

TEST_CASE("model/stored_type: doubles are rounded to 16 bits once, not twice") {
  // 1 + 2^-11 + 2^-40 lies above a tie of halves; by way of a float it would become the tie.
  const std::vector<double> values = {1 + 0x1p-11 + 0x1p-40, -(1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-11 - 0x1p-40, 1 + 0x1p-9 - 0x1p-60 + 0x1p-11};
  std::vector<std::byte> bytes(8);
  encode(StoredType::F16, std::span<const double>(values), bytes);
  std::uint16_t got[4];
  std::memcpy(got, bytes.data(), 8);
  CHECK(got[0] == 0x3c01);
  CHECK(got[1] == 0xbc01);
  CHECK(got[2] == 0x3c00);
  const std::vector<double> brain = {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8, 1 + 0x1p-8 - 0x1p-40, 1 + 3 * 0x1p-8};
  encode(StoredType::BF16, std::span<const double>(brain), bytes);
  std::memcpy(got, bytes.data(), 8);
  CHECK(got[0] == 0x3f81);
  CHECK(got[1] == 0x3f80);
  CHECK(got[2] == 0x3f80);
  CHECK(got[3] == 0x3f82);
}

TEST_CASE("model/convert: a checkpoint goes out in bf16 shards and keeps everything but its type") {
  const TemporaryDirectory root;
  const fs::path in = root.path() / "in", out = root.path() / "out", back = root.path() / "back";
  fs::create_directory(in);
  const auto model = make_decoder(tiny_config(false), DType::f32, 5);
  save_pretrained(in, *model, {1, 2, 3});
  Json doc = config_of(in);
  doc["a_field_of_others"] = {1, 2};
  write_config(in, doc);
  write_file_atomic(in / "generation_config.json", R"({"eos_token_id":[1,4],"temperature":0.6})");
  write_file_atomic(in / "tokenizer.json", "{\"any\": \"bytes\"}");
  write_file_atomic(in / "README.md", "not copied");
  convert_directory(in, out, {.type = StoredType::BF16, .max_shard_bytes = 5000});
  const Weights weights(out);
  CHECK(weights.files() > 2);
  for (const auto& [name, place] : weights.tensors()) {
    CHECK(place.entry.type == StoredType::BF16);
  }
  const Json after = config_of(out);
  CHECK(after["torch_dtype"] == "bfloat16");
  CHECK(after["a_field_of_others"] == doc["a_field_of_others"]);
  CHECK(read_file(out / "generation_config.json") == read_file(in / "generation_config.json"));
  CHECK(read_file(out / "tokenizer.json") == read_file(in / "tokenizer.json"));
  CHECK_FALSE(fs::exists(out / "README.md"));
  const auto rounded = load_pretrained(out);
  for (Param& p : model->params().all()) {
    const Tensor want = p.value.to(DType::bf16).to(DType::f32);
    CHECK(same_bits(want.span<float>(), rounded->params().find(p.name)->value.span<float>()));
  }
  convert_directory(out, back, {.type = StoredType::F32});  // 16 bits fit
  CHECK(load_pretrained(back)->params().hash() == rounded->params().hash());
  // Nothing is left behind, nothing is overwritten.
  CHECK_THROWS_WITH_AS(convert_directory(in, out, {}), doctest::Contains("exists already"), Error);
  CHECK(std::distance(fs::directory_iterator(root.path()), fs::directory_iterator()) == 3);
}

TEST_CASE("model/convert: a value that the type cannot hold is named and nothing is written") {
  const TemporaryDirectory root;
  const fs::path in = root.path() / "in", out = root.path() / "out";
  fs::create_directory(in);
  const auto model = make_decoder(tiny_config(), DType::f32, 5);
  model->params().find("model.norm.weight")->value.data<float>()[7] = 70000;
  save_pretrained(in, *model, {});
  CHECK_THROWS_WITH_AS(convert_directory(in, out, {.type = StoredType::F16}),
                       doctest::Contains("'model.norm.weight' holds 70000 at index 7, which F16 cannot hold"), Error);
  CHECK_FALSE(fs::exists(out));
  CHECK(std::distance(fs::directory_iterator(root.path()), fs::directory_iterator()) == 1);
  convert_directory(in, out, {.type = StoredType::BF16});
  model->params().find("model.norm.weight")->value.data<float>()[7] = NAN;
  save_pretrained(in, *model, {});
  CHECK_THROWS_WITH_AS(convert_directory(in, root.path() / "out2", {}), doctest::Contains("holds nan at index 7"), Error);
}

TEST_CASE("model/convert: streamed random weights are those of a model in memory") {
  for (const StoredType type : {StoredType::F32, StoredType::BF16}) {
    const TemporaryDirectory a, b;
    ModelConfig config = find_model_preset("qwen3-tiny").config;
    config.vocab_size = 40000;  // a tensor of several pieces
    write_random_model(a.path(), config, {1, -1, -1}, {.seed = 9, .type = type});
    SaveOptions options;
    options.type = type;
    save_pretrained(b.path(), *make_decoder(config, DType::f32, 9), {1, -1, -1}, options);
    for (const char* file : {"model.safetensors", "config.json", "generation_config.json"}) {
      CHECK(read_file(a.path() / file) == read_file(b.path() / file));
    }
  }
}

TEST_CASE("model/model_presets: shapes have the published numbers of parameters") {
  const auto count = [](const char* name) { return model_parameter_count(find_model_preset(name).config); };
  CHECK(count("qwen3-0.6b") == 596049920);
  CHECK(count("qwen3-1.7b") == 1720574976);
  CHECK(count("qwen3-4b") == 4022468096);
  CHECK(count("qwen3-8b") == 8190735360);
  CHECK(count("r1-distill-qwen-1.5b") == 1777088000);
  CHECK(count("llama-3.2-1b") == 1235814400);
  CHECK_THROWS_WITH_AS(find_model_preset("qwen3-0.6"), doctest::Contains("did you mean 'qwen3-0.6b'"), Error);
}

TEST_CASE("model/config_json: end tokens are the union of what the files declare") {
  const Sharded s;
  Json doc = config_of(s.path());
  const auto ids = [&](const Json& config, const Json& generation) {
    doc["eos_token_id"] = config;
    write_config(s.path(), doc);
    write_file_atomic(s.path() / "generation_config.json", Json({{"eos_token_id", generation}, {"temperature", 0.7}, {"top_k", 20}}).dump());
    return read_declared_ids(s.path()).eos;
  };
  CHECK(ids(7, 9) == std::vector<Token>{7, 9});
  CHECK(ids(7, {9, 7}) == std::vector<Token>{7, 9});
  CHECK(ids({5, 6}, nullptr) == std::vector<Token>{5, 6});
  CHECK(ids(nullptr, nullptr).empty());
  for (const Json& wrong : {Json("7"), Json(-1), Json(53), Json({7, 900}), Json(1.5), Json(true), Json({{"id", 7}})}) {
    CAPTURE(wrong.dump());
    CHECK_THROWS_WITH_AS(ids(wrong, 7), doctest::Contains("'eos_token_id' = "), Error);
    CHECK_THROWS_WITH_AS(ids(7, wrong), doctest::Contains("generation_config.json"), Error);
  }
  fs::remove(s.path() / "generation_config.json");
  doc["eos_token_id"] = 7;
  doc["pad_token_id"] = nullptr;
  write_config(s.path(), doc);
  CHECK(read_declared_ids(s.path()).eos == std::vector<Token>{7});
  CHECK(read_declared_ids(s.path()).pad == -1);
  CHECK(load_pretrained(s.path())->params().hash() == s.model->params().hash());
}

TEST_CASE("model/config_json: scaled positions in both spellings, windows that are off, and what is refused") {
  const Sharded s;
  const Json good = config_of(s.path());
  const auto read = [&](const Json& changes) {
    Json doc = good;
    doc.update(changes);
    write_config(s.path(), doc);
    return read_config_json(s.path() / "config.json");
  };
  const auto refused = [&](const Json& changes, const std::string& message) {
    CAPTURE(changes.dump());
    CHECK_THROWS_WITH_AS(read(changes), doctest::Contains(message.c_str()), Error);
  };
  const Json llama = {{"factor", 8.0}, {"low_freq_factor", 1.0}, {"high_freq_factor", 4.0}, {"original_max_position_embeddings", 8192}, {"unknown_extra", 1}};
  for (const char* key : {"type", "rope_type"}) {
    Json scaling = llama;
    scaling[key] = "llama3";
    const RopeScaling r = read({{"rope_scaling", scaling}}).rope_scaling;
    CHECK(r.kind == RopeScaling::Kind::llama3);
    CHECK(r.factor == 8);
    CHECK(r.original_max_positions == 8192);
  }
  const ModelConfig yarn = read({{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32768}}}, {"max_position_embeddings", 40960}});
  CHECK(yarn.max_positions == 131072);
  CHECK(read({{"rope_scaling", {{"rope_type", "yarn"}, {"original_max_position_embeddings", 128}}}}).rope_scaling.factor == 4);
  CHECK(read({{"rope_scaling", {{"type", "default"}}}}).rope_scaling.kind == RopeScaling::Kind::none);
  for (const char* type : {"dynamic", "longrope", "mrope", "su", "xpos"}) {
    refused({{"rope_scaling", {{"type", type}, {"factor", 2}}}}, fmt::format("\"{}\": this scaling of rotary positions is not supported", type));
  }
  refused({{"rope_scaling", {{"type", "linear"}, {"rope_type", "yarn"}, {"factor", 2}}}}, "contradicts");
  refused({{"rope_scaling", {{"type", "linear"}, {"factor", 0.5}}}}, "'rope_scaling.factor' = 0.5 must be at least 1");
  refused({{"rope_scaling", {{"type", "linear"}}}}, "'rope_scaling.factor' is missing");
  refused({{"rope_scaling", {{"type", 3}}}}, "'rope_scaling.type' = 3");
  refused({{"rope_scaling", "yarn"}}, "'rope_scaling' = \"yarn\" is not an object");
  refused({{"rope_scaling", {{"type", "llama3"}, {"factor", 8}}}}, "'rope_scaling.original_max_position_embeddings' is missing");
  refused({{"rope_scaling", {{"type", "yarn"}, {"factor", 4}, {"beta_fast", 1}, {"beta_slow", 32}}}}, "beta_slow");
  refused({{"rope_scaling", {{"type", "yarn"}, {"factor", 4}, {"attention_factor", -1}}}}, "attention_factor");
  refused({{"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 5e5}}}}, "contradicts");
  refused({{"rope_parameters", {{"rope_type", "linear"}, {"factor", 2}, {"rope_theta", 1e4}}}, {"rope_scaling", {{"rope_type", "linear"}, {"factor", 4}}}}, "contradict each other");
  refused({{"partial_rotary_factor", 0.5}}, "partial_rotary_factor");
  // From max_window_layers on, layers have the window: here there are 2 layers.
  CHECK(read({{"use_sliding_window", true}, {"sliding_window", 64}, {"max_window_layers", 2}}).num_layers == 2);
  CHECK(read({{"use_sliding_window", true}, {"sliding_window", nullptr}, {"max_window_layers", 0}}).num_layers == 2);
  CHECK(read({{"use_sliding_window", false}, {"sliding_window", 64}, {"max_window_layers", 0}}).num_layers == 2);
  CHECK(read({{"use_sliding_window", true}, {"sliding_window", 64}, {"max_window_layers", 0}, {"layer_types", {"full_attention", "full_attention"}}}).num_layers == 2);
  refused({{"use_sliding_window", true}, {"sliding_window", 64}, {"max_window_layers", 1}}, "sliding-window attention");
  refused({{"use_sliding_window", true}, {"sliding_window", 64}, {"max_window_layers", nullptr}}, "sliding-window attention");
  refused({{"layer_types", {"full_attention", "sliding_attention"}}}, "'layer_types' has \"sliding_attention\"");
  refused({{"layer_types", {"full_attention"}}}, "'layer_types' is not a list of 'num_hidden_layers' = 2");
  refused({{"layer_types", "full_attention"}}, "'layer_types' is not a list");
  // What other families are silent about.
  Json qwen2 = good;
  qwen2["model_type"] = "qwen2";
  for (const char* key : {"head_dim", "rope_theta", "tie_word_embeddings", "attention_bias"}) { qwen2.erase(key); }
  write_config(s.path(), qwen2);
  const ModelConfig c = read_config_json(s.path() / "config.json");
  CHECK(c.head_dim == 6);
  CHECK(c.rope_theta == 1e4);
  CHECK_FALSE(c.tie_word_embeddings);
}

TEST_CASE("model/config_json: a head_dim that was filled in and does not fit says so") {
  const Sharded s;
  Json doc = config_of(s.path());
  doc.erase("head_dim");
  write_config(s.path(), doc);
  const std::string message = refusal(s.path());
  CHECK(contains(message, "'model.layers.0.self_attn.q_proj.weight' is (32, 24), config.json makes it (512, 24)"));
  CHECK(contains(message, "config.json has no head_dim, so that of the family, 128, was taken"));
}

TEST_CASE("model/staged_directory: appears whole, or not at all") {
  const TemporaryDirectory root;
  const auto entries = [&] { return std::distance(fs::directory_iterator(root.path()), fs::directory_iterator()); };
  {
    const StagedDirectory staged(root.path() / "a");
    write_file_atomic(staged.path() / "x", "1");
    CHECK_FALSE(fs::exists(root.path() / "a"));
    CHECK(entries() == 1);
  }
  CHECK(entries() == 0);
  StagedDirectory staged(root.path() / "b/");
  staged.publish();
  CHECK(fs::is_directory(root.path() / "b"));
  CHECK_THROWS_WITH_AS(StagedDirectory(root.path() / "b"), doctest::Contains("exists already"), Error);
  CHECK_THROWS_WITH_AS(require_disk_space(root.path() / "c", std::size_t{1} << 62), doctest::Contains("the disk has"), Error);
  require_disk_space(root.path() / "c", 10);
}

TEST_CASE("model/weights_writer: sizes of files in words") {
  CHECK(parse_bytes("2GB", "x") == 2000000000);
  CHECK(parse_bytes("3MiB", "x") == 3 << 20);
  CHECK(parse_bytes("77", "x") == 77);
  for (const char* wrong : {"", "GB", "0GB", "-1GB", "2 GB", "1.5GB", "2TBB", "99999999999999999999GB", "18446744073709551615GB"}) {
    CHECK_THROWS_WITH_AS(parse_bytes(wrong, "--max-shard-size"), doctest::Contains("--max-shard-size"), Error);
  }
}
