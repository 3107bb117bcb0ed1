// SPDX-License-Identifier: Apache-2.0
// testdata/sites/: configurations in the style of many sites. Each is read; every key with its value, found by a reader
// of this test's own, must be in force or named; and slurm.conf -> spur.conf -> slurm.conf must come to the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "config/load.h"
#include "config/slurm_files.h"
#include "config/slurm_keys.h"
#include "config/test_files.h"
#include "config/translate.h"
#include "text/words.h"

namespace spur::config {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> sites() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(SPUR_SOURCE_DIR "/src/config/testdata/sites"))
    out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

std::string text_of(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

struct Pair {
  std::string key, value;
  std::uint32_t line = 0;
};

// Key=Value by brute force: lines joined at backslashes, comments cut, then whatever looks like a pair.
std::vector<Pair> pairs_in(const std::string& text) {
  std::vector<Pair> out;
  std::istringstream lines(text);
  std::string line, whole;
  std::uint32_t number = 0, first = 0;
  static const std::regex kPair(R"re(([A-Za-z0-9_.]+)[ \t]*=[ \t]*("[^"]*"|[^ \t\r]+))re");
  while (std::getline(lines, line)) {
    ++number;
    if (whole.empty()) first = number;
    for (std::size_t mark = 0; (mark = line.find('#', mark)) != std::string::npos;) {
      if (mark > 0 && line[mark - 1] == '\\') {
        line.erase(mark - 1, 1);
        continue;
      }
      line.resize(mark);
    }
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
    const bool goes_on = line.ends_with('\\');
    if (goes_on) line.pop_back();
    whole += line;
    if (goes_on) continue;
    for (std::sregex_iterator at(whole.begin(), whole.end(), kPair), end; at != end; ++at) {
      std::string value = (*at)[2];
      if (value.starts_with('"')) value = value.substr(1, value.size() - 2);
      out.push_back({(*at)[1], value, first});
    }
    whole.clear();
  }
  return out;
}

bool says(const Statement& statement, const Pair& pair) {
  if (statement.name) return text::equal_ignoring_case(statement.name->name, pair.key) && statement.value == pair.value;
  if (!text::equal_ignoring_case(statement.key->slurm, pair.key)) return false;
  const auto value = check_text(statement.key->kind, pair.key, pair.value);
  return value && slurm_text(statement.key->kind, *value) == statement.value;
}

// Pairs of the files that were read which no statement holds.
std::vector<std::string> silent(const Draft& draft) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < draft.files.size(); ++i) {
    const fs::path path = draft.files[i];
    if (is_slurm_file(path.filename().string()) || path.extension() == ".yaml") continue;
    for (const Pair& pair : pairs_in(text_of(path))) {
      if (pair.value == "DEFAULT" && (text::lower(pair.key) == "nodename" || text::lower(pair.key) == "partitionname"))
        continue;
      const bool found = std::ranges::any_of(draft.statements, [&](const Statement& statement) {
        return statement.at.file == i && statement.at.line == pair.line && says(statement, pair);
      });
      if (!found) out.push_back(fmt::format("{}:{}: {}={}", path.string(), pair.line, pair.key, pair.value));
    }
  }
  return out;
}

std::string name_of(const Statement& statement) {
  return std::string(statement.name ? statement.name->name : statement.key->slurm);
}

// What is not in force, whatever the order.
std::multiset<std::string> not_in_force(const Draft& draft) {
  std::multiset<std::string> out;
  for (const Statement& statement : draft.statements)
    if (statement.name) out.insert(fmt::format("{} {}={}", statement.scope, statement.name->name, statement.value));
  return out;
}

// Apart from where it was written.
void expect_same(const Draft& one, const Draft& other, const std::string& what) {
  const auto plain = [](const Draft& draft) {
    model::ClusterConfig cluster = draft.cluster;
    for (auto* rows : {&cluster.topology.switches, &cluster.topology.blocks})
      for (model::SwitchConfig& row : *rows) row.line = 0;
    for (auto& [name, value] : cluster.shown)
      if (name == "SLURM_CONF") value.clear();
    return cluster;
  };
  const model::ClusterConfig a = plain(one), b = plain(other);
  EXPECT_TRUE(a == b) << what << ": the cluster differs";
  for (std::size_t i = 0; i < std::min(a.shown.size(), b.shown.size()); ++i) EXPECT_EQ(a.shown[i], b.shown[i]) << what;
  ASSERT_EQ(a.nodes.size(), b.nodes.size()) << what;
  for (std::size_t i = 0; i < a.nodes.size(); ++i) EXPECT_TRUE(a.nodes[i] == b.nodes[i]) << what << a.nodes[i].name;
  ASSERT_EQ(a.partitions.size(), b.partitions.size()) << what;
  for (std::size_t i = 0; i < a.partitions.size(); ++i)
    EXPECT_TRUE(a.partitions[i] == b.partitions[i]) << what << a.partitions[i].name;
  DaemonConfig c = one.daemon, d = other.daemon;
  std::ranges::sort(c.kept);
  std::ranges::sort(d.kept);
  EXPECT_EQ(c.kept, d.kept) << what;
  EXPECT_TRUE(c == d) << what << ": what daemons need differs";
  EXPECT_EQ(not_in_force(one), not_in_force(other)) << what;
  auto s = one.siblings, t = other.siblings;
  std::ranges::sort(s);
  std::ranges::sort(t);
  EXPECT_EQ(s, t) << what;
}

