// SPDX-License-Identifier: Apache-2.0
// Reading the small files of sysfs, below a root that tests can fake.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spur::os {

// Without the newline at its end; empty if it cannot be read.
std::string sysfs_text(const std::string& path);
// Decimal, or hexadecimal with 0x.
std::optional<std::uint64_t> sysfs_number(const std::string& path);
// The number behind `key` in a file of "key value" lines (also "key: value"); nullopt if there is none.
std::optional<std::uint64_t> sysfs_property(std::string_view text, std::string_view key);
// Names in a directory, in natural order ("2" before "10"), without dot files.
std::vector<std::string> sysfs_list(const std::string& path);
// "0-3,8" to numbers; what is not understood is left out.
std::vector<std::uint32_t> cpu_list(std::string_view text);

}  // namespace spur::os
