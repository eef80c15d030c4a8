// minirl doctor: what this program sees of the machine, and what that means for it.
#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "core/build_info.h"
#include "core/exec.h"
#include "core/parallel.h"
#include "kernels/cuda_plugin.h"
#include "rl/memory_plan.h"

namespace minirl::cli {
namespace {

/// What is seen, and what to make of it.
struct Finding {
  std::string what, value, advice;
};

std::string cuda_version(int v) {
  return v == 0 ? "none" : fmt::format("{}.{}", v / 1000, v % 1000 / 10);
}

std::vector<Finding> cpu_findings() {
  std::vector<Finding> out;
  for (const auto& [key, value] : machine_info()) {
    out.push_back({key, value, ""});
  }
  const std::string slower =
      best_isa() == Isa::portable
          ? "the kernels run without AVX2: the same bits, several times slower"
      : active_isa() != best_isa() ? fmt::format("MINIRL_SIMD keeps it below {}", name(best_isa()))
                                   : "";
  out.push_back({"kernels use", std::string(name(active_isa())), slower});
  out.push_back({"threads", std::to_string(default_threads()),
                 "runtime.threads or MINIRL_THREADS change it; no bit depends on it"});
  const Index available = rl::available_memory();
  out.push_back({"memory available", available > 0 ? rl::binary_bytes(available) : "unknown",
                 "`minirl plan CONFIG` says what a run needs"});
  return out;
}

std::vector<Finding> cuda_findings() {
  const kernels::CudaStatus& cuda = kernels::cuda_status();
  std::vector<Finding> out = {
      {"CUDA plugin", cuda.plugin,
       cuda.loaded ? "" : "MINIRL_CUDA_PLUGIN names another one; `cmake --preset cuda` builds it"}};
  if (cuda.loaded) {
    out.push_back({"CUDA runtime", cuda_version(cuda.report.runtime_version), ""});
    out.push_back({"CUDA of the driver", cuda_version(cuda.report.driver_version), ""});
  }
  if (cuda.report.device[0] != 0) {
    const auto bytes = [](std::size_t n) { return rl::binary_bytes(static_cast<Index>(n)); };
    out.push_back({"device 0",
                   fmt::format("{}, sm_{}, {} multiprocessors, {} of {} free", cuda.report.device,
                               cuda.report.architecture, cuda.report.multiprocessors,
                               bytes(cuda.report.free_bytes), bytes(cuda.report.total_bytes)),
                   ""});
  }
  out.push_back({"--device auto", cuda.why_not.empty() ? "cuda" : "cpu", cuda.why_not});
  return out;
}

std::string text(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& f : findings) {
    out += fmt::format("{:<20} {}\n", f.what, f.value);
    if (!f.advice.empty()) {
      out += fmt::format("{:<20}   {}\n", "", f.advice);
    }
  }
  return out;
}

}  // namespace

void add_doctor(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand(
      "doctor", "say what is seen of processor, memory and CUDA, and what that means");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "for programs");
  command->callback([&chosen, as_json] {
    chosen.run = [as_json] {
      std::vector<Finding> all = cpu_findings();
      for (Finding& f : cuda_findings()) {
        all.push_back(std::move(f));
      }
      if (*as_json) {
        auto doc = nlohmann::ordered_json::array();
        for (const Finding& f : all) {
          doc.push_back({{"what", f.what}, {"value", f.value}, {"advice", f.advice}});
        }
        std::fputs((doc.dump(2) + "\n").c_str(), stdout);
      } else {
        std::fputs(text(all).c_str(), stdout);
      }
      return Exit::ok;
    };
  });
}

}  // namespace minirl::cli
