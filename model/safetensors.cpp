#include "model/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/files.h"

namespace minirl {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

using Json = nlohmann::json;
using Refuse = std::function<void(const std::string& what)>;  // throws

/// Parses the header. Two equal keys are legal JSON, and one of the two tensors would vanish silently: they are refused.
Json parse_header_json(std::string_view text, const Refuse& refuse) {
  std::set<std::string> names, fields;
  std::string name, twice;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1) {
      name = parsed.get<std::string>();
      fields.clear();
      if (!names.insert(name).second) { twice = fmt::format("tensor '{}' is listed twice", name); }
    } else if (event == Json::parse_event_t::key && depth == 2 && !fields.insert(parsed.get<std::string>()).second) {
      twice = fmt::format("tensor '{}': '{}' is listed twice", name, parsed.get<std::string>());
    }
    return true;
  };
  Json header;
  try {
    header = Json::parse(text, watch);
  } catch (const Json::exception&) { refuse("its header is not JSON"); }
  if (!twice.empty()) { refuse(twice); }
  if (!header.is_object()) { refuse("its header is not a JSON object"); }
  return header;
}

std::map<std::string, std::string> parse_metadata(const Json& value, const Refuse& refuse) {
  std::map<std::string, std::string> out;
  if (!value.is_object()) { refuse("__metadata__ is not an object of strings"); }
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) { refuse(fmt::format("__metadata__ '{}' is not a string", key)); }
    out[key] = text.get<std::string>();
  }
  return out;
}

/// One tensor of the header; `data_size` bytes follow the header.
SafetensorsFile::Entry parse_entry(const Json& value, std::size_t data_size, const Refuse& refuse) {
  if (!value.is_object() || !value.contains("dtype") || !value["dtype"].is_string() || !value.contains("shape") || !value["shape"].is_array() ||
      !value.contains("data_offsets") || !value["data_offsets"].is_array() || value["data_offsets"].size() != 2) {
    refuse("a dtype (text), a shape (list) and data_offsets (two numbers) are needed");
  }
  SafetensorsFile::Entry entry;
  const auto dtype = value["dtype"].get<std::string>();
  const auto type = stored_type_from_name(dtype);
  if (!type) { refuse(fmt::format("dtype {} is not supported", dtype)); }
  entry.type = *type;
  if (value["shape"].size() > Shape::kMaxRank) { refuse(fmt::format("{} dimensions, at most {} are supported", value["shape"].size(), Shape::kMaxRank)); }
  auto bytes = static_cast<std::uint64_t>(size_of(entry.type));
  for (const auto& d : value["shape"]) {
    if (!d.is_number_unsigned()) { refuse(fmt::format("dimension {} is not a whole number", d.dump())); }
    const auto n = d.get<std::uint64_t>();
    constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<Index>::max());  // of a dimension and of every product
    if (n > kLargest || __builtin_mul_overflow(bytes, n, &bytes) || bytes > kLargest) { refuse(fmt::format("shape {} is larger than any file", value["shape"].dump())); }
    entry.shape.dim[static_cast<std::size_t>(entry.shape.rank++)] = static_cast<Index>(n);
  }
  const auto& offsets = value["data_offsets"];
  if (!offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned()) { refuse(fmt::format("data_offsets {} are not whole numbers", offsets.dump())); }
  entry.begin = offsets[0].get<std::size_t>();
  entry.end = offsets[1].get<std::size_t>();
  if (entry.begin > entry.end) { refuse(fmt::format("data_offsets [{}, {}] are reversed", entry.begin, entry.end)); }
  if (entry.end > data_size) { refuse(fmt::format("its bytes [{}, {}) are outside the {} bytes of data: the file is cut short", entry.begin, entry.end, data_size)); }
  if (entry.end - entry.begin != bytes) { refuse(fmt::format("shape {} of {} needs {} bytes, data_offsets give {}", entry.shape.str(), dtype, bytes, entry.end - entry.begin)); }
  return entry;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, std::span<const TensorHeader> tensors,
                                     const std::map<std::string, std::string>& metadata)
    : file_(path), path_(path) {
  // The text is put together piece by piece: a JSON document of a million tensors would take gigabytes.
  std::string json = "{";
  if (!metadata.empty()) { json += "\"__metadata__\":" + Json(metadata).dump(); }
  std::set<std::string_view> names;
  for (const TensorHeader& t : tensors) {
    MINIRL_CHECK(names.insert(t.name).second, "tensor '{}' is written twice", t.name);
    const std::vector<Index> shape(t.shape.dim.begin(), t.shape.dim.begin() + t.shape.rank);
    json += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}", json.size() > 1 ? "," : "", Json(t.name).dump(),
                        minirl::name(t.type), Json(shape).dump(), expected_, expected_ + t.bytes());
    expected_ += t.bytes();
  }
  json += '}';
  while ((8 + json.size()) % 64 != 0) { json += ' '; }  // data starts aligned
  if (json.size() > kMaxSafetensorsHeader) {
    fail(Exit::runtime, fmt::format("'{}': a header of {} bytes for {} tensors could never be read back, at most {} are allowed", path.string(), json.size(), tensors.size(), kMaxSafetensorsHeader),
         "write fewer tensors into one file");
  }
  const auto size = static_cast<std::uint64_t>(json.size());
  file_.write(std::as_bytes(std::span(&size, 1)));
  file_.write(json);
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  file_.write(bytes);
  written_ += bytes.size();
}

