// SPDX-License-Identifier: Apache-2.0
// Signals by name or number, --signal's "[R|B:]USR1@60", and the words srun prints for a task that a signal ended.
// The table is Linux's; numbers are those of this machine's <signal.h>.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spur::text {

// "USR1", "SIGUSR1", "usr1", "10", "RTMIN+1". Numbers from 1 to 64.
Result<int> parse_signal(std::string_view text);

// "USR1", "RTMIN+2"; the number itself where it has no name.
std::string signal_name(int signal);
// What srun says of a task: "Killed", "Segmentation fault", "Terminated". Never localised.
std::string signal_words(int signal);

struct SignalOption {  // --signal=[{R|B}:]<signal>[@<seconds>]
  int signal = 0;
  std::uint32_t seconds_before = 60;
  bool batch_only = false;      // B: only the batch shell, none of its steps
  bool in_reservation = false;  // R: also when the job overlaps a reservation
  friend bool operator==(const SignalOption&, const SignalOption&) = default;
};
Result<SignalOption> parse_signal_option(std::string_view text);
std::string format_signal_option(const SignalOption& option);  // "B:10@60", with the number, as scontrol shows it

}  // namespace spur::text
