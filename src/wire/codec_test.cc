// SPDX-License-Identifier: Apache-2.0
// Round trips of everything that travels, filled with random values that are never the default: a field that a codec
// forgets comes back as its default, and is found.
#include <gtest/gtest.h>

#include "spur/v1/agent.pb.h"
#include "spur/v1/journal.pb.h"
#include "spur/v1/types.pb.h"
#include "wire/agent_codec.h"
#include "wire/config_codec.h"
#include "wire/id_codec.h"
#include "wire/job_codec.h"
#include "wire/model_fields.h"
#include "wire/node_codec.h"
#include "wire/spec_codec.h"

namespace spur::wire {
namespace {

using fields::fill;
using fields::Random;
using fields::same;

// fill() must change every single field, else the round trip proves nothing.
template <class T>
void expect_no_default(const T& filled) {
  const T fresh{};
  const auto x = fields::of(filled), y = fields::of(fresh);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const bool changed[] = {!same(std::get<I>(x), std::get<I>(y))...};
    for (std::size_t i = 0; i < sizeof...(I); ++i) EXPECT_TRUE(changed[i]) << "field " << i;
  }(std::make_index_sequence<std::tuple_size_v<decltype(x)>>{});
}

template <class T, class Proto>
void expect_round_trip(unsigned rounds = 50) {
  for (unsigned seed = 0; seed < rounds; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    T value{};
    fill(value, random);
    expect_no_default(value);
    Proto proto;
    to_proto(value, &proto);
    Proto parsed;
    ASSERT_TRUE(parsed.ParseFromString(proto.SerializeAsString()));
    T back{};
    const auto status = from_proto(parsed, &back);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_TRUE(same(value, back));
  }
  // And the other end of the range: everything default.
  Proto proto;
  to_proto(T{}, &proto);
  T back{};
  ASSERT_TRUE(from_proto(proto, &back));
  EXPECT_TRUE(same(T{}, back));
}

TEST(Codec, JobSpec) {
  expect_round_trip<model::JobSpec, v1::JobSpec>();
}
TEST(Codec, Node) {
  expect_round_trip<model::Node, v1::Node>();
}
TEST(Codec, UpdateNode) {
  expect_round_trip<state::UpdateNode, v1::NodeUpdate>();
}
TEST(Codec, Allocation) {
  expect_round_trip<model::Allocation, v1::Allocation>();
}
TEST(Codec, ClusterConfig) {
  expect_round_trip<model::ClusterConfig, v1::ClusterConfig>();
}
TEST(Codec, Partition) {
  expect_round_trip<model::Partition, v1::Partition>();
}
TEST(Codec, JobTarget) {
  expect_round_trip<state::JobTarget, v1::JobTarget>();
}

TEST(Codec, Job) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Random random(seed);
    model::Job value;
    fill(value, random);
    expect_no_default(value);
    v1::Job proto;
    to_proto(value, &proto);
    model::Job back;
    ASSERT_TRUE(from_proto(proto, &back));
    EXPECT_TRUE(same(value, back)) << seed;
  }
}

TEST(Codec, AgentMessages) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Random random(seed);
    for (const auto& message : fields::one_of_each<model::AgentMessage>(random)) {
      std::visit([](const auto& m) { expect_no_default(m); }, message);
      const auto back = decode_agent_message(encode_agent_message(message));
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_TRUE(same(message, *back)) << message.index();
    }
  }
}

TEST(Codec, ControllerMessages) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Random random(seed);
    for (auto& message : fields::one_of_each<model::ControllerMessage>(random)) {
      std::visit([](const auto& m) { expect_no_default(m); }, message);
      if (auto* launch = std::get_if<model::ControllerLaunch>(&message)) {
        launch->parts.resize(3);
        launch->addresses.resize(3);
      }
      const auto back = decode_controller_message(encode_controller_message(message));
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_TRUE(same(message, *back)) << message.index();
    }
  }
}

TEST(Codec, UnknownKindsAndValuesAreRefused) {
  EXPECT_EQ(decode_agent_message("").error().code, ErrorCode::VersionMismatch);
  EXPECT_EQ(decode_controller_message("").error().code, ErrorCode::VersionMismatch);
  EXPECT_EQ(decode_agent_message("\x0a\xff").error().code, ErrorCode::Corrupt);

  v1::ControllerMessage end;
  end.mutable_end()->set_why(static_cast<v1::JobState>(12));
  EXPECT_EQ(decode_controller_message(end.SerializeAsString()).error().code, ErrorCode::Corrupt);
  v1::ControllerMessage launch;
  launch.mutable_launch()->mutable_spec();
  EXPECT_EQ(decode_controller_message(launch.SerializeAsString()).error().code, ErrorCode::Corrupt);  // no part
  launch.mutable_launch()->add_parts();
  EXPECT_EQ(decode_controller_message(launch.SerializeAsString()).error().code, ErrorCode::Corrupt);  // and no address
  launch.mutable_launch()->add_addresses("");
  EXPECT_TRUE(decode_controller_message(launch.SerializeAsString()));
  launch.mutable_launch()->clear_spec();
  EXPECT_EQ(decode_controller_message(launch.SerializeAsString()).error().code, ErrorCode::Corrupt);

  v1::ExitStatus exit;
  exit.set_code(65536);
  model::ExitStatus exit_back;
  EXPECT_EQ(from_proto(exit, &exit_back).error().code, ErrorCode::Corrupt);

  v1::Job job;
  model::Job job_back;
  EXPECT_EQ(from_proto(job, &job_back).error().code, ErrorCode::Corrupt);  // no specification
  job.set_spec_ref(2);
  const SpecList specs(1, std::make_shared<model::JobSpec>());
  EXPECT_EQ(from_proto(job, &job_back, &specs).error().code, ErrorCode::Corrupt);
  job.set_spec_ref(1);
  EXPECT_TRUE(from_proto(job, &job_back, &specs));
}

