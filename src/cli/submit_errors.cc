// SPDX-License-Identifier: Apache-2.0
#include "cli/submit_errors.h"

#include <algorithm>
#include <iterator>

#include "cli/display.h"
#include "model/pending_reason.h"

namespace spur::cli {
namespace {

constexpr std::string_view kMemoryMessage =
    "Memory specification can not be satisfied";  // as in sched/submit_check.cc

constexpr std::string_view kFirstLines[] = {kMemoryMessage, "Temporary disk specification can not be satisfied",
                                            "CPU count per node can not be satisfied",
                                            "Socket, core and/or thread specification can not be satisfied",
                                            "Problem using reservation"};  // likewise, and sched/reservations.cc
constexpr std::string_view kPartitionMessage = "invalid partition specified: ";

// As Slurm says it: of a heterogeneous job those of the last component.
std::string partitions_of(const std::vector<model::JobSpec>& components) {
  return std::string(or_null(join(components.back().partitions, ",")));
}

// The controller names the one that does not exist.
void report_partition(Context& context, const std::vector<model::JobSpec>& components, const Error& error) {
  if (error.message.starts_with(kPartitionMessage)) {
    context.error("{}", error.message);
  } else {
    context.error("{}{}", kPartitionMessage, partitions_of(components));
  }
}

}  // namespace

int report_refusal(Context& context, std::string_view failed, const std::vector<model::JobSpec>& components,
                   const Error& error) {
  switch (error.code) {
    case ErrorCode::InvalidPartition:
      report_partition(context, components, error);
      break;
    case ErrorCode::NodeConfigUnavailable:
      // Slurm says it first when it is one of these; nothing else has a line of its own.
      if (std::ranges::find(kFirstLines, error.message) != std::end(kFirstLines)) context.error("{}", error.message);
      break;
    case ErrorCode::InvalidMemory:
      context.error("{}", kMemoryMessage);
      context.error("{}: {}", failed, slurm_message(ErrorCode::NodeConfigUnavailable));
      return 1;
    case ErrorCode::InvalidGres:
      context.error("{}", slurm_message(error.code));
      return 1;
    case ErrorCode::ResourceLimit: {
      // Which limit of an account or a QOS it was.
      model::Reason limit = model::Reason::None;
      if (model::parse_reason(error.message, &limit)) context.error("{}", error.message);
      break;
    }
    case ErrorCode::Unauthenticated:
      if (!error.message.empty()) context.error("{}", error.message);
      break;
    default:
      break;
  }
  context.error("{}: {}", failed, words(error));
  return 1;
}

int report_forecast(Context& context, Controller& controller, const std::vector<model::JobSpec>& components) {
  const auto forecast = controller.will_run(components);
  if (!forecast) {
    if (forecast.error().code == ErrorCode::InvalidPartition) report_partition(context, components, forecast.error());
    context.plain("allocation failure: {}", words(forecast.error()));
    return 1;
  }
  context.info("Job {} to start at {} using {} processors on nodes {} in partition {}", forecast->job.value,
               moment(forecast->start, "Unknown"), forecast->cpus, forecast->nodes, forecast->partition);
  return 0;
}

}  // namespace spur::cli
