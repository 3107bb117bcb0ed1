// SPDX-License-Identifier: Apache-2.0
#include "os/thread_priority.h"

#include <sys/resource.h>
#include <unistd.h>

namespace spur::os {
namespace {

// A tenth of what another thread gets: whoever waits for one that gives way still gets on.
constexpr int kLower = 10;

}  // namespace

void give_way() {
  const int now = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
  static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), now + kLower));  // Linux: of the thread
}

}  // namespace spur::os
