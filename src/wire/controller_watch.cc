// SPDX-License-Identifier: Apache-2.0
// The calls of a ControllerClient that go on for as long as jobs take, past controllers that go away.
#include "spur/v1/controller.pb.h"
#include "wire/controller_channel.h"
#include "wire/job_codec.h"
#include "wire/job_list_codec.h"

namespace spur::wire {
namespace {

// WaitJob is asked anew this often, with several controllers more often; between attempts to reach one that is away
// we sleep up to a second.
constexpr Duration kWaitSlice = std::chrono::seconds(60), kSharedWaitSlice = std::chrono::seconds(5);
constexpr long kFirstRetryNs = 50'000'000, kLastRetryNs = 999'000'000;
// A watched controller says something every five seconds.
constexpr Duration kLongestSilence = std::chrono::seconds(12);
constexpr Duration kWatchSlice = std::chrono::hours(24), kForEver = std::chrono::hours(24 * 3650);

bool is_away(ErrorCode code) {
  return code == ErrorCode::TimedOut || code == ErrorCode::Unreachable || code == ErrorCode::NotLeader ||
         code == ErrorCode::Busy;
}

void nap(long nanoseconds) {
  const timespec span{.tv_sec = 0, .tv_nsec = nanoseconds};
  ::nanosleep(&span, nullptr);
}

}  // namespace

Result<model::JobPtr> ControllerClient::wait_job(JobId job, bool until_final, const OnNotice& on_notice) {
  v1::WaitJobRequest request;
  request.set_job(job.value);
  request.set_until_final(until_final);
  if (on_notice) request.set_notices_after(0);
  for (long pause = kFirstRetryNs;; pause = std::min(pause * 2, kLastRetryNs)) {
    const auto asked_at = std::chrono::steady_clock::now();
    v1::WaitJobReply reply;
    const Duration slice = channel_->several() ? kSharedWaitSlice : kWaitSlice;
    const auto status = channel_->ask("WaitJob", request, &reply, slice);
    if (status) {
      for (const auto& notice : reply.notices()) {
        if (!on_notice || notice.number() <= request.notices_after()) continue;
        request.set_notices_after(notice.number());
        on_notice(notice.text());
      }
      if (reply.waiting()) {
        pause = kFirstRetryNs;
        continue;
      }
      auto found = std::make_shared<model::Job>();
      SPUR_TRY(from_proto(reply.job(), found.get()));
      return found;
    }
    const ErrorCode code = status.error().code;
    if (!is_away(code)) return std::unexpected(status.error());
    if (channel_->options.interrupted && channel_->options.interrupted())
      return fail(ErrorCode::TimedOut, fmt::format("Interrupted while waiting for job {}", job.value));
    if (code == ErrorCode::TimedOut && std::chrono::steady_clock::now() - asked_at > slice / 2) {
      pause = kFirstRetryNs;  // the controller is there, the job just takes its time
      continue;
    }
    nap(pause);
  }
}

Status ControllerClient::watch_jobs(const JobWatch& watch) {
  using std::chrono::steady_clock;
  v1::WatchJobsRequest request;
  to_proto(watch.filter, request.mutable_filter());
  request.set_expected_starts(watch.expected_starts);
  const auto deadline = steady_clock::now() + watch.timeout.value_or(kForEver);
  bool begun = false, enough = false;
  for (long pause = kFirstRetryNs;; pause = std::min(pause * 2, kLastRetryNs)) {
    JobChangesDecoder decoder;
    const auto take = [&](std::string_view bytes) -> Status {
      JobChanges changes;
      SPUR_TRY(decoder.take(bytes, &changes));
      begun = true;
      pause = kFirstRetryNs;
      enough = !watch.on_changes(changes);
      return enough ? fail(ErrorCode::Internal, "enough") : Status{};
    };
    const auto left = std::chrono::duration_cast<Duration>(deadline - steady_clock::now());
    if (left.count() <= 0) return fail(ErrorCode::TimedOut, "The time to watch jobs is over");
    const Status status = channel_->stream("WatchJobs", request, std::min(left, kWatchSlice), take, kLongestSilence);
    if (enough) return {};
    const Error lost = status ? Error{ErrorCode::Unreachable, "The controller hung up"} : status.error();
    if (!is_away(lost.code) || (!begun && steady_clock::now() < deadline)) return std::unexpected(lost);
    if (channel_->options.interrupted && channel_->options.interrupted())
      return fail(ErrorCode::TimedOut, "Interrupted while watching jobs");
    if (steady_clock::now() >= deadline) continue;
    if (watch.on_lost) watch.on_lost(lost);
    nap(pause);
  }
}

}  // namespace spur::wire
