// SPDX-License-Identifier: Apache-2.0
// What agents said last of the load and the free memory of their nodes. It changes with every heartbeat, so it is not
// part of the state: nobody journals it, no picture is made for it, and another leader begins with nothing. Whoever
// answers for nodes looks it up beside them. From any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace spur::ctld {

class NodeLoads {
 public:
  struct Load {
    std::uint32_t hundredths = 0;      // load average of the last minute, times 100
    std::uint64_t free_memory_mib = 0;  // 0: nothing is known
  };

  // As in Slurm it stays when the node goes down. No free memory: the agent has not looked.
  void note(const std::string& node, Load load) {
    if (load.free_memory_mib == 0) return;
    const std::lock_guard lock(mutex_);
    loads_[node] = load;
  }
  void forget_all() {
    const std::lock_guard lock(mutex_);
    loads_.clear();
  }

  // Calls look(of), where of(name) is the load of a node; nothing is noted meanwhile.
  template <class F>
  void read(F&& look) const {
    const std::lock_guard lock(mutex_);
    if (loads_.empty()) return;
    look([this](std::string_view name) {
      const auto found = loads_.find(name);
      return found == loads_.end() ? Load{} : found->second;
    });
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Load, Hash, std::equal_to<>> loads_;  // look-up only
};

}  // namespace spur::ctld
