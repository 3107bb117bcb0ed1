// SPDX-License-Identifier: Apache-2.0
// Steps of a job on n1 and n2, as n1's agent runs them, over channels that the test works by hand.
#include "agent/step_session.h"

#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <utility>

#include "agent/test_doors.h"

namespace spur::agent {
namespace {

// The far ends of the channels, by order of opening.
struct TestPort final : io::StepPort {
  struct End {
    std::string where;
    io::StepChannel::Events events;
    std::vector<v1::StepInput> got;
    bool paused = false, open = true;
    void say(const v1::StepOutput& output) { events.on_output(output.SerializeAsString()); }
  };
  struct Channel final : io::StepChannel {
    std::shared_ptr<End> end;
    ~Channel() override { end->open = false; }
    void send(std::string input, std::function<void()> written) override {
      ASSERT_TRUE(end->got.emplace_back().ParseFromString(input));
      if (written) written();
    }
    void pause(bool paused) override { end->paused = paused; }
  };
  std::vector<std::shared_ptr<End>> ends;
  std::unique_ptr<io::StepChannel> open(std::string where, io::StepChannel::Events events) {
    auto channel = std::make_unique<Channel>();
    channel->end = ends.emplace_back(std::make_shared<End>());
    channel->end->where = std::move(where);
    channel->end->events = std::move(events);
    return channel;
  }
  std::unique_ptr<io::StepChannel> open_local(const model::ControllerLaunch&, std::uint32_t step,
                                              io::StepChannel::Events events) override {
    return open("local step " + std::to_string(step), std::move(events));
  }
  std::unique_ptr<io::StepChannel> resume_local(model::JobRun, std::uint32_t step, const std::string& key,
                                                io::StepChannel::Events events) override {
    return open("again step " + std::to_string(step) + " " + key, std::move(events));
  }
  std::unique_ptr<io::StepChannel> open_remote(const std::string& address, io::StepChannel::Events events) override {
    return open(address, std::move(events));
  }
};

struct TestNotes final : io::StepNotes {
  std::map<model::JobRun, std::vector<std::string>> all;
  Status add(model::JobRun run, std::string_view record) override {
    all[run].emplace_back(record);
    return {};
  }
  std::vector<std::string> read(model::JobRun run) override { return all[run]; }
  void forget(model::JobRun run) override { all.erase(run); }
};

class StepSessionTest : public testing::Test {
 protected:
  StepSessionTest() {
    context_.verify = [this](std::string_view ticket) -> Result<io::Verified> {
      if (ticket != "ticket") return fail(ErrorCode::Unauthenticated, "forged");
      return ticket_;
    };
    context_.call_after = [this](Duration, std::function<void()> f) { later_.push_back(std::move(f)); };
    EXPECT_TRUE(agent_.start());
    model::ControllerWelcome welcome;
    welcome.lease = seconds(0);
    agent_.on_message(welcome);
    auto spec = std::make_shared<model::JobSpec>();
    spec->uid = Uid{1000};
    model::ControllerLaunch launch;
    launch.run = {JobId{7}, Epoch{1}};
    launch.spec = spec;
    for (const char* node : {"n1", "n2"})
      launch.parts.push_back({.node = node, .cpus = {0, 1, 2, 3}, .memory_mib = 0, .tasks = 1, .devices = {}});
    launch.addresses = {"n1:1", "n2:2"};
    agent_.on_message(launch);
    ticket_.kind = io::CredentialKind::StepTicket;
    ticket_.uid = Uid{1000};
    ticket_.job = JobId{7};
    ticket_.epoch = Epoch{1};
    open();
  }
  void open() {
    port_.ends.clear();
    heard_.clear();
    finished_.reset();
    session_ = std::make_unique<StepSession>(
        context_,
        StepSession::Events{.output = [this](v1::StepOutput output) { heard_.push_back(std::move(output)); },
                            .finished = [this](Status status) { finished_ = std::move(status); }});
  }
  static v1::StepStart start_of(std::uint32_t tasks) {
    v1::StepStart start;
    start.set_ticket("ticket");
    start.add_argv("true");
    start.set_ntasks(tasks);
    return start;
  }
  void begin(const v1::StepStart& start) {
    v1::StepInput input;
    *input.mutable_start() = start;
    session_->input(input, [] {});
  }
  static v1::StepOutput exit_of(std::uint32_t rank, std::uint32_t code) {
    v1::StepOutput output;
    output.mutable_task_exit()->set_rank(rank);
    output.mutable_task_exit()->set_code(code);
    return output;
  }
  static v1::StepOutput done() {
    v1::StepOutput output;
    output.mutable_done();
    return output;
  }

