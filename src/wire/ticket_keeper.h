// SPDX-License-Identifier: Apache-2.0
// Step tickets of one job, for the processes of the user who holds its allocation where no agent of the job is at
// hand: salloc serves them to the srun's below it (ClientOptions::ticket_socket), so that a loop of a thousand steps
// asks the controller once. A socket in the abstract namespace, answering our own user only.
#pragma once

#include <functional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "wire/controller_client.h"

namespace spur::wire {

class TicketKeeper {
 public:
  static Result<TicketKeeper> open();
  TicketKeeper(TicketKeeper&& other) noexcept;
  ~TicketKeeper();

  const std::string& address() const { return address_; }  // for ClientOptions::ticket_socket
  // Answers until the process is ended. `renew` is asked at the first question and when the ticket gets old.
  [[noreturn]] void serve(JobId job, const std::function<Result<ControllerClient::StepTicket>()>& renew);
  // The same for one question, waiting for it; an error: it was not ours to answer.
  Status serve_one(JobId job, const std::function<Result<ControllerClient::StepTicket>()>& renew);

 private:
  TicketKeeper(int fd, std::string address) : fd_(fd), address_(std::move(address)) {}
  int fd_;
  std::string address_;
  Result<ControllerClient::StepTicket> ticket_ = fail(ErrorCode::NotFound, "not asked for yet");
  Time renew_at_{};
};

}  // namespace spur::wire
