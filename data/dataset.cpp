#include "data/dataset.h"

#include <fstream>
#include <unordered_map>

#include "core/files.h"
#include "data/message_json.h"
#include "data/parquet/parquet.h"

namespace minirl::data {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Why a row cannot be used, in one clause that counts together with others of its kind.
struct BadRow {
  std::string kind, detail;
};

void read_lines(const fs::path& path, std::ifstream& in, const RowFunction& row,
                const BadLineFunction& bad_line) {
  Index number = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string where = fmt::format("{}:{}", path.string(), ++number);
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    Json object;
    try {
      object = Json::parse(line);
    } catch (const Json::exception& error) {
      std::string what = error.what();
      what = what.substr(std::min(what.find("] ") + 2, what.size()));
      bad_line(where, "not JSON: " + what);
      continue;
    }
    if (!object.is_object()) {
      bad_line(where,
               fmt::format("not an object but {} {}", object.type_name(), line.substr(0, 40)));
      continue;
    }
    row(std::move(object), where);
  }
  if (in.bad()) {
    fail(Exit::usage, fmt::format("cannot read '{}' to its end", path.string()));
  }
}

const Json* member(const Json& row, const std::string& key) {
  const auto found = row.find(key);
  return found == row.end() || found->is_null() ? nullptr : &*found;
}

const Json* inner(const Json& row, const char* outer, const char* key) {
  const Json* object = member(row, outer);
  return object != nullptr && object->is_object() ? member(*object, key) : nullptr;
}

std::string label_of(const Json& row) {
  const Json* id = member(row, "id");
  if (id == nullptr) {
    id = inner(row, "extra_info", "index");
  }
  return id == nullptr        ? ""
         : id->is_string()    ? id->get<std::string>()
         : id->is_primitive() ? id->dump()
                              : throw BadRow{"the id is neither a text nor a number", ""};
}

Example read_example(const Json& row, const DatasetOptions& options, const std::string& where) {
  Example out;
  const Json* prompt = member(row, options.prompt_key);
  if (prompt == nullptr) {
    throw BadRow{fmt::format("no \"{}\"", options.prompt_key), ""};
  }
  if (prompt->is_string()) {
    out.messages.push_back({"user", prompt->get<std::string>(), {}});
  } else {
    try {
      out.messages = read_messages(*prompt, where);
    } catch (const Error& error) {
      throw BadRow{
          fmt::format("\"{}\" is neither a text nor a list of messages", options.prompt_key),
          error.what()};
    }
  }
  if (out.messages.back().role == "assistant") {
    throw BadRow{"the conversation ends with the assistant: there is nothing to answer", ""};
  }
  out.prompt = out.messages.back().content;
  if (out.prompt.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw BadRow{"the prompt is empty", ""};
  }
  const Json* answer = member(row, options.answer_key);
  if (answer == nullptr) {
    answer = inner(row, "reward_model", "ground_truth");
  }
  if (answer == nullptr) {
    throw BadRow{fmt::format("neither \"{}\" nor reward_model.ground_truth", options.answer_key),
                 ""};
  }
  if (!answer->is_string() && !answer->is_number()) {
    throw BadRow{"the answer is neither a text nor a number", ""};
  }
  out.answer = answer_text(*answer);
  if (out.answer.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw BadRow{"the answer is empty", ""};
  }
  out.label = label_of(row);
  out.where = where;
  return out;
}

}  // namespace

std::string answer_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void for_each_row(const fs::path& path, const std::function<bool(const std::string&)>& wanted,
                  const RowFunction& row, const BadLineFunction& bad_line) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    fail(Exit::usage, fmt::format("'{}' is a folder, not a file of problems", path.string()),
         "name a .jsonl or .parquet file in it");
  }
  if (!fs::is_regular_file(path, error)) {
    fail(Exit::usage, fmt::format("there is no file '{}'", path.string()),
         "paths are relative to the folder that minirl runs in");
  }
  std::ifstream in(path, std::ios::binary);
  char magic[23] = {};
  in.read(magic, sizeof magic);
  const std::string_view start(magic, static_cast<std::size_t>(in.gcount()));
  if (start == "version https://git-lfs") {
    fail(Exit::usage,
         fmt::format("'{}' is the pointer of Git LFS, not the file itself", path.string()),
         "run git lfs pull, or download the file");
  }
  if (start.substr(0, 3) == "PAR") {
    const std::string bytes = read_file(path);
    Index number = 0;
    read_parquet(bytes, path.string(), wanted, [&](Json&& object) {
      const std::string where = fmt::format("{}: row {}", path.string(), ++number);
      row(std::move(object), where);
    });
    return;
  }
  if (!in.good() && !in.eof()) {
    fail(Exit::usage, fmt::format("cannot read '{}'", path.string()));
  }
  in.clear();
  in.seekg(0);
  read_lines(path, in, row, bad_line);
}

Index Dataset::skipped_total() const {
  Index out = 0;
  for (const auto& [reason, rows] : skipped) {
    out += rows;
  }
  return out;
}

Dataset read_dataset(const fs::path& path, const DatasetOptions& options) {
  Dataset out;
  const bool stop = options.on_bad_row == OnBadRow::stop;
  const auto refuse = [&](const std::string& where, const std::string& kind,
                          const std::string& detail) {
    if (stop) {
      fail(Exit::data, fmt::format("{}: {}{}", where, kind, detail.empty() ? "" : ": " + detail),
           "minirl prepare makes such files from published ones; to count and skip bad rows: --set "
           "task.bad_rows=skip");
    }
    ++out.skipped[kind];
  };
  std::unordered_map<std::string, std::string> labels;
  const auto wanted = [&](const std::string& column) {
    for (const std::string& key :
         {options.prompt_key, options.answer_key, std::string("id"),
          std::string("reward_model.ground_truth"), std::string("extra_info.index")}) {
      if (column == key || column.substr(0, key.size() + 1) == key + ".") {
        return true;
      }
    }
    return false;
  };
  for_each_row(
      path, wanted,
      [&](Json&& row, const std::string& where) {
        try {
          Example e = read_example(row, options, where);
          if (!e.label.empty()) {
            const auto [known, fresh] = labels.emplace(e.label, where);
            if (!fresh) {
              fail(Exit::data,
                   fmt::format("{}: the id \"{}\" was there before, at {}", where, e.label,
                               known->second),
                   "ids name problems; minirl prepare removes repeated rows");
            }
          }
          e.id = static_cast<Index>(out.examples.size());
          out.examples.push_back(std::move(e));
        } catch (const BadRow& bad) {
          refuse(where, bad.kind, bad.detail);
        }
      },
      [&](const std::string& where, const std::string& why) {
        refuse(where, "not a JSON object", why);
      });
  if (out.examples.empty()) {
    fail(Exit::data, fmt::format("'{}' has no usable row", path.string()),
         out.skipped.empty() ? "the file is empty" : "all of its rows were skipped");
  }
  return out;
}

}  // namespace minirl::data
