#include "cli/http_server.h"

#include <chrono>
#include <thread>

#include <httplib.h>

#include "core/error.h"

namespace minirl::cli {

struct HttpServer::Implementation {
  httplib::Server server;
};

HttpServer::HttpServer(int port, Handler handler)
    : implementation_(std::make_unique<Implementation>()), port_(port) {
  httplib::Server& server = implementation_->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(4); };
  server.set_read_timeout(5);
  server.set_write_timeout(10);
  server.set_payload_max_length(1024);
  // The library's default lets two processes share a port: the second must fail instead.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_default_headers({{"Cache-Control", "no-store"},
                              {"X-Content-Type-Options", "nosniff"},
                              {"X-Frame-Options", "DENY"},
                              {"Referrer-Policy", "no-referrer"}});
  const auto answer = [handler = std::move(handler)](const httplib::Request& request,
                                                     httplib::Response& response) {
    HttpReply reply;
    try {
      reply = handler(request.path, request.get_param_value("since"));
    } catch (const std::exception& e) {
      reply = {500, "text/plain; charset=utf-8", std::string(e.what()) + "\n"};
    }
    response.status = reply.status;
    response.set_content(reply.body, reply.type.c_str());
  };
  server.set_pre_routing_handler([this](const httplib::Request& request,
                                        httplib::Response& response) {
    const auto refuse = [&](int status, const char* why) {
      response.status = status;
      response.set_content(why, "text/plain; charset=utf-8");
      return httplib::Server::HandlerResponse::Handled;
    };
    const std::string host = request.get_header_value("Host");
    const std::string port_text = ":" + std::to_string(port_);
    if (host != "127.0.0.1" + port_text && host != "localhost" + port_text) {
      return refuse(403, "this server answers to 127.0.0.1 and localhost only\n");
    }
    if (request.method != "GET" && request.method != "HEAD") {
      response.set_header("Allow", "GET, HEAD");
      return refuse(405, "only GET and HEAD\n");
    }
    return httplib::Server::HandlerResponse::Unhandled;
  });
  server.Get(".*", answer);
  if (port == 0) {
    port_ = server.bind_to_any_port("127.0.0.1");
  } else if (!server.bind_to_port("127.0.0.1", port)) {
    port_ = -1;
  }
  if (port_ < 0) {
    fail(Exit::usage, fmt::format("port {} of 127.0.0.1 is taken or not allowed", port),
         "choose another one with --port N; --port 0 takes any that is free");
  }
}

HttpServer::~HttpServer() = default;

void HttpServer::serve(const std::function<bool()>& stop) {
  std::thread listener([this] { implementation_->server.listen_after_bind(); });
  while (!stop()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  while (!implementation_->server.is_running()) {  // a stop before the start would be lost
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  implementation_->server.stop();
  listener.join();
}

}  // namespace minirl::cli
