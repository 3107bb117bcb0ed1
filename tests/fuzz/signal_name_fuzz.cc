// SPDX-License-Identifier: Apache-2.0
#include "text/signal_name.h"

#include "fuzz.h"

namespace spur::text {

SPUR_FUZZ(signal_name, "USR1", "SIGKILL", "B:USR1@60", "RB:10@5", "RTMIN+3", "64", "RTMAX-30") {
  if (const auto signal = parse_signal(input)) {
    SPUR_CHECK(*signal >= 1 && *signal <= 64);
    SPUR_CHECK(parse_signal(signal_name(*signal)) == *signal && !signal_words(*signal).empty());
  } else {
    fuzz::check_message(signal.error());
  }
  if (const auto option = parse_signal_option(input)) {
    SPUR_CHECK(parse_signal_option(format_signal_option(*option)) == *option);
  } else {
    fuzz::check_message(option.error());
  }
}

}  // namespace spur::text
