// SPDX-License-Identifier: Apache-2.0
// The last enumerator of each enumeration that travels: a larger number in a message is refused. Raise it when you
// append an enumerator, and append it in types.proto too (id_codec.cc compares the two when it is compiled).
#pragma once

#include "model/cluster_config.h"
#include "model/job.h"
#include "model/job_spec.h"
#include "model/job_state.h"
#include "model/pending_reason.h"
#include "model/reservation_change.h"
#include "state/command.h"

namespace spur::wire {

constexpr auto last_of(model::JobState) {
  return model::JobState::OutOfMemory;
}
constexpr auto last_of(model::Reason) {
  return model::Reason::LastTresLimit;
}
constexpr auto last_of(model::TriggerSource) {
  return model::TriggerSource::Other;
}
constexpr auto last_of(model::AdminLevel) {
  return model::AdminLevel::Administrator;
}
constexpr auto last_of(model::Hold) {
  return model::Hold::Admin;
}
constexpr auto last_of(model::AfterCompleting) {
  return model::AfterCompleting::SpecialExit;
}
constexpr auto last_of(model::Exclusive) {
  return model::Exclusive::Mcs;
}
constexpr auto last_of(model::JobKind) {
  return model::JobKind::Interactive;
}
constexpr auto last_of(model::GresRequest::Per) {
  return model::GresRequest::Per::Socket;
}
constexpr auto last_of(model::Dependency::Kind) {
  return model::Dependency::Kind::Singleton;
}
constexpr auto last_of(model::PartitionState) {
  return model::PartitionState::Inactive;
}
constexpr auto last_of(model::OverSubscribe) {
  return model::OverSubscribe::Exclusive;
}
constexpr auto last_of(model::EnforcePartitionLimits) {
  return model::EnforcePartitionLimits::All;
}
constexpr auto last_of(model::MemoryAs) {
  return model::MemoryAs::Consumable;
}
constexpr auto last_of(model::Hint) {
  return model::Hint::NoMultithread;
}
constexpr auto last_of(model::Distribution::Nodes) {
  return model::Distribution::Nodes::Arbitrary;
}
constexpr auto last_of(model::Distribution::Within) {
  return model::Distribution::Within::FullCyclic;
}
constexpr auto last_of(model::PreemptBy) {
  return model::PreemptBy::Qos;
}
constexpr auto last_of(model::PreemptHow) {
  return model::PreemptHow::Within;
}
constexpr auto last_of(model::TopologyKind) {
  return model::TopologyKind::Block;
}
constexpr auto last_of(model::BackfillOrder) {
  return model::BackfillOrder::Priority;
}
constexpr auto last_of(model::EditKind) {
  return model::EditKind::Remove;
}
constexpr auto last_of(state::UpdateNode::Action) {
  return state::UpdateNode::Action::Future;
}
constexpr auto last_of(model::NodePresence) {
  return model::NodePresence::Future;
}
constexpr auto last_of(model::NodeDue) {
  return model::NodeDue::PowerUpOverdue;
}
constexpr auto last_of(model::AfterReboot) {
  return model::AfterReboot::Down;
}

}  // namespace spur::wire
