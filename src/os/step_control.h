// SPDX-License-Identifier: Apache-2.0
// The orders an agent gives a running spurstepd: single records of fixed size, over a connected unix socket or, for a
// receiver that must be found again after the agent was restarted, over a named pipe. Only root and the uid that
// spurstepd itself runs as are obeyed: of a socket's sender the kernel tells the uid, a pipe only they can open.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/job_state.h"
#include "os/unique_fd.h"

namespace spur::os {

struct StepOrder {
  enum class Kind : std::uint8_t {
    Terminate,    // CONT and TERM to all processes, KILL after the job's kill_wait
    Kill,         // KILL to all processes
    Signal,       // `signal` to all processes
    SignalShell,  // `signal` to the batch shell, or to the tasks themselves, but not to what they started
    Suspend,
    Resume,
    Notify,  // there is more in the run's file of notices (kNoticesFile) than was written so far
  };
  Kind kind = Kind::Signal;
  int signal = 0;
  model::JobState why = model::JobState::Cancelled;  // for the line in the job's output
};

// The notices of a run, each with a NUL behind it, below its directory in the spool: orders are too short for text.
inline constexpr const char* kNoticesFile = "notices";

// Asks the kernel to attest senders on this socket. Before the first message can arrive.
Status expect_orders(int socket);
// The next order waiting; nullopt when there is none. What is malformed or from somebody else is dropped.
std::optional<StepOrder> receive_order(int socket);

// To a connected socket, or to the pipe at `name` below the directory `dir`. Busy: the receiver's queue is full.
// NotFound: nobody reads there any more.
Status send_order(int connected, const StepOrder& order);
Status send_order_to(int dir, const char* name, const StepOrder& order);
// The receiver's end of the pipe at `name` below `dir`, reachable for its owner alone; made if it is not there, used
// again if it is.
Result<UniqueFd> open_orders(int dir, const char* name);

// The other way, on a step's orders: its last words. Lost if nobody is there any more.
void tell_agent(int orders, std::string_view text);
// What it told; empty if nothing.
std::string hear_step(int orders);

}  // namespace spur::os
