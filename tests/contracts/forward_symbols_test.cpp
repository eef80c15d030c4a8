// R9, read from the objects: no number of a run comes from a transcendental function of the C library, a library product, or an
// instruction whose result depends on the machine; and the linker cannot mix the instruction sets.
#include <set>

#include "contracts/build_files.h"

using namespace minirl::test;

namespace {

/// exp, expf, expl, __exp_finite, _ZGVbN4v_expf (libmvec), ...: their last bits differ between libraries and versions.
bool is_transcendental(std::string name) {
  static const std::set<std::string> functions = {
      "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "pow", "powi", "sin", "cos", "tan", "sincos", "asin", "acos", "atan", "atan2",
      "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "hypot", "erf", "erfc", "tgamma", "lgamma", "gamma", "cexp", "clog", "cpow"};
  if (name.rfind("_ZGV", 0) == 0) { return true; }
  if (name.rfind("__", 0) == 0) { name = name.substr(2); }
  if (const auto at = name.find("_finite"); at != std::string::npos) { name = name.substr(0, at); }
  if (const auto at = name.find("_r"); at != std::string::npos && at + 2 == name.size()) { name = name.substr(0, at); }
  if (functions.count(name) != 0) { return true; }
  return !name.empty() && (name.back() == 'f' || name.back() == 'l') && functions.count(name.substr(0, name.size() - 1)) != 0;
}

bool is_library_product(const std::string& name) {
  for (const char* part : {"cblas_", "sgemm", "dgemm", "sgemv", "dgemv", "mkl_", "dnnl", "xsmm", "bli_", "Eigen"}) {
    if (name.find(part) != std::string::npos) { return true; }
  }
  return false;
}

/// Approximations whose bits differ between makers of processors, and the x87 unit, which rounds to 64 bits.
bool is_inexact_instruction(const std::string& mnemonic) {
  for (const char* start : {"rcpps", "rcpss", "rsqrtps", "rsqrtss", "vrcp", "vrsqrt", "vexp2", "fadd", "fmul", "fsub", "fdiv", "fsqrt", "fsin", "fcos", "fyl2x", "f2xm1"}) {
    if (mnemonic.rfind(start, 0) == 0) { return true; }
  }
  return false;
}

/// Functions that the linker may take from any object, so that a variant for other hardware could be chosen.
bool is_mixable(const Symbol& symbol, const std::string& isa) {
  if (symbol.type != 'W') { return false; }  // V and u are data: the tables of variants themselves
  return symbol.name.find(std::to_string(isa.size()) + isa) == std::string::npos;  // as a namespace is mangled: 4avx2
}

}  // namespace

TEST_CASE("contracts/forward_symbols: nothing that a weight depends on calls a transcendental function or a library product") {
  if (!have_tool("nm")) { MESSAGE("SKIP: nm is not installed"); return; }
  std::vector<std::string> targets = {"minirl_core", "minirl_kernels", "minirl_autograd", "minirl_model", "minirl_data", "minirl_rl"};
  for (const std::string& isa : built_isas()) { targets.push_back("minirl_kernels_" + isa); }
  for (const std::string& target : targets) {
    const auto objects = objects_of(target);
    CAPTURE(target);
    CHECK(!objects.empty());
    for (const auto& object : objects) {
      CAPTURE(object.filename().string());
      // plot draws pictures of numbers that are final; ball compares answers at 100 digits, where Boost starts
      // its iterations from a guess of the C library.
      if (object.filename() == "plot.cpp.o" || object.filename() == "ball.cpp.o" ||
          object.filename() == "ball_arithmetic.cpp.o") { continue; }
      for (const Symbol& symbol : symbols_of(object)) {
        if (symbol.type != 'U') { continue; }
        CHECK_MESSAGE(!is_transcendental(symbol.name), symbol.name);
        CHECK_MESSAGE(!is_library_product(symbol.name), symbol.name);
      }
    }
  }
}

TEST_CASE("contracts/forward_symbols: kernels call nothing but fma and the memory functions of the C library") {
  // What a kernel calls is part of its bits. The C library's fma rounds once, as IEEE 754 has it; with hardware fma there is no call at all.
  if (!have_tool("nm")) { MESSAGE("SKIP: nm is not installed"); return; }
  const std::set<std::string> memory = {"memset", "memcpy", "memmove"};
  for (const std::string& isa : built_isas()) {
    for (const auto& object : objects_of("minirl_kernels_" + isa)) {
      for (const Symbol& symbol : symbols_of(object)) {
        if (symbol.type != 'U' || symbol.name.rfind("_Z", 0) == 0 || symbol.name.rfind("__", 0) == 0 || symbol.name.rfind("_GLOBAL", 0) == 0) { continue; }
        CAPTURE(object.filename().string());
        CHECK_MESSAGE((memory.count(symbol.name) != 0 || (isa == "portable" && (symbol.name == "fma" || symbol.name == "fmaf"))), symbol.name);
      }
    }
  }
}

TEST_CASE("contracts/forward_symbols: the linker can never mix instruction sets") {
  // A weak function that two variants define under one name would run AVX-512 code on a machine without it, or hide which bits ran.
  if (!have_tool("nm")) { MESSAGE("SKIP: nm is not installed"); return; }
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  MESSAGE("SKIP: without full optimisation small functions of the standard library are emitted; such builds are for this machine only");
  return;
#endif
  CHECK(built_isas().size() >= 1);
  for (const std::string& isa : built_isas()) {
    for (const auto& object : objects_of("minirl_kernels_" + isa)) {
      CAPTURE(isa);
      CAPTURE(object.filename().string());
      for (const Symbol& symbol : symbols_of(object)) { CHECK_MESSAGE(!is_mixable(symbol, isa), symbol.name); }
    }
  }
}

TEST_CASE("contracts/forward_symbols: kernels hold no instruction whose bits depend on the maker of the processor") {
  if (!have_tool("objdump")) { MESSAGE("SKIP: objdump is not installed"); return; }
  std::size_t instructions = 0, fused = 0;
  for (const std::string& isa : built_isas()) {
    for (const auto& object : objects_of("minirl_kernels_" + isa)) {
      CAPTURE(isa);
      CAPTURE(object.filename().string());
      const auto lines = lines_of("objdump -d --no-show-raw-insn '" + object.string() + "'");
      REQUIRE(lines.has_value());
      for (const std::string& line : *lines) {
        const auto tab = line.find(":\t");
        if (tab == std::string::npos) { continue; }
        const std::string mnemonic = line.substr(tab + 2, line.find(' ', tab + 2) - tab - 2);
        ++instructions;
        fused += mnemonic.rfind("vfmadd", 0) == 0;
        if (is_inexact_instruction(mnemonic)) { FAIL_CHECK(line); }
      }
    }
  }
  CHECK(instructions > 10000);
#if defined(__x86_64__)
  CHECK(fused > 1000);  // the products are fused where the hardware can
#endif
}

TEST_CASE("contracts/forward_symbols: the checks can fail") {
  for (const char* name : {"exp", "expf", "expl", "__exp_finite", "__expf_finite", "log1pf", "powf", "sincosf", "tanhf", "_ZGVdN8v_expf", "lgamma_r"}) {
    CHECK_MESSAGE(is_transcendental(name), name);
  }
  for (const char* name : {"fmaf", "sqrtf", "memcpy", "_ZN6minirl5fmath4avx23expEf", "floor", "logger", "half", "rl", "__errno_location"}) {
    CHECK_MESSAGE(!is_transcendental(name), name);
  }
  CHECK(is_library_product("cblas_sgemm"));
  CHECK(is_library_product("_ZN5Eigen8internal3addEv"));
  CHECK(is_inexact_instruction("vrsqrt14ps"));
  CHECK(is_inexact_instruction("rcpss"));
  CHECK_FALSE(is_inexact_instruction("vsqrtps"));
  CHECK(is_mixable({'W', "_ZNSt6vectorIiSaIiEE9push_backEOi"}, "avx2"));
  CHECK(is_mixable({'W', "_ZN6minirl7kernels6avx5124loadEPKf"}, "avx2"));
  CHECK_FALSE(is_mixable({'W', "_ZN6minirl7kernels4avx24loadEPKf"}, "avx2"));
  CHECK_FALSE(is_mixable({'u', "_ZN6minirl7kernels8RowTableINS0_5AdamWEE4implE"}, "avx2"));
}
