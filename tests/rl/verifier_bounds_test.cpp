// Hostile inputs: a verdict or "undecided", within the counted work; nothing throws, overflows or
// loops.
#include <string>

#include <doctest/doctest.h>

#include "rl/reward.h"
#include "rl/verifier/budget.h"
#include "rl/verifier/verify.h"

namespace minirl::rl::verifier {
namespace {

std::string repeated(const std::string& part, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) {
    out += part;
  }
  return out;
}

}  // namespace

TEST_CASE("rl/verifier: no input is paid for its size, and all of them end within the budget") {
  const std::string many = repeated("{", 30000);
  const std::string inputs[] = {
      many + "5" + repeated("}", 30000),
      many,
      repeated("(", 30000) + "5" + repeated(")", 30000),
      repeated("\\frac{1}{", 3000) + "5" + repeated("}", 3000),
      repeated("\\sqrt{", 4000) + "5" + repeated("}", 4000),
      repeated("\\text{", 4000) + "5" + repeated("}", 4000),
      repeated("\\boxed{", 4000) + "5" + repeated("}", 4000),
      repeated("-", 20000) + "5",
      repeated("\\left(", 5000) + "5",
      repeated("5^", 4000) + "5",
      repeated("\\sin ", 4000) + "5",
      repeated("|", 9000),
      repeated("\\{", 5000) + repeated("\\}", 5000),
      repeated("[", 9000),
      repeated("1,", 8000) + "1",
      repeated("x+", 8000) + "x",
      repeated("(x+y+z+w+1)", 60),
      "(x+y+z+w+1)^{60}",
      "(x_1+x_2+x_3+x_4+x_5+x_6+x_7+x_8+x_9+x_{10}+x_{11}+x_{12}+x_{13})^{9}",
      "9^{9^{9^{9}}}",
      "2^{2^{2^{2^{2^{2^{2}}}}}}",
      "10^{-10^{10}}",
      "(1.0000001)^{10^{9}}",
      "99999999!",
      "2400!+1",
      "((100!)!)!",
      "\\binom{1000000}{500000}",
      "\\binom{100000}{50000}",
      "\\sqrt{" + repeated("9", 5000) + "}",
      "\\sqrt{" + repeated("9", 150) + "}",
      "\\sqrt[1000000]{2}",
      repeated("7", 16000),
      "0." + repeated("123456789", 600),
      "\\frac{" + repeated("123456789", 300) + "}{" + repeated("987654321", 300) + "}",
      "0.\\overline{" + repeated("123456789", 300) + "}",
      "1e999999999",
      "1e9999",
      "e^{e^{e^{e^{e}}}}",
      "\\sin(10^{100})",
      "\\log_2(\\log_2(\\log_2(2)))",
      repeated("\\sin(", 50) + "x" + repeated(")", 50),
      repeated("\\sin(x)+", 500) + "1",
      repeated("\\pm", 3000) + "1",
      repeated("1\\pm", 40) + "1",
      repeated("(-\\infty,1)\\cup", 500) + "(1,2)",
      repeated("x<1\\text{ or }", 1000) + "x<2",
      "\\begin{pmatrix}" + repeated("1&", 5000) + "1\\end{pmatrix}",
      repeated("\\begin{pmatrix}", 500),
      repeated("\\\\", 9000),
      std::string(1 << 20, '5'),
      std::string(1 << 20, '\\'),
      std::string(1 << 20, '$'),
      std::string(1 << 20, ' ') + "5",
      std::string(9000, '\xff'),
      std::string(9000, '\0'),
      repeated("\xe2\x88\x9a", 4000),
      repeated("a_", 5000),
      repeated("a'", 5000),
      repeated("5=", 3000) + "5",
      "1" + repeated("\\%", 8000),  // a rational that grows with every sign
      "x" + repeated("\\%", 8000),
      "x" + repeated("\\%2", 5000),
      repeated("a<", 3000) + "5",
      repeated("1:", 3000) + "2",
      repeated("\\overline{", 3000) + "x" + repeated("}", 3000),
      repeated("{,}", 5000),
      repeated("1 2/3 ", 2000),
      "\\sum_{i=1}^{400}" + repeated("\\sum_{j=1}^{400}", 5) + "ij",
      "\\prod_{i=1}^{399}(x+i)",
      repeated("\\sum_{i=1}^{9}", 40) + "i",
      "\\begin{pmatrix}x&y&z\\\\y&z&x\\\\z&x&y\\end{pmatrix}^{12}",
      "\\det" + repeated("\\begin{vmatrix}1&2\\\\3&", 20) + "4" + repeated("\\end{vmatrix}", 20),
      repeated("\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", 300),
      "\\{1,2,\\ldots,1000000000\\}",
      "1,3,\\ldots,999999999",
      repeated("2A", 3000) + "_{16}",
      repeated("2A_{16}", 1000),
      repeated("\\dot{1}", 3000),
      "0." + repeated("12", 2900) + "...",
      repeated("C_5^2", 2000),
      repeated("\\mathbf{i}+", 2000) + "\\mathbf{j}",
      repeated("3\\pmod{", 2000),
      repeated("<!--", 250000),
      repeated("\\iffalse ", 100000),
      repeated("% \n", 300000),
      repeated("<think ", 150000),
      repeated("\\boxed\\frac", 80000),
      repeated("\\cancel{", 100000),
      repeated("\xe4\xb8\xad", 300000),
  };
  const char* const golds[] = {"4",
                               "x",
                               "\\sqrt{2}",
                               "(0,1)",
                               "1,2",
                               "\\{1,2\\}",
                               "x<1",
                               "x=4",
                               "\\pi",
                               "\\sin x",
                               "\\begin{pmatrix}1\\\\2\\end{pmatrix}",
                               "3\\text{ m}",
                               "2^n",
                               "n!"};
  const auto& reward = Rewards::find("reward", "math");
  for (const std::string& input : inputs) {
    CAPTURE(input.substr(0, 40));
    for (const char* gold : golds) {
      const Verdict v = compare(gold, input);
      CHECK(v.outcome != Outcome::right);
      CHECK(v.work <= Budget::kUnits);
    }
    compare(input, input);
    CHECK(reward.score("4", "\\boxed{" + input + "}").score == 0);
    CHECK(reward.score("4", repeated("\\boxed{", 50) + input).score == 0);
    CHECK(reward.score("4", input).score == 0);
    CHECK(verify("4", "Answer:" + input, Extraction::answer_line).outcome != Outcome::right);
    gold_fault(input);
  }
  CHECK(compare("5", repeated("(", 3000) + "5" + repeated(")", 3000)).outcome == Outcome::right);
  CHECK(verify("2", repeated("\\boxed{1} ", 20000) + "\\boxed{2}", Extraction::boxed).outcome !=
        Outcome::bad_gold);
}

TEST_CASE("rl/verifier: code in an answer is text") {
  for (const char* text :
       {"__import__('os').system('ls')", "exec(\"5\")", "5 if True else 6", "[5 for _ in range(1)]",
        "\\input{/etc/passwd}", "\\def\\x{5}\\x", "lambda: 5", "0b101", "0x5", "5;DROP TABLE"}) {
    CAPTURE(text);
    CHECK(compare("5", text).outcome != Outcome::right);
  }
}

}  // namespace minirl::rl::verifier
