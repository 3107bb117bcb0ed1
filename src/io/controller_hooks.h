// SPDX-License-Identifier: Apache-2.0
// The controller's door to programs that run on its own host: of the site, before and after each job
// (PrologSlurmctld, EpilogSlurmctld), to send mail and to switch nodes off and on, and of users, when something happens
// (strigger). Real:
// os/controller_hooks.h. Without one there are no such programs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"

namespace spur::io {

class ControllerHooks {
 public:
  enum class Kind : std::uint8_t { Prolog, Epilog };
  virtual ~ControllerHooks() = default;
  virtual bool has(Kind kind) const = 0;
  // `done` is called on the controller's thread, never before this returns.
  virtual void run(Kind kind, std::vector<std::string> environment, std::function<void(Status)> done) = 0;

  struct Program {
    Uid user;
    Gid group;
    std::vector<std::string> words;  // the path first
    Duration timeout;
  };
  // As that user, with nothing of the daemon's own. `done` as above.
  virtual void run_as(Program program, std::function<void(Status)> done) = 0;

  // Of the site, as the daemon's own user, with arguments. `done` as above.
  struct SiteProgram {
    std::string name;                // for messages
    std::vector<std::string> words;  // the path first
    std::string variable, document;  // what it can read in the file that this variable names; no name: none
    Duration timeout;
    friend bool operator==(const SiteProgram&, const SiteProgram&) = default;
  };
  virtual void run_site(SiteProgram program, std::function<void(Status)> done) = 0;

  struct Mail {
    std::string program;  // of the site (MailProg)
    std::string subject;
    std::string to;      // empty: the job's user
    std::string domain;  // behind the name of that user; empty: none
    Uid user;
    Gid group;
    std::vector<std::string> environment;  // what it is told of the job; the names of user and group are added
    friend bool operator==(const Mail&, const Mail&) = default;
  };
  // As the daemon's own user. `done` as above.
  virtual void mail(Mail mail, std::function<void(Status)> done) = 0;

  // A line of the file of jobs that are over (JobCompType=jobcomp/filetxt), which has the names of user and group between
  // the number and the rest.
  struct Completion {
    std::string file;
    std::uint32_t job = 0;
    Uid user;
    Gid group;
    std::string rest;
    bool unless_there = false;  // the same line may have been written before
    friend bool operator==(const Completion&, const Completion&) = default;
  };
  // In this order, one batch after the other. `done` as above.
  virtual void note_completions(std::vector<Completion> lines, std::function<void(Status)> done) {
    static_cast<void>(lines), static_cast<void>(done);
  }
};

}  // namespace spur::io
