// SPDX-License-Identifier: Apache-2.0
#include "wire/step_progress.h"

#include <algorithm>
#include <utility>

namespace spur::wire {
namespace {

constexpr std::size_t kAckEvery = std::size_t{256} << 10;  // bytes of output
constexpr std::uint32_t kMaxParts = 1u << 20;

}  // namespace

bool StepProgress::take(const v1::StepOutput& output, std::size_t bytes) {
  if (output.has_granted()) {
    granted_ = true;
    if (parts_.empty()) parts_.resize(std::min(output.granted().parts(), kMaxParts));
    return true;
  }
  if (output.part() >= parts_.size()) return output.seq() == 0;
  Part& part = parts_[output.part()];
  if (output.has_taken()) {
    part.taken = std::max(part.taken, output.taken().seq());
    drop_arrived();
    return false;
  }
  if (output.seq() != 0) {
    if (output.seq() != part.seen + 1) return false;
    part.seen = output.seq();
    part.bytes += bytes;
  }
  if (output.has_started())
    for (const auto rank : output.started().ranks()) part_of_[rank] = output.part();
  if (output.has_done()) {
    if (part.done) return false;
    part.done = true;
    drop_arrived();
  }
  return true;
}

std::vector<v1::StepAck> StepProgress::acknowledge() {
  std::vector<v1::StepAck> out;
  for (std::uint32_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    if (part.seen == part.acknowledged || !(part.done || part.bytes >= kAckEvery)) continue;
    part.acknowledged = part.seen;
    part.bytes = 0;
    v1::StepAck& ack = out.emplace_back();
    ack.set_part(i);
    ack.set_seq(part.seen);
  }
  return out;
}

void StepProgress::forget_acknowledged() {
  for (Part& part : parts_) part.acknowledged = 0;
}

std::string_view StepProgress::number(v1::StepInput input, std::optional<std::uint32_t> rank) {
  drop_arrived();
  input.set_seq(++last_);
  const Kept& kept = kept_.emplace_back(Kept{last_, rank, input.SerializeAsString()});
  kept_bytes_ += kept.bytes.size();
  return kept.bytes;
}

bool StepProgress::arrived(const Kept& input) const {
  if (parts_.empty()) return false;
  const auto has = [&](const Part& part) { return part.done || part.taken >= input.seq; };
  if (input.rank)
    if (const auto part = part_of_.find(*input.rank); part != part_of_.end()) return has(parts_[part->second]);
  return std::ranges::all_of(parts_, has);
}

void StepProgress::drop_arrived() {
  while (!kept_.empty() && arrived(kept_.front())) {
    kept_bytes_ -= kept_.front().bytes.size();
    kept_.pop_front();
  }
}

v1::StepResume StepProgress::resume() const {
  v1::StepResume out;
  out.set_granted(granted_);
  for (const Part& part : parts_) {
    auto* seen = out.add_parts();
    seen->set_seq(part.seen);
    seen->set_done(part.done);
  }
  return out;
}

bool StepProgress::done() const {
  return granted_ && std::ranges::all_of(parts_, &Part::done);
}

}  // namespace spur::wire
