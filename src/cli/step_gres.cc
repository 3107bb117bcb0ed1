// SPDX-License-Identifier: Apache-2.0
#include "cli/step_gres.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

namespace spur::cli {

std::vector<model::GresRequest> step_gres(const JobRequest& request) {
  const auto is_gpu = [](const model::GresRequest& wish) { return wish.name == "gpu"; };
  std::vector<model::GresRequest> gres = request.spec.gres;
  for (const auto* wishes : {&request.gres, &request.gpus_per_task, &request.gpus_per_node, &request.gpus_per_socket}) {
    if (std::ranges::none_of(*wishes, is_gpu)) continue;
    std::erase_if(gres, is_gpu);
    std::ranges::copy_if(*wishes, std::back_inserter(gres), is_gpu);
    break;
  }
  return gres;
}

std::string step_gpu_bind(const JobRequest& request) {
  if (request.gpu_bind) return *request.gpu_bind;
  return request.spec.tasks_per_gpu > 0 ? fmt::format("single:{}", request.spec.tasks_per_gpu) : std::string();
}

}  // namespace spur::cli
