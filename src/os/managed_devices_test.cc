// SPDX-License-Identifier: Apache-2.0
#include "os/managed_devices.h"

#include <gtest/gtest.h>

namespace spur::os {
namespace {

// "/dev/x7" is c100:7; "/dev/gone*" is not there.
Result<DeviceNumber> fake(const std::string& path) {
  if (path.starts_with("/dev/gone")) return fail(ErrorCode::NotFound, path);
  const bool render = path.find("render") != std::string::npos;
  return DeviceNumber{'c', render ? 226u : 100u, static_cast<std::uint32_t>(path.back() - '0')};
}

TEST(ManagedDevices, AreNumberedAsGrantsNumberThem) {
  const std::vector<model::NodeGres> gres = {
      {.name = "gpu", .type = "a", .count = 2, .file = "/dev/x[0-1]"},
      {.name = "nic", .type = "", .count = 1, .file = "/dev/n5"},
      {.name = "gpu", .type = "b", .count = 2, .file = "/dev/gone2,/dev/x3"},
      {.name = "gpu", .type = "none", .count = 4, .file = ""},
      {.name = "mps", .type = "", .count = 3, .file = "/dev/x0"},
  };
  std::vector<std::string> missing;
  const auto more = [](const std::string& file) {
    return file == "/dev/x1" ? std::vector<std::string>{"/dev/render1"} : std::vector<std::string>{};
  };
  const auto devices = managed_devices(gres, fake, more, &missing);
  const std::vector<ManagedDevice> expected = {
      {"gpu", 0, {{'c', 100, 0}}, {"/dev/x0"}},
      {"gpu", 1, {{'c', 100, 1}, {'c', 226, 1}}, {"/dev/x1", "/dev/render1"}},
      {"nic", 0, {{'c', 100, 5}}, {"/dev/n5"}},
      {"gpu", 2, {}},
      {"gpu", 3, {{'c', 100, 3}}, {"/dev/x3"}},
      {"mps", 0, {{'c', 100, 0}}, {"/dev/x0"}},
      {"mps", 1, {{'c', 100, 0}}, {"/dev/x0"}},
      {"mps", 2, {{'c', 100, 0}}, {"/dev/x0"}},
  };
  EXPECT_EQ(devices, expected);
  EXPECT_EQ(missing, std::vector<std::string>{"/dev/gone2"});
}

}  // namespace
}  // namespace spur::os
