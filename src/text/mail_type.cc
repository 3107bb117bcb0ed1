// SPDX-License-Identifier: Apache-2.0
#include "text/mail_type.h"

#include <fmt/format.h>

#include "text/printable.h"
#include "text/words.h"

namespace spur::text {
namespace {

struct MailRow {
  std::uint32_t bits;
  std::string_view name;
};
// In the order in which Slurm prints them.
constexpr MailRow kMailTypes[] = {
    {kMailArrayTasks, "ARRAY_TASKS"},
    {kMailInvalidDepend, "INVALID_DEPEND"},
    {kMailBegin, "BEGIN"},
    {kMailEnd, "END"},
    {kMailFail, "FAIL"},
    {kMailRequeue, "REQUEUE"},
    {kMailStageOut, "STAGE_OUT"},
    {kMailTimeLimit50, "TIME_LIMIT_50"},
    {kMailTimeLimit80, "TIME_LIMIT_80"},
    {kMailTimeLimit90, "TIME_LIMIT_90"},
    {kMailTimeLimit, "TIME_LIMIT"},
};

}  // namespace

Result<std::uint32_t> parse_mail_types(std::string_view text) {
  std::uint32_t types = 0;
  for (const auto word : split(text, ',')) {
    if (equal_ignoring_case(word, "NONE")) return 0;
    if (equal_ignoring_case(word, "ALL")) types |= kMailAll;
    for (const MailRow& row : kMailTypes)
      if (equal_ignoring_case(word, row.name)) types |= row.bits;
  }
  if (types == 0)
    return fail(ErrorCode::InvalidArgument, fmt::format("Invalid --mail-type specification \"{}\"", shown(text)));
  return types;
}

std::string format_mail_types(std::uint32_t types) {
  std::string out;
  for (const MailRow& row : kMailTypes)
    if (types & row.bits) out.append(out.empty() ? "" : ",").append(row.name);
  return out.empty() ? "NONE" : out;
}

}  // namespace spur::text
