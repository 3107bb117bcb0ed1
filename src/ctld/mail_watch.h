// SPDX-License-Identifier: Apache-2.0
// Which mails --mail-type asks for, looked for in two pictures of the state: the one before a change and the one
// after it. The leader sends them (Controller::send_mail). What is kept here is the leader's own and dies with it: a
// mail may be lost with a leader, none is sent twice.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "ctld/mail_message.h"
#include "model/view.h"

namespace spur::ctld {

class MailWatch {
 public:
  using Mails = std::vector<io::ControllerHooks::Mail>;

  // A controller begins to lead: what has happened by now was its predecessor's to tell.
  void begin(const model::View& view, Time now);
  void reset();
  // `before`: null, or the record that the change was made to.
  void on_change(const model::View& before, const model::View& view, JobId id, Time now, Mails* out);
  // Parts of time limits that have gone by.
  void on_time(const model::View& view, Time now, Mails* out);
  Time next() const;  // when to call on_time; not set: never

 private:
  struct Array {
    bool begun = false;
    bool any = false;
    ArrayExits exits;
  };
  void watch_limit(const model::Job& job, Time now);
  void drop_limit(JobId id);
  void on_event(const model::View& before, const model::View& view, const model::Job& job, std::uint32_t type,
                Time now, Mails* out);
  void on_array_event(const model::View& before, const model::View& view, const model::Job& job, std::uint32_t type,
                      Time now, Mails* out);

  struct Moment {
    Time at;
    JobId job;
    std::uint32_t type;
    friend auto operator<=>(const Moment&, const Moment&) = default;
  };
  std::set<Moment> moments_;
  std::map<JobId, std::vector<Moment>> of_job_;
  std::map<JobId, Array> arrays_;
};

}  // namespace spur::ctld
