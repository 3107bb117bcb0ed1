// SPDX-License-Identifier: Apache-2.0
#include "state/outbox.h"

#include <fmt/format.h>

#include "state/test_world.h"

namespace spur::state {
namespace {

using model::JobState;
using Words = std::vector<std::string>;

// A world whose records are kept as short texts.
struct Accounted {
  Cluster cluster;
  Time now = kStart;
  Words told;

  explicit Accounted(bool accounting = true) {
    model::ClusterConfig config;
    config.is_accounted = accounting;
    World world(2, 4, 0, config);
    // The same commands again, on a cluster of ours.
    run(SetConfig{*world.view().config});
    run(World::registration("n1", 4));
    run(World::registration("n2", 4));
  }
  static std::string text_of(const OutboxRecord& record) {
    struct Text {
      std::string operator()(const JobNote& note) const {
        return fmt::format("job {}.{} {}{}", note.job->id.value, note.job->epoch.value,
                           model::base_name(note.job->state), note.requeued ? " requeued" : "");
      }
      std::string operator()(const StepNote& note) const {
        return fmt::format("step {}.{} {}", note.job->id.value,
                           note.step.step == model::kBatchStep ? "batch" : std::to_string(note.step.step),
                           model::base_name(note.step.state));
      }
      std::string operator()(const NodeNote& note) const { return fmt::format("node {}", note.node->name); }
      std::string operator()(const ClusterNote& note) const { return fmt::format("cluster cpus={}", note.cpus); }
      std::string operator()(const ReservationNote& note) const { return "reservation " + note.reservation.name; }
    };
    return std::visit(Text(), record.what);
  }
  Outcome run(Command command) {
    now += seconds(1);
    Batch batch{now, {}};
    batch.commands.push_back(std::move(command));
    std::vector<OutboxRecord> records;
    const std::uint64_t first = cluster.outbox().next;
    auto outcome = std::move(cluster.apply(cluster.index() + 1, batch, nullptr, &records).at(0));
    EXPECT_TRUE(outcome.status) << outcome.status.error().message;
    for (std::size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(records[i].number, first + i);
      told.push_back(text_of(records[i]));
    }
    EXPECT_EQ(cluster.outbox().next, first + records.size());
    return outcome;
  }
  Words take() { return std::exchange(told, {}); }
  std::uint32_t submit() { return run(SubmitJob{std::make_shared<const model::JobSpec>(spec()), {}}).job.value; }
  NodeJobDone report(std::uint32_t id, const std::string& node, std::uint16_t code = 0) const {
    NodeJobDone out;
    const auto* job = model::find_job(cluster.view(), JobId{id});
    out.job = job->id;
    out.epoch = job->epoch;
    out.node = node;
    out.exit.code = code;
    out.is_batch_host = node == job->batch_host;
    return out;
  }
};

TEST(Outbox, TheLifeOfAJobInThreeRecords) {
  Accounted w;
  w.take();
  const auto id = w.submit();
  EXPECT_EQ(w.take(), Words{"job 1.1 PENDING"});
  w.run(StartJob{JobId{id}, {}, World::on(0)});
  EXPECT_EQ(w.take(), Words{"job 1.1 RUNNING"});
  auto report = w.report(id, "n1", 2);
  model::StepEnd step;
  step.exit.code = 7;
  step.state = JobState::Failed;
  report.steps = {step};
  w.run(report);
  EXPECT_EQ(w.take(), (Words{"step 1.batch FAILED", "step 1.0 FAILED", "job 1.1 FAILED"}));
  EXPECT_EQ(model::find_job(w.cluster.view(), JobId{id})->derived_exit.code, 7);
}

TEST(Outbox, ARequeueKeepsTheRunThatEnded) {
  Accounted w;
  const auto id = w.submit();
  w.run(StartJob{JobId{id}, {}, World::on(0)});
  w.take();
  w.run(RequeueJob{target(id)});
  EXPECT_EQ(w.take(), Words{"job 1.1 PENDING"});
  w.run(w.report(id, "n1"));
  EXPECT_EQ(w.take(), (Words{"step 1.batch COMPLETED", "job 1.1 CANCELLED requeued", "job 1.2 PENDING"}));
}

TEST(Outbox, NodesThatGoAndComeBack) {
  Accounted w;
  w.take();
  UpdateNode update;
  update.nodes = {"n1"};
  update.action = UpdateNode::Action::Drain;
  update.reason = "bad disk";
  w.run(update);
  EXPECT_EQ(w.take(), Words{"node n1"});
  update.action = UpdateNode::Action::Resume;
  w.run(update);
  EXPECT_EQ(w.take(), Words{"node n1"});
  w.run(NodeResponding{"n1", false});
  EXPECT_EQ(w.take(), Words{});
}

TEST(Outbox, BeginsWithWhatThereIs) {
  Accounted w(false);
  w.submit();
  EXPECT_EQ(w.take(), Words{});
  EXPECT_EQ(w.cluster.outbox(), Outbox{});
  auto config = *w.cluster.view().config;
  config.is_accounted = true;
  w.run(SetConfig{config});
  EXPECT_EQ(w.take(), (Words{"cluster cpus=8", "job 1.1 PENDING"}));
  EXPECT_EQ(w.cluster.outbox().born, w.now);
}

TEST(Outbox, ReplayNumbersAlike) {
  Accounted kept, again;
  for (auto* w : {&kept, &again}) {
    w->submit();
    w->run(StartJob{JobId{1}, {}, World::on(0)});
  }
  EXPECT_EQ(kept.told, again.told);
  EXPECT_EQ(kept.cluster.state_hash(), again.cluster.state_hash());
  // Also where nobody asks for the records.
  Batch batch{kept.now + seconds(1), {kept.report(1, "n1")}};
  std::vector<OutboxRecord> records;
  kept.cluster.apply(kept.cluster.index() + 1, batch, nullptr, &records);
  again.cluster.apply(again.cluster.index() + 1, batch, nullptr);
  EXPECT_EQ(records.size(), 2u);
  EXPECT_EQ(kept.cluster.outbox(), again.cluster.outbox());
}

TEST(Outbox, Acknowledgements) {
  Accounted w;
  w.submit();
  const std::uint64_t last = w.cluster.outbox().next - 1;
  w.run(OutboxAcked{last});
  EXPECT_EQ(w.cluster.outbox().acked, last);
  w.run(OutboxAcked{1});  // a late one
  EXPECT_EQ(w.cluster.outbox().acked, last);
  Batch batch{w.now + seconds(1), {OutboxAcked{last + 1}}};
  EXPECT_FALSE(w.cluster.apply(w.cluster.index() + 1, batch, nullptr).at(0).status);
  EXPECT_EQ(w.cluster.image().outbox, w.cluster.outbox());
}

}  // namespace
}  // namespace spur::state
