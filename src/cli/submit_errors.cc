// SPDX-License-Identifier: Apache-2.0
#include "cli/submit_errors.h"

#include "cli/display.h"

namespace spur::cli {
namespace {

constexpr std::string_view kMemoryMessage =
    "Memory specification can not be satisfied";  // as in sched/submit_check.cc

}  // namespace

int report_refusal(Context& context, std::string_view failed, const model::JobSpec& spec, const Error& error) {
  switch (error.code) {
    case ErrorCode::InvalidPartition:
      context.error("invalid partition specified: {}", or_null(join(spec.partitions, ",")));
      break;
    case ErrorCode::NodeConfigUnavailable:
      // Slurm says it first when it is the memory; nothing else has a line of its own.
      if (error.message == kMemoryMessage) context.error("{}", kMemoryMessage);
      break;
    case ErrorCode::InvalidMemory:
      context.error("{}", kMemoryMessage);
      context.error("{}: {}", failed, slurm_message(ErrorCode::NodeConfigUnavailable));
      return 1;
    case ErrorCode::InvalidGres:
      context.error("{}", slurm_message(error.code));
      return 1;
    case ErrorCode::Unauthenticated:
      if (!error.message.empty()) context.error("{}", error.message);
      break;
    default:
      break;
  }
  context.error("{}: {}", failed, words(error));
  return 1;
}

int report_forecast(Context& context, Controller& controller, const model::JobSpec& spec) {
  const auto forecast = controller.will_run(spec);
  if (!forecast) {
    if (forecast.error().code == ErrorCode::InvalidPartition)
      context.error("invalid partition specified: {}", or_null(join(spec.partitions, ",")));
    context.plain("allocation failure: {}", words(forecast.error()));
    return 1;
  }
  context.info("Job {} to start at {} using {} processors on nodes {} in partition {}", forecast->job.value,
               moment(forecast->start, "Unknown"), forecast->cpus, forecast->nodes, forecast->partition);
  return 0;
}

}  // namespace spur::cli
