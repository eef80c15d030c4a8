// minirl tokenize: texts to token ids and back, one text or a JSONL file of them.
#include <cstdio>
#include <iostream>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "core/files.h"
#include "core/stopwatch.h"
#include "data/chat_template.h"
#include "data/message_json.h"
#include "data/tokenizer.h"
#include "data/unicode.h"

namespace minirl::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Args {
  std::string text, save, tokenizer, jsonl, invalid = "replace", chat = "auto";
  std::vector<Token> ids;
  bool has_text = false, no_thinking = false, plain = false, special = false, skip = false, time = false;
};

std::unique_ptr<data::Tokenizer> open_tokenizer(const std::string& where) {
  if (where.empty()) {
    return data::byte_tokenizer();
  }
  std::error_code error;
  if (std::filesystem::is_directory(where, error)) {
    return data::load_tokenizer(where);
  }
  return data::parse_tokenizer(read_file(where), where);
}

std::string from_hex(const std::string& hex, const std::string& where) {
  const auto digit = [&](char c) -> unsigned {
    if (c >= '0' && c <= '9') {
      return static_cast<unsigned>(c - '0');
    }
    const char lower = static_cast<char>(c | 0x20);
    if (lower >= 'a' && lower <= 'f') {
      return static_cast<unsigned>(lower - 'a' + 10);
    }
    fail(Exit::data, where + ": \"hex\" is not a text of hexadecimal digits");
  };
  if (hex.size() % 2 != 0) {
    fail(Exit::data, where + ": \"hex\" has an odd number of digits");
  }
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const unsigned high = digit(hex[i]);
    out += static_cast<char>(high << 4 | digit(hex[i + 1]));
  }
  return out;
}

std::string to_hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

class Encoder {
 public:
  Encoder(const data::Tokenizer& tokenizer, const Args& args)
      : tokenizer_(tokenizer), args_(args) {}

  std::vector<Token> encode(std::string_view text, const std::string& where) {
    std::string clean;
    if (!data::unicode::is_valid(text)) {
      if (args_.invalid == "error") {
        fail(Exit::data, where + ": not valid UTF-8",
             "--invalid-utf8 replace puts U+FFFD in place of bad bytes, keep keeps them");
      }
      if (args_.invalid == "replace") {
        clean = data::unicode::replace_invalid(text, &replaced_);
        text = clean;
      }
    }
    const Stopwatch watch;
    std::vector<Token> ids;
    if (args_.special) {
      ids = tokenizer_.prefix();
    }
    const auto own =
        tokenizer_.encode(text, args_.plain ? data::Specials::as_text : data::Specials::parse);
    ids.insert(ids.end(), own.begin(), own.end());
    if (args_.special) {
      const auto after = tokenizer_.suffix();
      ids.insert(ids.end(), after.begin(), after.end());
    }
    seconds_ += watch.seconds();
    bytes_ += text.size();
    return ids;
  }
  void report() const {
    if (replaced_ > 0) {
      std::fputs(fmt::format("minirl: warning: {} ill-formed parts of UTF-8 became U+FFFD "
                             "(--invalid-utf8 keep keeps the bytes)\n",
                             replaced_)
                     .c_str(),
                 stderr);
    }
    if (args_.time) {
      std::fputs(fmt::format("{} bytes in {:.4f} s: {:.2f} MB/s\n", bytes_, seconds_,
                             static_cast<double>(bytes_) / seconds_ / 1e6)
                     .c_str(),
                 stderr);
    }
  }

 private:
  const data::Tokenizer& tokenizer_;
  const Args& args_;
  std::size_t replaced_ = 0, bytes_ = 0;
  double seconds_ = 0;
};

Json decoded(const data::Tokenizer& tokenizer, const std::vector<Token>& ids, bool skip) {
  const std::string text = tokenizer.decode(ids, skip);
  Json out = Json::object();
  if (data::unicode::is_valid(text)) {
    out["text"] = text;
  } else {
    out["hex"] = to_hex(text);
  }
  return out;
}

// A conversation as text and ids.
Json rendered(const data::Tokenizer& tokenizer, const Json& messages, const Args& args,
              const std::string& where) {
  const auto chosen = data::choose_template(args.chat, tokenizer);
  data::ChatOptions options;
  options.thinking = !args.no_thinking;
  options.default_system = chosen.default_system;
  const auto text = data::render_chat(chosen.name, data::read_messages(messages, where), options);
  return {{"text", text.text}, {"ids", tokenizer.encode_prompt(text.text, text.literal)}};
}