  IdleClock clock_;
  IdleLauncher launcher_;
  IdleController controller_;
  Agent agent_{{.node = "n1",
                .address = {},
                .hostname = {},
                .version = {},
                .os = {},
                .arch = {},
                .public_key = {},
                .found = {},
                .boot_time = {}},
               clock_,
               launcher_,
               controller_};
  TestPort port_;
  io::Verified ticket_;
  TestNotes notes_;
  StepContext context_{agent_, clock_, port_, notes_, "n1"};
  std::vector<std::function<void()>> later_;
  std::unique_ptr<StepSession> session_;
  std::vector<v1::StepOutput> heard_;
  std::optional<Status> finished_;
};

TEST_F(StepSessionTest, EveryNodeGetsItsShareAndTheEndsAreMerged) {
  begin(start_of(6));
  ASSERT_EQ(port_.ends.size(), 2u);
  EXPECT_EQ(port_.ends[0]->where, "local step 0");
  EXPECT_EQ(port_.ends[1]->where, "n2:2");
  const auto& here = port_.ends[0]->got.at(0).start();
  const auto& there = port_.ends[1]->got.at(0).start();
  EXPECT_EQ(here.first_rank(), 0u);
  EXPECT_FALSE(here.forwarded());
  EXPECT_EQ(there.first_rank(), 3u);
  EXPECT_TRUE(there.forwarded());
  EXPECT_EQ(there.ntasks(), 6u);
  EXPECT_EQ(there.ranks_size(), 0);
  EXPECT_EQ(there.tasks_per_node(0), 3u);
  EXPECT_EQ(there.tasks_per_node(1), 3u);
  port_.ends[1]->say(exit_of(4, 0));
  port_.ends[1]->say(done());
  EXPECT_FALSE(finished_);
  port_.ends[0]->say(done());
  ASSERT_TRUE(finished_ && *finished_);
  ASSERT_EQ(heard_.size(), 2u);
  EXPECT_TRUE(heard_[1].has_done()) << "one for all, last";
}

// The ranks of each node that a start was sent to: "0,2|1,3"; "a-" for those from a on.
std::string ranks_of(const TestPort& port) {
  std::string out;
  for (const auto& end : port.ends) {
    const auto& start = end->got.at(0).start();
    out += out.empty() ? "" : "|";
    if (start.ranks().empty()) out += std::to_string(start.first_rank()) + "-";
    for (int i = 0; i < start.ranks_size(); ++i) out += (i == 0 ? "" : ",") + std::to_string(start.ranks(i));
  }
  return out;
}

TEST_F(StepSessionTest, RanksAreDealtOut) {
  auto cyclic = start_of(5);
  cyclic.mutable_distribution()->set_nodes(v1::Distribution::NODES_CYCLIC);
  begin(cyclic);
  EXPECT_EQ(ranks_of(port_), "0,2,4|1,3");

  open();
  auto packed = start_of(4);
  packed.mutable_distribution()->set_pack(true);
  begin(packed);
  EXPECT_EQ(ranks_of(port_), "0-");  // the other node is not needed

  open();
  auto listed = start_of(3);
  for (const char* node : {"n1", "n2"}) listed.add_nodes(node);
  for (const std::uint32_t count : {1u, 2u}) listed.add_tasks_per_node(count);
  for (const std::uint32_t node : {1u, 0u, 1u}) listed.add_task_nodes(node);
  begin(listed);
  EXPECT_EQ(ranks_of(port_), "1|0,2");

  open();
  listed.set_task_nodes(0, 7);
  begin(listed);
  ASSERT_TRUE(finished_ && !*finished_);
  EXPECT_EQ(finished_->error().code, ErrorCode::InvalidArgument);
}

TEST_F(StepSessionTest, TasksAreLaidOutByTheCpus) {
  struct Row {
    std::uint32_t tasks, per_task;
    bool overcommit;
    const char* out;  // tasks of each node
  };
  for (const Row& row :
       {Row{2, 1, false, "1 1"}, Row{5, 1, false, "3 2"}, Row{8, 1, false, "4 4"}, Row{9, 1, false, ""},
        Row{9, 1, true, "5 4"}, Row{4, 2, false, "2 2"}, Row{5, 2, false, ""}, Row{1, 1, false, ""}}) {
    open();
    auto start = start_of(row.tasks);
    start.set_cpus_per_task(row.per_task);
    start.set_overcommit(row.overcommit);
    begin(start);
    std::string out;
    if (!port_.ends.empty())
      for (const auto tasks : port_.ends[0]->got.at(0).start().tasks_per_node())
        out += (out.empty() ? "" : " ") + std::to_string(tasks);
    EXPECT_EQ(out, row.out) << row.tasks << " tasks of " << row.per_task;
  }
}

TEST_F(StepSessionTest, TheSiteBoundsStepsAndTheirTasks) {
  context_.book.most_tasks_per_node = 3;
  context_.book.most_steps = 2;
  const auto refusal = [&](std::uint32_t tasks) {
    open();
    auto start = start_of(tasks);
    start.set_overcommit(true);
    begin(start);
    const auto refused = finished_ && !*finished_ ? std::optional(finished_->error().code) : std::nullopt;
    session_.reset();
    return refused;
  };
  EXPECT_EQ(refusal(7), ErrorCode::TooManyTasks);
  EXPECT_EQ(refusal(6), std::nullopt);
  EXPECT_EQ(refusal(1), ErrorCode::InvalidNodeCount) << "it had no number";
  EXPECT_EQ(refusal(2), std::nullopt);
  EXPECT_EQ(refusal(2), ErrorCode::TooManySteps);
}

TEST_F(StepSessionTest, ANewLimitReachesAllPartsOfAStep) {
  std::vector<std::uint32_t> began;
  context_.step_began = [&](const v1::StepInfo& step) { began.push_back(step.step()); };
  begin(start_of(2));
  EXPECT_EQ(began, std::vector<std::uint32_t>{0});
  ManagedStep* step = context_.find(JobId{7}, 0);
  ASSERT_NE(step, nullptr);
  EXPECT_TRUE(step->set_time_limit(TimeLimit::of_minutes(5)));
  for (const auto& end : port_.ends) EXPECT_EQ(end->got.back().signal().time_limit(), 5u);
  EXPECT_EQ(step->info().time_limit(), 5u);
}

TEST_F(StepSessionTest, AStepWaitsForRoomAndStartsWhenThereIs) {
  begin(start_of(2));
  auto first = std::move(session_);
  open();
  begin(start_of(2));
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_TRUE(heard_[0].has_waiting());
  EXPECT_TRUE(port_.ends.empty());
  v1::StepInput input;
  input.mutable_stdin_data()->set_data("early");
  bool taken = false;
  session_->input(input, [&] { taken = true; });
  EXPECT_FALSE(taken);
  first.reset();
  ASSERT_EQ(port_.ends.size(), 2u);
  EXPECT_TRUE(taken);
  ASSERT_EQ(port_.ends[0]->got.size(), 2u);
  EXPECT_EQ(port_.ends[0]->got[0].start().step(), 1u);
  EXPECT_EQ(port_.ends[0]->got[1].stdin_data().data(), "early");
  EXPECT_EQ(port_.ends[1]->got[0].start().grant().cpus().bounds_size(), 2);
}

TEST_F(StepSessionTest, WhoeverWaitsHearsOfTheEndOfTheJob) {
  begin(start_of(2));
  auto first = std::move(session_);
  open();
  begin(start_of(2));
  context_.book.ends({JobId{7}, Epoch{1}});
  ASSERT_TRUE(finished_ && !*finished_);
  EXPECT_EQ(finished_->error().code, ErrorCode::JobAlreadyDone);
  first.reset();
  EXPECT_TRUE(port_.ends.empty()) << "it must not start any more";
  open();
  begin(start_of(2));
  ASSERT_TRUE(finished_ && !*finished_);
  EXPECT_EQ(finished_->error().code, ErrorCode::JobAlreadyDone);
}

TEST_F(StepSessionTest, ExactStepsRunBesideEachOther) {
  auto start = start_of(1);
  start.add_nodes("n1");
  start.add_nodes("n2");
  start.set_node_count(1);
  start.set_exact(true);
  start.set_cpus_per_task(3);
  std::vector<std::unique_ptr<StepSession>> running;
  std::string where;
  for (int i = 0; i < 3; ++i) {
    open();
    begin(start);
    for (const auto& end : port_.ends) where += end->where + ";";
    running.push_back(std::move(session_));
  }
  EXPECT_EQ(where, "local step 0;n2:2;");
}

TEST_F(StepSessionTest, ANoticeIsForTheFirstStepThatSomebodyLooksAt) {
  context_.notify({JobId{7}, Epoch{1}}, "nobody is there");
  auto start = start_of(2);
  start.set_exact(true);
  begin(start);
  auto first = std::move(session_);
  const auto heard_by_first = heard_.size();
  open();
  begin(start);
  heard_.clear();
  context_.notify({JobId{7}, Epoch{2}}, "of another run");
  context_.notify({JobId{7}, Epoch{1}}, "hello");
  ASSERT_EQ(heard_.size(), 1u) << heard_by_first;  // both sessions write to one list
  EXPECT_EQ(heard_[0].notice().text(), "hello");
  EXPECT_EQ(heard_[0].seq(), 0u);
  first.reset();
  heard_.clear();
  context_.notify({JobId{7}, Epoch{1}}, "again");
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_EQ(heard_[0].notice().text(), "again");
}

TEST_F(StepSessionTest, StepsAreNumbered) {
  for (std::uint32_t i = 0; i < 3; ++i) {
    begin(start_of(2));
    EXPECT_EQ(port_.ends.at(0)->got.at(0).start().step(), i);
    open();
  }
}

TEST_F(StepSessionTest, WithoutTheRightTicketNothingIsOpened) {
  struct Row {
    const char* what;
    std::function<void(io::Verified&, v1::StepStart&)> change;
    ErrorCode code;
  };
  for (const Row& row :
       {Row{"forged", [](auto&, auto& s) { s.set_ticket("x"); }, ErrorCode::Unauthenticated},
        Row{"a user's word", [](auto& t, auto&) { t.kind = io::CredentialKind::User; }, ErrorCode::Unauthenticated},
        Row{"an earlier run", [](auto& t, auto&) { t.epoch = Epoch{}; }, ErrorCode::StaleEpoch},
        Row{"another run", [](auto& t, auto&) { t.epoch = Epoch{2}; }, ErrorCode::StaleEpoch},
        Row{"another user", [](auto& t, auto&) { t.uid = Uid{1001}; }, ErrorCode::PermissionDenied},
        Row{"nothing to run", [](auto&, auto& s) { s.clear_argv(); }, ErrorCode::InvalidArgument},
        Row{"a node of others", [](auto&, auto& s) { s.add_nodes("n9"); }, ErrorCode::InvalidNode},
        Row{"too large", [](auto&, auto& s) { s.set_ntasks(9); }, ErrorCode::StepTooLarge}}) {
    open();
    const auto good = ticket_;
    auto start = start_of(2);
    row.change(ticket_, start);
    begin(start);
    ASSERT_TRUE(finished_) << row.what;
    ASSERT_FALSE(*finished_) << row.what;
    EXPECT_EQ(finished_->error().code, row.code) << row.what;
    EXPECT_TRUE(port_.ends.empty()) << row.what;
    ticket_ = good;
  }
}

TEST_F(StepSessionTest, AStepMayComeBeforeItsJob) {
  ticket_.job = JobId{8};
  begin(start_of(2));
  EXPECT_FALSE(finished_);
  ASSERT_EQ(later_.size(), 1u);
  std::exchange(later_, {})[0]();
  ASSERT_EQ(later_.size(), 1u);
  model::ControllerLaunch launch = *agent_.held(JobId{7});
  launch.run.job = JobId{8};
  agent_.on_message(launch);
  std::exchange(later_, {})[0]();
  EXPECT_EQ(port_.ends.size(), 2u);

  open();
  ticket_.job = JobId{9};
  begin(start_of(2));
  int looks = 0;
  for (; !later_.empty(); ++looks) std::exchange(later_, {})[0]();
  ASSERT_TRUE(finished_ && !*finished_) << "not for ever";
  EXPECT_GT(looks, 10);
}

TEST_F(StepSessionTest, InputGoesWhereItIsMeantFor) {
  begin(start_of(6));
  v1::StepInput input;
  input.mutable_stdin_data()->set_data("all");
  int taken = 0;
  session_->input(input, [&] { ++taken; });
  input.mutable_stdin_data()->set_task(5);
  session_->input(input, [&] { ++taken; });
  input.mutable_stdin_data()->set_task(99);
  session_->input(input, [&] { ++taken; });
  EXPECT_EQ(taken, 3);
  EXPECT_EQ(port_.ends[0]->got.size(), 2u);
  EXPECT_EQ(port_.ends[1]->got.size(), 3u);
  session_->pause(true);
  EXPECT_TRUE(port_.ends[0]->paused && port_.ends[1]->paused);
}

TEST_F(StepSessionTest, KillOnBadExit) {
  auto start = start_of(6);
  start.set_kill_on_bad_exit(true);
  begin(start);
  port_.ends[1]->say(exit_of(4, 0));
  EXPECT_EQ(port_.ends[0]->got.size(), 1u);
  port_.ends[1]->say(exit_of(5, 3));
  port_.ends[1]->say(exit_of(5, 3));
  ASSERT_EQ(port_.ends[0]->got.size(), 2u) << "once";
  EXPECT_EQ(port_.ends[0]->got[1].signal().signal(), SIGKILL);
}

TEST_F(StepSessionTest, ABrokenChannelIsAnErrorOfThatNode) {
  begin(start_of(6));
  port_.ends[1]->events.on_closed(fail(ErrorCode::Unreachable, "gone"));
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_EQ(heard_[0].error().node(), "n2");
  EXPECT_EQ(heard_[0].error().text(), "gone");
  EXPECT_FALSE(finished_) << "the other node goes on";
  port_.ends[0]->say(done());
  EXPECT_TRUE(finished_ && *finished_);
}

TEST_F(StepSessionTest, TheEndOfTheSessionClosesEverything) {
  begin(start_of(6));
  const auto ends = port_.ends;
  session_.reset();
  for (const auto& end : ends) {
    EXPECT_FALSE(end->open);
    end->say(done());  // late: nobody listens
  }
  EXPECT_TRUE(heard_.empty());
}

TEST_F(StepSessionTest, AStepBeginsWithItsOneStart) {
  v1::StepInput input;
  input.mutable_stdin_data()->set_data("x");
  session_->input(input, [] {});
  ASSERT_TRUE(finished_);
  EXPECT_FALSE(*finished_);
  open();
  begin(start_of(2));
  begin(start_of(2));
  ASSERT_TRUE(finished_);
  EXPECT_FALSE(*finished_);
}

// ---- steps with a key

class KeyedStepTest : public StepSessionTest {
 protected:
  static v1::StepStart keyed(std::uint32_t tasks) {
    v1::StepStart start = start_of(tasks);
    start.set_key("key");
    return start;
  }
  static v1::StepOutput of_part(v1::StepOutput output, std::uint32_t part, std::uint64_t seq) {
    output.set_part(part);
    output.set_seq(seq);
    return output;
  }
  void acknowledge(std::uint32_t part, std::uint64_t seq) {
    v1::StepInput input;
    input.mutable_ack()->set_part(part);
    input.mutable_ack()->set_seq(seq);
    session_->input(input, [] {});
  }
  void run_later() {
    for (const auto& f : std::exchange(later_, {})) f();
  }
  // The stream of srun breaks and comes back; the channels to the parts stay.
  void reconnect(const v1::StepStart& start) {
    session_.reset();
    const auto ends = port_.ends;
    open();
    port_.ends = ends;
    begin(start);
  }
};

TEST_F(KeyedStepTest, ItLivesUntilSrunHasHeardOfEveryEnd) {
  begin(keyed(6));
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_EQ(heard_[0].granted().parts(), 2u);
  const auto ends = port_.ends;
  ends[0]->say(of_part(done(), 0, 9));
  ends[1]->say(of_part(done(), 1, 4));
  EXPECT_EQ(heard_.size(), 3u) << "each part's end is told";
  EXPECT_FALSE(finished_);
  open();
  begin(start_of(6));
  EXPECT_EQ(port_.ends.size(), 2u) << "its place is free all the same";
}

TEST_F(KeyedStepTest, AcknowledgementsGoToTheirPartAndTheLastOneEndsIt) {
  begin(keyed(6));
  port_.ends[0]->say(of_part(done(), 0, 9));
  port_.ends[1]->say(of_part(done(), 1, 4));
  acknowledge(1, 3);
  ASSERT_EQ(port_.ends[1]->got.size(), 2u);
  EXPECT_EQ(port_.ends[1]->got[1].ack().seq(), 3u);
  EXPECT_EQ(port_.ends[0]->got.size(), 1u);
  acknowledge(0, 9);
  EXPECT_FALSE(finished_);
  acknowledge(1, 4);
  ASSERT_TRUE(finished_ && *finished_);
  run_later();
  EXPECT_EQ(context_.steps.size(), 1u) << "until the parts have heard, too";
  for (const auto& end : port_.ends) end->events.on_closed({});
  run_later();
  EXPECT_TRUE(context_.steps.empty());
}

TEST_F(KeyedStepTest, SrunThatWasCutOffGoesOnWhereItWas) {
  auto start = keyed(6);
  begin(start);
  start.mutable_resume()->set_granted(true);
  start.mutable_resume()->add_parts()->set_seq(5);
  start.mutable_resume()->add_parts()->set_seq(2);
  reconnect(start);
  EXPECT_EQ(heard_.at(0).granted().parts(), 2u);
  ASSERT_EQ(port_.ends.size(), 2u) << "the same channels";
  EXPECT_EQ(port_.ends[0]->got.back().attach().after(), 5u);
  EXPECT_EQ(port_.ends[1]->got.back().attach().after(), 2u);
  EXPECT_FALSE(port_.ends[0]->paused);
  run_later();  // the time that the first front had to come back
  EXPECT_FALSE(port_.ends[0]->got.back().has_release());
  port_.ends[0]->say(of_part(exit_of(1, 3), 0, 6));
  EXPECT_EQ(heard_.back().task_exit().code(), 3u);
}

TEST_F(KeyedStepTest, SrunThatIsGoneForGoodEndsItOnce) {
  auto start = keyed(6);
  begin(start);
  const auto ends = port_.ends;
  session_.reset();
  EXPECT_TRUE(ends[0]->paused && ends[0]->open);
  run_later();
  for (const auto& end : ends) EXPECT_TRUE(end->got.back().has_release());
  for (const auto& end : ends) end->say(of_part(done(), end == ends[0] ? 0 : 1, 3));
  for (const auto& end : ends) end->events.on_closed({});
  run_later();
  EXPECT_TRUE(context_.steps.empty());
  open();
  begin(start);  // too late, and it had not heard that the step existed
  ASSERT_TRUE(finished_ && !*finished_);
  EXPECT_TRUE(port_.ends.empty()) << "it must not run twice";
}

TEST_F(KeyedStepTest, APartThatCannotBeReachedIsCalledAgain) {
  begin(keyed(6));
  acknowledge(1, 7);
  port_.ends[1]->events.on_closed(fail(ErrorCode::Unreachable, "gone"));
  run_later();
  ASSERT_EQ(port_.ends.size(), 3u);
  EXPECT_EQ(port_.ends[2]->where, "n2:2");
  EXPECT_EQ(port_.ends[2]->got.at(0).attach().after(), 7u);
  EXPECT_EQ(port_.ends[2]->got.at(0).attach().key(), "key");
  port_.ends[2]->events.on_closed(fail(ErrorCode::NotFound, "the step does not run"));
  ASSERT_EQ(heard_.size(), 3u);
  EXPECT_EQ(heard_[1].error().node(), "n2");
  EXPECT_TRUE(heard_[2].has_done());
  EXPECT_EQ(heard_[2].seq(), 0u);
}

TEST_F(KeyedStepTest, ADaemonThatDiesIsNotCalledAgain) {
  begin(keyed(6));
  port_.ends[0]->events.on_closed({});
  run_later();
  EXPECT_EQ(port_.ends.size(), 2u);
  ASSERT_EQ(heard_.size(), 3u);
  EXPECT_EQ(heard_[1].error().node(), "n1");
  EXPECT_TRUE(heard_[2].has_done());
}

TEST_F(KeyedStepTest, TheNextManagerTakesItUp) {
  auto start = keyed(6);
  begin(start);
  session_.reset();
  context_.steps.clear();  // as a killed agent: nobody is told
  port_.ends.clear();
  StepContext next(agent_, clock_, port_, notes_, "n1");
  next.verify = context_.verify;
  next.call_after = context_.call_after;
  later_.clear();
  recover_steps(next);
  ASSERT_EQ(port_.ends.size(), 2u);
  EXPECT_EQ(port_.ends[0]->where, "again step 0 key");
  EXPECT_EQ(port_.ends[1]->where, "n2:2");
  EXPECT_TRUE(port_.ends[1]->got.at(0).has_attach());
  ASSERT_NE(next.find(JobId{7}, 0), nullptr);
  EXPECT_EQ(next.find(JobId{7}, 0)->info().tasks(), 6u);

  // Another one waits for its place, and gets the next number.
  std::vector<v1::StepOutput> other;
  StepSession second(next, {.output = [&](v1::StepOutput output) { other.push_back(std::move(output)); },
                            .finished = [](const Status&) {}});
  v1::StepInput input;
  *input.mutable_start() = start_of(6);
  second.input(input, [] {});
  ASSERT_EQ(other.size(), 1u);
  EXPECT_TRUE(other[0].has_waiting());

  StepSession again(next, {.output = [this](v1::StepOutput output) { heard_.push_back(std::move(output)); },
                           .finished = [this](Status status) { finished_ = std::move(status); }});
  heard_.clear();
  start.mutable_resume()->set_granted(true);
  *input.mutable_start() = start;
  again.input(input, [] {});
  EXPECT_EQ(heard_.at(0).granted().step(), 0u);
  port_.ends[0]->say(of_part(done(), 0, 1));
  port_.ends[1]->say(of_part(done(), 1, 1));
  for (const std::uint32_t part : {0u, 1u}) {
    v1::StepInput ack;
    ack.mutable_ack()->set_part(part);
    ack.mutable_ack()->set_seq(1);
    again.input(ack, [] {});
  }
  EXPECT_TRUE(finished_ && *finished_);
  ASSERT_EQ(port_.ends.size(), 4u) << "the one that waited";
  EXPECT_EQ(port_.ends[2]->got.at(0).start().step(), 1u);
}

TEST_F(KeyedStepTest, APartWhoseAgentDiedBeforeItStartedIsStarted) {
  begin(keyed(6));
  port_.ends[1]->events.on_closed(fail(ErrorCode::Unreachable, "gone"));
  run_later();
  port_.ends[2]->events.on_closed(fail(ErrorCode::NotFound, "no such step"));
  ASSERT_EQ(port_.ends.size(), 4u);
  EXPECT_EQ(port_.ends[3]->where, "n2:2");
  EXPECT_EQ(port_.ends[3]->got.at(0).start().first_rank(), 3u);
  EXPECT_EQ(heard_.size(), 1u) << "srun need not know";
  // One that has spoken was started, and is not a second time.
  port_.ends[3]->say(of_part(exit_of(4, 0), 1, 1));
  port_.ends[3]->events.on_closed(fail(ErrorCode::NotFound, "no such step"));
  EXPECT_EQ(port_.ends.size(), 4u);
  EXPECT_TRUE(heard_.back().has_done());
}

TEST_F(KeyedStepTest, TheNextManagerStartsWhatItsPredecessorDidNot) {
  auto start = keyed(6);
  begin(start);
  session_.reset();
  context_.steps.clear();
  port_.ends.clear();
  StepContext next(agent_, clock_, port_, notes_, "n1");
  next.verify = context_.verify;
  next.call_after = context_.call_after;
  later_.clear();
  recover_steps(next);
  port_.ends.at(0)->events.on_closed(fail(ErrorCode::NotFound, "no such step"));
  EXPECT_EQ(port_.ends.size(), 2u) << "what to start only srun knows";
  StepSession again(next, {.output = [this](v1::StepOutput output) { heard_.push_back(std::move(output)); },
                           .finished = [this](Status status) { finished_ = std::move(status); }});
  start.mutable_resume();
  v1::StepInput input;
  *input.mutable_start() = start;
  again.input(input, [] {});
  ASSERT_EQ(port_.ends.size(), 3u);
  EXPECT_EQ(port_.ends[2]->where, "local step 0");
  const auto& sent = port_.ends[2]->got.at(0).start();
  EXPECT_EQ(sent.argv(0), "true");
  EXPECT_EQ(sent.nodes_size(), 2);
  EXPECT_EQ(sent.tasks_per_node(0), 3u);
  EXPECT_FALSE(sent.has_resume());
  port_.ends.at(1)->events.on_closed(fail(ErrorCode::NotFound, "no such step"));
  ASSERT_EQ(port_.ends.size(), 4u) << "also what turns out later not to be there";
  EXPECT_EQ(port_.ends[3]->where, "n2:2");
}

TEST_F(KeyedStepTest, WhatWasNeverStartedKeepsNoPlaceWhenSrunIsGone) {
  begin(keyed(6));
  session_.reset();
  context_.steps.clear();
  port_.ends.clear();
  StepContext next(agent_, clock_, port_, notes_, "n1");
  next.verify = context_.verify;
  next.call_after = context_.call_after;
  later_.clear();
  recover_steps(next);
  for (const auto& end : port_.ends) end->events.on_closed(fail(ErrorCode::NotFound, "no such step"));
  run_later();
  run_later();
  EXPECT_TRUE(next.steps.empty());
}

TEST_F(KeyedStepTest, AStepThatIsOverIsNotTakenUp) {
  auto start = keyed(6);
  begin(start);
  for (std::uint32_t part = 0; part < 2; ++part) port_.ends[part]->say(of_part(done(), part, 1));
  acknowledge(0, 1);
  acknowledge(1, 1);
  session_.reset();
  context_.steps.clear();
  port_.ends.clear();
  StepContext next(agent_, clock_, port_, notes_, "n1");
  next.call_after = context_.call_after;
  recover_steps(next);
  EXPECT_TRUE(port_.ends.empty() && next.steps.empty());
}

TEST_F(KeyedStepTest, ANodeThatIsLostEndsTheStepOrOnlyItsPart) {
  ticket_.expires = Time{} + seconds(600);
  const auto kept = [&] { return context_.tickets.give(agent_, JobId{7}, Uid{1000}, Time{}).has_value(); };
  for (const bool no_kill : {false, true}) {
    context_.steps.clear();
    context_.lost.clear();
    open();
    auto start = keyed(6);
    start.set_key(no_kill ? "a" : "b");
    start.set_no_kill(no_kill);
    begin(start);
    ASSERT_EQ(port_.ends.size(), 2u);
    EXPECT_TRUE(kept());
    const auto ends = port_.ends;
    heard_.clear();
    context_.nodes_lost({JobId{7}, Epoch{1}}, {"n2"});
    ASSERT_EQ(heard_.size(), 2u);
    EXPECT_EQ(heard_[0].error().text(), "Node failure on n2");
    EXPECT_TRUE(heard_[1].has_done());
    EXPECT_FALSE(ends[1]->open);
    EXPECT_EQ(ends[0]->got.back().has_signal(), !no_kill);
    run_later();
    EXPECT_EQ(port_.ends.size(), 2u) << "nobody calls there again";
    ends[0]->say(of_part(done(), 0, 1));
    acknowledge(0, 1);
    EXPECT_TRUE(finished_ && *finished_);
    run_later();

    // What comes next does without it.
    open();
    auto next = start_of(4);
    begin(next);
    ASSERT_EQ(port_.ends.size(), 1u);
    EXPECT_FALSE(kept()) << "it would be given out with all nodes";
    open();
    next.add_nodes("n2");
    begin(next);
    ASSERT_TRUE(finished_ && !*finished_);
    EXPECT_EQ(finished_->error().code, ErrorCode::InvalidNode);
  }
}

}  // namespace
}  // namespace spur::agent
