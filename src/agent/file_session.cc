// SPDX-License-Identifier: Apache-2.0
#include "agent/file_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/admission.h"
#include "base/check.h"

namespace spur::agent {
namespace {

constexpr Duration kFirstFileLook = milliseconds(1), kSlowestFileLook = milliseconds(200), kFileLaunchPatience = seconds(20);
constexpr int kBlockTag = v1::FileOutput::kBlockFieldNumber << 3 | 2;  // a length-delimited field

v1::FileOutput error_of(const std::string& node, const std::string& text) {
  v1::FileOutput output;
  output.mutable_error()->set_node(node);
  output.mutable_error()->set_text(text);
  return output;
}

}  // namespace

std::vector<std::size_t> fan_out(std::size_t count, std::size_t fanout) {
  std::vector<std::size_t> out;
  const std::size_t groups = std::min(count, std::max<std::size_t>(fanout, 1));
  for (std::size_t i = 0; i < groups; ++i) out.push_back(count / groups + (i < count % groups ? 1 : 0));
  return out;
}

void FileSession::input(std::string bytes, std::function<void()> taken) {
  if (finished_) return;
  if (started_ && waiting_) return early_.emplace_back(std::move(bytes), std::move(taken)), void();
  if (started_) return send_all(bytes, std::move(taken));
  started_ = true;
  v1::FileInput input;
  const bool good = input.ParseFromString(bytes) && input.has_start();
  const Status done = good ? start(input.start(), Duration{0})
                           : Status(fail(ErrorCode::InvalidArgument, "a transfer begins with its start"));
  if (!done) {
    finished_ = true;
    return events_.finished(done);
  }
  taken();
}

Result<const model::ControllerLaunch*> FileSession::admit(const v1::FileStart& start) const {
  SPUR_ASSIGN(const auto admitted, agent::admit(context_.agent, context_.node, context_.verify, start.ticket()));
  if (start.nodes_size() == 0 || start.nodes(0) != context_.node || start.addresses_size() != start.nodes_size())
    return fail(ErrorCode::InvalidArgument, "the transfer is not for node " + context_.node);
  if (start.what_case() == v1::FileStart::WHAT_NOT_SET || (start.has_fetch() && start.nodes_size() != 1))
    return fail(ErrorCode::InvalidArgument, "the transfer does not say what to do");
  return admitted.launch;
}

Status FileSession::start(const v1::FileStart& start, Duration waited) {
  auto admitted = admit(start);
  if (admitted) {
    open_parts(start, **admitted);
    return {};
  }
  if (admitted.error().code != ErrorCode::JobPending || waited >= kFileLaunchPatience)
    return std::unexpected(std::move(admitted.error()));
  waiting_ = true;
  const Duration pause = std::clamp(waited / 2, kFirstFileLook, kSlowestFileLook);
  context_.call_after(pause, [this, alive = alive_, start, waited = waited + pause] {
    if (!*alive || finished_) return;
    waiting_ = false;
    if (auto ok = this->start(start, waited); !ok) {
      finished_ = true;
      return events_.finished(std::move(ok));
    }
    if (waiting_) return;
    for (auto& [bytes, taken] : std::exchange(early_, {})) send_all(bytes, std::move(taken));
  });
  return {};
}

io::StepChannel::Events FileSession::events_of(Part& part) {
  return {.on_output = [this, &part](std::string bytes) { on_output(part, std::move(bytes)); },
          .on_closed = [this, &part](Status status) { on_closed(part, status); }};
}

void FileSession::open_parts(const v1::FileStart& start, const model::ControllerLaunch& launch) {
  fetch_ = start.has_fetch();
  std::vector<v1::FileInput> inputs;
  Part& own = *parts_.emplace_back(std::make_unique<Part>());
  own.nodes.insert(context_.node);
  own.channel = context_.port.open_files(launch, events_of(own));
  auto& own_start = *inputs.emplace_back().mutable_start();
  if (fetch_)
    *own_start.mutable_fetch() = start.fetch();
  else
    *own_start.mutable_send() = start.send();
  const std::uint32_t fanout = start.fanout() == 0 ? kUsualFanout : std::min(start.fanout(), kMaxFanout);
  int at = 1;
  for (const std::size_t size : fan_out(static_cast<std::size_t>(start.nodes_size() - 1), fanout)) {
    Part& part = *parts_.emplace_back(std::make_unique<Part>());
    auto& its_start = *inputs.emplace_back().mutable_start();
    its_start.set_ticket(start.ticket());
    its_start.set_fanout(start.fanout());
    *its_start.mutable_send() = start.send();
    const std::string& address = start.addresses(at);
    for (std::size_t i = 0; i < size; ++i, ++at) {
      part.nodes.insert(start.nodes(at));
      its_start.add_nodes(start.nodes(at));
      its_start.add_addresses(start.addresses(at));
    }
    part.channel = context_.port.open_remote_files(address, events_of(part));
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i]->channel->send(inputs[i].SerializeAsString(), {});
}

void FileSession::on_output(Part& part, std::string bytes) {
  if (part.over || finished_) return;
  if (!bytes.empty() && bytes.front() == kBlockTag && fetch_) return events_.output(std::move(bytes));
  v1::FileOutput output;
  if (!output.ParseFromString(bytes)) return on_closed(part, fail(ErrorCode::Corrupt, "garbled file output"));
  if (output.has_done()) part.nodes.erase(output.done().node());
  if (output.has_error()) part.nodes.erase(output.error().node());
  const bool failed = output.has_error();
  events_.output(std::move(bytes));
  // Of what is fetched the caller has still to say that it has it all: then the channel closes.
  if (part.nodes.empty() && (!fetch_ || failed)) settle(part);
}

void FileSession::on_closed(Part& part, const Status& status) {
  if (part.over || finished_) return;
  for (const auto& node : part.nodes)
    events_.output(error_of(node, status ? "the transfer was cut off" : status.error().message).SerializeAsString());
  settle(part);
}

// What a part that is over had still to pass on must not hold up the others.
void FileSession::settle(Part& part) {
  part.over = true;
  while (!part.unsent.empty()) passed_on(part);
  if (!std::ranges::all_of(parts_, [](const auto& one) { return one->over; })) return;
  finished_ = true;
  events_.finished({});
}

void FileSession::passed_on(Part& part) {
  const auto block = std::move(part.unsent.front());
  part.unsent.pop_front();
  if (--block->left == 0 && block->taken) block->taken();
}

// What is for a part that is over is dropped: it has said why.
void FileSession::send_all(const std::string& bytes, std::function<void()> taken) {
  auto block = std::make_shared<Block>(Block{.left = 1, .taken = std::move(taken)});
  for (auto& part : parts_) {
    if (part->over) continue;
    ++block->left;
    part->unsent.push_back(block);
    part->channel->send(bytes, [this, alive = alive_, raw = part.get()] {
      if (*alive && !raw->unsent.empty()) passed_on(*raw);
    });
  }
  if (--block->left == 0 && block->taken) block->taken();
}

void FileSession::pause(bool paused) {
  for (auto& part : parts_)
    if (!part->over) part->channel->pause(paused);
}

}  // namespace spur::agent
