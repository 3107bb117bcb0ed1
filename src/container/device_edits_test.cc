// SPDX-License-Identifier: Apache-2.0
#include "container/device_edits.h"

#include <gtest/gtest.h>

namespace spur::container {
namespace {

using Texts = std::vector<std::string>;

const std::vector<os::CdiDevice> kKnown{
    {.kind = "x.com/gpu",
     .name = "0",
     .files = {"/dev/x0", "/dev/xctl"},
     .environment = {"X_GPU=0"},
     .mounts = {"/usr/lib/libx.so.1:/usr/lib/libx.so.1"}},
    {.kind = "x.com/gpu",
     .name = "1",
     .files = {"/dev/x1", "/dev/xctl"},
     .environment = {"X_GPU=1"},
     .mounts = {"/usr/lib/libx.so.1:/usr/lib/libx.so.1"},
     .hooks = {"createContainer /usr/bin/x-hook"}},
    {.kind = "x.com/gpu",
     .name = "all",
     .files = {"/dev/x0", "/dev/x1", "/dev/xctl"},
     .environment = {"X_ALL=1"},
     .mounts = {}},
};

TEST(DeviceEdits, OnlyWhatWasGranted) {
  const auto edits = device_edits({"/dev/x0"}, kKnown);
  EXPECT_EQ(edits.files, (Texts{"/dev/x0", "/dev/xctl"}));
  EXPECT_EQ(edits.env, Texts{"X_GPU=0"});
  ASSERT_EQ(edits.mounts.size(), 1u);
  EXPECT_TRUE(edits.mounts[0].read_only);
  EXPECT_TRUE(edits.notes.empty());
}

TEST(DeviceEdits, SeveralShareWhatTheyHaveInCommon) {
  const auto edits = device_edits({"/dev/x0", "/dev/x1"}, kKnown);
  EXPECT_EQ(edits.files, (Texts{"/dev/x0", "/dev/xctl", "/dev/x1"}));
  EXPECT_EQ(edits.mounts.size(), 1u);
  EXPECT_EQ(edits.notes,
            Texts{"the CDI hook \"createContainer /usr/bin/x-hook\" of x.com/gpu=1 is not run: hooks are "
                  "not supported"});
}

TEST(DeviceEdits, WithoutSpecification) {
  EXPECT_EQ(device_edits({}, kKnown), DeviceEdits{});
  EXPECT_EQ(device_edits({"/dev/y"}, kKnown).files, Texts{"/dev/y"});
  EXPECT_EQ(device_edits({"/dev/dri/renderD128"}, {}).files, (Texts{"/dev/dri/renderD128", "/dev/kfd"}));
  EXPECT_EQ(device_edits({"/dev/nvidia0"}, {}).files, (Texts{"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm",
                                                             "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"}));
}

}  // namespace
}  // namespace spur::container
