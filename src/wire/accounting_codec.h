// SPDX-License-Identifier: Apache-2.0
// Records of the outbox as accounting.proto has them: what the spool keeps and spurdbd is sent.
#pragma once

#include <functional>
#include <string>

#include "state/outbox.h"

namespace spur::v1 {
class AcctJob;
class AcctRecord;
class AcctStep;
class AcctUsage;
}  // namespace spur::v1

namespace spur::wire {

// Names of users and groups; empty where there is none. Asked for every record: keep what you know.
struct AcctNames {
  std::function<std::string(Uid)> user;
  std::function<std::string(Gid)> group;
};

void to_proto(const state::OutboxRecord& record, const AcctNames& names, v1::AcctRecord* to);
std::string encode_record(const state::OutboxRecord& record, const AcctNames& names);
// A job of the controller's memory as its record would be.
void to_proto(const model::Job& job, v1::AcctJob* to);

}  // namespace spur::wire
