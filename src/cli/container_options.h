// SPDX-License-Identifier: Apache-2.0
// The --container... options of sbatch, srun and salloc: setters for the table of job_options.cc, and how srun inside
// a salloc inherits them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/job_options.h"

namespace spur::cli::job_setters {

template <bool model::ContainerRequest::* Field, bool Value>
OptionStatus set_container_flag(JobRequest& request, std::string_view) {
  request.spec.container.*Field = Value;
  return {};
}
OptionStatus set_container_bundle(JobRequest& request, std::string_view value);
OptionStatus set_container_env(JobRequest& request, std::string_view value);
OptionStatus set_container_image(JobRequest& request, std::string_view value);
OptionStatus set_container_mounts(JobRequest& request, std::string_view value);
OptionStatus set_container_name(JobRequest& request, std::string_view value);
OptionStatus set_container_workdir(JobRequest& request, std::string_view value);

}  // namespace spur::cli::job_setters

namespace spur::cli {

// What the options mean together. Relative image paths become absolute.
OptionStatus settle_container(JobRequest& request);
// NAME=VALUE entries by which srun is given the same container.
std::vector<std::string> container_variables(const model::ContainerRequest& container);

}  // namespace spur::cli
