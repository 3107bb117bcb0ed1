// SPDX-License-Identifier: Apache-2.0
#include "os/managed_devices.h"

#include <map>
#include <utility>

#include "text/hostlist.h"

namespace spur::os {

std::vector<ManagedDevice> managed_devices(const std::vector<model::NodeGres>& gres,
                                           const std::function<Result<DeviceNumber>(const std::string&)>& number_of,
                                           const std::function<std::vector<std::string>(const std::string&)>& more,
                                           std::vector<std::string>* missing) {
  std::vector<ManagedDevice> out;
  std::map<std::string, std::uint32_t> next;
  for (const model::NodeGres& row : gres) {
    const std::uint32_t first = next[row.name];
    next[row.name] += static_cast<std::uint32_t>(row.count);
    if (row.file.empty()) continue;
    const auto files = text::expand_hostlist(row.file);
    if (!files) continue;  // checked when the configuration was read
    for (std::size_t i = 0; i < files->size(); ++i) {
      const auto index = first + static_cast<std::uint32_t>(i);
      ManagedDevice device{.gres = row.name, .index = index, .numbers = {}};
      std::vector<std::string> names{(*files)[i]};
      if (more)
        for (auto& name : more(names.front())) names.push_back(std::move(name));
      for (const std::string& name : names) {
        if (const auto number = number_of(name))
          device.numbers.push_back(*number), device.files.push_back(name);
        else if (missing)
          missing->push_back(name);
      }
      // One file for many: it belongs to each of them.
      if (files->size() == 1 && row.count > 1)
        for (std::uint64_t share = 1; share < row.count; ++share) {
          out.push_back(device);
          ++device.index;
        }
      out.push_back(std::move(device));
    }
  }
  return out;
}

}  // namespace spur::os
