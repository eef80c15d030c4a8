#include "data/task.h"

#include "core/rng.h"

namespace minirl::data {

bool held_out(std::uint64_t identity) {
  const rng::Key key = rng::Key::of(0, rng::Stream::evaluation_data).derive(identity);
  return key.k0 % kHeldOutShare == 0;
}

std::vector<ParamSpec> mixture_params(double unboxed, double wrong, double malformed) {
  return {{.name = "fraction_unboxed",
           .doc = "share of worked answers that are right but not boxed",
           .fallback = unboxed,
           .range = between(0, 1)},
          {.name = "fraction_wrong",
           .doc = "share of worked answers that are boxed but wrong",
           .fallback = wrong,
           .range = between(0, 1)},
          {.name = "fraction_malformed",
           .doc = "share of worked answers with a broken box or none; the rest is right and boxed",
           .fallback = malformed,
           .range = between(0, 1)}};
}

Mixture Mixture::of(const ParamMap& params) {
  const Mixture m{real_param(params, "fraction_unboxed"), real_param(params, "fraction_wrong"),
                  real_param(params, "fraction_malformed")};
  const double sum = m.unboxed + m.wrong + m.malformed;
  if (sum > 1.0 + 1e-9) {
    fail(Exit::usage,
         fmt::format("fraction_unboxed + fraction_wrong + fraction_malformed = {} is above 1", sum),
         "what they leave is the share of right and boxed answers");
  }
  return m;
}

Quality Mixture::pick(double u) const {
  if (u < unboxed) {
    return Quality::unboxed;
  }
  if (u < unboxed + wrong) {
    return Quality::wrong;
  }
  return u < unboxed + wrong + malformed ? Quality::malformed : Quality::good;
}

Index Task::drop(const std::function<bool(const Example&)>&) {
  MINIRL_CHECK(from_files(), "problems that are made up cannot be left out");
  return 0;
}

std::unique_ptr<Task> make_task(const std::string& name, ParamMap params) {
  const TaskInfo& info = Tasks::find("task", name);
  bind_params("task '" + name + "'", info.params, params);
  return info.make(params);
}

}  // namespace minirl::data
