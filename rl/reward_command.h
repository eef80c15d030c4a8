// minirl rl/reward_command.h -- rewards from another program, over JSON lines
// (docs/rewards/command.md).
#pragma once
#include <chrono>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/index.h"
#include "rl/reward.h"

namespace minirl::rl {

/// A program that is started once and scores batch after batch: one line
/// {"id", "gold", "completion"} in, one line {"id", "score"} out, in any order, exactly one an id.
/// A batch that is not answered in time, or not understood, ends the program; it is started again
/// and asked once more, then the run fails. The program is killed with this object, and by the
/// system if this process dies. Not to be shared by
/// threads; the thread that scores first must live as long as the program.
class RewardCommand {
 public:
  /// `command` is run by /bin/sh. `timeout_s`: of one batch, wall clock.
  RewardCommand(std::string command, double timeout_s);
  ~RewardCommand();
  RewardCommand(const RewardCommand&) = delete;
  RewardCommand& operator=(const RewardCommand&) = delete;

  struct Row {
    std::string_view gold, completion;
  };
  /// One result a row, by index. Fails with Exit::data: the command, how it ended, the last lines
  /// of its stderr. `restarts` counts over the life of the object.
  std::vector<RewardResult> score(const std::vector<Row>& rows);
  Index restarts() const { return restarts_; }

 private:
  using Clock = std::chrono::steady_clock;
  void start();
  /// Ends the program (its whole process group); says how it ended.
  std::string stop();
  /// "" and the results, or what went wrong.
  std::string try_batch(const std::string& input, std::size_t rows,
                        std::vector<RewardResult>& results);
  std::string read_line(std::string_view line, std::vector<RewardResult>& results,
                        std::vector<bool>& seen, std::size_t& missing);
  void keep_stderr(std::string_view text);
  std::string last_words() const;

  std::string command_;
  Clock::duration timeout_;
  double timeout_s_;
  int process_ = -1;
  int in_ = -1, out_ = -1, err_ = -1;  // our ends
  std::deque<std::string> stderr_lines_;
  std::string stderr_rest_;
  Index restarts_ = 0;
};

}  // namespace minirl::rl
