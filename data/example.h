// minirl data/example.h -- one problem, and one worked answer to a problem.
#pragma once
#include <string>
#include <vector>

#include "core/error.h"
#include "data/message.h"

namespace minirl::data {

/// A prompt and what a reward needs to judge a completion of it.
struct Example {
  Index id = 0;        // of the problem: equal problems of one task have equal ids
  std::string prompt;  // what the policy sees; of a conversation: its last message, to be shown
  std::string answer;  // the gold answer, in the form that the task's reward reads
  std::vector<Message> messages = {};  // a conversation to be rendered by a chat template, or none
  std::string label = {};              // the data set's own name of the problem
  std::string where = {};              // "train.jsonl:17"; empty for problems that are made up
};

/// What a synthetic worked answer is worth. A base model is made from a mixture: it can, but often
/// does not.
enum class Quality : unsigned char {
  good,       // right, and boxed: reward 1
  unboxed,    // right, but the answer is not in \boxed{}: reward 0
  wrong,      // boxed, but wrong: reward 0
  malformed,  // a broken box or rambling without an answer: reward 0
};

struct SupervisedExample {
  Example example;
  std::string completion;  // without the end token
  Quality quality = Quality::good;
};

}  // namespace minirl::data
