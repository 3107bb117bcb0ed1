// SPDX-License-Identifier: Apache-2.0
// Entries of the log on their way from the journal's thread to the core, which takes all that have come at once.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace spur::ctld {

class ArrivedEntries {
 public:
  using Entries = std::vector<std::pair<std::uint64_t, std::string>>;
  // True: the first since take(), so somebody must be asked to take them.
  bool add(std::uint64_t index, std::string entry) {
    const std::lock_guard lock(mutex_);
    entries_.emplace_back(index, std::move(entry));
    return entries_.size() == 1;
  }
  Entries take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(entries_, {});
  }

 private:
  std::mutex mutex_;
  Entries entries_;
};

}  // namespace spur::ctld
