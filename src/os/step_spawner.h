// SPDX-License-Identifier: Apache-2.0
// Starts step daemons without paying for a program's start each time: one spurstepd is kept ready ("the template")
// and copies itself on request (stepd/template.h). A copy of that small process costs a fraction of an exec, and
// comes with its descriptors.
//
//   agent ---- request: kind, argument, environment, descriptors ---> template --fork--> step daemon
//         <--- reply: pid, pidfd -----------------------------------
//
// The template ends when the agent does (its socket closes); the step daemons do not. If the template dies, whoever
// waits for a reply gets an error and cannot know whether the daemon was started: the lock on the run's record tells.
// A new template is made for the next request.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/event_loop.h"
#include "os/process.h"
#include "os/unique_fd.h"

namespace spur::os {

struct StepRequest {
  enum class Kind : std::uint8_t { Batch, Step, Files };
  std::uint32_t id = 0;  // of the reply; set by the spawner
  Kind kind = Kind::Batch;
  std::string argument;                  // batch: the run's directory
  std::string title;                     // as ps shows it
  std::vector<std::string> environment;  // NAME=VALUE; see stepd/template.cc for those it takes itself
  std::vector<UniqueFd> fds;             // record, orders and, but for batch scripts, the stream
};

class StepSpawner {
 public:
  using Done = std::function<void(Result<Spawned>)>;
  StepSpawner(EventLoop& loop, std::string program) : loop_(loop), program_(std::move(program)) {}
  ~StepSpawner();
  StepSpawner(const StepSpawner&) = delete;
  StepSpawner& operator=(const StepSpawner&) = delete;

  Status start();  // the template; also done by the first request
  // Calls `done` on the loop's thread, never before this returns.
  void spawn(StepRequest request, Done done);

 private:
  void send_some();
  void on_ready(std::uint32_t events);
  void on_replies();
  void on_template_gone();
  void fail_later(Done done, Error error);

  EventLoop& loop_;
  std::string program_;
  UniqueFd socket_;
  std::shared_ptr<const UniqueFd> template_;  // its pidfd
  std::deque<StepRequest> queue_;
  std::map<std::uint32_t, Done> waiting_;
  std::uint32_t next_id_ = 1;
  bool watching_out_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// ---- the template's side of the socket (blocking)

// The next request; NotFound when the agent is gone.
Result<StepRequest> receive_request(int socket);
Status send_reply(int socket, std::uint32_t id, pid_t pid, int pidfd, int error);

}  // namespace spur::os
