// SPDX-License-Identifier: Apache-2.0
// Values of job options, with the words Slurm refuses them with. The grammars are text/'s; here they meet the model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "model/job_spec.h"

namespace spur::cli {

template <class T>
using OptionValue = std::expected<T, BadOption>;

// "Invalid --time specification", exit status 255.
std::unexpected<BadOption> invalid_specification(std::string_view option);
// What sbatch prints for values that only the controller would refuse; exit status 1.
std::unexpected<BadOption> refused(ErrorCode code);

OptionValue<std::uint32_t> positive_number(std::string_view text, std::string_view option);

struct NodeCount {
  std::uint32_t min = 1;
  std::optional<std::uint32_t> max;
};
// "4", "2-8", "1k"; `option` is only for the message.
OptionValue<NodeCount> node_count(std::string_view text);

OptionValue<std::vector<model::GresRequest>> gres_request(std::string_view text);
OptionValue<std::vector<model::GresRequest>> gpu_request(std::string_view text, model::GresRequest::Per per);
OptionValue<std::vector<model::LicenseRequest>> license_request(std::string_view text);
OptionValue<void> set_dependencies(model::JobSpec& spec, std::string_view text);
OptionValue<std::optional<model::ArrayRequest>> array_request(std::string_view text);
OptionValue<Time> point_in_time(std::string_view text, std::string_view option, Time now);
OptionValue<model::SignalBeforeEnd> signal_request(std::string_view text);
// A hostlist, or the name of a file (with a '/' in it) that holds one.
OptionValue<std::string> host_list(std::string_view text);
OptionValue<std::string> host_file(std::string_view path);
OptionValue<std::int32_t> nice_value(std::string_view text);

// The limits of this process that are to follow the job: all for "ALL" or "", none for "NONE", else those named
// ("STACK,CORE").
OptionValue<std::vector<model::ResourceLimit>> resource_limits(std::string_view names);
// Where --propagate is not given.
std::vector<model::ResourceLimit> resource_limits(const config::CommandDefaults& site);

}  // namespace spur::cli
