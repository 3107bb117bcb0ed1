// SPDX-License-Identifier: Apache-2.0
// Nodes that come and go at run time.
#include "state/dynamic_nodes.h"

#include "model/dynamic_nodes.h"
#include "state/test_world.h"

namespace spur::state {
namespace {

using Action = UpdateNode::Action;

model::ClusterConfig with_room(std::uint32_t most = 10) {
  model::ClusterConfig config;
  config.max_node_count = most;
  config.gres_types = {"gpu"};
  for (const char* name : {"f1", "f2"})
    config.nodes.push_back(node_config([&](auto& c) { c.name = name, c.cpus = 4, c.state = "FUTURE"; }));
  return config;
}

model::NodeConfig fresh(const std::string& name, std::uint32_t cpus = 4) {
  return node_config([&](auto& c) { c.name = name, c.cpus = cpus; });
}

UpdateNode change(const std::string& node, Action action) {
  UpdateNode out;
  out.nodes = {node};
  out.action = action;
  return out;
}

ClaimFutureNode claim(const std::string& host, std::uint32_t cpus = 4) {
  ClaimFutureNode out{.hostname = host, .feature = {}, .found = {}};
  out.found.cpus = cpus;
  return out;
}

struct DynamicWorld : World {
  explicit DynamicWorld(std::uint32_t most = 10) : World(2, 4, 0, with_room(most)) {}
  bool there(const char* name) const { return model::find_node(view(), name) != nullptr; }
  std::string full(const char* name) const { return model::state_text_full(node(name)); }
  std::vector<std::string> nodes_of(const char* partition) const {
    std::vector<std::string> out;
    for (const NodeIndex at : model::find_partition(view(), partition)->nodes)
      out.push_back((*view().nodes.find(at.value))->name);
    return out;
  }
};

TEST(DynamicNodes, AreMadeAndUsedAndTakenAway) {
  DynamicWorld w;
  w.must(CreateNodes{{fresh("d1"), fresh("d2")}});
  EXPECT_EQ(w.full("d1"), "UNKNOWN+DYNAMIC_NORM+NOT_RESPONDING");
  EXPECT_EQ(w.nodes_of("main"), (std::vector<std::string>{"n1", "n2", "d1", "d2"}));
  w.must(World::registration("d1", 4));
  EXPECT_EQ(w.full("d1"), "IDLE+DYNAMIC_NORM");
  const auto id = w.submit(spec());
  w.start(id, World::on(2));
  EXPECT_EQ(w.refusal(DeleteNodes{{"d2", "d1"}}), ErrorCode::NodesBusy);
  w.done(id, "d1");
  w.must(DeleteNodes{{"d2", "d1"}});
  EXPECT_FALSE(w.there("d1"));
  EXPECT_EQ(w.job(id).last_nodes, "d1") << "finished jobs remember it";
  EXPECT_EQ(w.refusal(World::registration("d1", 4)), ErrorCode::InvalidNode);
}

// The allocation of a job names nodes by index, and those behind a node that goes have others.
TEST(DynamicNodes, JobsFollowTheirNodes) {
  DynamicWorld w;
  w.must(CreateNodes{{fresh("d1"), fresh("d2")}});
  w.must(World::registration("d2", 4));
  const auto id = w.submit(spec());
  w.start(id, World::on(3));
  w.must(DeleteNodes{{"d1"}});
  EXPECT_EQ(w.job(id).allocation->nodes.at(0).node, w.node("d2").index);
  EXPECT_EQ(w.node("d2").jobs, (std::vector<JobId>{JobId{id}}));
  w.done(id, "d2");
  EXPECT_EQ(w.job(id).state, model::JobState::Completed);
}

TEST(DynamicNodes, Refusals) {
  DynamicWorld w(6);  // four are declared
  w.must(CreateNodes{{fresh("d1")}});
  struct Row {
    const char* what;
    Command command;
    ErrorCode code;
  };
  const Row rows[] = {
      {"none", CreateNodes{}, ErrorCode::InvalidNode},
      {"no name", CreateNodes{{fresh("")}}, ErrorCode::InvalidNode},
      {"a name that is a path", CreateNodes{{fresh("../d2")}}, ErrorCode::InvalidNode},
      {"there already", CreateNodes{{fresh("d2"), fresh("d1")}}, ErrorCode::AlreadyExists},
      {"declared", CreateNodes{{fresh("n1")}}, ErrorCode::AlreadyExists},
      {"declared, by an agent", CreateNodes{{fresh("n1")}, true}, ErrorCode::AlreadyExists},
      {"declared as FUTURE", CreateNodes{{fresh("f1")}}, ErrorCode::AlreadyExists},
      {"twice at once", CreateNodes{{fresh("d2"), fresh("d2")}}, ErrorCode::AlreadyExists},
      {"too many", CreateNodes{{fresh("d2"), fresh("d3")}}, ErrorCode::InvalidNodeCount},
      {"no CPUs", CreateNodes{{fresh("d2", 0)}}, ErrorCode::ConfigInvalid},
      {"unknown GRES", CreateNodes{{node_config([](auto& c) { c.name = "d2", c.gres.push_back({"nic", "", 1, ""}); })}},
       ErrorCode::InvalidGres},
      {"delete nothing", DeleteNodes{}, ErrorCode::InvalidNode},
      {"delete nobody", DeleteNodes{{"d1", "d9"}}, ErrorCode::InvalidNode},
      {"delete a declared one", DeleteNodes{{"d1", "n1"}}, ErrorCode::InvalidNodeState},
      {"delete a declared FUTURE one", DeleteNodes{{"f1"}}, ErrorCode::InvalidNodeState},
      {"no host", claim(""), ErrorCode::InvalidNode},
      {"other hardware", claim("host", 8), ErrorCode::InvalidNode},
      {"drain FUTURE", change("f1", Action::Drain), ErrorCode::InvalidNodeState},
      {"a FUTURE node registers", World::registration("f1", 4), ErrorCode::InvalidNode},
  };
  for (const Row& row : rows) EXPECT_EQ(w.refusal(row.command), row.code) << row.what;
  w.must(CreateNodes{{fresh("d2")}});
  World none(1);
  EXPECT_EQ(none.refusal(CreateNodes{{fresh("d1")}}), ErrorCode::InvalidNodeCount) << "no MaxNodeCount";
  World anybody;
  anybody.must(SetConfig{{}});
  anybody.must(CreateNodes{{fresh("d1")}});
  anybody.must(World::registration("x", 1));
  anybody.must(DeleteNodes{{"x", "d1"}});
  EXPECT_EQ(anybody.view().nodes.size(), 0u);
}

TEST(DynamicNodes, AnAgentMakesItselfAnew) {
  DynamicWorld w;
  w.must(CreateNodes{{fresh("d1")}, true});
  w.must(World::registration("d1", 8));
  auto other = fresh("d1", 8);
  other.features = {"new"};
  w.must(CreateNodes{{other}, true});
  EXPECT_EQ(w.node("d1").hardware.cpus, 8u);
  EXPECT_EQ(w.node("d1").active_features, (std::vector<std::string>{"new"}));
  EXPECT_EQ(w.refusal(CreateNodes{{other}, false}), ErrorCode::AlreadyExists);
}

TEST(DynamicNodes, CloudAndFutureOnesAreMade) {
  DynamicWorld w;
  auto cloud = fresh("c1"), future = fresh("x1");
  cloud.state = "CLOUD", future.state = "FUTURE";
  w.must(CreateNodes{{cloud, future}});
  EXPECT_EQ(w.full("c1"), "IDLE+CLOUD+DYNAMIC_NORM+POWERED_DOWN");
  EXPECT_FALSE(w.there("x1"));
  w.must(change("x1", Action::Resume));
  EXPECT_TRUE(w.there("x1"));
  w.must(change("x1", Action::Future));
  w.must(DeleteNodes{{"x1"}});
  EXPECT_EQ(w.refusal(change("x1", Action::Resume)), ErrorCode::InvalidNode);
}

TEST(DynamicNodes, FilesThatAreReadAgainLeaveThemAlone) {
  DynamicWorld w;
  w.must(CreateNodes{{fresh("d1"), fresh("d2")}});
  w.must(change("f1", Action::Resume));
  w.must(change("n2", Action::Future));
  EXPECT_FALSE(w.there("n2"));
  auto file = with_room();
  file.nodes.push_back(fresh("n1"));
  file.nodes.push_back(fresh("n2"));
  file.nodes.push_back(fresh("d2"));
  file.partitions.push_back(partition_config([](auto& c) { c.name = "main", c.nodes = "ALL"; }));
  w.must(SetConfig{file});
  EXPECT_EQ(w.full("d1"), "UNKNOWN+DYNAMIC_NORM+NOT_RESPONDING");
  EXPECT_TRUE(w.there("f1"));
  EXPECT_FALSE(w.there("f2"));
  EXPECT_FALSE(w.there("n2"));
  EXPECT_EQ(w.full("d2"), "UNKNOWN+NOT_RESPONDING") << "it is the file's now";
  EXPECT_EQ(w.refusal(DeleteNodes{{"d2"}}), ErrorCode::InvalidNodeState);
  for (auto& node : file.nodes) node.state.clear();  // f1 and f2 are there now
  w.must(SetConfig{file});
  EXPECT_TRUE(w.there("f2"));
  EXPECT_FALSE(w.there("n2")) << "an administrator put it off";
  // What was made of the configuration in force has nothing old in it.
  auto edited = *w.view().config;
  w.must(DeleteNodes{{"d1"}});
  w.must(SetConfig{edited});
  EXPECT_FALSE(w.there("d1"));
}

TEST(DynamicNodes, PartitionsByFeatureAndByName) {
  auto config = with_room();
  config.partitions.push_back(partition_config([](auto& c) { c.name = "fast", c.nodes = "n1", c.node_features = {"quick"}; }));
  World w(2, 4, 0, config);
  auto quick = fresh("d1");
  quick.features = {"other", "quick"};
  w.must(CreateNodes{{quick, fresh("d2")}});
  const auto nodes = [&] { return model::node_list(w.view(), model::find_partition(w.view(), "fast")->nodes); };
  EXPECT_EQ(nodes(), "n1,d1");
  auto edited = *w.view().config;
  edited.partitions[0].nodes = "n1,d2";
  w.must(SetConfig{edited});
  EXPECT_EQ(nodes(), "n1,d[1-2]");
  w.must(DeleteNodes{{"d2"}});
  EXPECT_EQ(nodes(), "n1,d1");
  EXPECT_EQ(w.view().config->partitions[0].nodes, "n1");
}

TEST(DynamicNodes, AHostTakesTheFirstFutureNodeThatIsLikeIt) {
  DynamicWorld w;
  EXPECT_EQ(w.must(claim("host1")).name, "f1");
  EXPECT_EQ(w.must(claim("host2")).name, "f2");
  EXPECT_EQ(w.refusal(claim("host3")), ErrorCode::InvalidNode);
  EXPECT_EQ(w.must(claim("host1")).name, "f1") << "the same host gets the same one";
  auto registration = World::registration("f1", 4);
  registration.hostname = "host1";
  registration.extra = "rack 7", registration.instance_id = "i-1", registration.instance_type = "big";
  w.must(registration);
  EXPECT_EQ(w.full("f1"), "IDLE+DYNAMIC_FUTURE");
  EXPECT_EQ(w.node("f1").hostname, "host1");
  EXPECT_EQ(w.node("f1").extra, "rack 7");
  EXPECT_EQ(w.node("f1").instance_id + w.node("f1").instance_type, "i-1big");
  auto config = *w.view().config;
  w.must(SetConfig{config});
  EXPECT_EQ(w.node("f1").hostname, "host1") << "also after the files were read again";
  const auto id = w.submit(spec());
  w.start(id, World::on(w.node("f1").index.value));
  EXPECT_EQ(w.refusal(change("f1", Action::Future)), ErrorCode::InvalidNodeState);
  w.done(id, "f1");
  w.must(change("f1", Action::Future));
  EXPECT_FALSE(w.there("f1"));
  EXPECT_EQ(w.must(claim("host3")).name, "f1");
}

TEST(DynamicNodes, WhoAsksSeesFutureNodes) {
  DynamicWorld w;
  const auto shown = with_future_nodes(w.view());
  ASSERT_EQ(shown.nodes.size(), 2u);
  EXPECT_EQ(shown.nodes[0].name, "f1");
  EXPECT_EQ(shown.nodes[0].index, NodeIndex{2});
  EXPECT_EQ(shown.nodes[0].hardware.cpus, 4u);
  EXPECT_EQ(model::state_text_full(shown.nodes[0]), "FUTURE");
  EXPECT_EQ(model::state_text(shown.nodes[0], true), "futr");
  EXPECT_EQ(shown.partitions.at(0).nodes.size(), 4u);
  EXPECT_EQ(w.nodes_of("main").size(), 2u);
}

TEST(DynamicNodes, ReservationsKeepThem) {
  DynamicWorld w;
  w.must(CreateNodes{{fresh("d1")}});
  w.must(World::registration("d1", 4));
  model::Reservation reservation;
  reservation.name = "r";
  reservation.start = w.now;
  reservation.end = w.now + hours(1);
  reservation.users.names = {"root"};
  reservation.user_ids = {Uid{0}};
  reservation.nodes = {{.node = w.node("d1").index}};
  w.must(CreateReservation{reservation});
  EXPECT_EQ(w.refusal(DeleteNodes{{"d1"}}), ErrorCode::NodesBusy);
  w.must(DeleteReservation{"r"});
  w.must(DeleteNodes{{"d1"}});
}

TEST(DynamicNodes, ASnapshotHasThem) {
  DynamicWorld w;
  w.must(CreateNodes{{fresh("d1")}});
  w.must(claim("host1"));
  w.must(change("n2", Action::Future));
  const auto again = Cluster::from_image(w.cluster.image());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->state_hash(), w.cluster.state_hash());
}

TEST(UpdateNode, ActiveFeatures) {
  World w(1);
  UpdateNode both = change("n1", Action::None);
  both.features = "a,b,c";
  both.active_features = "b";
  w.must(both);
  EXPECT_EQ(w.node("n1").features, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(w.node("n1").active_features, (std::vector<std::string>{"b"}));
  UpdateNode active = change("n1", Action::None);
  active.active_features = "a,nosuch";
  EXPECT_EQ(w.refusal(active), ErrorCode::ActiveFeaturesUnknown);
  active.active_features = "c,a";
  w.must(active);
  EXPECT_EQ(w.node("n1").active_features, (std::vector<std::string>{"c", "a"}));
  active.active_features = "";
  w.must(active);
  EXPECT_TRUE(w.node("n1").active_features.empty());
  both.active_features.reset();
  both.features = "x";
  w.must(both);
  EXPECT_EQ(w.node("n1").active_features, (std::vector<std::string>{"x"})) << "what is available is active";
  both.features = "y";
  EXPECT_EQ(w.refusal(both), ErrorCode::ActiveFeaturesUnknown) << "x is active";
}

}  // namespace
}  // namespace spur::state
