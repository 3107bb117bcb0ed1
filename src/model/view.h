// SPDX-License-Identifier: Apache-2.0
// A published, immutable picture of the cluster: what queries read and the scheduler plans on. Copying one is cheap.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/cow_map.h"
#include "base/ids.h"
#include "base/time.h"
#include "model/account_book.h"
#include "model/cluster_config.h"
#include "model/fair_share.h"
#include "model/job.h"
#include "model/node.h"
#include "model/qos.h"
#include "model/reservation.h"
#include "model/tally.h"

namespace spur::model {

// A partition with its hostlist resolved against the nodes that exist.
struct Partition {
  PartitionConfig config;
  std::vector<NodeIndex> nodes;  // ascending
  friend bool operator==(const Partition&, const Partition&) = default;
};

struct View {
  std::uint64_t version = 0;     // journal index of the last batch applied
  Time as_of;                    // stamp of that batch
  CowMap<JobPtr> jobs;           // by JobId::value
  CowMap<JobPtr> pending;        // the subset in state Pending and not completing (arrays' rests included)
  CowMap<JobPtr> active;         // running, suspended, or completing: everything that has nodes
  CowMap<CowMap<JobId>> arrays;  // array job id -> task index -> id of the task's own record, where it has one
  CowMap<NodePtr> nodes;         // by NodeIndex::value, dense from 0
  // Rebuilt only when configuration or registration adds names; shared between views.
  std::shared_ptr<const std::map<std::string, NodeIndex, std::less<>>> node_by_name;
  std::shared_ptr<const std::vector<Partition>> partitions;  // in configuration order
  std::shared_ptr<const ClusterConfig> config;
  // Never null.
  template <class T>
  using List = std::shared_ptr<const std::vector<T>>;
  List<Reservation> reservations = std::make_shared<const std::vector<Reservation>>();  // as they were made
  List<Qos> qos = std::make_shared<const std::vector<Qos>>();                           // by name
  List<Qos> qos_in_force;  // with Relative limits as amounts; null: as they are (relative_qos.h)
  List<FairShare> shares = std::make_shared<const std::vector<FairShare>>();            // by account, user, partition
  std::shared_ptr<const AccountBook> accounts = std::make_shared<const AccountBook>();
  std::shared_ptr<const TresTable> tres = std::make_shared<const TresTable>();
  Tallies tallies;  // of jobs that count for an association
  Time decayed;     // when usage faded last
  std::uint32_t next_job_id = 1;
};

const Job* find_job(const View& view, JobId id);
// The record that stands for task `task` of array `array`: its own, or the pending rest that still contains it.
const Job* find_array_task(const View& view, JobId array, std::uint32_t task);
const Node* find_node(const View& view, std::string_view name);
// The job, if `node` still has its part of this run of it to do; else null.
const Job* run_on_node(const View& view, const JobRun& run, std::string_view node);
const Partition* find_partition(const View& view, std::string_view name);
const Partition* default_partition(const View& view);
const Reservation* find_reservation(const View& view, std::string_view name);
const Qos* find_qos(const View& view, std::string_view name);
// What counts for the user's jobs in the partition: the row for that partition, else the one for any; else null.
const FairShare* find_share(const View& view, std::string_view account, Uid user, std::string_view partition);
// "n[1-4]" for the nodes of an allocation.
std::string node_list(const View& view, const std::vector<NodeIndex>& nodes);

}  // namespace spur::model
