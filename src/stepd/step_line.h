// SPDX-License-Identifier: Apache-2.0
// A step daemon's line to its agent, and through it to srun: StepInputs in, StepOutputs out
// (proto/spur/v1/agent.proto).
//
// A line that is kept survives the agent: what srun has not acknowledged stays (output_log.h), and when the stream
// breaks the daemon calls the agent, or the next one, at its socket in the spool until somebody answers and says from
// where to go on. A line that is not kept ends with its stream.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"
#include "spur/v1/agent.pb.h"
#include "stepd/frame_stream.h"
#include "stepd/output_log.h"

namespace spur::stepd {

class StepLine {
 public:
  struct Events {
    std::function<void(std::string_view input)> on_input;  // not those that the line itself understands
    std::function<void()> on_room;                         // what was sent has become less
    std::function<void()> on_attached;                     // after an interruption: say again what is not kept
    std::function<void(os::UniqueFd)> on_orders;           // come from here now
    std::function<void()> on_nobody;                       // nobody is there to run for, or ever will be
    std::function<void()> on_left;                         // after finish(): it is all out
  };
  StepLine(os::EventLoop& loop, os::UniqueFd stream);
  ~StepLine();

  Status open(Events events);
  // `run_directory`: of the run, in the agent's spool.
  void keep(std::string run_directory, v1::StepHello hello, std::uint32_t part);

  void send(v1::StepOutput output);  // numbered, and kept
  void send_now(const v1::StepOutput& output);
  bool kept() const { return kept_; }
  bool backed_up() const;
  void pause_input(bool paused);
  // Nothing more comes from us.
  void finish();
  // The job ends: whoever is to hear of the step's end has little time.
  void hurry_when_finished();

 private:
  void on_message(std::string_view bytes);
  void on_attach(const v1::StepAttach& attach);
  void on_closed();
  void pump();
  void leave_if_done();
  void give_little_time();
  void call_agent();
  Result<os::UniqueFd> dial(os::UniqueFd& orders) const;

  os::EventLoop& loop_;
  Events events_;
  OutputLog log_;
  std::unique_ptr<FrameStream> stream_;
  v1::StepHello hello_;
  std::string run_directory_;
  std::uint32_t part_ = 0;
  bool kept_ = false, attached_ = true, pumping_ = false, finished_ = false, hurried_ = false, left_ = false;
  bool paused_ = false;
  Duration call_pause_{0};
  os::EventLoop::TimerId timer_;
};

}  // namespace spur::stepd
