// SPDX-License-Identifier: Apache-2.0
// What accounting must know of, as apply() yields it: numbered records, the same on every replica and on every
// replay. Of the replicated state only the two numbers are part; the records go to a spool beside the journal
// (ctld/acct_outbox.h) and stay there until the database has them. wire/accounting_codec.h encodes them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/job.h"
#include "model/node.h"
#include "model/reservation.h"
#include "model/step_end.h"

namespace spur::state {

struct Outbox {
  Time born;                // of the first record: which outbox this is; not set: none was made yet
  std::uint64_t next = 1;   // the number of the next record
  std::uint64_t acked = 0;  // the database has everything up to this one
  friend bool operator==(const Outbox&, const Outbox&) = default;
};

// A run of a job as it is now. `requeued`: the run is over and the job goes back to the queue.
struct JobNote {
  model::JobPtr job;
  bool requeued = false;
  bool with_script = false, with_environment = false;  // they are kept as well
};
struct StepNote {
  model::JobPtr job;
  model::StepEnd step;
};
struct NodeNote {
  model::NodePtr node;
};
// What the whole cluster has from now on.
struct ClusterNote {
  std::uint64_t cpus = 0, memory_mib = 0, nodes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> gres;  // "gpu" or "gpu:a100", sorted
};
struct ReservationNote {
  model::Reservation reservation;
  std::vector<std::string> nodes;
  std::uint64_t cpus = 0;
  bool over = false;
};

struct OutboxRecord {
  std::uint64_t number = 0;
  Time at;
  std::variant<JobNote, StepNote, NodeNote, ClusterNote, ReservationNote> what;
};

}  // namespace spur::state
