// SPDX-License-Identifier: Apache-2.0
#include "os/controller_hooks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "os/completion_file.h"
#include "os/files.h"
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
                  .timeout = prolog ? options_.prolog_timeout : options_.epilog_timeout,
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

// The document is in memory: a file that only this process, and who may look into it, can open.
static Result<UniqueFd> document_of(const io::ControllerHooks::SiteProgram& program) {
  UniqueFd fd(::memfd_create("document", MFD_CLOEXEC));
  if (!fd) return fail_errno("memfd_create", errno);
  std::string_view left = program.document;
  while (!left.empty()) {
    const ssize_t n = ::write(fd.get(), left.data(), left.size());
    if (n < 0) return fail_errno("write", errno);
    left.remove_prefix(static_cast<std::size_t>(n));
  }
  return fd;
}

void ThreadedHooks::run_site(SiteProgram program, std::function<void(Status)> done) {
  loop_->post([this, program = std::move(program), done = std::move(done)]() mutable {
    const auto answer = [this, done = std::move(done)](Status status) {
      options_.post([done, status = std::move(status)] { done(status); });
    };
    std::vector<std::string> environment = options_.environment;
    environment.push_back("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    std::shared_ptr<UniqueFd> document;  // until the program is through
    if (!program.variable.empty()) {
      auto made = document_of(program);
      if (!made) return answer(std::unexpected(made.error()));
      document = std::make_shared<UniqueFd>(*std::move(made));
      environment.push_back(program.variable + "=/proc/" + std::to_string(::getpid()) + "/fd/" +
                            std::to_string(document->get()));
    }
    runner_->run({.name = program.name,
                  .programs = {program.words.front()},
                  .environment = std::move(environment),
                  .timeout = program.timeout,
                  .cgroup = {},
                  .arguments = {program.words.begin() + 1, program.words.end()}},
                 [answer, document](Status status) { answer(std::move(status)); });
  });
}

void ThreadedHooks::note_completions(std::vector<Completion> lines, std::function<void(Status)> done) {
  loop_->post([this, lines = std::move(lines), done = std::move(done)] {
    options_.post([done, status = append_completions(lines)] { done(status); });
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
