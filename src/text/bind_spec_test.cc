// SPDX-License-Identifier: Apache-2.0
#include "text/bind_spec.h"

#include <gtest/gtest.h>

namespace spur::text {
namespace {

using List = std::vector<std::string>;

TEST(CpuBind, Forms) {
  using enum CpuBind::Kind;
  struct Row {
    const char* text;
    CpuBind out;
  };
  for (const Row& row : {Row{"", {}}, Row{"none", {None, false, {}}}, Row{"v,rank", {Rank, true, {}}},
                         Row{"verbose,quiet,Cores", {Cores, false, {}}}, Row{"verbose", {Auto, true, {}}},
                         Row{"map_cpu:1,0x10,2*2", {MapCpu, false, {"1", "16", "2", "2"}}},
                         Row{"q,mask_cpu:0x1,f0*2", {MaskCpu, false, {"1", "f0", "f0"}}},
                         Row{"mask_ldom:3", {MaskLdom, false, {"3"}}}, Row{"rank_ldom", {RankLdom, false, {}}}}) {
    const auto got = parse_cpu_bind(row.text);
    ASSERT_TRUE(got) << row.text << ": " << got.error();
    EXPECT_EQ(*got, row.out) << row.text;
  }
  EXPECT_EQ(parse_cpu_bind("foo").error(), "unrecognized --cpu-bind argument \"foo\"");
  EXPECT_EQ(parse_cpu_bind("map_cpu").error(), "missing list for \"--cpu-bind=map_cpu:<list>\"");
  EXPECT_EQ(parse_cpu_bind("map_cpu:zz").error(), "Failed to validate number: zz, the offending character is z");
  for (const char* bad : {"map_cpu:", "map_cpu:1,", "map_cpu:1*0", "map_cpu:a", "cores:1", "mask_cpu:1*99999999"})
    EXPECT_FALSE(parse_cpu_bind(bad)) << bad;
}

TEST(MemBind, Forms) {
  EXPECT_EQ(*parse_mem_bind("v,prefer,map_mem:0"), (MemBind{MemBind::Kind::MapMem, true, true, List{"0"}}));
  EXPECT_EQ(*parse_mem_bind("sort,local"), (MemBind{MemBind::Kind::Local, false, false, {}, true}));
  EXPECT_FALSE(parse_mem_bind("sort,nosort")->sort);
  EXPECT_EQ(*parse_mem_bind("local"), (MemBind{MemBind::Kind::Local, false, false, {}}));
  EXPECT_EQ(parse_mem_bind("foo").error(), "unrecognized --mem-bind argument \"foo\"");
}

TEST(GpuBind, Forms) {
  EXPECT_EQ(*parse_gpu_bind("single:2"), (GpuBind{GpuBind::Kind::Single, false, 2, {}}));
  EXPECT_EQ(*parse_gpu_bind("verbose,per_task:1"), (GpuBind{GpuBind::Kind::PerTask, true, 1, {}}));
  EXPECT_EQ(*parse_gpu_bind("map_gpu:0,1*2"), (GpuBind{GpuBind::Kind::MapGpu, false, 0, List{"0", "1", "1"}}));
  EXPECT_EQ(*parse_gpu_bind("mask_gpu:0x3"), (GpuBind{GpuBind::Kind::MaskGpu, false, 0, List{"3"}}));
  for (const char* bad : {"single", "single:0", "per_task:x", "map_gpu:", "closest:1", "foo"})
    EXPECT_FALSE(parse_gpu_bind(bad)) << bad;
}

TEST(Masks, ThereAndBack) {
  EXPECT_EQ(mask_text(mask_bits("0x1f0")), "0x1f0");
  EXPECT_EQ(mask_bits("5"), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(mask_text({}), "0x0");
  EXPECT_EQ(mask_text({64}), "0x10000000000000000");
}

}  // namespace
}  // namespace spur::text
