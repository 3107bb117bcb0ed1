// SPDX-License-Identifier: Apache-2.0
// Whole answers of --json and --yaml: what was asked for, then what every answer has (meta, errors, warnings).
#pragma once

#include <string>
#include <vector>

#include "cli/api_fields.h"
#include "cli/sinfo_columns.h"
#include "cli/squeue_columns.h"
#include "cli/steps.h"
#include "wire/controller_statistics.h"

namespace spur::cli {

// ---- the tables
std::span<const ApiField<JobLine>> job_fields();  // job_info

struct NodeOf {
  const model::Node* node = nullptr;
  const wire::ClusterTable* table = nullptr;
};
std::span<const ApiField<NodeOf>> node_fields();                     // node
std::vector<std::string> node_state_words(const model::Node& node);  // "MIXED", "DRAIN"

struct PartitionOf {
  const model::Partition* partition = nullptr;  // null: as one without anything
  const wire::ClusterTable* table = nullptr;
};
std::span<const ApiField<PartitionOf>> partition_fields();  // partition_info

struct ReservationOf {
  const wire::ReservationRow* row = nullptr;
  Time now;
};
std::span<const ApiField<ReservationOf>> reservation_fields();              // reservation_info
std::span<const ApiField<wire::ControllerStatistics>> statistics_fields();  // stats_msg

struct SinfoRow {
  const NodeGroup* group = nullptr;
  const wire::ClusterTable* table = nullptr;
};
std::span<const ApiField<SinfoRow>> sinfo_fields();  // cli_sinfo_data

struct StepOf {
  const RunningStep* step = nullptr;
  std::string cluster;
  Time now;
};
std::span<const ApiField<StepOf>> step_fields();  // cli_step_info

struct LicenseOf {
  std::string name;
  std::uint64_t total = 0, used = 0, reserved = 0;
};
std::span<const ApiField<LicenseOf>> license_fields();  // license

struct PingOf {
  std::string host;
  bool responding = true, primary = true;
  std::int64_t latency_us = 0;
};
std::span<const ApiField<PingOf>> ping_fields();  // controller_ping

// ---- the answers
// Ends one with meta, errors and warnings.
std::string finish_document(Document document, const std::string& cluster, const Context& context);
std::string jobs_document(const std::vector<JobLine>& lines, const wire::JobTable& table, DocumentStyle style,
                          const Context& context);
std::string steps_document(const std::vector<StepOf>& steps, const std::string& cluster, Time as_of,
                           DocumentStyle style, const Context& context);
std::string nodes_document(const wire::ClusterTable& table, const std::vector<const model::Node*>& nodes,
                           DocumentStyle style, const Context& context);
std::string partitions_document(const wire::ClusterTable& table, const std::vector<const model::Partition*>& list,
                                DocumentStyle style, const Context& context);
std::string reservations_document(const wire::ReservationTable& table, const std::string& cluster,
                                  const std::vector<const wire::ReservationRow*>& rows, DocumentStyle style,
                                  const Context& context);
std::string sinfo_document(const wire::ClusterTable& table, const std::vector<NodeGroup>& groups, DocumentStyle style,
                           const Context& context);
std::string statistics_document(const wire::ControllerStatistics& statistics, DocumentStyle style,
                                const Context& context);
std::string licenses_document(const std::vector<LicenseOf>& licenses, const std::string& cluster, Time as_of,
                              DocumentStyle style, const Context& context);
std::string pings_document(const std::vector<PingOf>& pings, const std::string& cluster, DocumentStyle style,
                           const Context& context);

}  // namespace spur::cli
