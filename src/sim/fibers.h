// SPDX-License-Identifier: Apache-2.0
// io::Threads without threads: each runs on a stack of its own, and one that waits gives way to the event queue until
// what it waits for has happened in virtual time. One at a time, and always in the same order for the same seed.
//
// The process that owns them may be killed at any moment: kill_all() unwinds every stack, by an exception that only
// this file throws and catches, so that nothing of a killed process is left.
#pragma once

#include <cstdint>
#include <list>

#include "io/threads.h"
#include "sim/process.h"

namespace spur::sim {

class Fibers final : public io::Threads {
 public:
  explicit Fibers(Process& process);
  ~Fibers() override;

  // Destroying a thread that is not over yet kills it: nobody in virtual time may wait for it.
  std::unique_ptr<Thread> start(std::function<void()> body) override;
  std::unique_ptr<Signal> signal() override;
  void sleep(Duration time) override;

  // Suspends the running fiber; `arm` is given what resumes it, to be called from the event queue (more often than
  // once is void).
  void block(const std::function<void(Process::Action resume)>& arm);
  // From the event queue, never from a fiber.
  void kill_all();

 private:
  struct Fiber;
  struct Handle;
  struct SimSignal;
  void resume(const std::shared_ptr<Fiber>& fiber);
  Process& process_;
  std::list<std::shared_ptr<Fiber>> fibers_;
  std::shared_ptr<Fiber> running_;
};

}  // namespace spur::sim
