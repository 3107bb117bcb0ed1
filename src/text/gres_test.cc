// SPDX-License-Identifier: Apache-2.0
#include "text/gres.h"

#include <gtest/gtest.h>

namespace spur::text {
namespace {

using Items = std::vector<GresItem>;

TEST(Gres, ParsesRequests) {
  const struct {
    const char* text;
    Items items;
  } rows[] = {
      {"", {}},
      {"none", {}},
      {"NONE", {}},
      {"gpu", {{"gpu", "", 1}}},
      {"gpu:2", {{"gpu", "", 2}}},
      {"gpu=2", {{"gpu", "", 2}}},
      {"gpu:mi300x", {{"gpu", "mi300x", 1}}},
      {"gpu:mi300x:8", {{"gpu", "mi300x", 8}}},
      {"gpu:a100:2,shard:4", {{"gpu", "a100", 2}, {"shard", "", 4}}},
      {"gpu:a100:1,gpu:h100:1", {{"gpu", "a100", 1}, {"gpu", "h100", 1}}},
      {"gres:gpu:2", {{"gpu", "", 2}}},
      {"gres/gpu:2,gres/shard:1", {{"gpu", "", 2}, {"shard", "", 1}}},
      {"gpu:0", {{"gpu", "", 0}}},
      {"gpu:3090:2", {{"gpu", "3090", 2}}},
      {"gpu:3g.20gb:2", {{"gpu", "3g.20gb", 2}}},
      {"gpu:3g.20gb", {{"gpu", "3g.20gb", 1}}},
      {"mem_bw:2K", {{"mem_bw", "", 2048}}},
  };
  for (const auto& row : rows) {
    const auto items = parse_gres_request(row.text);
    ASSERT_TRUE(items) << row.text << ": " << items.error().message;
    EXPECT_EQ(*items, row.items) << row.text;
  }
}

TEST(Gres, RefusesBadRequests) {
  for (const char* text : {",",
                           "gpu,",
                           ",gpu",
                           ":2",
                           "gpu:",
                           "gpu::2",
                           "gpu:a:b:2",
                           "gpu:a100:x",
                           "gpu:-1",
                           "gpu:2:3:4",
                           "g pu:1",
                           "gpu:1;rm",
                           "gpu:1,gpu:2",
                           "gres",
                           "gres:",
                           "gpu:99999999999999999999",
                           "gpu:a100:99999999999999999999",
                           "gpu:1E,gpu:16E:",
                           "none,gpu:",
                           "gpu:\n2"}) {
    const auto items = parse_gres_request(text);
    ASSERT_FALSE(items) << text;
    EXPECT_EQ(items.error().code, ErrorCode::InvalidGres);
    EXPECT_EQ(items.error().message.find('\n'), std::string::npos);
  }
}

TEST(Gres, GpusNeedNoName) {
  EXPECT_EQ(parse_gpu_request("2"), (Items{{"gpu", "", 2}}));
  EXPECT_EQ(parse_gpu_request("mi300x:2"), (Items{{"gpu", "mi300x", 2}}));
  EXPECT_EQ(parse_gpu_request("mi300x"), (Items{{"gpu", "mi300x", 1}}));
  EXPECT_EQ(parse_gpu_request("a100:1,h100:3"), (Items{{"gpu", "a100", 1}, {"gpu", "h100", 3}}));
  for (const char* text : {"", ":", "a:b:2", "2,3", "-1"}) EXPECT_FALSE(parse_gpu_request(text)) << text;
}

TEST(Gres, ParsesDeclarationsAndWhatSlurmPrints) {
  IndexSet both;
  both.insert_range(0, 1);
  IndexSet far;
  far.insert(0), far.insert_range(2, 3);
  const struct {
    const char* text;
    std::vector<GresDeclaration> declarations;
    const char* printed;
  } rows[] = {
      {"", {}, ""},
      {"(null)", {}, ""},
      {"gpu:8", {{{"gpu", "", 8}, false, {}}}, "gpu:8"},
      {"gpu:mi300x:8(S:0-1)", {{{"gpu", "mi300x", 8}, false, both}}, "gpu:mi300x:8(S:0-1)"},
      {"gpu:2(S:0,2-3),shard:8(S:0-1)",
       {{{"gpu", "", 2}, false, far}, {{"shard", "", 8}, false, both}},
       "gpu:2(S:0,2-3),shard:8(S:0-1)"},
      {"gpu:mi300x:8(IDX:0-7)", {{{"gpu", "mi300x", 8}, false, {}}}, "gpu:mi300x:8"},
      {"gpu:mi300x:8(IDX:0,2-7),x:1",
       {{{"gpu", "mi300x", 8}, false, {}}, {{"x", "", 1}, false, {}}},
       "gpu:mi300x:8,x:1"},
      {"bw:no_consume:4G", {{{"bw", "", std::uint64_t{4} << 30}, true, {}}}, "bw:no_consume:4294967296"},
      {"bw:no_consume=2", {{{"bw", "", 2}, true, {}}}, "bw:no_consume:2"},
      {"gpu:8(null)", {{{"gpu", "", 8}, false, {}}}, "gpu:8"},
  };
  for (const auto& row : rows) {
    const auto declarations = parse_gres_declaration(row.text);
    ASSERT_TRUE(declarations) << row.text << ": " << declarations.error().message;
    EXPECT_EQ(*declarations, row.declarations) << row.text;
    std::string printed;
    for (const auto& d : *declarations) printed += (printed.empty() ? "" : ",") + format_gres(d);
    EXPECT_EQ(printed, row.printed);
  }
  for (const char* text : {"gpu:8(", "gpu:8(S:)", "gpu:8(S:1-0)", "gpu:8(S:x)", "gpu:8(S:0-99999)", "gpu:8(X:1)",
                           "gpu:8)x", "gpu:8(S:0)x", "(S:0)", "no_consume", ",", "gpu:8,,x:1"})
    EXPECT_FALSE(parse_gres_declaration(text)) << text;
}

TEST(Gres, PrintsRequests) {
  EXPECT_EQ(format_gres(GresItem{"gpu", "", 2}), "gpu:2");
  EXPECT_EQ(format_gres(Items{{"gpu", "mi300x", 8}, {"shard", "", 4}}), "gpu:mi300x:8,shard:4");
  EXPECT_EQ(format_gres(Items{}), "");
}

}  // namespace
}  // namespace spur::text
