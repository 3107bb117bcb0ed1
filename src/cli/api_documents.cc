// SPDX-License-Identifier: Apache-2.0
#include "cli/api_documents.h"

#include <unistd.h>

#include "cli/users.h"

namespace spur::cli {
namespace {

template <class Object>
void add_list(Document& document, std::string_view key, std::span<const ApiField<Object>> fields,
              const std::vector<Object>& list) {
  document.open_array(key);
  for (const Object& object : list) add_object(document, {}, fields, object);
  document.close_array();
}

}  // namespace

std::string finish_document(Document document, const std::string& cluster, const Context& context) {
  const int version = document.version();
  document.open_object("meta");
  document.open_object("plugin").field("type", "").field("name", "");
  document.field("data_parser", fmt::format("data_parser/v0.0.{}", version)).field("accounting_storage", "");
  document.close_object();
  document.open_object("client").field("source", "");
  document.field("user", user_name(Uid(::geteuid()))).field("group", group_name(Gid(::getegid()))).close_object();
  document.open_array("command").field({}, context.program);
  for (const std::string& word : context.arguments) document.field({}, word);
  document.close_array();
  document.open_object("slurm");
  document.open_object("version").field("major", "25").field("micro", "0").field("minor", "05").close_object();
  document.field("release", kSlurmVersion).field("cluster", cluster).close_object();
  document.close_object();
  document.open_array("errors").close_array();
  document.open_array("warnings");
  if (!context.stale.empty())
    document.open_object({}).field("description", context.stale).field("source", context.program).close_object();
  document.close_array();
  return std::move(document).finish();
}

std::string jobs_document(const std::vector<JobLine>& lines, const wire::JobTable& table, DocumentStyle style,
                          const Context& context) {
  Document document(style);
  add_list(document, "jobs", job_fields(), lines);
  document.moment("last_backfill", table.as_of).moment("last_update", table.as_of);
  return finish_document(std::move(document), table.cluster_name, context);
}

std::string steps_document(const std::vector<StepOf>& steps, const std::string& cluster, Time as_of,
                           DocumentStyle style, const Context& context) {
  Document document(style);
  add_list(document, "steps", step_fields(), steps);
  document.moment("last_update", as_of);
  return finish_document(std::move(document), cluster, context);
}

std::string nodes_document(const wire::ClusterTable& table, const std::vector<const model::Node*>& nodes,
                           DocumentStyle style, const Context& context) {
  Document document(style);
  document.open_array("nodes");
  for (const model::Node* node : nodes) add_object(document, {}, node_fields(), NodeOf{node, &table});
  document.close_array();
  document.moment("last_update", table.as_of);
  return finish_document(std::move(document), table.cluster_name, context);
}

std::string partitions_document(const wire::ClusterTable& table, const std::vector<const model::Partition*>& list,
                                DocumentStyle style, const Context& context) {
  Document document(style);
  document.open_array("partitions");
  for (const model::Partition* partition : list)
    add_object(document, {}, partition_fields(), PartitionOf{partition, &table});
  document.close_array();
  document.moment("last_update", table.as_of);
  return finish_document(std::move(document), table.cluster_name, context);
}

std::string reservations_document(const wire::ReservationTable& table, const std::string& cluster,
                                  const std::vector<const wire::ReservationRow*>& rows, DocumentStyle style,
                                  const Context& context) {
  Document document(style);
  document.open_array("reservations");
  for (const wire::ReservationRow* row : rows)
    add_object(document, {}, reservation_fields(), ReservationOf{row, context.now()});
  document.close_array();
  document.moment("last_update", table.as_of);
  return finish_document(std::move(document), cluster, context);
}

std::string sinfo_document(const wire::ClusterTable& table, const std::vector<NodeGroup>& groups, DocumentStyle style,
                           const Context& context) {
  Document document(style);
  document.open_array("sinfo");
  for (const NodeGroup& group : groups) add_object(document, {}, sinfo_fields(), SinfoRow{&group, &table});
  document.close_array();
  return finish_document(std::move(document), table.cluster_name, context);
}

std::string statistics_document(const wire::ControllerStatistics& statistics, DocumentStyle style,
                                const Context& context) {
  Document document(style);
  add_object(document, "statistics", statistics_fields(), statistics);
  return finish_document(std::move(document), statistics.cluster_name, context);
}

std::string licenses_document(const std::vector<LicenseOf>& licenses, const std::string& cluster, Time as_of,
                              DocumentStyle style, const Context& context) {
  Document document(style);
  add_list(document, "licenses", license_fields(), licenses);
  document.moment("last_update", as_of);
  return finish_document(std::move(document), cluster, context);
}

std::string pings_document(const std::vector<PingOf>& pings, const std::string& cluster, DocumentStyle style,
                           const Context& context) {
  Document document(style);
  add_list(document, "pings", ping_fields(), pings);
  return finish_document(std::move(document), cluster, context);
}

}  // namespace spur::cli
