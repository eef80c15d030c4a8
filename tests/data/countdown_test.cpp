#include "data/countdown.h"

#include <doctest/doctest.h>

namespace minirl::data {

TEST_CASE("data/countdown: right answers are right") {
  const CountdownGoal goal{64, {3, 5, 8}};
  for (const char* text : {"(3+5)*8", "8*(5+3)", " ( 3 + 5 ) * 8 ", "((3)+(5))*(8)"}) {
    CAPTURE(text);
    const auto verdict = check_countdown(goal, text);
    CHECK(verdict.right);
    CHECK(verdict.reason.empty());
  }
  CHECK(check_countdown({24, {1, 3, 4, 6}}, "6/(1-3/4)").right);  // through a fraction
  CHECK(check_countdown({24, {3, 3, 8, 8}}, "8/(3-8/3)").right);
  CHECK(check_countdown({8, {3, 5, 7}}, "3+5").right);                 // not every number is needed
  CHECK(check_countdown({2, {3, 5, 10}}, "3-5+10/5").right == false);  // 5 twice
  CHECK(check_countdown({0, {3, 3}}, "3-3").right);
}

TEST_CASE("data/countdown: wrong answers are wrong and say why") {
  const CountdownGoal goal{64, {3, 5, 8}};
  struct Case {
    const char* text;
    const char* reason;
  };
  for (const Case c : {Case{"3+5*8", "it is 43"},
                       {"8*8", "used twice"},
                       {"60+4", "60 is not among"},
                       {"64", "64 is not among"},
                       {"", "not an expression"},
                       {"(3+5)*8=64", "not an expression"},
                       {"(3+5*8", "not closed"},
                       {"3+5)*8", "not an expression"},
                       {"3/8", "it is 3/8"},
                       {"3++5", "not an expression"},
                       {"-3+5", "not an expression"},
                       {"3 5", "not an expression"},
                       {"5/(3-3)", "used twice"},
                       {"99999999999999999999", "not among"},
                       {"3+x", "not an expression"},
                       {"\xff\xfe", "not an expression"}}) {
    CAPTURE(c.text);
    const auto verdict = check_countdown(goal, c.text);
    CHECK_FALSE(verdict.right);
    CHECK_MESSAGE(verdict.reason.find(c.reason) != std::string::npos, verdict.reason);
  }
  CHECK(check_countdown({1, {3, 3, 3}}, "3/(3-3)").reason == "it divides by zero");
}

TEST_CASE("data/countdown: long, deep and huge expressions are judged, not suffered") {
  const CountdownGoal goal{1, {1}};
  CHECK_FALSE(check_countdown(goal, std::string(100000, '(')).right);
  CHECK_FALSE(check_countdown(goal, std::string(256, '(')).right);
  CHECK(check_countdown(goal, std::string(127, '(') + "1" + std::string(127, ')')).right);
  CHECK_FALSE(check_countdown(goal, std::string("1\0", 2)).right);
  const Index big = 3037000500;  // its square is beyond 64 bits
  CHECK(check_countdown({1, {big, big}}, "3037000500*3037000500").reason ==
        "its value is too large");
}

TEST_CASE("data/countdown: the gold answer reads back") {
  const CountdownGoal goal = parse_countdown_answer(countdown_answer({64, {3, 5, 8}}));
  CHECK(goal.target == 64);
  CHECK(goal.numbers == std::vector<Index>{3, 5, 8});
  for (const char* text :
       {"", "64", "64 from ", "x from 3", "64 from 3,5", "64 from 3  5", "-1 from 3"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_countdown_answer(text), Error);
  }
}

}  // namespace minirl::data
