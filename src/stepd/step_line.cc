// SPDX-License-Identifier: Apache-2.0
#include "stepd/step_line.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "os/files.h"
#include "os/step_calls.h"
#include "os/step_control.h"

namespace spur::stepd {
namespace {

constexpr std::size_t kMaxQueued = std::size_t{1} << 20;  // with the kernel's help; then the log keeps it
constexpr std::size_t kMaxKept = std::size_t{8} << 20;    // then tasks wait
constexpr Duration kFirstCall = milliseconds(20), kSlowestCall = seconds(1), kHurry = seconds(2);

}  // namespace

StepLine::StepLine(os::EventLoop& loop, os::UniqueFd stream)
    : loop_(loop), stream_(std::make_unique<FrameStream>(loop, std::move(stream))) {}

StepLine::~StepLine() {
  loop_.cancel(timer_);
}

Status StepLine::open(Events events) {
  events_ = std::move(events);
  return stream_->open({.on_message = [this](std::string_view bytes) { on_message(bytes); },
                        .on_closed = [this] { on_closed(); },
                        .on_drained = [this] { pump(); }});
}

void StepLine::keep(std::string run_directory, v1::StepHello hello, std::uint32_t part) {
  run_directory_ = std::move(run_directory);
  hello_ = std::move(hello);
  part_ = part;
  kept_ = true;
}

void StepLine::send(v1::StepOutput output) {
  log_.append(std::move(output), part_);
  pump();
}

void StepLine::send_now(const v1::StepOutput& output) {
  if (!stream_ || !attached_) return;
  v1::StepOutput marked = output;
  marked.set_part(part_);
  stream_->send(frame_of(marked));
}

bool StepLine::backed_up() const {
  return log_.bytes() > (kept_ ? kMaxKept : kMaxQueued);
}

void StepLine::pause_input(bool paused) {
  paused_ = paused;
  if (stream_) stream_->pause(paused);
}

void StepLine::finish() {
  finished_ = true;
  leave_if_done();
  if (hurried_ && !left_) give_little_time();
}

void StepLine::hurry_when_finished() {
  if (std::exchange(hurried_, true) || !finished_ || left_) return;
  give_little_time();
}

void StepLine::give_little_time() {
  loop_.call_after(kHurry, [this] {
    if (left_) return;
    left_ = true;
    events_.on_left();
  });
}

void StepLine::pump() {
  if (!stream_ || !attached_ || std::exchange(pumping_, true)) return;
  while (!stream_->closed() && stream_->queued_bytes() < kMaxQueued) {
    Frame frame = log_.next();
    if (!frame) break;
    stream_->send(std::move(frame));
  }
  pumping_ = false;
  if (!kept_) log_.acknowledge(log_.sent());
  if (events_.on_room) events_.on_room();
  leave_if_done();
}

void StepLine::leave_if_done() {
  if (!finished_ || left_) return;
  const bool out = !stream_ || stream_->closed() || (log_.empty() && stream_->queued_bytes() == 0);
  if (kept_ ? !log_.empty() : !out) return;
  left_ = true;
  events_.on_left();
}

void StepLine::on_message(std::string_view bytes) {
  v1::StepInput input;
  // Input of tasks is the bulk of it, and not ours to look at.
  constexpr char kStdin = static_cast<char>(v1::StepInput::kStdinDataFieldNumber << 3 | 2);
  const bool data = attached_ && !bytes.empty() && bytes.front() == kStdin;
  if (data || !input.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return events_.on_input(bytes);
  if (input.has_attach()) return on_attach(input.attach());
  if (input.has_release()) {
    kept_ = false;
    log_.acknowledge(~std::uint64_t{0});
    events_.on_nobody();
    return leave_if_done();
  }
  if (!attached_) return on_closed();  // he does not know how to begin
  if (!input.has_ack()) return events_.on_input(bytes);
  log_.acknowledge(input.ack().seq());
  if (events_.on_room) events_.on_room();
  leave_if_done();
}

void StepLine::on_attach(const v1::StepAttach& attach) {
  if (!kept_ || attach.key() != hello_.key()) return on_closed();
  attached_ = true;
  log_.rewind(attach.after());
  if (events_.on_attached) events_.on_attached();
  pump();
  leave_if_done();
}

void StepLine::on_closed() {
  if (!kept_) return finished_ ? leave_if_done() : events_.on_nobody();
  attached_ = false;
  call_pause_ = kFirstCall;
  timer_ = loop_.call_after(Duration{0}, [this] { call_agent(); });  // not inside the stream's own call
}

void StepLine::call_agent() {
  stream_.reset();
  if (!kept_) return leave_if_done();
  struct stat info{};
  if (::stat(run_directory_.c_str(), &info) != 0 && errno == ENOENT) {
    kept_ = false;  // an agent has forgotten the run
    events_.on_nobody();
    return leave_if_done();
  }
  os::UniqueFd orders;
  auto socket = dial(orders);
  if (!socket) {
    timer_ = loop_.call_after(call_pause_, [this] { call_agent(); });
    call_pause_ = std::min(call_pause_ * 2, kSlowestCall);
    return;
  }
  stream_ = std::make_unique<FrameStream>(loop_, std::move(*socket));
  (void)open(std::move(events_));
  stream_->pause(paused_);
  if (events_.on_orders) events_.on_orders(std::move(orders));
}

Result<os::UniqueFd> StepLine::dial(os::UniqueFd& orders) const {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) != 0)
    return os::fail_errno("cannot make a socket", errno);
  orders = os::UniqueFd(pair[0]);
  const os::UniqueFd theirs(pair[1]);
  SPUR_TRY(os::expect_orders(orders.get()));
  return os::call_agent(os::step_call_socket(run_directory_), hello_.SerializeAsString(), theirs.get());
}

}  // namespace spur::stepd
