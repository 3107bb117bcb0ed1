// SPDX-License-Identifier: Apache-2.0
#include "sim/fibers.h"

#include <ucontext.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"

namespace spur::sim {
namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;

struct Killed {};

// Stacks are kept for the next fiber: touching fresh memory costs more than the fiber's work.
using Stack = std::unique_ptr<char[]>;
std::vector<Stack>& idle_stacks() {
  thread_local std::vector<Stack> stacks;
  return stacks;
}
Stack take_stack() {
  auto& idle = idle_stacks();
  if (idle.empty()) return Stack(new char[kStackBytes]);
  Stack stack = std::move(idle.back());
  idle.pop_back();
  return stack;
}

}  // namespace

struct Fibers::Fiber {
  explicit Fiber(std::function<void()> f) : body(std::move(f)), stack(take_stack()) {}
  ~Fiber() { idle_stacks().push_back(std::move(stack)); }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  static void enter(unsigned high, unsigned low) {
    auto* self = reinterpret_cast<Fiber*>((std::uintptr_t{high} << 32) | low);
    try {
      if (!self->killed) self->body();
    } catch (const Killed&) {
    }
    self->body = {};
    self->over = true;
    ::swapcontext(&self->context, &self->caller);
  }

  std::function<void()> body;
  Stack stack;
  ucontext_t context{}, caller{};
  std::uint64_t wakes = 0;  // how often it was resumed: an older resume is void
  bool begun = false, over = false, killed = false;
};

// The owner lets go of it.
struct Fibers::Handle final : io::Threads::Thread {
  Handle(Fibers& f, std::shared_ptr<Fiber> b) : fibers(f), fiber(std::move(b)) {}
  ~Handle() override {
    if (fiber->over) return;
    fiber->killed = true;
    fibers.resume(fiber);
  }
  Fibers& fibers;
  std::shared_ptr<Fiber> fiber;
};

struct Fibers::SimSignal final : io::Threads::Signal {
  explicit SimSignal(Fibers& f) : fibers(f) {}
  void wait(std::unique_lock<std::mutex>& lock, Duration at_most, const std::function<bool()>& until) override {
    auto& events = fibers.process_.events();
    const Duration end = events.now() + std::min<Duration>(at_most, std::chrono::hours(24));
    while (!until() && events.now() < end) {
      lock.unlock();
      // Not held by a stack that is being unwound: its owner is being killed as well.
      fibers.block([&](Process::Action resume) {
        waiting = resume;
        events.at(end, std::move(resume));
      });
      lock.lock();
    }
    waiting = {};
  }
  void notify() override {
    if (auto resume = std::exchange(waiting, {})) fibers.process_.events().after(Duration{1}, std::move(resume));
  }
  Fibers& fibers;
  Process::Action waiting;
};

Fibers::Fibers(Process& process) : process_(process) {}

Fibers::~Fibers() {
  kill_all();
}

std::unique_ptr<io::Threads::Thread> Fibers::start(std::function<void()> body) {
  auto fiber = std::make_shared<Fiber>(std::move(body));
  fibers_.push_back(fiber);
  process_.after(Duration{1}, [this, fiber] {
    if (!fiber->begun) resume(fiber);
  });
  return std::make_unique<Handle>(*this, std::move(fiber));
}

std::unique_ptr<io::Threads::Signal> Fibers::signal() {
  return std::make_unique<SimSignal>(*this);
}

void Fibers::sleep(Duration time) {
  block([&](Process::Action resume) { process_.events().after(time, std::move(resume)); });
}

void Fibers::block(const std::function<void(Process::Action)>& arm) {
  const auto fiber = running_;
  SPUR_CHECK_MSG(fiber, "only a fiber may wait");
  if (fiber->killed) throw Killed{};
  arm(process_.in([this, weak = std::weak_ptr(fiber), ticket = fiber->wakes] {
    const auto sleeper = weak.lock();
    if (sleeper && !sleeper->over && sleeper->wakes == ticket) resume(sleeper);
  }));
  ::swapcontext(&fiber->context, &fiber->caller);
  if (fiber->killed) throw Killed{};
}

void Fibers::resume(const std::shared_ptr<Fiber>& fiber) {
  SPUR_CHECK_MSG(!running_, "fibers do not nest");
  const auto keep = fiber;
  ++keep->wakes;
  running_ = keep;
  if (!std::exchange(keep->begun, true)) {
    ::getcontext(&keep->context);
    keep->context.uc_stack.ss_sp = keep->stack.get();
    keep->context.uc_stack.ss_size = kStackBytes;
    keep->context.uc_link = nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(keep.get());
    ::makecontext(&keep->context, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(address >> 32),
                  static_cast<unsigned>(address & 0xffffffffu));
  }
  ::swapcontext(&keep->caller, &keep->context);
  running_ = nullptr;
  if (keep->over) std::erase(fibers_, keep);
}

void Fibers::kill_all() {
  while (!fibers_.empty()) {
    const auto fiber = fibers_.front();
    fiber->killed = true;
    resume(fiber);
    SPUR_CHECK_MSG(fiber->over, "a killed fiber ends at once");
  }
}

}  // namespace spur::sim
