// SPDX-License-Identifier: Apache-2.0
// Blocking calls over a local socket (local_call.h), the controller's or one where tickets are had: the client's side.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace spur::wire {

class LocalChannel {
 public:
  using OnMessage = std::function<Status(std::string_view)>;
  // `trusted_only`: a server that is neither root nor we ourselves is as good as none.
  explicit LocalChannel(std::string path, bool trusted_only = false)
      : path_(std::move(path)), trusted_only_(trusted_only) {}

  struct Outcome {
    Status status;
    // Nothing of an answer has come and the controller was not there, or is not the leader: another way may be tried.
    bool try_elsewhere = false;
    std::string note = {};  // of one that follows (follower_note.h)
  };
  // One request, any number of answers; an error from on_message ends the call and is the result.
  // `silence`, if not 0: as long as the controller may say nothing.
  Outcome call(std::string_view method, std::string_view request, Duration timeout, const OnMessage& on_message,
               Duration silence = Duration{0});

  // Asked when a signal interrupts the wait: true ends the call with TimedOut.
  std::function<bool()> interrupted;

 private:
  std::string path_;
  bool trusted_only_;
};

}  // namespace spur::wire