TEST(Codec, IndexSets) {
  struct {
    std::vector<std::uint32_t> bounds;
    bool good;
  } cases[] = {{{}, true},
               {{1}, false},
               {{1, 1}, true},
               {{2, 1}, false},
               {{1, 3, 5, 7}, true},
               {{1, 3, 4, 7}, false},
               {{1, 3, 3, 7}, false},
               {{5, 7, 1, 2}, false},
               {{0, 0xffffffff}, true},
               {{0, 0xffffffff, 0, 1}, false}};
  for (const auto& c : cases) {
    v1::IndexSet proto;
    proto.mutable_bounds()->Add(c.bounds.begin(), c.bounds.end());
    IndexSet set;
    EXPECT_EQ(from_proto(proto, &set).has_value(), c.good) << testing::PrintToString(c.bounds);
  }
}

TEST(Codec, RunsKeepAnyOrderAndRefuseBombs) {
  const std::vector<std::uint16_t> numbers{5, 4, 3, 9, 10, 11, 65535, 0, 0, 1};
  v1::IndexSet proto;
  runs_to_proto(numbers, &proto);
  std::vector<std::uint16_t> back;
  ASSERT_TRUE(runs_from_proto(proto, &back));
  EXPECT_EQ(back, numbers);

  proto.Clear();
  proto.add_bounds(0);
  proto.add_bounds(0xffffffff);
  std::vector<NodeIndex> nodes;
  EXPECT_FALSE(runs_from_proto(proto, &nodes));
  proto.set_bounds(0, 0xffffffff);
  ASSERT_TRUE(runs_from_proto(proto, &nodes));
  EXPECT_EQ(nodes, std::vector<NodeIndex>{kNoNode});
  back.clear();
  EXPECT_FALSE(runs_from_proto(proto, &back));  // no 16-bit number
}

TEST(Codec, TextsAreWrittenOnce) {
  const auto text = std::make_shared<const std::string>("A=1"), equal = std::make_shared<const std::string>("A=1"),
             other = std::make_shared<const std::string>("B=2");
  std::vector<std::string> written;
  BlobWriter writer([&](const std::string& blob) { written.push_back(blob); });
  EXPECT_EQ(writer.number_of(nullptr), 0u);
  EXPECT_EQ(writer.number_of(std::make_shared<const std::string>()), 0u);
  EXPECT_EQ(writer.number_of(text), 1u);
  EXPECT_EQ(writer.number_of(other), 2u);
  EXPECT_EQ(writer.number_of(equal), 1u);
  EXPECT_EQ(written, (std::vector<std::string>{"A=1", "B=2"}));

  v1::JobSpec proto;
  proto.set_script_ref(1);
  model::JobSpec spec;
  EXPECT_FALSE(from_proto(proto, &spec));
  const BlobList list{text};
  ASSERT_TRUE(from_proto(proto, &spec, &list));
  EXPECT_EQ(spec.script, text);
  proto.set_script_ref(2);
  EXPECT_FALSE(from_proto(proto, &spec, &list));
}

TEST(Codec, MergeTakesTheNamedFieldsOnly) {
  Random random(1);
  model::JobSpec from;
  fill(from, random);
  model::JobSpec to;
  ASSERT_TRUE(merge_spec(from, {"name", "time_limit", "begin_us", "array", "script", "gres", "requeue"}, &to));
  model::JobSpec expected;
  expected.name = from.name, expected.time_limit = from.time_limit, expected.begin = from.begin,
  expected.array = from.array;
  expected.script = from.script, expected.gres = from.gres, expected.requeue = from.requeue;
  EXPECT_TRUE(same(to, expected));
  for (const char* name : {"uid", "gid", "kind", "begin", "Name", ""}) {
    model::JobSpec untouched;
    EXPECT_EQ(merge_spec(from, {"name", name}, &untouched).error().code, ErrorCode::InvalidArgument) << name;
    EXPECT_TRUE(same(untouched, model::JobSpec{})) << name;
  }
}

}  // namespace
}  // namespace spur::wire
