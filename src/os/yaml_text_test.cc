// SPDX-License-Identifier: Apache-2.0
#include "os/yaml_text.h"

#include <gtest/gtest.h>

#include "os/cdi.h"

namespace spur::os {
namespace {

TEST(YamlText, BlocksAndScalars) {
  const struct {
    const char *yaml, *json;
  } kCases[] = {
      {"a: 1\nb: two words\n", R"({"a":1,"b":"two words"})"},
      {"---\n# comment\na:\n  b: 'it''s'  # more\n  c: \"x\\ny#z\"\n", R"({"a":{"b":"it's","c":"x\ny#z"}})"},
      {"a:\n- 1\n- b: 2\n  c:\n  - d\n-\n  e: f\n", R"({"a":[1,{"b":2,"c":["d"]},{"e":"f"}]})"},
      {"- - 1\n  - 2\n- []\n- [a, 'b,c', 3]\n", R"([[1,2],[],["a","b,c",3]])"},
      {"a:\nb: ~\nc: true\nd: {}\n\"e: f\": g\n", R"({"a":null,"b":null,"c":true,"d":{},"e: f":"g"})"},
      {"path: /dev/a:b\nurl: http://x\nv: 0.5.0\n", R"({"path":"/dev/a:b","url":"http://x","v":"0.5.0"})"},
      {"a:\n  - 1\n  -\n  - 2\n", R"({"a":[1,null,2]})"},
  };
  for (const auto& one : kCases) {
    const auto json = yaml_to_json(one.yaml);
    ASSERT_TRUE(json) << one.yaml << json.error().message;
    EXPECT_EQ(*json, one.json) << one.yaml;
  }
}

TEST(YamlText, WhatIsNotUnderstoodIsRefused) {
  for (const char* bad : {"", "word", "a: &x 1", "a: *x", "a: |\n  text", "a: >\n  text", "a: !tag 1", "a: 1\n  b: 2",
                          "a: 'open", "a: 1\na: 2", "a: b: c", "a: [1", "a: {b: 1}", "- 1\n b: 2", "a: 1\n---\nb: 2",
                          "? a\n: b", "\ta: 1", "a: [[1]]", ": x"})
    EXPECT_FALSE(yaml_to_json(bad)) << bad;
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_FALSE(yaml_to_json(deep));
}

TEST(YamlText, ASpecificationOfDevices) {
  const auto json = yaml_to_json(
      "---\ncdiVersion: 0.5.0\ncontainerEdits:\n  deviceNodes:\n  - path: /dev/nvidiactl\n  env:\n  - A=void\n"
      "  mounts:\n  - containerPath: /usr/bin/smi\n    hostPath: /usr/bin/smi\n    options:\n    - ro\n"
      "devices:\n- containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia0\n  name: \"0\"\nkind: "
      "nvidia.com/gpu\n");
  ASSERT_TRUE(json) << json.error().message;
  const auto devices = parse_cdi(*json);
  ASSERT_TRUE(devices) << devices.error().message;
  ASSERT_EQ(devices->size(), 1u);
  EXPECT_EQ((*devices)[0].kind + "=" + (*devices)[0].name, "nvidia.com/gpu=0");
  EXPECT_EQ((*devices)[0].files.size(), 2u);
  EXPECT_EQ((*devices)[0].environment, std::vector<std::string>{"A=void"});
}

}  // namespace
}  // namespace spur::os
