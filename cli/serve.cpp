// minirl serve: the report of runs in a browser, following them while they are trained.
#include <cstdio>

#include "cli/commands.h"
#include "cli/http_server.h"
#include "core/signals.h"
#include "rl/report/live_page.h"

namespace minirl::cli {

void add_serve(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand(
      "serve", "the report in a browser on this machine, following the run while it is trained");
  struct Args {
    std::vector<std::filesystem::path> runs;
    int port = 7433;
  };
  const auto args = std::make_shared<Args>();
  command->add_option("RUN", args->runs, "folders of runs, as for report")->required();
  command->add_option("--port", args->port, "of 127.0.0.1; 0: any that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command->callback([&chosen, args] {
    chosen.run = [args] {
      rl::report::LivePage live(args->runs);
      HttpServer server(args->port, [&](const std::string& path, const std::string& since) {
        if (path == "/") {
          return HttpReply{200, "text/html; charset=utf-8", live.page()};
        }
        if (path == "/changes") {
          return HttpReply{200, "application/json", live.changes(since)};
        }
        return HttpReply{};
      });
      catch_signals();
      std::fputs(fmt::format("http://127.0.0.1:{}/ until Ctrl-C\n", server.port()).c_str(), stdout);
      std::fflush(stdout);
      server.serve([] { return caught_signal() != 0; });
      return Exit::ok;  // Ctrl-C is how it ends
    };
  });
}

}  // namespace minirl::cli
