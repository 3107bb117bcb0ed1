// SPDX-License-Identifier: Apache-2.0
#include "text/file_pattern.h"

#include "fuzz.h"

namespace spur::text {

SPUR_FUZZ(file_pattern, "slurm-%A_%a.out", "%4j-%J-%s-%x", "\\a%j", "%%j%", "%99999999999j%u/%N-%n-%t-%b") {
  PatternValues values;
  values.job_id = 4294967295u, values.array_job = 7, values.array_task = 4294967293u;
  values.step = input.size() % 2 ? "batch" : "12";
  values.job_name = input.substr(0, 300), values.user = "ada", values.node = "n1";
  if (const auto name = expand_pattern(input, values)) {
    SPUR_CHECK(name->size() <= 4095 && name->find('\0') == std::string::npos);
  } else {
    fuzz::check_message(name.error());
  }
  (void)differs_per_task(input);
  (void)differs_per_node(input);
}

}  // namespace spur::text