void SafetensorsWriter::commit() {
  MINIRL_CHECK(written_ == expected_, "'{}': {} bytes of {} were written", path_.string(), written_, expected_);
  file_.commit();
}

void write_safetensors(const std::filesystem::path& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<TensorHeader> headers;
  for (const auto& [name, tensor] : tensors) { headers.push_back({name, stored_type(tensor.dtype()), tensor.shape()}); }
  SafetensorsWriter writer(path, headers, metadata);
  for (const auto& [name, tensor] : tensors) {
    const Tensor host = tensor.on_host();
    writer.write(std::span(host.raw(), static_cast<std::size_t>(host.bytes())));
  }
  writer.commit();
}

void SafetensorsFile::bad(const std::string& what, std::string_view hint) const {
  fail(Exit::usage, fmt::format("'{}' is not a usable safetensors file: {}", path_.string(), what), hint);
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not hang the program
  if (descriptor_ < 0) { fail(Exit::usage, file_error("read", path, errno)); }
  struct Guard {  // the destructor does not run when the constructor throws
    int& descriptor;
    bool armed = true;
    ~Guard() {
      if (armed) { ::close(descriptor); }
    }
  } guard{descriptor_};
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0 || !S_ISREG(info.st_mode)) { bad("it is not a regular file"); }
  const auto file_size = static_cast<std::size_t>(info.st_size);
  std::uint64_t header_size = 0;
  if (file_size < 8 || ::pread(descriptor_, &header_size, 8, 0) != 8) { bad(fmt::format("it has {} bytes, not even a header length", file_size)); }
  std::string start(std::min<std::size_t>(file_size, 64), '\0');
  if (::pread(descriptor_, start.data(), start.size(), 0) != static_cast<ssize_t>(start.size())) { bad("it cannot be read"); }
  if (header_size > kMaxSafetensorsHeader) {  // text read as a length is far above the limit, so this names what is no safetensors file
    const auto starts_with = [&](std::string_view text) { return start.rfind(text, 0) == 0; };
    if (starts_with("version https://git-lfs")) { bad("it is a Git LFS pointer, the weights themselves were not downloaded", "run `git lfs pull` in the checkpoint's repository"); }
    if (starts_with("<")) { bad("it is an HTML or XML page, not weights", "look at the page: the download was answered with a message"); }
    if (starts_with("PK\x03\x04") || starts_with("\x80\x02")) { bad("it is a PyTorch archive (.bin, .pt)", "convert it to safetensors first"); }
    bad(fmt::format("its header claims {} bytes, at most {} are allowed", header_size, kMaxSafetensorsHeader), "this is another kind of file, or it is damaged");
  }
  if (header_size > file_size - 8) { bad(fmt::format("its header claims {} bytes, {} follow: the file is cut short", header_size, file_size - 8), "the copy or download may be incomplete"); }
  std::string json(header_size, '\0');
  std::size_t got = 0;
  while (got < json.size()) {
    const ssize_t n = ::pread(descriptor_, json.data() + got, json.size() - got, static_cast<off_t>(8 + got));
    if (n <= 0) { bad("its header cannot be read"); }
    got += static_cast<std::size_t>(n);
  }
  data_begin_ = 8 + header_size;
  data_size_ = file_size - data_begin_;
  parse_header(json);
  guard.armed = false;
}