TEST(Sites, AreMany) {
  EXPECT_GE(sites().size(), 40u);
}

TEST(Sites, NothingIsSilent) {
  for (const fs::path& site : sites()) {
    const auto draft = read_resolved(site / "slurm.conf");
    ASSERT_TRUE(draft) << draft.error().message;
    EXPECT_EQ(silent(*draft), std::vector<std::string>()) << site;
    for (const Statement& statement : draft->statements) {
      if (!statement.warned) continue;
      const bool named = std::ranges::any_of(draft->warnings, [&](const std::string& warning) {
        return warning.find(name_of(statement)) != std::string::npos;
      });
      EXPECT_TRUE(named) << site << ": no warning names " << name_of(statement);
    }
  }
}

// The test above can fail: without one statement, that pair is missed; and a key that nobody knows does not load.
TEST(Sites, ASilentKeyIsNoticed) {
  for (const fs::path& site : sites()) {
    auto draft = read_resolved(site / "slurm.conf");
    ASSERT_TRUE(draft) << draft.error().message;
    const auto from_line = [&](const Statement& s) { return s.at.file == 0 && s.at.line != 0; };
    const auto first = std::ranges::find_if(draft->statements, from_line);
    ASSERT_NE(first, draft->statements.end());
    const Position gone = first->at;
    std::erase_if(draft->statements, [&](const Statement& s) { return s.at.file == gone.file && s.at.line == gone.line; });
    EXPECT_FALSE(silent(*draft).empty()) << site;
  }
  TestDirectory directory;
  const std::string good = "ClusterName=c\nNodeName=n1\nPartitionName=p Nodes=n1\n";
  EXPECT_TRUE(read_resolved(directory.write("slurm.conf", good)));
  for (const char* line : {"NoSuchKey=1\n", "NodeName=n2 NoSuchKey=1\n", "PartitionName=q NoSuchKey=1\n",
                           "NodeSet=s NoSuchKey=1\n", "DownNodes=n1 NoSuchKey=1\n"}) {
    const auto refused = read_resolved(directory.write("slurm.conf", good + line));
    ASSERT_FALSE(refused) << line;
    EXPECT_NE(refused.error().message.find("slurm.conf:4: Parsing error at unrecognized key: NoSuchKey"),
              std::string::npos)
        << refused.error().message;
  }
}

TEST(Sites, UnknownOptionsAreNamed) {
  TestDirectory directory;
  for (const char* key : {"SchedulerParameters", "SlurmctldParameters", "SlurmdParameters", "LaunchParameters", "PrologFlags",
                          "PreemptParameters", "TaskPluginParam", "CommunicationParameters", "TopologyParam",
                          "PrivateData", "ReconfigFlags", "JobAcctGatherParams", "DependencyParameters", "TaskPlugin",
                          "HealthCheckNodeState"}) {
    const auto draft = read_resolved(directory.write(
        "slurm.conf", fmt::format("ClusterName=c\nNodeName=n1\nPartitionName=p Nodes=n1 Default=YES\n{}=wibble\n", key)));
    ASSERT_TRUE(draft) << key << draft.error().message;
    ASSERT_EQ(draft->warnings.size(), 1u) << key;
    EXPECT_NE(draft->warnings[0].find(fmt::format("{}: wibble (unknown)", key)), std::string::npos)
        << draft->warnings[0];
  }
}

TEST(Sites, RoundTrip) {
  for (const fs::path& site : sites()) {
    const auto slurm = read_resolved(site / "slurm.conf");
    ASSERT_TRUE(slurm) << slurm.error().message;
    TestDirectory directory;
    const auto ours = to_spur_conf(*slurm);
    ASSERT_TRUE(ours) << site << ": " << ours.error().message;
    EXPECT_EQ(ours->remarks, std::vector<std::string>());
    const auto spur = read_resolved(directory.write("spur.conf", ours->files[0].second));
    ASSERT_TRUE(spur) << site << ": " << spur.error().message << "\n" << ours->files[0].second;
    expect_same(*slurm, *spur, site.filename().string() + " as spur.conf");

    const auto back = to_slurm_conf(*spur);
    ASSERT_TRUE(back) << site << ": " << back.error().message;
    EXPECT_EQ(back->remarks, std::vector<std::string>()) << site;
    for (const auto& [name, text] : back->files) directory.write(name, text);
    const auto again = read_resolved(directory.path() + "/slurm.conf");
    ASSERT_TRUE(again) << site << ": " << again.error().message << "\n" << back->files[0].second;
    expect_same(*slurm, *again, site.filename().string() + " and back");
    if (::testing::Test::HasFailure()) FAIL() << ours->files[0].second << "\n----\n" << back->files[0].second;
  }
}

}  // namespace
}  // namespace spur::config
