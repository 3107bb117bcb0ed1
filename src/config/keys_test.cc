// SPDX-License-Identifier: Apache-2.0
// The tables agree with themselves.
#include "config/keys.h"

#include <gtest/gtest.h>

#include <set>

#include "config/slurm_keys.h"
#include "text/words.h"

namespace spur::config {
namespace {

TEST(Keys, NoNameTwice) {
  std::set<std::pair<int, std::string>> spur, slurm;
  for (const Key& key : key_table()) {
    const int scope = static_cast<int>(key.scope);
    if (!key.spur.empty()) {
      EXPECT_TRUE(spur.emplace(scope, key.spur).second) << key.spur;
    }
    if (!key.slurm.empty()) {
      EXPECT_TRUE(slurm.emplace(scope, text::lower(key.slurm)).second) << key.slurm;
    }
    EXPECT_FALSE(key.spur.empty() && key.slurm.empty());
  }
  for (const SlurmName& name : slurm_names())
    EXPECT_TRUE(slurm.emplace(static_cast<int>(name.scope), text::lower(name.name)).second) << name.name;
}

TEST(Keys, RowsAreWhole) {
  for (const Key& key : key_table()) {
    EXPECT_TRUE(key.doc.ends_with('.')) << key.spur << key.slurm;
    if (key.force == Force::Now) {
      EXPECT_NE(key.set, nullptr) << key.spur << key.slurm;
    }
    if (key.kind.type == Type::Word) {
      EXPECT_FALSE(key.kind.words.empty()) << key.spur;
    }
    EXPECT_LE(key.kind.min, key.kind.max) << key.spur << key.slurm;
  }
}

TEST(Keys, AreFound) {
  ASSERT_NE(find_spur_key(Scope::Top, "controller.state_dir"), nullptr);
  EXPECT_EQ(find_spur_key(Scope::Top, "controller.state_dir"), find_slurm_key(Scope::Top, "statesavelocation"));
  EXPECT_EQ(find_spur_key(Scope::Top, "Controller.state_dir"), nullptr);
  EXPECT_EQ(find_spur_key(Scope::Top, ""), nullptr);
  EXPECT_EQ(find_slurm_key(Scope::Top, ""), nullptr);
  EXPECT_EQ(find_slurm_key(Scope::Node, "StateSaveLocation"), nullptr);
  EXPECT_NE(find_slurm_name(Scope::Top, "PLUGINDIR"), nullptr);
  EXPECT_TRUE(is_section("controller"));
  EXPECT_TRUE(is_section("topology"));
  EXPECT_FALSE(is_section("control"));
  EXPECT_FALSE(is_section("controller.state_dir"));
  EXPECT_EQ(nearest_spur_key(Scope::Top, "controler.state_dir"), "controller.state_dir");
  EXPECT_EQ(nearest_spur_key(Scope::Top, "partition"), "partitions");
  EXPECT_EQ(nearest_spur_key(Scope::Node, "cpu"), "cpus");
  EXPECT_EQ(nearest_spur_key(Scope::Top, "zzzzzzzzzz"), "");
}

}  // namespace
}  // namespace spur::config
