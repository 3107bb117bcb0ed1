// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "stepd/pmi_server.h"
#include "stepd/pmi_wire.h"

namespace spur::stepd {
namespace {

std::string text(const PmiCommand& command) {
  std::string out;
  for (const auto& [key, value] : command.items) out += '[' + key + '|' + value + ']';
  return out;
}

TEST(PmiWire, LinesComeInPieces) {
  PmiReader reader;
  reader.add("cmd=put kvsname=k ke");
  EXPECT_FALSE(reader.next()->has_value());
  reader.add("y=a value=x=1;2\ncmd=barrier_in\ncm");
  EXPECT_EQ(text(**reader.next()), "[cmd|put][kvsname|k][key|a][value|x=1;2]");
  EXPECT_EQ(text(**reader.next()), "[cmd|barrier_in]");
  EXPECT_FALSE(reader.next()->has_value());
}

TEST(PmiWire, BodiesHaveALengthAndDoubledMarks) {
  const PmiCommand command{{{"cmd", "kvs-put"}, {"key", "k"}, {"value", "a;b;;c="}}};
  const std::string wire = write_pmi2(command);
  EXPECT_EQ(wire, "    35cmd=kvs-put;key=k;value=a;;b;;;;c=;");
  PmiReader reader;
  reader.use_version_2();
  for (const char c : wire + wire) {
    const std::string one(1, c);
    reader.add(one);
  }
  for (int i = 0; i < 2; ++i) EXPECT_EQ(text(**reader.next()), text(command));
  EXPECT_FALSE(reader.next()->has_value());
}

TEST(PmiWire, RefusesWhatIsNoCommand) {
  for (const char* bytes : {"hello\n", "=\n", "key=a cmd=b\n", "\n", "cmd=a b\n"}) {
    PmiReader reader;
    reader.add(bytes);
    EXPECT_FALSE(reader.next()) << bytes;
  }
  for (const char* bytes : {"abcdefcmd=x;", "      cmd=x;", "999999cmd=x;", "     3a;b", "     0", "    -1"}) {
    PmiReader reader;
    reader.use_version_2();
    reader.add(bytes);
    EXPECT_FALSE(reader.next()) << bytes;
  }
  PmiReader reader;
  reader.add(std::string(kMostPmiCommand + 1, 'x'));
  EXPECT_FALSE(reader.next());
}

// A step of several nodes, with what would travel between them.
class Step {
 public:
  explicit Step(std::vector<std::uint32_t> task_nodes) : nodes_(task_nodes) {
    std::uint32_t count = 0;
    for (const auto node : task_nodes) count = std::max(count, node + 1);
    for (std::uint32_t n = 0; n < count; ++n) {
      std::vector<std::uint32_t> ranks;
      for (std::uint32_t r = 0; r < task_nodes.size(); ++r)
        if (task_nodes[r] == n) ranks.push_back(r), local_[r] = ranks.size() - 1;
      servers_.emplace_back(PmiStep{"7.0", static_cast<std::uint32_t>(task_nodes.size()), "(vector,x)"}, ranks);
    }
  }
  PmiServer& server_of(std::uint32_t rank) { return servers_[nodes_[rank]]; }
  std::size_t local(std::uint32_t rank) const { return local_.at(rank); }

  // What the rank is told, all at once.
  std::string say(std::uint32_t rank, const std::string& bytes) {
    EXPECT_TRUE(server_of(rank).receive(local(rank), bytes));
    collect();
    return std::exchange(heard_[rank], {});
  }
  std::string hear(std::uint32_t rank) { return std::exchange(heard_[rank], {}); }

  bool fence() {
    for (auto& server : servers_)
      if (auto pairs = server.take_fence()) sent_.push_back(*pairs);
    if (sent_.size() < servers_.size()) return false;
    std::string all;
    for (const auto& pairs : sent_) all += pairs;
    sent_.clear();
    for (auto& server : servers_) EXPECT_TRUE(server.pass_fence(all));
    collect();
    return true;
  }

