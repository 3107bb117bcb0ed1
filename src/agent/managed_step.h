// SPDX-License-Identifier: Apache-2.0
// A step that this node manages, from its start until srun has heard all of it. It has a part on every node with
// tasks of it, and a front: the connection of its srun.
//
//             granted                all parts over              srun has it all
//   Waiting ----------> Running ---------------------> Over ---------------------> gone
//
// A step with a key outlives its connections. A part whose agent is gone is called until it is there again; a front
// that is gone has some time to come back, and says then how far it has heard. What is on the way is numbered and
// kept by the two ends, srun and spurstepd, alone (see proto/spur/v1/agent.proto): nothing is lost with an agent.
// Without a key a step ends with its front, and a part with its channel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/step_context.h"
#include "agent/step_fences.h"

namespace spur::agent {

// The way to srun.
struct StepFront {
  std::function<void(v1::StepOutput)> output;
  std::function<void(Status)> finished;  // once, last
  std::function<void(std::string)>
      data{};  // StepOutputs with data of tasks, as bytes; empty: they go to `output`, too
};

class ManagedStep {
 public:
  using Taken = std::function<void()>;
  ManagedStep(StepContext& context, model::JobRun run, std::string key);
  ~ManagedStep();

  // An error: it cannot be. `front` may be told that it waits.
  Status enter(v1::StepStart start, const model::ControllerLaunch& launch, StepFront* front);
  // As noted by a manager before this one. Its srun has some time to show up.
  Status restore(const v1::StepNote& note, const model::ControllerLaunch& launch);

  // `start`: as srun sent it before, and how far it has heard since.
  void attach(StepFront* front, const v1::StepStart& start);
  void detach(const StepFront* front);
  // Another one hears what srun hears, from now on. It may be slow, but it cannot end the step.
  void watch(StepFront* front);
  void unwatch(const StepFront* front);

  void input(v1::StepInput input, Taken taken);
  bool pass_bytes(std::string& bytes, const Taken& taken);  // false: it was not taken
  void pause(const StepFront* front, bool paused);          // it reads slowly
  void signal(int signal);                                  // to all tasks; 0: the step is cancelled
  Status set_time_limit(TimeLimit limit);                   // from now on, counted from its start
  void run_over();                                          // of the job, here
  void nodes_lost();                                        // of the job: StepContext::lost
  void notify(const std::string& text);                     // a line for srun

  bool running() const { return stage_ == Stage::Running; }
  bool has_front() const { return front_ != nullptr; }
  const v1::StepInfo& info() const { return info_; }
  model::JobRun run() const { return run_; }
  const std::string& key() const { return key_; }

 private:
  enum class Stage : std::uint8_t { Waiting, Running, Over };
  struct Part {
    std::size_t index = 0;
    std::string node, address;
    std::uint32_t tasks = 0, first_rank = 0;
    std::vector<std::uint32_t> ranks;  // where they do not just follow first_rank
    StepShare share;
    bool has(std::uint32_t rank) const;
    std::unique_ptr<io::StepChannel> channel;
    std::uint64_t heard = 0;     // srun has outputs up to this one
    std::uint64_t done_seq = 0;  // of its end; 0: not seen
    bool over = false;           // its tasks have ended, or nobody knows
    bool lost = false;           // the latter
    bool settled = false;        // and srun knows
    bool gone = false;           // nothing is behind the channel any more
    bool spoke = false;          // it was started, certainly
    bool missing = false;        // it was not, before an agent died; it will be when we have the start again
    int starts = 0;
    Duration pause{0};           // before it is called again
    std::optional<Error> error;  // that it was lost with
  };

  void begin(v1::StepStart start, StepBegin granted);
  Status number(const v1::StepStart& start, const model::Distribution& distribution);
  void describe(const v1::StepStart& start, const model::ControllerLaunch& launch);
  std::string mapping() const;
  Status note();
  void note_over(bool heard);
  void tell_accounting();
  void complete(v1::StepStart& start) const;
  void start_part(Part& part);
  io::StepChannel::Events events_of(Part& part);
  void send_attach(Part& part);
  void resume_part(Part& part);

  void on_output(Part& part, std::string bytes);
  void on_closed(Part& part, Status status);
  void on_done(Part& part, v1::StepOutput output);
  void on_ack(const v1::StepAck& ack);
  void lose(Part& part, Error error);
  void tell_lost(const Part& part);
  void part_over(Part& part);
  void settle();
  void pass(const std::optional<StepFences::Pass>& fence);
  void end_for_bad_exit();
  void kill_all();
  void send_all(const v1::StepInput& input, Taken taken);
  void pause_parts();
  void tell_watchers(const v1::StepOutput& output);
  void pass_on(v1::StepInput input, Taken taken);
  void tell(v1::StepOutput output);
  void tell_granted();
  void tell_waiting();
  void give_up();
  void finish(Status status);
  void leave_if_gone();

  StepContext& context_;
  const model::JobRun run_;
  const std::string key_;
  StepFront* front_ = nullptr;
  std::vector<StepFront*> watchers_;
  std::set<const StepFront*> slow_;
  Stage stage_ = Stage::Waiting;
  std::vector<std::unique_ptr<Part>> parts_;
  StepFences fences_;
  std::unique_ptr<StepBook::Place> place_;
  std::vector<std::pair<v1::StepInput, Taken>> early_;  // what came while the step waited
  v1::StepInfo info_;
  std::unique_ptr<v1::StepStart> start_;  // until all parts have spoken
  std::uint64_t fronts_ = 0;              // that there have been
  bool overlap_ = false;
  bool no_kill_ = false;  // the rest goes on when a node is lost
  bool kill_on_bad_exit_ = false, killed_ = false, finished_ = false, given_up_ = false, job_over_ = false;
  bool noted_over_ = false, cancelled_ = false;
  model::StepEnd end_;  // what is known of it so far: exit and usage
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// Of what is known while it runs.
model::StepEnd end_of(const v1::StepInfo& info);

// What a start asks of the job's ledger.
// `lost`: nodes of the job that are not to be used.
Result<StepAsk> ask_of(const v1::StepStart& start, const model::ControllerLaunch& launch,
                       const std::set<std::string>& lost = {});

// The steps that the notes say this node managed: called once the agent knows its runs.
void recover_steps(StepContext& context);

}  // namespace spur::agent
