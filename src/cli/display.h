// SPDX-License-Identifier: Apache-2.0
// How values of the model read in Slurm's tables and records: moments, spans, limits, sizes, resources. Shared by
// squeue, sinfo and scontrol, so that the same value never reads two ways.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/index_set.h"
#include "base/time.h"
#include "model/job.h"
#include "model/job_spec.h"
#include "model/node.h"
#include "wire/controller_client.h"

namespace spur::cli {

// SLURM_TIME_FORMAT: "standard" (or empty), "relative", or a format of strftime. Set once, before anything is shown.
void set_time_format(std::string_view format, Time now);
// Local time as 2026-11-15T20:23:11, or `unset` for a moment that is not set.
std::string moment(Time t, std::string_view unset);
// "Sun Nov 15 20:23:40 2026", the first line of long reports.
std::string date_line(Time t);

std::string or_null(std::string_view text);  // "(null)" where empty, else the text
std::string join(const std::vector<std::string>& words, std::string_view separator);

// "cpu=4,mem=300M,node=1,billing=4,gres/gpu=2": what a job asks for, and what it holds ("" where it holds nothing).
std::string requested_tres(const model::Job& job);
std::string allocated_tres(const model::Job& job);
// "gres/gpu:mi300x:2,gres/shard:1" of the terms counted per `per`; "" where there are none.
std::string gres_terms(const model::JobSpec& spec, model::GresRequest::Per per);
std::string licenses(const model::JobSpec& spec);                               // "a:2,b:1"
std::string oversubscribe_word(const model::JobSpec& spec);                     // OK, YES, NO, USER, MCS
std::string core_spec_text(const model::JobSpec& spec, std::string_view none);  // -S or --thread-spec
// "afterok:12(unfulfilled),singleton(unfulfilled)"; "" when nothing is left to wait for.
std::string dependencies_left(const model::Job& job);

// Nodes that the job has (only those still busy while it completes), as a hostlist.
std::string job_nodes(const model::Job& job, const wire::JobTable& table);
std::uint32_t job_node_count(const model::Job& job);
std::uint32_t job_cpu_count(const model::Job& job);
std::string job_partition(const model::Job& job);
// Names of nodes as a job asked for them, in ranges.
std::string ranged_nodes(const std::string& list);
// The one task of an array that has not started, once others have: Slurm then shows it as a job of its own.
std::optional<std::uint32_t> last_task(const model::Job& job);
// From when on the job may run, as far as it is known: a begin time counts before the job has reached it.
Time shown_eligible(const model::Job& job);
Time shown_accrue(const model::Job& job);
// When the scheduler looked at it last; a submission is looked at when it comes.
Time shown_last_eval(const model::Job& job);
// When the job began, or is expected to: its begin time, or the plan's forecast.
Time shown_start(const model::Job& job, Time expected);
// When it ended or its limit will end it; `unlimited` when running without a limit.
struct ShownEnd {
  Time at;
  bool unlimited = false;
};
ShownEnd shown_end(const model::Job& job, Time expected);
// %R: nodes of a job that runs or ran, else the reason in brackets.
std::string nodes_or_reason(const model::Job& job, const wire::JobTable& table);
std::string reason_text(const model::Job& job);

// What stands for an ended job where a command waits for it: the script's own exit status, and 1 for every end without
// one that is no success.
int exit_status_of(const model::Job& job);

// "0-2,5,7": ranges without strides, as Slurm writes CPU numbers, ranks and tasks. Over `longest` characters (0: no
// bound) it ends in "...".
std::string plain_ranges(const IndexSet& set, std::size_t longest = 0);
// "1,3,7-9%2": tasks that have not started, shortened with "..." where longer than SLURM_BITSTR_LEN allows (0: no
// bound).
std::string array_tasks(const model::Job& job, std::size_t longest);

// Whether `sinfo` and `scontrol show partition` show it without -a: neither hidden ones nor those that the user's
// groups may not use. (Root sees all.)
bool is_visible(const model::Partition& partition);

// "gpu:mi300x:8,shard:4" of a node, or "(null)".
std::string node_gres(const model::NodeHardware& hardware, bool with_sockets = true);
// The same with the devices in use: "gpu:mi300x:2(IDX:0-1)"; of names in use only.
std::string node_gres_used(const model::Node& node);

}  // namespace spur::cli