 private:
  void collect() {
    for (std::size_t n = 0; n < servers_.size(); ++n)
      for (const auto& answer : servers_[n].take_answers())
        for (const auto& [rank, task] : local_)
          if (nodes_[rank] == n && task == answer.task) heard_[rank] += answer.bytes;
  }
  std::vector<std::uint32_t> nodes_;
  std::map<std::uint32_t, std::size_t> local_;
  std::vector<PmiServer> servers_;
  std::map<std::uint32_t, std::string> heard_;
  std::vector<std::string> sent_;
};

TEST(PmiServer, SpeaksVersion1) {
  Step step({0, 0, 1});
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(step.say(rank, "cmd=init pmi_version=1 pmi_subversion=1\n"),
              "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  EXPECT_EQ(step.say(0, "cmd=get_maxes\n"), "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
  EXPECT_EQ(step.say(0, "cmd=get_appnum\n"), "cmd=appnum appnum=0\n");
  EXPECT_EQ(step.say(1, "cmd=get_universe_size\n"), "cmd=universe_size size=3\n");
  EXPECT_EQ(step.say(2, "cmd=get_my_kvsname\n"), "cmd=my_kvsname kvsname=7.0\n");
  EXPECT_EQ(step.say(0, "cmd=get kvsname=7.0 key=PMI_process_mapping\n"),
            "cmd=get_result rc=0 msg=success value=(vector,x)\n");
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const std::string number = std::to_string(rank);
    EXPECT_EQ(step.say(rank, "cmd=put kvsname=7.0 key=card" + number + " value=at" + number + "\n"),
              "cmd=put_result rc=0 msg=success\n");
  }
  EXPECT_EQ(step.say(2, "cmd=get kvsname=7.0 key=card0\n"), "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
  EXPECT_EQ(step.say(0, "cmd=barrier_in\n"), "");
  EXPECT_EQ(step.say(2, "cmd=barrier_in\n"), "");
  EXPECT_FALSE(step.fence());  // one of node 0 has not come
  EXPECT_EQ(step.say(1, "cmd=barrier_in\n"), "");
  EXPECT_TRUE(step.fence());
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(step.hear(rank), "cmd=barrier_out\n");
  EXPECT_EQ(step.say(2, "cmd=get kvsname=7.0 key=card0\n"), "cmd=get_result rc=0 msg=success value=at0\n");
  EXPECT_EQ(step.say(0, "cmd=get kvsname=7.0 key=card2\n"), "cmd=get_result rc=0 msg=success value=at2\n");
  EXPECT_EQ(step.say(0, "cmd=finalize\n"), "cmd=finalize_ack\n");
}

std::string two(std::vector<std::pair<std::string, std::string>> items) {
  return write_pmi2({std::move(items)});
}

TEST(PmiServer, SpeaksVersion2) {
  Step step({0, 1});
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(step.say(rank, "cmd=init pmi_version=2 pmi_subversion=0\n"),
              "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n");
    EXPECT_EQ(step.say(rank, two({{"cmd", "fullinit"}, {"pmijobid", "7.0"}, {"pmirank", std::to_string(rank)}})),
              two({{"cmd", "fullinit-response"},
                   {"pmi-version", "2"},
                   {"pmi-subversion", "0"},
                   {"rank", std::to_string(rank)},
                   {"size", "2"},
                   {"appnum", "0"},
                   {"debugged", "FALSE"},
                   {"pmiverbose", "FALSE"},
                   {"rc", "0"}}));
  }
  EXPECT_EQ(step.say(0, two({{"cmd", "job-getid"}, {"thrid", "5"}})),
            two({{"cmd", "job-getid-response"}, {"thrid", "5"}, {"jobid", "7.0"}, {"rc", "0"}}));
  EXPECT_EQ(step.say(1, two({{"cmd", "info-getjobattr"}, {"key", "PMI_process_mapping"}})),
            two({{"cmd", "info-getjobattr-response"},
                 {"rc", "0"},
                 {"found", "TRUE"},
                 {"flag", "TRUE"},
                 {"value", "(vector,x)"}}));
  EXPECT_EQ(step.say(1, two({{"cmd", "info-getjobattr"}, {"key", "nothing"}})),
            two({{"cmd", "info-getjobattr-response"}, {"rc", "0"}, {"found", "FALSE"}, {"flag", "FALSE"}}));
  EXPECT_EQ(step.say(0, two({{"cmd", "kvs-put"}, {"key", "k"}, {"value", "a;b"}})),
            two({{"cmd", "kvs-put-response"}, {"rc", "0"}}));
  EXPECT_EQ(step.say(0, two({{"cmd", "kvs-fence"}})), "");
  EXPECT_EQ(step.say(1, two({{"cmd", "kvs-fence"}, {"thrid", "9"}})), "");
  EXPECT_TRUE(step.fence());
  EXPECT_EQ(step.hear(0), two({{"cmd", "kvs-fence-response"}, {"rc", "0"}}));
  EXPECT_EQ(step.hear(1), two({{"cmd", "kvs-fence-response"}, {"thrid", "9"}, {"rc", "0"}}));
  EXPECT_EQ(step.say(1, two({{"cmd", "kvs-get"}, {"jobid", "7.0"}, {"srcid", "0"}, {"key", "k"}})),
            two({{"cmd", "kvs-get-response"}, {"rc", "0"}, {"found", "TRUE"}, {"flag", "TRUE"}, {"value", "a;b"}}));
  EXPECT_EQ(step.say(1, two({{"cmd", "ring"}})),
            two({{"cmd", "ring-response"}, {"rc", "1"}, {"errmsg", "not supported"}}));
  EXPECT_EQ(step.say(1, two({{"cmd", "finalize"}})), two({{"cmd", "finalize-response"}, {"rc", "0"}}));
}

TEST(PmiServer, AttributesOfANodeMayBeWaitedFor) {
  Step step({0, 0, 1});
  for (std::uint32_t rank = 0; rank < 3; ++rank) step.say(rank, "cmd=init pmi_version=2 pmi_subversion=0\n");
  const std::string got =
      two({{"cmd", "info-getnodeattr-response"}, {"rc", "0"}, {"found", "TRUE"}, {"flag", "TRUE"}, {"value", "v"}});
  const std::string none =
      two({{"cmd", "info-getnodeattr-response"}, {"rc", "0"}, {"found", "FALSE"}, {"flag", "FALSE"}});
  EXPECT_EQ(step.say(1, two({{"cmd", "info-getnodeattr"}, {"key", "k"}, {"wait", "FALSE"}})), none);
  EXPECT_EQ(step.say(1, two({{"cmd", "info-getnodeattr"}, {"key", "k"}, {"wait", "TRUE"}})), "");
  step.say(0, two({{"cmd", "info-putnodeattr"}, {"key", "k"}, {"value", "v"}}));
  EXPECT_EQ(step.hear(1), got);
  EXPECT_EQ(step.say(0, two({{"cmd", "info-getnodeattr"}, {"key", "k"}, {"wait", "TRUE"}})), got);
  EXPECT_EQ(step.say(2, two({{"cmd", "info-getnodeattr"}, {"key", "k"}, {"wait", "FALSE"}})), none);
}

TEST(PmiServer, TheFirstAbortCounts) {
  Step step({0, 0});
  step.say(0, "cmd=init pmi_version=1 pmi_subversion=1\n");
  step.say(1, "cmd=init pmi_version=1 pmi_subversion=1\n");
  EXPECT_FALSE(step.server_of(0).aborted());
  step.say(1, "cmd=abort exitcode=77\n");
  step.say(0, "cmd=abort exitcode=5\n");
  ASSERT_TRUE(step.server_of(0).aborted());
  EXPECT_EQ(step.server_of(0).aborted()->rank, 1u);
  EXPECT_EQ(step.server_of(0).aborted()->code, 77);
}

TEST(PmiServer, RefusesWhatItCannotDo) {
  Step step({0});
  step.say(0, "cmd=init pmi_version=1 pmi_subversion=1\n");
  EXPECT_EQ(step.say(0, "cmd=lookup_name service=x\n"), "cmd=lookup_result rc=-1 msg=not_supported\n");
  EXPECT_FALSE(step.server_of(0).receive(0, "cmd=nonsense\n"));
  EXPECT_FALSE(step.server_of(0).receive(0, "cmd=put kvsname=7.0 value=x\n"));
  EXPECT_FALSE(step.server_of(0).pass_fence("abc"));
  EXPECT_FALSE(step.server_of(0).pass_fence(std::string("\xff\xff\xff\x7fkey", 7)));
}

}  // namespace
}  // namespace spur::stepd
