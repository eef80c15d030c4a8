// minirl cli/http_server.h -- pages for a browser on this machine, and for nobody else.
#pragma once
#include <functional>
#include <memory>
#include <string>

namespace minirl::cli {

struct HttpReply {
  int status = 404;
  std::string type = "text/plain; charset=utf-8";
  std::string body = "there is no such page\n";
};

/// Listens on 127.0.0.1 only. GET and HEAD only; a request whose Host is not this address is refused,
/// so that no page of another site can read ours under a name of its own (DNS rebinding). What is
/// asked for is given to the handler as text: no path of a URL ever becomes a file name.
class HttpServer {
 public:
  /// `path`: without the query; `since`: the query's parameter of that name, or "". Called from
  /// several threads. What it throws becomes status 500 with the message.
  using Handler = std::function<HttpReply(const std::string& path, const std::string& since)>;

  /// `port` 0: any free one. Throws Exit::usage where the port is taken or not allowed.
  HttpServer(int port, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  /// Answers requests until `stop()`, asked about ten times a second, says so.
  void serve(const std::function<bool()>& stop);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
  int port_;
};

}  // namespace minirl::cli
