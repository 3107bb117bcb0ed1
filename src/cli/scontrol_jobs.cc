// SPDX-License-Identifier: Apache-2.0
// scontrol hold, uhold, release, requeue, requeuehold, suspend, resume and write batch_script: one request per job
// named, a line
// "... for job N" for each that is refused, and on to the next.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/job_target.h"
#include "cli/scontrol.h"
#include "text/words.h"

namespace spur::cli {
namespace {

struct NamedJob {
  state::JobTarget target;
  std::string shown;
};

void add_ids(Scontrol& run, std::vector<NamedJob>& jobs, std::string_view list) {
  for (const std::string& id : split_job_list(list)) {
    if (const auto target = parse_job_target(id)) {
      jobs.push_back({*target, id});
    } else {
      run.fail("{} for job {}", slurm_message(ErrorCode::InvalidJobId), id);
    }
  }
}

// Ids with commas between or as words of their own, and "name=..." for all jobs of that name. A word that is no id is
// reported; the others are still done.
std::vector<NamedJob> named_jobs(Scontrol& run, Controller& controller, const Words& given) {
  std::vector<NamedJob> jobs;
  for (const std::string& word : given) {
    const KeyValue pair = split_pair(word);
    if (pair.has_value && (abbreviates(pair.key, "jobid", 3))) {
      add_ids(run, jobs, pair.value);
      continue;
    }
    if (pair.has_value && (abbreviates(pair.key, "name", 1) || abbreviates(pair.key, "jobname", 4))) {
      wire::JobFilter filter;
      filter.names = {std::string(pair.value)};
      const auto table = controller.jobs(filter);
      if (!table) {
        run.fail("slurm_load_jobs error: {}", words(table.error()));
        continue;
      }
      for (const model::JobPtr& job : table->jobs) {
        NamedJob& named = jobs.emplace_back();
        named.target.id = job->array_job ? job->array_job : job->id;
        named.shown = model::display_id(*job);
      }
      continue;
    }
    add_ids(run, jobs, word);
  }
  return jobs;
}

// `summary`: Slurm's hold and release say a second line at the end when anything failed.
template <class Request>
void for_each_job(Scontrol& run, const Words& given, bool summary, Request request) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const int before = run.exit_status;
  run.exit_status = 0;
  std::string last = std::string(slurm_message(ErrorCode::InvalidJobId));
  for (const NamedJob& job : named_jobs(run, *controller, given)) {
    const Status done = request(*controller, job.target);
    if (done) continue;
    // Holding is an update of the job, and to that Slurm calls a stranger an invalid user.
    last = summary ? words_of_update(done.error()) : words(done.error());
    if (summary) run.fail("{} for job {}", last, job.shown);
    else run.fail("{}", refusal_of(job.shown, last));
  }
  if (summary && run.exit_status != 0) run.fail("slurm_suspend error: {}", last);
  if (run.exit_status == 0) run.exit_status = before;
}

}  // namespace

void scontrol_hold(Scontrol& run, const Words& words) {
  // An administrator's hold is one that the user cannot take back; the controller knows who is one.
  for_each_job(run, words, true,
               [](Controller& c, const state::JobTarget& job) { return c.hold(job, model::Hold::Admin); });
}

void scontrol_uhold(Scontrol& run, const Words& words) {
  for_each_job(run, words, true,
               [](Controller& c, const state::JobTarget& job) { return c.hold(job, model::Hold::User); });
}

void scontrol_release(Scontrol& run, const Words& words) {
  for_each_job(run, words, true, [](Controller& c, const state::JobTarget& job) { return c.release(job); });
}

void scontrol_requeue(Scontrol& run, const Words& words) {
  for_each_job(run, words, false, [](Controller& c, const state::JobTarget& job) {
    return c.requeue(job, model::AfterCompleting::Requeue);
  });
}

void scontrol_requeuehold(Scontrol& run, const Words& words) {
  model::AfterCompleting how = model::AfterCompleting::RequeueHold;
  Words jobs;
  for (const std::string& word : words) {
    const KeyValue pair = split_pair(word);
    if (pair.has_value && abbreviates(pair.key, "state", 3)) {
      if (!text::equal_ignoring_case(pair.value, "SpecialExit") && !text::equal_ignoring_case(pair.value, "SE"))
        return run.fail("invalid state: {}", pair.value);
      how = model::AfterCompleting::SpecialExit;
    } else {
      jobs.push_back(word);
    }
  }
  for_each_job(run, jobs, false, [&](Controller& c, const state::JobTarget& job) { return c.requeue(job, how); });
}

void scontrol_suspend(Scontrol& run, const Words& words) {
  for_each_job(run, words, false, [](Controller& c, const state::JobTarget& job) { return c.suspend(job, false); });
}

void scontrol_resume(Scontrol& run, const Words& words) {
  for_each_job(run, words, false, [](Controller& c, const state::JobTarget& job) { return c.suspend(job, true); });
}

void scontrol_wait_job(Scontrol& run, const Words& given) {
  const auto target = parse_job_target(given[0]);
  if (!target) return run.fail("scontrol: error: Invalid job_id {}", given[0]);
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto job = controller->wait_job(target->id, false);
  // The answer comes when its nodes are there: a job waits for those that have to be switched on.
  if (!job || !model::is_active((*job)->state)) return run.fail("scontrol: Problem running job {}", given[0]);
}

void scontrol_write(Scontrol& run, const Words& given) {
  if (abbreviates(given[0], "config", 6)) {
    if (given.size() > 2) return run.fail("too many arguments for keyword:write");
    return scontrol_write_config(run, Words(given.begin() + 1, given.end()));
  }
  if (!abbreviates(given[0], "batch_script", 3)) return run.fail("invalid write argument:{}", given[0]);
  if (given.size() < 2) return run.fail("too few arguments for keyword:write");
  const auto target = parse_job_target(given[1]);
  if (!target) return run.fail("scontrol: error: Invalid job id: {}", given[1]);
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  wire::JobFilter filter;
  filter.jobs = {*target};
  filter.all_states = filter.with_script = true;
  const auto table = controller->jobs(filter);
  if (!table) return run.fail("job script retrieval failed: {}", words(table.error()));
  if (table->jobs.empty()) return run.fail("job script retrieval failed: {}", slurm_message(ErrorCode::InvalidJobId));
  const model::Blob& script = table->jobs.front()->spec->script;
  // The controller leaves the script out for strangers.
  const bool ours = ::geteuid() == 0 || table->jobs.front()->spec->uid.value == ::geteuid();
  if (!script) {
    return run.fail("job script retrieval failed: {}",
                    slurm_message(ours ? ErrorCode::JobScriptMissing : ErrorCode::InvalidUser));
  }

  const std::string path = given.size() > 2 ? given[2] : fmt::format("slurm-{}.sh", given[1]);
  if (path == "-") return run.context.out.write(*script);
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return run.fail("failed to open file `{}`: {}", path, std::strerror(errno));
  {
    Output file(descriptor);
    file.write(*script);
  }
  const bool written = ::close(descriptor) == 0;
  if (!written) return run.fail("failed to write file `{}`: {}", path, std::strerror(errno));
  run.context.out.print("batch script for job {} written to {}\n", given[1], path);
}

}  // namespace spur::cli
