// minirl serve through the binary: what a browser gets, what nobody gets, a run that goes on, and how it ends.
#include <chrono>
#include <csignal>
#include <thread>

#include <arpa/inet.h>
#include <sys/socket.h>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/run_binary.h"

namespace minirl {
namespace {

namespace fs = std::filesystem;
using cli_test::Folder;
using cli_test::tiny_run;
using Json = nlohmann::json;

/// `minirl serve runs/qwen3 --port 0` in `folder`, until it is told to stop.
class Serving {
 public:
  explicit Serving(const Folder& folder) {
    const fs::path out = folder.path / "serve.out";
    std::fflush(nullptr);
    child_ = fork();
    if (child_ == 0) {
      if (chdir(folder.path.c_str()) != 0 || freopen(out.c_str(), "w", stdout) == nullptr) { _exit(99); }
      execl(MINIRL_BINARY, "minirl", "serve", "runs/qwen3", "--port", "0", nullptr);
      _exit(98);
    }
    const std::string before = "http://127.0.0.1:";
    for (int tries = 0; tries < 3000 && port_ == 0; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const std::string text = fs::exists(out) ? read_file(out) : "";
      if (text.find(" until Ctrl-C\n") != std::string::npos) { port_ = std::stoi(text.substr(before.size())); }
    }
    REQUIRE(port_ > 0);
  }
  ~Serving() { stop(SIGKILL); }

  int port() const { return port_; }

  int stop(int signal) {
    if (child_ <= 0) { return -1; }
    ::kill(child_, signal);
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  /// The whole answer to a request of these lines.
  std::string ask(const std::string& request) const {
    const int s = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(port_));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(s, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(::send(s, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size()));
    std::string answer;
    char part[4096];
    for (ssize_t n = 0; (n = ::recv(s, part, sizeof part, 0)) > 0;) { answer.append(part, static_cast<std::size_t>(n)); }
    ::close(s);
    return answer;
  }
  std::string get(const std::string& path, const std::string& host = "") const {
    return ask("GET " + path + " HTTP/1.1\r\nHost: " + (host.empty() ? "127.0.0.1:" + std::to_string(port_) : host) + "\r\nConnection: close\r\n\r\n");
  }
  Json changes(const std::string& version) const {
    const std::string answer = get("/changes?since=" + version);
    return Json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }

 private:
  pid_t child_ = 0;
  int port_ = 0;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
bool status(const std::string& answer, int code) { return answer.starts_with("HTTP/1.1 " + std::to_string(code)); }

}  // namespace

TEST_CASE("cli: serve gives the report to this machine alone, follows the run, and ends with Ctrl-C") {
  const Folder dir;
  REQUIRE(dir.run(tiny_run()).code == 0);
  Serving server(dir);

  const std::string page = server.get("/");
  CHECK(status(page, 200));
  for (const char* part : {"text/html; charset=utf-8", "Cache-Control: no-store", "nosniff", "<!doctype html>", "connect-src 'self'", "id=\"curves\"", "changes?since="}) {
    CHECK_MESSAGE(has(page, part), part);
  }
  CHECK(has(server.get("/", "localhost:" + std::to_string(server.port())), "<!doctype html>"));

  // Nobody else, nothing else.
  for (const char* host : {"evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example"}) { CHECK(status(server.get("/", host), 403)); }
  for (const char* path : {"/metrics.jsonl", "/../../../../etc/passwd", "/..%2f..%2fetc/passwd", "/%00", "//", "/report.html"}) {
    const std::string answer = server.get(path);
    CAPTURE(path);
    CHECK((status(answer, 404) || status(answer, 400)));
    CHECK_FALSE(has(answer, "root:"));
  }
  const std::string own = "Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\nConnection: close\r\n";
  for (const char* method : {"POST", "PUT", "DELETE"}) { CHECK(status(server.ask(std::string(method) + " / HTTP/1.1\r\n" + own + "Content-Length: 0\r\n\r\n"), 405)); }
  const std::string head = server.ask("HEAD / HTTP/1.1\r\n" + own + "\r\n");
  CHECK(status(head, 200));
  CHECK(head.ends_with("\r\n\r\n"));
  CHECK(status(server.ask("nonsense\r\n\r\n"), 400));

  // The run goes on: only what changed is sent.
  const auto at = page.find("var version='") + 13;
  const std::string version = page.substr(at, page.find('\'', at) - at);
  CHECK(server.changes(version).at("sections").empty());
  CHECK(server.changes("another.1").at("reload") == true);
  CHECK(server.changes("").at("reload") == true);
  const std::string metrics = dir.read("runs/qwen3/metrics.jsonl");
  const auto begin = metrics.rfind('\n', metrics.rfind("\"kind\": \"train\"")) + 1;
  std::string line = metrics.substr(begin, metrics.find('\n', begin) + 1 - begin);
  const auto step = line.find("\"step\": 4");
  REQUIRE(step != std::string::npos);
  line.replace(step, 9, "\"step\": 5");
  dir.write("runs/qwen3/metrics.jsonl", metrics + line + line.substr(0, line.size() / 2));  // and half a line of the next
  Json changed;
  for (int tries = 0; tries < 300; ++tries) {
    changed = server.changes(version);
    if (!changed.at("sections").empty()) { break; }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  bool curves = false, semantics = false;
  for (const Json& section : changed.at("sections")) {
    curves = curves || section.at("id") == "curves";
    semantics = semantics || section.at("id") == "semantics";
  }
  CHECK(curves);
  CHECK_FALSE(semantics);
  CHECK(server.changes(changed.at("version")).at("sections").empty());

  // A second server needs a port of its own; both end when they are told to.
  const auto second = dir.run({"serve", "runs/qwen3", "--port", std::to_string(server.port())});
  CHECK(second.code == 2);
  CHECK(has(second.err, "is taken or not allowed"));
  CHECK(server.stop(SIGINT) == 0);
  CHECK(dir.run({"serve", "nowhere"}).code == 2);
  CHECK(dir.run({"serve", "runs/qwen3", "--port", "70000"}).code == 2);
}

}  // namespace minirl
