// SPDX-License-Identifier: Apache-2.0
// The mail of --mail-type that tells of one event of a job: Slurm's subject, and the variables that its program gets.
// Pure; who gets it where the job does not say, and the names of user and group, are found by the door
// (io::ControllerHooks::mail).
#pragma once

#include <cstdint>
#include <optional>

#include "io/controller_hooks.h"
#include "model/view.h"

namespace spur::ctld {

// The exit statuses of the tasks of an array that have ended, as wait(2) would have them.
struct ArrayExits {
  std::uint32_t min = 0, max = 0;
};

// Of several tasks the statuses are put in this order.
std::uint32_t wait_status(const model::ExitStatus& exit);

// `type`: one bit of text/mail_type.h. `summary`: the mail is about the whole array that the job is of.
io::ControllerHooks::Mail mail_message(const model::View& view, const model::Job& job, std::uint32_t type, Time now,
                                       const std::optional<ArrayExits>& summary);

}  // namespace spur::ctld
