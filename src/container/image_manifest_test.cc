// SPDX-License-Identifier: Apache-2.0
#include "container/image_manifest.h"

#include <gtest/gtest.h>

namespace spur::container {
namespace {

const std::string kLayerA = "sha256:" + std::string(64, 'a'), kLayerB = "sha256:" + std::string(64, 'b');

TEST(ImageManifest, IndexNamesImages) {
  const auto index = parse_index(R"({"schemaVersion":2,"manifests":[
    {"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":")" +
                                 kLayerA + R"(","size":7,
     "annotations":{"org.opencontainers.image.ref.name":"v1"},"platform":{"os":"linux","architecture":")" +
                                 std::string(own_architecture()) + R"("}},
    {"digest":")" + kLayerB + R"(","platform":{"os":"windows","architecture":"amd64"}}]})");
  ASSERT_TRUE(index);
  ASSERT_EQ(index->size(), 2u);
  EXPECT_EQ((*index)[0].name, "v1");
  EXPECT_EQ((*index)[0].size, 7u);
  EXPECT_EQ(choose_image(*index, "")->digest, kLayerA);
  EXPECT_EQ(choose_image(*index, "v1")->digest, kLayerA);
  EXPECT_EQ(choose_image(*index, "v2").error().code, ErrorCode::NotFound);
}

TEST(ImageManifest, SeveralImagesNeedATag) {
  std::vector<Descriptor> entries{{.digest = kLayerA, .name = "a"}, {.digest = kLayerB, .name = "b"}};
  EXPECT_EQ(choose_image(entries, "").error().message, "it has several images, say which (oci:PATH:TAG): a, b");
  EXPECT_EQ(choose_image(entries, "b")->digest, kLayerB);
  entries[1].digest = kLayerA;
  EXPECT_EQ(choose_image(entries, "")->digest, kLayerA);
}

TEST(ImageManifest, RefusesWhatIsNone) {
  const std::string bad[] = {"",
                             "[]",
                             "{",
                             "{}",
                             R"({"manifests":{}})",
                             R"({"manifests":[1]})",
                             R"({"manifests":[{"digest":"md5:0"}]})",
                             R"({"manifests":[{"digest":"sha256:../../etc/passwd"}]})"};
  for (const auto& text : bad) EXPECT_EQ(parse_index(text).error().code, ErrorCode::Corrupt) << text;
  EXPECT_FALSE(parse_manifest(R"({"layers":[]})"));
  EXPECT_FALSE(parse_manifest(R"({"config":{"digest":")" + kLayerA + R"("},"layers":[{"digest":"x"}]})"));
  EXPECT_FALSE(parse_archive_manifest("{}"));
  EXPECT_FALSE(parse_archive_manifest("[]"));
  EXPECT_FALSE(parse_archive_manifest(R"([{"Layers":["a"]}])"));
  EXPECT_FALSE(parse_image_config(R"({"config":{"Env":["=x"]}})"));
  EXPECT_FALSE(parse_image_config(R"({"config":{"Env":["a\u0000=x"]}})"));
  EXPECT_FALSE(parse_image_config(R"({"config":{"Entrypoint":"sh"}})"));
  EXPECT_FALSE(parse_image_config(R"({"rootfs":{"diff_ids":["sha256:0"]}})"));
}

TEST(ImageManifest, ConfigurationSurvivesTheStore) {
  const auto config = parse_image_config(
      R"({"os":"linux","architecture":"amd64","config":{"Env":["PATH=/bin","A="],"Entrypoint":["/e"],"Cmd":null,)"
      R"("WorkingDir":"/w"},"rootfs":{"type":"layers","diff_ids":[")" +
      kLayerA + R"("]}})");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->env, (std::vector<std::string>{"PATH=/bin", "A="}));
  EXPECT_EQ(config->workdir, "/w");
  EXPECT_TRUE(config->command.empty());
  EXPECT_EQ(parse_image_config(image_config_text(*config)), *config);
}

}  // namespace
}  // namespace spur::container