SafetensorsFile::~SafetensorsFile() {
  if (descriptor_ >= 0) { ::close(descriptor_); }
}

void SafetensorsFile::parse_header(std::string_view text) {
  const Json header = parse_header_json(text, [&](const std::string& what) { bad(what); });
  std::vector<std::pair<std::pair<std::size_t, std::size_t>, std::string>> order;
  for (const auto& [key, value] : header.items()) {
    const std::string& name = key;  // lambdas cannot capture a structured binding
    if (name == "__metadata__") {
      metadata_ = parse_metadata(value, [&](const std::string& what) { bad(what); });
      continue;
    }
    const Entry entry = parse_entry(value, data_size_, [&](const std::string& what) { bad(fmt::format("tensor '{}': {}", name, what)); });
    order.push_back({{entry.begin, entry.end}, name});
    entries_.emplace(name, entry);
  }
  std::sort(order.begin(), order.end());
  std::size_t at = 0;
  for (const auto& [range, name] : order) {
    if (range.first < at) { bad(fmt::format("tensor '{}' overlaps the one before it", name)); }
    if (range.first > at) { bad(fmt::format("{} bytes before tensor '{}' belong to no tensor", range.first - at, name)); }
    at = range.second;
  }
  if (at != data_size_) { bad(fmt::format("{} bytes follow the last tensor", data_size_ - at)); }
}

namespace {

/// A mapping that ends with its scope.
struct Mapping {
  void* address;
  std::size_t size;
  ~Mapping() {
    if (address != MAP_FAILED) { ::munmap(address, size); }
  }
};

}  // namespace

void SafetensorsFile::visit(const std::string& name, const Visit& visit) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) { bad(fmt::format("it has no tensor '{}'", name)); }
  const std::size_t begin = data_begin_ + it->second.begin, end = data_begin_ + it->second.end;
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0 || static_cast<std::size_t>(info.st_size) < end) {
    bad(fmt::format("tensor '{}' cannot be read: the file became shorter while it was open", name), "do not change a checkpoint that is in use");
  }
  if (begin == end) { return visit({}); }
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t first = begin / page * page;
  const Mapping mapping{::mmap(nullptr, end - first, PROT_READ, MAP_PRIVATE, descriptor_, static_cast<off_t>(first)), end - first};
  if (mapping.address != MAP_FAILED) {
    ::madvise(mapping.address, mapping.size, MADV_SEQUENTIAL);
    return visit(std::span(static_cast<const std::byte*>(mapping.address) + (begin - first), end - begin));
  }
  std::vector<std::byte> copy(end - begin);  // a file system that cannot map
  for (std::size_t done = 0; done < copy.size();) {
    const ssize_t n = ::pread(descriptor_, copy.data() + done, copy.size() - done, static_cast<off_t>(begin + done));
    if (n < 0 && errno == EINTR) { continue; }
    if (n <= 0) { bad(fmt::format("tensor '{}' cannot be read", name)); }
    done += static_cast<std::size_t>(n);
  }
  visit(copy);
}

void SafetensorsFile::read_into(const std::string& name, Tensor& target) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) { bad(fmt::format("it has no tensor '{}'", name)); }
  const Entry& entry = it->second;
  if (stored_type(target.dtype()) != entry.type || target.shape() != entry.shape) {
    const auto type = tensor_type(entry.type);
    bad(fmt::format("tensor '{}' is {} {}, {} {} is needed", name, type ? minirl::name(*type) : minirl::name(entry.type), entry.shape.str(), minirl::name(target.dtype()), target.shape().str()));
  }
  Tensor host = target.on_device() ? Tensor::empty(target.shape(), target.dtype()) : target;
  visit(name, [&](std::span<const std::byte> bytes) {
    if (!bytes.empty()) { std::memcpy(host.raw(), bytes.data(), bytes.size()); }
  });
  if (target.on_device()) { target.copy_from(host); }
}

Tensor SafetensorsFile::read(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) { bad(fmt::format("it has no tensor '{}'", name)); }
  const auto type = tensor_type(it->second.type);
  Tensor t = Tensor::empty(it->second.shape, type.value_or(DType::f32));
  if (type) {
    read_into(name, t);
  } else {
    visit(name, [&](std::span<const std::byte> bytes) { decode(it->second.type, bytes, t.span<float>()); });
  }
  return t;
}

}  // namespace minirl
