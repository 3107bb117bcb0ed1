// SPDX-License-Identifier: Apache-2.0
// The replicated state of a cluster and its one way to change: apply(). Pure: no clock, no I/O, no randomness; the
// same batches give the same Cluster, byte for byte (state_hash). ctld's core thread owns the one that is live.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/view.h"
#include "state/command.h"
#include "state/effect.h"
#include "state/interner.h"
#include "state/job_index.h"
#include "state/outbox.h"
#include "state/token_table.h"

namespace spur::state {

// The outcome of one command, for the caller that waits for it.
struct Outcome {
  Status status;            // an error means: no change at all
  JobId job;                // SubmitJob: the id given; StartJob: the id the started task runs under
  bool repeated = false;    // SubmitJob: the token was known, nothing new was made
  std::vector<JobId> jobs;  // CancelJob and the like: records touched
  std::string name{};       // CreateReservation: the name it got; ClaimFutureNode: the node's
  std::vector<std::string>
      notes{};  // SetConfig: what became of jobs and reservations whose nodes or partition are gone
};

class Cluster {
 public:
  Cluster();

  // Applies a batch in order. One outcome per command; effects of all are appended to *effects (may be null on
  // replay), what accounting must know to *records (null: nobody asks; they are numbered all the same).
  std::vector<Outcome> apply(std::uint64_t index, const Batch& batch, std::vector<Effect>* effects,
                             std::vector<OutboxRecord>* records = nullptr);
  const Outbox& outbox() const { return outbox_; }
  const std::map<Uid, model::Crontab>& crontabs() const { return crontabs_; }
  const std::map<std::uint32_t, model::Trigger>& triggers() const { return triggers_; }  // by id

  // The current picture, sharing structure with this Cluster. O(1).
  const model::View& view() const { return view_; }

  // Jobs and nodes that changed since the last call, ascending, each once; for timers and the scheduler's cache. Not
  // part of the state.
  struct Changes {
    std::vector<JobId> jobs;
    std::vector<NodeIndex> nodes;
    bool config = false;
    bool reservations = false, qos = false, shares = false;
  };
  Changes take_changes();

  // All effects that the state calls for: launches of active jobs, ends of those being killed, suspensions.
  std::vector<Effect> pending_effects() const;

  // A digest of everything that is replicated. Equal on all replicas at equal index.
  std::uint64_t state_hash() const;
  // Recomputes sums and cross references; the first broken invariant as an error. For tests, the simulator and debug
  // builds.
  Status check_invariants() const;

  std::uint64_t index() const { return view_.version; }

  // Everything that a snapshot must keep, and nothing else. wire/snapshot_codec.cc encodes it.
  struct Image {
    std::uint64_t index = 0;
    Time as_of;
    std::uint32_t next_job_id = 1;
    model::ClusterConfig config;
    std::vector<model::NodePtr> nodes;
    std::vector<model::JobPtr> jobs;
    std::vector<std::pair<std::string, JobId>> tokens;  // "uid:token", sorted
    std::vector<model::Reservation> reservations;
    std::vector<model::Qos> qos;
    std::vector<model::FairShare> shares;
    std::uint64_t accounts_revision = 0;
    std::vector<model::Association> associations;
    std::vector<model::AccountUser> users;
    std::vector<model::PastUsage> usages;
    Time decayed;  // when usage faded last
    Outbox outbox;
    std::vector<model::Crontab> crontabs;  // ascending by user
    std::vector<model::Trigger> triggers;  // ascending by id
    std::uint32_t next_trigger = 1;
  };
  Image image() const;
  // An image that does not fit together is refused as Corrupt.
  static Result<std::unique_ptr<Cluster>> from_image(Image image);

 private:
  friend struct Applier;  // state/apply.cc: dispatch; state/apply_<command>.cc: one function each
  Status load_nodes(const Image& image);
  Status load_jobs(Image& image);
  Status load_accounts(Image& image);
  void index_configured_nodes();

  model::View view_;
  TokenTable tokens_;
  Outbox outbox_;
  std::map<Uid, model::Crontab> crontabs_;
  std::map<std::uint32_t, model::Trigger> triggers_;
  std::uint32_t next_trigger_ = 1;
  // The rest is derived from the view: look-ups that make commands cheap, and what is kept once.
  JobIndex index_;
  Interner interner_;
  std::unordered_map<std::string, std::size_t> configured_;  // node name -> position in the configuration's list
  Changes changes_;
};

}  // namespace spur::state
