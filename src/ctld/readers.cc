// SPDX-License-Identifier: Apache-2.0
#include "ctld/readers.h"

#include <utility>

namespace spur::ctld {
namespace {

thread_local const Readers* this_thread_reads_for = nullptr;

}  // namespace

Readers::Readers(unsigned threads, const std::function<void()>& prelude) {
  for (unsigned i = 0; i < threads; ++i)
    threads_.emplace_back([this, prelude] {
      if (prelude) prelude();
      run();
    });
}

void Readers::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    queue_.push_back(std::move(work));
    // A reader looks for more when it is through with what it does; to wake another for its next piece would cost more
    // than the piece. With more than that in the queue, another helps.
    if (this_thread_reads_for == this && queue_.size() == 1) return;
  }
  wake_.notify_one();
}

void Readers::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void Readers::run() {
  this_thread_reads_for = this;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const auto work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace spur::ctld
