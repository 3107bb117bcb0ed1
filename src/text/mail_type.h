// SPDX-License-Identifier: Apache-2.0
// --mail-type as bits. The values are Slurm's: they stand on its wire, in its C structures and in JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spur::text {

enum MailType : std::uint32_t {
  kMailBegin = 0x0001,
  kMailEnd = 0x0002,
  kMailFail = 0x0004,
  kMailRequeue = 0x0008,
  kMailTimeLimit = 0x0010,
  kMailTimeLimit90 = 0x0020,
  kMailTimeLimit80 = 0x0040,
  kMailTimeLimit50 = 0x0080,
  kMailStageOut = 0x0100,
  kMailArrayTasks = 0x0200,
  kMailInvalidDepend = 0x0400,
  kMailAll = kMailBegin | kMailEnd | kMailFail | kMailRequeue | kMailStageOut | kMailInvalidDepend,
};

// "BEGIN,END", "all", "NONE" (0, whatever else is there). As in Slurm a word that means nothing is passed over if
// another one does; with none at all it is an error.
Result<std::uint32_t> parse_mail_types(std::string_view text);
std::string format_mail_types(std::uint32_t types);  // "NONE" for 0

}  // namespace spur::text
