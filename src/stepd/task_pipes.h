// SPDX-License-Identifier: Apache-2.0
// Standard input and output of one task of a step, as the step daemon holds them: pipes, or one terminal. Input is
// queued until the task reads it; output is handed on as it comes, and not read while the receiver is slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace spur::stepd {

class TaskPipes {
 public:
  struct Events {
    std::function<void(std::string_view data, bool is_stderr)> on_output;
    std::function<void(bool is_stderr)> on_end;  // of one of the outputs
    std::function<void()> on_input_taken;        // the queue has become shorter
  };
  // The task's own ends, to be closed here once the task has them.
  struct Ends {
    os::UniqueFd in, out, err;
    bool is_terminal = false;
  };

  explicit TaskPipes(os::EventLoop& loop) : loop_(loop) {}
  ~TaskPipes();
  TaskPipes(const TaskPipes&) = delete;
  TaskPipes& operator=(const TaskPipes&) = delete;

  // Pipes for those that are asked for; the others are files, which the task opens itself.
  Result<Ends> make_pipes(bool in, bool out, bool err);
  // One terminal for all three, which belongs to the user.
  Result<Ends> make_terminal(Uid user, std::uint32_t rows, std::uint32_t columns);
  Status watch(Events events);

  void write_input(std::string_view data);
  void end_input();  // after what is queued
  std::size_t queued_input() const { return input_.size() - written_; }
  void resize(std::uint32_t rows, std::uint32_t columns);
  void pause(bool paused);
  // Hands on what is there now, without waiting for more.
  void drain();
  bool output_ended() const { return !out_ && !err_; }

 private:
  bool read_once(os::UniqueFd& fd, bool is_stderr);
  void write_some();
  void follow_input();
  void close(os::UniqueFd& fd);
  void widen(const os::UniqueFd& fd, bool& wide);

  os::EventLoop& loop_;
  os::UniqueFd in_, out_, err_;
  int terminal_in_ = -1;  // out_ is the terminal, and is written to as well
  Events events_;
  std::string input_;
  std::size_t written_ = 0;  // of input_
  bool wide_[3] = {};        // in_, out_, err_: their pipes have been made larger
  bool input_ended_ = false, paused_ = false, watching_in_ = false;
};

}  // namespace spur::stepd