// One object a line in, one a line out: "text" or "hex" becomes "ids", "messages" becomes "text"
// and "ids", "ids" becomes "text" or (where the bytes are not UTF-8) "hex". An "id" is repeated.
void convert_lines(const data::Tokenizer& tokenizer, Encoder& encoder, const Args& args) {
  const std::string name = args.jsonl == "-" ? "standard input" : args.jsonl;
  const std::string all = args.jsonl == "-"
                              ? std::string(std::istreambuf_iterator<char>(std::cin), {})
                              : read_file(args.jsonl);
  std::string out;
  Index line_number = 0;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    const std::string_view line = std::string_view(all).substr(at, end - at);
    at = end + 1;
    const std::string where = fmt::format("{}:{}", name, ++line_number);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    const Json row = Json::parse(line.begin(), line.end(), nullptr, false);
    if (!row.is_object()) {
      fail(Exit::data, where + ": not a JSON object", "one object a line");
    }
    Json result = Json::object();
    if (row.contains("id")) {
      result["id"] = row.at("id");
    }
    const auto text = row.find("text");
    const auto hex = row.find("hex");
    const auto ids = row.find("ids");
    if (text != row.end() && text->is_string()) {
      result["ids"] = encoder.encode(text->get_ref<const std::string&>(), where);
    } else if (hex != row.end() && hex->is_string()) {
      result["ids"] = encoder.encode(from_hex(hex->get<std::string>(), where), where);
    } else if (row.contains("messages")) {
      result.update(rendered(tokenizer, row.at("messages"), args, where));
    } else if (ids != row.end() && ids->is_array()) {
      std::vector<Token> values;
      for (const Json& v : *ids) {
        if (!v.is_number_integer()) {
          fail(Exit::data, where + ": \"ids\" holds something else than whole numbers");
        }
        const auto number = v.get<std::int64_t>();
        const bool fits = number >= 0 && number <= std::numeric_limits<Token>::max();
        values.push_back(fits ? static_cast<Token>(number) : Token{-1});
      }
      result.update(decoded(tokenizer, values, args.skip));
    } else {
      fail(Exit::data,
           where + ": none of \"text\", \"hex\" (texts), \"messages\" and \"ids\" (arrays)");
    }
    out += result.dump() + "\n";
    if (out.size() > (1U << 20)) {
      std::fwrite(out.data(), 1, out.size(), stdout);
      out.clear();
    }
  }
  std::fwrite(out.data(), 1, out.size(), stdout);
}

Exit tokenize(const Args& args) {
  const int asked = int{args.has_text} + int{!args.ids.empty()} + int{!args.jsonl.empty()} +
                    int{!args.save.empty()};
  if (asked != 1) {
    fail(Exit::usage,
         asked == 0 ? "there is nothing to tokenize"
                    : "TEXT, --ids, --jsonl and --save are four different things to do",
         "give one of them; minirl tokenize --help");
  }
  const Stopwatch watch;
  const auto tokenizer = open_tokenizer(args.tokenizer);
  if (args.time) {
    std::fputs(fmt::format("loaded in {:.3f} s\n", watch.seconds()).c_str(), stderr);
  }
  if (!args.save.empty()) {
    make_directory(args.save, Exit::usage);
    tokenizer->save(args.save);
    return Exit::ok;
  }
  Encoder encoder(*tokenizer, args);
  if (!args.jsonl.empty()) {
    convert_lines(*tokenizer, encoder, args);
  } else if (!args.ids.empty()) {
    for (const Token id : args.ids) {
      if (id < 0 || id >= tokenizer->vocab_size()) {
        fail(Exit::usage, fmt::format("--ids: {} is not an id of this tokenizer", id),
             fmt::format("ids are 0 to {}", tokenizer->vocab_size() - 1));
      }
    }
    std::fputs((tokenizer->decode(args.ids, args.skip) + "\n").c_str(), stdout);
  } else {
    const auto ids = encoder.encode(args.text, "TEXT");
    std::fputs(fmt::format("{}\n", fmt::join(ids, " ")).c_str(), stdout);
  }
  encoder.report();
  return Exit::ok;
}

}  // namespace

void add_tokenize(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand(
      "tokenize", "token ids of a text or of a JSONL file, and back; or save a tokenizer's files");
  const auto args = std::make_shared<Args>();
  const auto* text = command->add_option("TEXT", args->text, "the text");
  command
      ->add_option("--tokenizer", args->tokenizer,
                   "a Hugging Face folder or a tokenizer.json; default: the built-in bytes")
      ->type_name("PATH");
  command
      ->add_option(
          "--jsonl", args->jsonl,
          "a file of objects with \"text\", \"hex\", \"messages\" or \"ids\", one a line; - is "
          "standard input. Prints one object a line")
      ->type_name("FILE");
  command->add_option("--ids", args->ids, "print the text of these ids")->type_name("ID");
  command->add_flag("--as-text", args->plain,
                    "names of control tokens inside the text are ordinary text");
  command->add_flag("--add-special", args->special,
                    "with the begin or end tokens that the tokenizer's file asks for");
  command
      ->add_option("--template", args->chat,
                   "for \"messages\": auto (the tokenizer's own), plain, qwen2.5 or qwen3")
      ->capture_default_str();
  command->add_flag("--no-thinking", args->no_thinking,
                    "qwen3: ask for an answer without thinking");
  command->add_flag("--skip-control", args->skip, "leave control tokens out of decoded texts");
  command
      ->add_option("--invalid-utf8", args->invalid,
                   "bad bytes in a text: replace (by U+FFFD), keep (as byte tokens), error")
      ->check(CLI::IsMember({"replace", "keep", "error"}))
      ->capture_default_str();
  command->add_flag("--time", args->time, "say on stderr how long loading and encoding took");
  command
      ->add_option("--save", args->save,
                   "write tokenizer.json and tokenizer_config.json into this folder")
      ->type_name("FOLDER");
  command->callback([&chosen, args, text] {
    args->has_text = text->count() > 0;
    chosen.run = [args] { return tokenize(*args); };
  });
}

}  // namespace minirl::cli
