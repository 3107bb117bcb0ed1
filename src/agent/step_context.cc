// SPDX-License-Identifier: Apache-2.0
#include "agent/step_context.h"

#include <algorithm>

#include "agent/managed_step.h"
#include "wire/id_codec.h"

namespace spur::agent {

StepContext::StepContext(const Agent& agent_given, io::Clock& clock_given, io::StepPort& port_given,
                         io::StepNotes& notes_given, std::string node_given)
    : agent(agent_given), clock(clock_given), port(port_given), notes(notes_given), node(std::move(node_given)) {}

StepContext::~StepContext() {
  book.close();
  steps.clear();
}

ManagedStep* StepContext::find(const std::string& key) const {
  for (const auto& [raw, step] : steps)
    if (!key.empty() && step->key() == key) return step.get();
  return nullptr;
}

ManagedStep* StepContext::find(JobId job, std::uint32_t step) const {
  for (const auto& [raw, one] : steps)
    if (one->running() && one->run().job == job && one->info().step() == step) return one.get();
  return nullptr;
}

void StepContext::remove(const ManagedStep* step) {
  call_after(Duration{0}, [this, step] { steps.erase(step); });
}

void StepContext::run_ends(model::JobRun run, bool over) {
  if (!over) return book.ends(run);
  book.forget(run);
  tickets.forget(run);
  lost.erase(run);
  std::erase_if(given_up, [&](const auto& entry) { return entry.first == run; });
  for (const auto& [raw, step] : steps)
    if (step->run() == run) step->run_over();
}

// Tickets name all nodes that the job had: whoever comes next asks the controller.
void StepContext::nodes_lost(const model::JobRun& run, const std::vector<std::string>& nodes) {
  auto& known = lost[run];
  const std::size_t before = known.size();
  known.insert(nodes.begin(), nodes.end());
  if (known.size() == before) return;
  tickets.forget(run);
  for (const auto& [raw, step] : steps)
    if (step->run() == run) step->nodes_lost();
}

void StepContext::notify(model::JobRun run, const std::string& text) const {
  ManagedStep* first = nullptr;
  for (const auto& [raw, step] : steps)
    if (step->run() == run && step->has_front() && (!first || step->info().step() < first->info().step()))
      first = step.get();
  if (first) first->notify(text);
}

// Only the first node of a job manages its steps.
namespace {

// What notes say of the steps of a run: those that ended, for accounting, go to `context`; the others are returned.
std::map<std::uint32_t, v1::StepNote> read_notes(StepContext& context, const model::ControllerLaunch& launch,
                                                 std::uint32_t* next) {
  std::map<std::uint32_t, v1::StepNote> live;
  for (const std::string& record : context.notes.read(launch.run)) {
    v1::StepNote note;
    if (!note.ParseFromString(record)) break;
    *next = std::max(*next, note.step() + 1);
    if (note.has_ended()) {
      model::StepEnd end;
      if (context.step_ended && wire::from_proto(note.ended(), &end)) context.step_ended(launch.run, std::move(end));
      continue;
    }
    if (!note.over()) {
      live[note.step()] = std::move(note);
      continue;
    }
    const auto begun = live.find(note.step());
    if (begun == live.end()) continue;
    if (!note.heard()) context.given_up.insert({launch.run, begun->second.key()});
    live.erase(begun);
  }
  return live;
}

}  // namespace

// Of a run that ended while no agent was there, nobody saw its last steps end.
static void recover_ended(StepContext& context, const model::ControllerLaunch& launch) {
  std::uint32_t next = 0;
  std::set<std::uint32_t> known;
  const auto keep = context.step_ended;
  context.step_ended = [&](const model::JobRun& run, model::StepEnd end) {
    known.insert(end.step);
    if (keep) keep(run, std::move(end));
  };
  const auto live = read_notes(context, launch, &next);
  context.step_ended = keep;
  for (const auto& [number, note] : live) {
    if (known.contains(number) || !keep) continue;
    model::StepEnd end = end_of(note.info());
    end.state = model::JobState::Cancelled;
    end.ended = context.clock.now();
    keep(launch.run, std::move(end));
  }
}

void recover_steps(StepContext& context) {
  for (const model::ControllerLaunch* launch : context.agent.ended_runs())
    if (launch->this_part == 0) recover_ended(context, *launch);
  for (const model::ControllerLaunch* launch : context.agent.held_runs()) {
    if (launch->this_part != 0) continue;
    std::uint32_t next = 0;
    const auto live = read_notes(context, *launch, &next);
    if (next > 0) context.book.count_from(*launch, next);
    for (const auto& [number, note] : live) {
      auto step = std::make_unique<ManagedStep>(context, launch->run, note.key());
      ManagedStep* raw = step.get();
      if (raw->restore(note, *launch)) context.steps.emplace(raw, std::move(step));
    }
  }
}

}  // namespace spur::agent
