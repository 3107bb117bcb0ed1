// SPDX-License-Identifier: Apache-2.0
#include "text/export_spec.h"

#include "fuzz.h"

namespace spur::text {

SPUR_FUZZ(export_spec, "ALL", "NONE", "A,B=2,SLURM_X=3", "ALL,D='x,y',E=2", ",A,,\"q\"=1,", "NIL") {
  const auto spec = parse_export(input);
  if (!spec) return fuzz::check_message(spec.error());
  const auto result = apply_export(*spec, {"A=1", "B=2", "SLURM_X=9", "C=", "odd", "=x"});
  for (const auto& entry : result) {
    SPUR_CHECK(entry.find('=') != std::string::npos && entry[0] != '=');
    SPUR_CHECK(entry.find('\0') == std::string::npos);
  }
  SPUR_CHECK(split_environment(join_environment(result)) == result);
}

}  // namespace spur::text
