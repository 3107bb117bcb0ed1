// SPDX-License-Identifier: Apache-2.0
#include "text/dependency.h"

#include "fuzz.h"

namespace spur::text {

SPUR_FUZZ(dependency, "afterok:1:2,afterany:3", "after:5+10", "afterok:12_3?singleton", "afterok:12_*", "expand:4",
          "17", "aftercorr:1,afterburstbuffer:2") {
  const auto spec = parse_dependency(input);
  if (!spec) return fuzz::check_message(spec.error());
  for (const auto& term : spec->terms) SPUR_CHECK((term.job == 0) == (term.kind == DependencyTerm::Kind::Singleton));
  const auto again = parse_dependency(format_dependency(*spec));
  // A lone term reads back without its separator.
  SPUR_CHECK(again.has_value() && again->terms == spec->terms);
}

}  // namespace spur::text
