// SPDX-License-Identifier: Apache-2.0
// The system's threads behind io::Threads.
#pragma once

#include "io/threads.h"

namespace spur::os {

class SystemThreads final : public io::Threads {
 public:
  std::unique_ptr<Thread> start(std::function<void()> body) override;
  std::unique_ptr<Signal> signal() override;
  void sleep(Duration time) override;
};

}  // namespace spur::os
