// SPDX-License-Identifier: Apache-2.0
// docs/configuration.md holds the key table between two marker lines, word for word as it is generated here. After a
// change to the table, run this test once with SPUR_REWRITE=1 to write the section anew; the diff is the review.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "config/keys.h"
#include "config/slurm_files.h"
#include "config/slurm_keys.h"

namespace spur::config {
namespace {

constexpr const char* kDoc = SPUR_SOURCE_DIR "/docs/configuration.md";
constexpr std::string_view kBegin = "<!-- keys: generated from src/config/keys.cc -->\n",
                           kEnd = "<!-- end of keys -->\n";

std::string values(const Kind& kind) {
  switch (kind.type) {
    case Type::Text:
      return "text";
    case Type::Path:
      return "absolute path";
    case Type::Flag:
      return "true or false";
    case Type::Number: {
      const std::string range = kind.max == Kind().max ? "number" : fmt::format("{} to {}", kind.min, kind.max);
      return kind.infinite ? range + ", UNLIMITED" : range;
    }
    case Type::Time:
      return "time";
    case Type::Span:
      return "time span";
    case Type::Word:
      return words_for_people(kind.words);
    case Type::List:
      return "list";
    case Type::Counts:
      return kind.words.empty() ? "table of numbers" : "table";
    case Type::Address:
      return "host:port";
    case Type::Ports:
      return "port or ports";
  }
  return "";
}

std::string section_of(const Key& key) {
  if (key.scope == Scope::Dbd) return "slurmdbd.conf";
  if (const auto array = array_of(key.scope); !array.empty()) return fmt::format("[[{}]]", array);
  if (key.spur.empty()) return "";
  const std::size_t dot = key.spur.find('.');
  return dot == std::string_view::npos ? "Top" : fmt::format("[{}]", key.spur.substr(0, dot));
}

std::string fate(Fate fate, std::string_view reason) {
  return fate == Fate::InForce ? "in force" : fmt::format("{}: {}", fate == Fate::Later ? "not yet" : "does not matter", reason);
}

std::string names() {
  std::string out = "\n### Keys of Slurm that are accepted and not in force\n";
  const struct {
    Scope scope;
    const char* title;
  } kScopes[] = {{Scope::Top, "slurm.conf"},
                 {Scope::Partition, "PartitionName lines"},
                 {Scope::Node, "NodeName lines"},
                 {Scope::Dbd, "slurmdbd.conf"}};
  for (const auto& [scope, title] : kScopes) {
    out += fmt::format("\n| {} | |\n|---|---|\n", title);
    for (const SlurmName& name : slurm_names())
      if (name.scope == scope) out += fmt::format("| `{}` | {} |\n", name.name, fate(name.fate, name.reason));
  }
  return out;
}

std::string options() {
  std::string out = "\n### Words of keys that take several\n", key;
  for (const SlurmOption& option : slurm_options()) {
    if (option.key != key) out += fmt::format("\n| `{}` | |\n|---|---|\n", option.key);
    key = option.key;
    out += fmt::format("| `{}` | {} |\n", option.word, fate(option.fate, option.reason));
  }
  return out;
}

std::string files() {
  std::string out = "\n### Files of Slurm that are kept and not in force\n\n| file | not yet | keys |\n|---|---|---|\n";
  for (const SlurmFile& file : slurm_files())
    out += fmt::format("| `{}` | {} | {} |\n", file.name, file.reason, file.keys);
  return out;
}

std::string reference() {
  std::string out(kBegin), section;
  for (const Key& key : key_table()) {
    if (const std::string next = section_of(key); !next.empty() && next != section) {
      section = next;
      out += fmt::format("\n### {}\n\n| spur.conf | slurm.conf | values | meaning |\n|---|---|---|---|\n", section);
    }
    const auto array = array_of(key.scope);
    const std::string spur = key.spur.empty() ? ""
                             : array.empty()  ? fmt::format("`{}`", key.spur)
                                              : fmt::format("`{}.{}`", array, key.spur);
    out += fmt::format("| {} | {} | {} | {}{} |\n", spur, key.slurm.empty() ? "" : fmt::format("`{}`", key.slurm),
                       values(key.kind), key.doc, key.force == Force::Later ? " *Not in force yet.*" : "");
  }
  return out + names() + options() + files() + "\n" + std::string(kEnd);
}

TEST(KeysDoc, IsTheTable) {
  std::stringstream text;
  text << std::ifstream(kDoc).rdbuf();
  std::string doc = text.str();
  const std::size_t begin = doc.find(kBegin), end = doc.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos && begin < end)
      << kDoc << " has no section for keys";
  const std::string section = doc.substr(begin, end + kEnd.size() - begin);
  if (std::getenv("SPUR_REWRITE")) {
    std::ofstream(kDoc) << doc.replace(begin, section.size(), reference());
    return;
  }
  EXPECT_EQ(section, reference());
}

}  // namespace
}  // namespace spur::config
