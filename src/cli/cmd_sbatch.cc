// SPDX-License-Identifier: Apache-2.0
// sbatch: makes a job of a script. Directives in the script, then SBATCH_* variables, then the command line: later
// wins. A token goes with the submission, so that asking again after a lost answer makes no second job.
#include <unistd.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/display.h"
#include "cli/job_environment.h"
#include "cli/job_options.h"
#include "cli/sbatch_script.h"
#include "cli/submit_errors.h"
#include "text/decimal.h"
#include "text/directives.h"

namespace spur::cli {
namespace {

using Table = std::vector<Option<JobRequest>>;

constexpr std::string_view kUsage =
    "Usage: sbatch [-N nnodes] [-n ntasks]\n"
    "              [-c ncpus] [-p partition] [--hold] [--parsable] [-t minutes]\n"
    "              [-D path] [--overcommit]\n"
    "              [--input file] [--output file] [--error file]\n"
    "              [--time-min=minutes] [--licenses=names]\n"
    "              [--chdir=directory] [--oversubscribe] [-J jobname]\n"
    "              [--verbose] [--gid=group] [--uid=user]\n"
    "              [--contiguous] [--mincpus=n] [--mem=MB] [--tmp=MB] [-C list]\n"
    "              [--account=name] [--dependency=type:jobid[+time]] [--comment=name]\n"
    "              [--mail-type=type] [--mail-user=user] [--nice[=value]] [--wait]\n"
    "              [--requeue] [--no-requeue] [--ntasks-per-node=n] [--propagate]\n"
    "              [--nodefile=file] [--nodelist=hosts] [--exclude=hosts]\n"
    "              [--mem-per-cpu=MB] [--qos=qos] [--gres=list]\n"
    "              [--reservation=name] [--array=index_values] [--ignore-pbs]\n"
    "              [--export[=names]] [--export-file=file|fd]\n"
    "              [--gpus=n] [--gpus-per-node=n] [--gpus-per-socket=n] [--gpus-per-task=n]\n"
    "              executable [args...]\n";

const GivenOption* find_given(const Table& table, const ParsedLine& line, std::string_view name) {
  for (auto given = line.options.rbegin(); given != line.options.rend(); ++given)
    if (table[given->row].row.name == name) return &*given;
  return nullptr;
}

// The script without its #PBS lines, line numbers kept.
std::string without_pbs(std::string_view script) {
  std::string kept;
  while (!script.empty()) {
    const std::size_t end = std::min(script.find('\n'), script.size() - 1) + 1;
    const std::string_view line = script.substr(0, end);
    kept.append(line.starts_with("#PBS") || line.starts_with("#BSUB") ? "#\n" : line);
    script.remove_prefix(end);
  }
  return kept;
}

int apply_directives(Context& context, const Table& table, const std::vector<OptionRow>& rows,
                     const BatchScript& script, bool ignore_pbs, JobRequest& request) {
  const auto directives = text::parse_directives(ignore_pbs ? without_pbs(script.text) : script.text, script.name);
  if (!directives) {
    context.error("{}", directives.error().message);
    return 255;
  }
  if (directives->components.size() > 1) return report_unsupported(context, "a heterogeneous job (#SBATCH hetjob)");
  const auto line = parse_words(context, rows, directives->components.front(), Order::Anywhere, 255);
  if (!line) return line.error();
  if (!line->rest.empty()) {
    context.error("Invalid directive found in batch script: {}", line->rest.front());
    return 255;
  }
  request.begin_source();
  return apply_options<JobRequest>(context, table, *line, request);
}

int fill_request(Context& context, const Table& table, const ParsedLine& line, const BatchScript& script,
                 JobRequest& request) {
  const std::vector<OptionRow> rows = rows_of<JobRequest>(table);
  const bool ignore_pbs =
      find_given(table, line, "ignore-pbs") != nullptr || context.env("SBATCH_IGNORE_PBS").has_value();
  if (const int status = apply_directives(context, table, rows, script, ignore_pbs, request); status != 0)
    return status;
  if (const int status = apply_job_environment(context, kSbatch, request); status != 0) return status;
  request.begin_source();
  if (const int status = apply_options<JobRequest>(context, table, line, request); status != 0) return status;
  context.quiet = request.quiet;
  context.verbosity = request.verbose;
  request.finish();
  if (auto sound = reconcile(context, request); !sound) return report(context, sound.error());

  model::JobSpec& spec = request.spec;
  if (!request.name_given) spec.name = script.name;
  if (spec.work_dir.empty()) spec.work_dir = request.directory;
  spec.script = std::make_shared<const std::string>(script.text);
  spec.command = script.path;
  spec.arguments = script.arguments;
  if (auto done = capture_process(context, request); !done) return report(context, done.error());
  if (auto done = capture_environment(context, request); !done) return report(context, done.error());
  return 0;
}

// The exit status for one ended job: the script's own, and 1 for every end without one that is no success.
int exit_status_of(const model::Job& job) {
  if (job.exit.signal != 0) return 1;
  if (job.exit.code != 0) return job.exit.code & 0xff;
  return job.state == model::JobState::Completed ? 0 : 1;
}

// --wait: until the job, or every task of the array, has ended.
int wait_for_end(Context& context, Controller& controller, JobId id) {
  wire::JobFilter filter;
  filter.jobs = {{id, std::nullopt}};
  filter.all_states = true;
  for (;;) {
    const auto table = controller.jobs(filter);
    if (!table) {
      context.error("{}", words(table.error()));
      return 1;
    }
    const auto open = std::ranges::find_if(table->jobs, [](const model::JobPtr& job) {
      return !model::is_final(job->state) || (job->flags & model::kCompleting) != 0;
    });
    if (open == table->jobs.end()) {
      int status = 0;
      for (const model::JobPtr& job : table->jobs) status = std::max(status, exit_status_of(*job));
      return status;
    }
    if (const auto ended = controller.wait_job((*open)->id, true); !ended) {
      context.error("{}", words(ended.error()));
      return 1;
    }
  }
}

int submit(Context& context, Controller& controller, const JobRequest& request) {
  const std::string token = make_token();
  Result<JobId> id = controller.submit(request.spec, token);
  for (int attempt = 1; !id && id.error().code == ErrorCode::Busy && attempt <= 15; ++attempt) {
    if (attempt == 1) context.error("Slurm temporarily unable to accept job, sleeping and retrying");
    context.pause(seconds(attempt));
    id = controller.submit(request.spec, token);
  }
  if (!id) return report_refusal(context, "Batch job submission failed", request.spec, id.error());
  if (!request.quiet) {
    context.out.print("{}{}\n", request.parsable ? "" : "Submitted batch job ", id->value);
    context.out.flush();
  }
  return request.wait ? wait_for_end(context, controller, *id) : 0;
}

}  // namespace

int cmd_sbatch(Context& context) {
  const Table table = job_options_of(kSbatch);
  const auto line = parse_words(context, rows_of<JobRequest>(table), context.arguments, Order::OptionsFirst, 255);
  if (!line) return line.error();
  if (find_given(table, *line, "version") != nullptr) return print_version(context);
  if (find_given(table, *line, "usage") != nullptr) {
    context.out.write(kUsage);
    return 0;
  }
  if (find_given(table, *line, "help") != nullptr) {
    context.out.write("Usage: sbatch [OPTIONS...] script [args...]\n\n" + help_text(rows_of<JobRequest>(table)));
    return 0;
  }
  if (std::ranges::find(line->rest, ":") != line->rest.end())
    return report_unsupported(context, "a heterogeneous job (:)");

  JobRequest request;
  request.now = context.now();
  request.is_root = ::geteuid() == 0;
  request.directory = current_directory();
  request.plane_size = text::parse_decimal32(context.env("SLURM_DIST_PLANESIZE").value_or(""));
  BatchScript script;
  if (const GivenOption* wrap = find_given(table, *line, "wrap")) {
    if (!line->rest.empty()) {
      context.error("Script arguments not permitted with --wrap option");
      return 1;
    }
    script = wrap_command(wrap->value);
  } else {
    auto loaded = load_script(context, line->rest, request.directory);
    if (!loaded) return loaded.error();
    script = *std::move(loaded);
  }
  set_time_format(context.env("SLURM_TIME_FORMAT").value_or(""), request.now);
  if (const int status = fill_request(context, table, *line, script, request); status != 0) return status;
  const auto controller = context.controller();
  if (!controller) {
    context.error("Batch job submission failed: {}", words(controller.error()));
    return 1;
  }
  return request.test_only ? report_forecast(context, **controller, request.spec)
                           : submit(context, **controller, request);
}

}  // namespace spur::cli
