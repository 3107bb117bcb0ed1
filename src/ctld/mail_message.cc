// SPDX-License-Identifier: Apache-2.0
#include "ctld/mail_message.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "ctld/hook_environment.h"
#include "model/shown_config.h"
#include "text/mail_type.h"
#include "text/time_limit.h"

namespace spur::ctld {
namespace {

using model::Job;

constexpr std::uint32_t kEnds = text::kMailEnd | text::kMailFail;
constexpr std::uint32_t kLimits =
    text::kMailTimeLimit | text::kMailTimeLimit90 | text::kMailTimeLimit80 | text::kMailTimeLimit50;

std::string_view words_of(std::uint32_t type) {
  switch (type) {
    case text::kMailBegin:
      return "Began";
    case text::kMailEnd:
      return "Ended";
    case text::kMailFail:
      return "Failed";
    case text::kMailRequeue:
      return "Requeued";
    case text::kMailTimeLimit:
      return "Reached time limit";
    case text::kMailTimeLimit90:
      return "Reached 90% of time limit";
    case text::kMailTimeLimit80:
      return "Reached 80% of time limit";
    case text::kMailTimeLimit50:
      return "Reached 50% of time limit";
    case text::kMailInvalidDepend:
      return "Invalid dependency";
    default:
      return "unknown";
  }
}

std::string clock_text(Duration span) {
  return text::format_clock(std::chrono::duration_cast<seconds>(std::max(span, Duration{0})));
}

// wait(2) again: how a status is put together.
std::uint32_t code_of(std::uint32_t status) {
  return status >> 8;
}
std::uint32_t signal_of(std::uint32_t status) {
  return status & 0x7f;
}

class MailText {
 public:
  MailText(const model::View& view, const Job& job, std::uint32_t type, Time now)
      : job_(job), type_(type), now_(now), environment_(job_variables(view, job, (type & kEnds) != 0)) {
    set("SLURM_JOB_STATE", model::base_name(job.state));
    set("SLURM_JOB_MAIL_TYPE", words_of(type));
  }

  std::string subject(const std::optional<ArrayExits>& summary) {
    const std::string_view what = words_of(type_);
    const std::string span = time_text();
    const std::uint32_t id = job_.id.value;
    if (summary)
      return fmt::format("Slurm Array Summary Job_id={}_* ({}) Name={} {}{}", job_.array_job.value,
                         job_.array_job.value, job_.spec->name, what, summary_end(*summary));
    if (job_.array_job && job_.array_task)
      return fmt::format("Slurm Array Task Job_id={}_{} ({}) Name={} {}{}{}", job_.array_job.value, *job_.array_task,
                         id, job_.spec->name, what, span, end());
    return fmt::format("Slurm Job_id={} Name={} {}{}{}", id, job_.spec->name, what, span, end());
  }
  std::vector<std::string> take_environment() { return std::move(environment_); }

 private:
  void set(std::string_view name, const auto& value) { environment_.push_back(fmt::format("{}={}", name, value)); }

  std::string time_text() {
    if (type_ == text::kMailBegin) {
      if (!is_set(job_.started)) return {};
      const std::string queued = clock_text(job_.started - job_.submitted);
      set("SLURM_JOB_QUEUED_TIME", queued);
      return ", Queued time " + queued;
    }
    if (!(type_ & (kEnds | kLimits | text::kMailRequeue))) return {};
    const std::string ran = clock_text(is_set(job_.started) ? model::run_time(job_, now_) : Duration{0});
    set("SLURM_JOB_RUN_TIME", ran);
    return ", Run time " + ran;
  }

  std::string end() {
    if (!(type_ & kEnds)) return {};
    set("SLURM_JOB_EXIT_CODE_MAX", job_.exit.code);
    const std::string_view state = model::base_name(job_.state);
    if (job_.exit.signal != 0) return fmt::format(", {}", state);
    return fmt::format(", {}, ExitCode {}", state, job_.exit.code);
  }

  std::string summary_end(const ArrayExits& exits) {
    if (!(type_ & kEnds)) return {};
    if (signal_of(exits.max) != 0) {
      set("SLURM_JOB_TERM_SIGNAL_MAX", signal_of(exits.max));
      return fmt::format(", Mixed, MaxSignal [{}]", signal_of(exits.max));
    }
    set("SLURM_JOB_EXIT_CODE_MAX", code_of(exits.max));
    if (signal_of(exits.min) != 0) return fmt::format(", Mixed, MaxExitCode [{}]", code_of(exits.max));
    set("SLURM_JOB_EXIT_CODE_MIN", code_of(exits.min));
    const bool mixed = code_of(exits.min) == 0 && code_of(exits.max) > 0;
    return fmt::format(", {}, ExitCode [{}-{}]", mixed ? "Mixed" : model::base_name(job_.state), code_of(exits.min),
                       code_of(exits.max));
  }

  const Job& job_;
  const std::uint32_t type_;
  const Time now_;
  std::vector<std::string> environment_;
};

}  // namespace

std::uint32_t wait_status(const model::ExitStatus& exit) {
  return static_cast<std::uint32_t>(exit.code) << 8 | exit.signal;
}

io::ControllerHooks::Mail mail_message(const model::View& view, const Job& job, std::uint32_t type, Time now,
                                       const std::optional<ArrayExits>& summary) {
  MailText message(view, job, type, now);
  io::ControllerHooks::Mail out;
  out.program = model::shown_value(*view.config, "MailProg");
  out.subject = message.subject(summary);
  out.to = job.spec->mail_user;
  if (const auto domain = model::shown_value(*view.config, "MailDomain"); domain != "(null)") out.domain = domain;
  out.user = job.spec->uid;
  out.group = job.spec->gid;
  out.environment = message.take_environment();
  return out;
}

}  // namespace spur::ctld
