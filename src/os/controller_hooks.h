// SPDX-License-Identifier: Apache-2.0
// The real io::ControllerHooks: a thread with an event loop on which the programs are started and waited for.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "io/controller_hooks.h"
#include "os/event_loop.h"
#include "os/hook_runner.h"

namespace spur::os {

class ThreadedHooks final : public io::ControllerHooks {
 public:
  struct Options {
    std::vector<std::string> prolog, epilog;
    Duration prolog_timeout{0}, epilog_timeout{0};  // of each program; 0: none
    std::vector<std::string> environment{};             // for all
    std::function<void(std::function<void()>)> post{};  // onto the controller's thread
  };
  static Result<std::unique_ptr<ThreadedHooks>> open(Options options);
  ~ThreadedHooks() override;  // what runs is killed

  bool has(Kind kind) const override;
  void run(Kind kind, std::vector<std::string> environment, std::function<void(Status)> done) override;
  void run_as(Program program, std::function<void(Status)> done) override;
  void run_site(SiteProgram program, std::function<void(Status)> done) override;
  void mail(Mail mail, std::function<void(Status)> done) override;
  void note_completions(std::vector<Completion> lines, std::function<void(Status)> done) override;

 private:
  ThreadedHooks(Options options, std::unique_ptr<EventLoop> loop);
  Options options_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<HookRunner> runner_;
  // Of many jobs that end together not all mails are sent at once.
  using Letter = std::pair<Mail, std::function<void(Status)>>;
  void send_letters();
  std::deque<Letter> letters_;
  int sending_ = 0;
  std::thread thread_;
};

}  // namespace spur::os
