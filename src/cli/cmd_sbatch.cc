// SPDX-License-Identifier: Apache-2.0
// sbatch: makes a job of a script. Directives in the script, then SBATCH_* variables, then the command line: later
// wins. A token goes with the submission, so that asking again after a lost answer makes no second job.
#include <unistd.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/display.h"
#include "cli/het_components.h"
#include "cli/job_environment.h"
#include "cli/job_options.h"
#include "cli/sbatch_script.h"
#include "cli/submit_errors.h"
#include "text/decimal.h"
#include "text/directives.h"

namespace spur::cli {
namespace {

using OptionTable = std::vector<Option<JobRequest>>;

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

const GivenOption* find_given(const OptionTable& table, const ParsedLine& line, std::string_view name) {
  for (auto given = line.options.rbegin(); given != line.options.rend(); ++given)
    if (table[given->row].row.name == name) return &*given;
  return nullptr;
}
const GivenOption* find_given(const OptionTable& table, const std::vector<ParsedLine>& lines, std::string_view name) {
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (const GivenOption* given = find_given(table, *line, name)) return given;
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

// What the components of the script say, at least one list of words.
std::expected<std::vector<ParsedLine>, int> read_directives(Context& context, const std::vector<OptionRow>& rows,
                                                            const BatchScript& script, bool ignore_pbs) {
  const auto directives = text::parse_directives(ignore_pbs ? without_pbs(script.text) : script.text, script.name);
  if (!directives) {
    context.fatal("{}", directives.error().message);
    return std::unexpected(1);
  }
  std::vector<ParsedLine> lines;
  for (const auto& words : directives->components) {
    auto line = parse_words(context, rows, words, Order::Anywhere, 255);
    if (!line) return std::unexpected(line.error());
    if (!line->rest.empty()) {
      context.error("Invalid directive found in batch script: {}", line->rest.front());
      return std::unexpected(255);
    }
    lines.push_back(*std::move(line));
  }
  return lines;
}

// What the options of one component make of the job, which may go on to the next. The script runs in the first.
int finish_request(Context& context, const BatchScript& script, bool first, JobRequest& request) {
  context.quiet = request.quiet;
  context.verbosity = request.verbose;
  request.finish();
  if (auto sound = reconcile(context, request); !sound) return report(context, sound.error());
  settle_tasks_by_shape(request);

  model::JobSpec& spec = request.spec;
  if (!request.name_given) spec.name = script.name;
  if (spec.work_dir.empty()) spec.work_dir = request.directory;
  spec.command = script.path;
  spec.arguments = script.arguments;
  if (auto done = capture_process(context, request); !done) return report(context, done.error());
  if (!first) return 0;
  spec.script = std::make_shared<const std::string>(script.text);
  if (auto done = capture_environment(context, request); !done) return report(context, done.error());
  return 0;
}

// One request per component: of the script, of the command line, or of both. Where the command line has fewer, its
// last component counts for all that follow in the script, as in Slurm.
int fill_requests(Context& context, const OptionTable& table, const std::vector<ParsedLine>& lines,
                  const BatchScript& script, JobRequest request, std::vector<JobRequest>& out) {
  const std::vector<OptionRow> rows = rows_of<JobRequest>(table);
  const bool ignore_pbs = find_given(table, lines, "ignore-pbs") || context.env("SBATCH_IGNORE_PBS");
  const auto directives = read_directives(context, rows, script, ignore_pbs);
  if (!directives) return directives.error();
  for (std::size_t i = 0; i < std::max(lines.size(), directives->size()); ++i) {
    if (i > 0) begin_component(request);
    request.begin_source();
    if (i < directives->size())
      if (const int status = apply_options<JobRequest>(context, table, (*directives)[i], request); status != 0)
        return status;
    if (const int status = apply_job_environment(context, kSbatch, request); status != 0) return status;
    request.begin_source();
    const ParsedLine& line = lines[std::min(i, lines.size() - 1)];
    if (const int status = apply_options<JobRequest>(context, table, line, request); status != 0) return status;
    out.push_back(request);
    if (const int status = finish_request(context, script, i == 0, out.back()); status != 0) return status;
  }
  return 0;
}

bool is_passing(ErrorCode code) {
  return code == ErrorCode::Unreachable || code == ErrorCode::TimedOut || code == ErrorCode::NotLeader ||
         code == ErrorCode::Busy;
}

// --wait: until the job, or every task of the array, has ended.
int wait_for_end(Context& context, Controller& controller, JobId id) {
  wire::JobFilter filter;
  filter.jobs = {{id, std::nullopt}};
  filter.all_states = true;
  for (;;) {
    const auto table = controller.jobs(filter);
    // The job is durable; a controller that is away for a while comes back, or another one does.
    if (!table && is_passing(table.error().code)) {
      context.pause(seconds(1));
      continue;
    }
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

int submit(Context& context, Controller& controller, const JobRequest& request,
           const std::vector<model::JobSpec>& components) {
  const std::string token = make_token();
  Result<JobId> id = controller.submit(components, token);
  for (int attempt = 1; !id && id.error().code == ErrorCode::Busy && attempt <= 15; ++attempt) {
    if (attempt == 1) context.error("Slurm temporarily unable to accept job, sleeping and retrying");
    context.pause(seconds(attempt));
    id = controller.submit(components, token);
  }
  if (!id) return report_refusal(context, "Batch job submission failed", components, id.error());
  if (!request.quiet) {
    // Who names a cluster is told which one took the job.
    const std::string cluster = request.clusters.names.empty() ? "" : cluster_name(controller);
    const std::string_view before = request.parsable ? "" : "Submitted batch job ";
    context.out.print("{}{}", before, id->value);
    if (!cluster.empty()) context.out.print("{}{}", request.parsable ? ";" : " on cluster ", cluster);
    context.out.write("\n");
    context.out.flush();
  }
  return request.wait ? wait_for_end(context, controller, *id) : 0;
}

}  // namespace

int cmd_sbatch(Context& context) {
  const OptionTable table = job_options_of(kSbatch);
  const auto lines = parse_components(context, rows_of<JobRequest>(table), context.arguments, 255);
  if (!lines) return lines.error();
  if (find_given(table, *lines, "version") != nullptr) return print_version(context);
  if (find_given(table, *lines, "usage") != nullptr) {
    context.out.write(kUsage);
    return 0;
  }
  if (find_given(table, *lines, "help") != nullptr) {
    context.out.write("Usage: sbatch [OPTIONS(0)...] [ : [OPTIONS(N)...]] script [args...]\n\n" +
                      help_text(rows_of<JobRequest>(table)));
    return 0;
  }

  // Needs no script.
  if (const GivenOption* gres = find_given(table, *lines, "gres");
      gres && (gres->value == "help" || gres->value == "list"))
    return print_gres_help(context);

  JobRequest request;
  request.now = context.now();
  request.is_root = ::geteuid() == 0;
  request.directory = current_directory();
  const std::vector<std::string>& rest = lines->back().rest;
  request.plane_size = text::parse_decimal32(context.env("SLURM_DIST_PLANESIZE").value_or(""));
  BatchScript script;
  if (const GivenOption* wrap = find_given(table, *lines, "wrap")) {
    if (!rest.empty()) {
      context.error("Script arguments not permitted with --wrap option");
      return 1;
    }
    script = wrap_command(wrap->value);
  } else {
    auto loaded = load_script(context, rest, request.directory);
    if (!loaded) return loaded.error();
    script = *std::move(loaded);
  }
  set_time_format(context.env("SLURM_TIME_FORMAT").value_or(""), request.now);
  std::vector<JobRequest> requests;
  if (const int status = fill_requests(context, table, *lines, script, std::move(request), requests); status != 0)
    return status;
  if (std::ranges::any_of(requests, &JobRequest::gres_help)) return print_gres_help(context);
  if (std::ranges::any_of(requests, [](const JobRequest& one) { return one.reserved_ports > 0; })) {
    context.error("Batch job submission failed: {}", kNoPorts);
    return 1;
  }
  std::vector<model::JobSpec> components;
  for (const JobRequest& one : requests) components.push_back(one.spec);
  const auto controller = context.controller();
  if (!controller) {
    context.error("Batch job submission failed: {}", words(controller.error()));
    return 1;
  }
  JobRequest& last = requests.back();
  if (last.clusters.names.empty()) last.clusters = parse_clusters(context.env("SLURM_CLUSTERS").value_or(""));
  if (!is_this_cluster(context, **controller, last.clusters)) return 1;
  return requests.back().test_only ? report_forecast(context, **controller, components)
                                   : submit(context, **controller, requests.back(), components);
}

}  // namespace spur::cli
