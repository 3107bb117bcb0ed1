// SPDX-License-Identifier: Apache-2.0
#include "os/controller_hooks.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "os/name_lookup.h"
#include "os/user_lookup.h"

namespace spur::os {
namespace {

constexpr int kLettersAtOnce = 8;
constexpr Duration kLetterTime = std::chrono::minutes(5);
constexpr const char *kMail = "/bin/mail", *kOtherMail = "/usr/bin/mail";  // Slurm's default, and its other place

constexpr std::string_view kUid = "SLURM_JOB_UID=", kGid = "SLURM_JOB_GID=";

std::uint32_t number_in(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment)
    if (entry.starts_with(name))
      return static_cast<std::uint32_t>(std::strtoul(entry.c_str() + name.size(), nullptr, 10));
  return 0;
}

}  // namespace

Result<std::unique_ptr<ThreadedHooks>> ThreadedHooks::open(Options options) {
  SPUR_ASSIGN(auto loop, EventLoop::open());
  return std::unique_ptr<ThreadedHooks>(new ThreadedHooks(std::move(options), std::move(loop)));
}

ThreadedHooks::ThreadedHooks(Options options, std::unique_ptr<EventLoop> loop)
    : options_(std::move(options)),
      loop_(std::move(loop)),
      runner_(std::make_unique<HookRunner>(*loop_)),
      thread_([this] { loop_->run(); }) {}

ThreadedHooks::~ThreadedHooks() {
  loop_->stop();
  thread_.join();
  runner_.reset();
}

bool ThreadedHooks::has(Kind kind) const {
  return kind == Kind::Prolog ? !options_.prolog.empty() : !options_.epilog.empty();
}

void ThreadedHooks::run(Kind kind, std::vector<std::string> environment, std::function<void(Status)> done) {
  const bool prolog = kind == Kind::Prolog;
  environment.insert(environment.end(), options_.environment.begin(), options_.environment.end());
  loop_->post([this, prolog, environment = std::move(environment), done = std::move(done)]() mutable {
    // Here, where it may take its time.
    const auto user = look_up_user(Uid{number_in(environment, kUid)}, Gid{number_in(environment, kGid)});
    if (user) environment.push_back("SLURM_JOB_USER=" + user->name);
    runner_->run({.name = prolog ? "PrologSlurmctld" : "EpilogSlurmctld",
                  .programs = prolog ? options_.prolog : options_.epilog,
                  .environment = std::move(environment),
                  .timeout = options_.timeout,
                  .cgroup = {}},
                 [this, done = std::move(done)](Status status) mutable {
                   options_.post([done = std::move(done), status = std::move(status)] { done(status); });
                 });
  });
}

// Through setpriv: this process has threads and must stay who it is.
void ThreadedHooks::run_as(Program program, std::function<void(Status)> done) {
  loop_->post([this, program = std::move(program), done = std::move(done)]() mutable {
    const auto answer = [this, done = std::move(done)](Status status) {
      options_.post([done, status = std::move(status)] { done(status); });
    };
    const auto user = look_up_user(program.user, program.group);
    if (!user) return answer(std::unexpected(user.error()));
    std::vector<std::string> environment = options_.environment;
    environment.push_back("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    environment.push_back("USER=" + user->name);
    environment.push_back("LOGNAME=" + user->name);
    HookRequest request{.name = "trigger's program",
                        .programs = {program.words.front()},
                        .environment = std::move(environment),
                        .timeout = program.timeout,
                        .cgroup = {},
                        .arguments = {program.words.begin() + 1, program.words.end()}};
    if (::geteuid() == 0 && program.user != kRootUid) {
      request.programs = {"/usr/bin/setpriv"};
      request.arguments = {"--reuid", std::to_string(program.user.value), "--regid",
                           std::to_string(program.group.value), "--init-groups", "--inh-caps=-all", "--"};
      request.arguments.insert(request.arguments.end(), program.words.begin(), program.words.end());
    } else if (Uid(::geteuid()) != program.user) {
      return answer(fail(ErrorCode::PermissionDenied,
                         "the controller does not run as root: it runs programs of its own user only"));
    }
    runner_->run(std::move(request), answer);
  });
}

void ThreadedHooks::mail(Mail mail, std::function<void(Status)> done) {
  loop_->post([this, mail = std::move(mail), done = std::move(done)]() mutable {
    letters_.emplace_back(std::move(mail), std::move(done));
    send_letters();
  });
}

void ThreadedHooks::send_letters() {
  while (sending_ < kLettersAtOnce && !letters_.empty()) {
    auto [mail, done] = std::move(letters_.front());
    letters_.pop_front();
    ++sending_;
    const std::string user = name_of_user(mail.user);
    std::vector<std::string> environment = std::move(mail.environment);
    environment.insert(environment.end(), options_.environment.begin(), options_.environment.end());
    environment.push_back("SLURM_JOB_USER=" + user);
    environment.push_back("SLURM_JOB_GROUP=" + name_of_group(mail.group));
    if (mail.to.empty()) mail.to = mail.domain.empty() ? user : user + "@" + mail.domain;
    if (mail.program == kMail && ::access(kMail, X_OK) != 0) mail.program = kOtherMail;
    runner_->run({.name = "MailProg",
                  .programs = {std::move(mail.program)},
                  .environment = std::move(environment),
                  .timeout = kLetterTime,
                  .cgroup = {},
                  .arguments = {"-s", std::move(mail.subject), std::move(mail.to)}},
                 [this, done = std::move(done)](Status status) mutable {
                   --sending_;
                   options_.post([done = std::move(done), status = std::move(status)] { done(status); });
                   send_letters();
                 });
  }
}

}  // namespace spur::os
