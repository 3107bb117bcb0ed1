// SPDX-License-Identifier: Apache-2.0
#include "text/mail_type.h"

#include "fuzz.h"

namespace spur::text {

SPUR_FUZZ(mail_type, "BEGIN,END", "ALL,ARRAY_TASKS", "NONE", "TIME_LIMIT_90,stage_out") {
  const auto types = parse_mail_types(input);
  if (!types) return fuzz::check_message(types.error());
  SPUR_CHECK(parse_mail_types(format_mail_types(*types)) == *types);
}

}  // namespace spur::text
