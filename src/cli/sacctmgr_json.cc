// SPDX-License-Identifier: Apache-2.0
#include "cli/sacctmgr_json.h"

#include "cli/json.h"

namespace spur::cli {
namespace {

template <class Body>
void document(Sacctmgr& s, std::string_view key, Body&& body) {
  Json json;
  json.open_object();
  json.open_array(key);
  body(json);
  json.close_array();
  add_meta(json, s.own_cluster(), "sacctmgr");
  add_no_errors(json);
  json.close_object();
  s.context.out.write(std::move(json).finish());
}

void limit(Json& json, std::string_view key, const std::optional<std::uint32_t>& value) {
  json.number(key, value ? std::optional<std::uint64_t>(*value) : std::nullopt, !value);
}

void tres(Json& json, std::string_view key, const model::TresCounts& list) {
  json.open_array(key);
  for (const model::TresCount& t : list) {
    const std::size_t slash = t.tres.find('/');
    json.open_object()
        .field("type", t.tres.substr(0, slash))
        .field("name", slash == std::string::npos ? "" : t.tres.substr(slash + 1))
        .field("count", t.count)
        .close_object();
  }
  json.close_array();
}

}  // namespace

void print_accounts_json(Sacctmgr& s, const std::vector<const model::AccountRecord*>& list) {
  document(s, "accounts", [&](Json& json) {
    for (const auto* a : list) {
      json.open_object();
      json.open_array("coordinators");
      for (const auto& c : s.records().coordinators)
        if (c.account == a->name) json.open_object().field("name", c.user).field("direct", true).close_object();
      json.close_array();
      json.field("name", a->name).field("description", a->description).field("organization", a->organization);
      json.field("flags", s.flags_of(model::RecordKind::Account, a->name));
      json.close_object();
    }
  });
}

void print_users_json(Sacctmgr& s, const std::vector<const model::UserRecord*>& list) {
  document(s, "users", [&](Json& json) {
    for (const auto* u : list) {
      std::string account, wckey;
      json.open_object();
      json.open_array("associations");
      for (const auto& r : s.records().associations) {
        if (r.row.user != u->name) continue;
        if (r.row.is_default && (account.empty() || r.cluster == s.own_cluster())) account = r.row.account;
        json.open_object()
            .field("account", r.row.account)
            .field("cluster", r.cluster)
            .field("partition", r.row.partition)
            .field("user", r.row.user)
            .field("id", r.row.id)
            .close_object();
      }
      json.close_array();
      for (const auto& k : s.records().wckeys)
        if (k.user == u->name && k.is_default) wckey = k.name;
      json.field("name", u->name)
          .field("administrator_level", std::vector<std::string>{std::string(admin_word(u->admin))})
          .field("flags", s.flags_of(model::RecordKind::User, u->name));
      json.open_array("coordinators");
      for (const auto& c : s.records().coordinators)
        if (c.user == u->name) json.open_object().field("name", c.account).field("direct", true).close_object();
      json.close_array();
      json.open_object("default").field("account", account).field("wckey", wckey).close_object();
      json.close_object();
    }
  });
}

void print_associations_json(Sacctmgr& s, const std::vector<PlacedRow>& rows) {
  document(s, "associations", [&](Json& json) {
    for (const PlacedRow& r : rows) {
      const model::Association& row = r.resolved;
      json.open_object()
          .field("id", row.id)
          .field("account", row.account)
          .field("cluster", r.record->cluster)
          .field("user", row.user)
          .field("partition", row.partition)
          .field("parent_account", row.is_user() ? "" : r.record->parent)
          .field("is_default", row.is_default)
          .field("shares_raw", row.shares)
          .field("qos", row.qos)
          .field("flags", s.flags_of(model::RecordKind::Association, model::key_of(*r.record)));
      json.open_object("default").field("qos", row.default_qos).close_object();
      limit(json, "priority", row.priority);
      json.open_object("max");
      limit(json, "jobs", row.max_jobs);
      limit(json, "submit_jobs", row.max_submit);
      limit(json, "wall_clock", row.max_wall_minutes);
      tres(json, "tres_per_job", row.max_tres_per_job);
      tres(json, "tres_per_node", row.max_tres_per_node);
      tres(json, "tres_minutes_per_job", row.max_tres_minutes_per_job);
      json.close_object();
      json.open_object("group");
      limit(json, "jobs", row.group.jobs);
      limit(json, "submit_jobs", row.group.submit);
      limit(json, "wall_clock", row.group.wall_minutes);
      tres(json, "tres", row.group.tres);
      tres(json, "tres_minutes", row.group.tres_minutes);
      tres(json, "tres_run_minutes", row.group.tres_run_minutes);
      json.close_object();
      json.close_object();
    }
  });
}

void print_clusters_json(Sacctmgr& s) {
  document(s, "clusters", [&](Json& json) {
    for (const auto& c : s.records().clusters) {
      json.open_object().field("name", c.name).field("nodes", c.nodes).field("rpc_version", c.rpc_version);
      json.open_object("controller").field("host", c.control_host).field("port", c.control_port).close_object();
      tres(json, "tres", c.tres);
      json.close_object();
    }
  });
}

void print_qos_json(Sacctmgr& s, const std::vector<const model::Qos*>& list) {
  document(s, "qos", [&](Json& json) {
    for (const auto* q : list) {
      json.open_object().field("name", q->name).field("id", q->id).field("description", q->description);
      json.number("priority", q->priority).field("flags", qos_cell("Flags", *q)->text);
      json.open_object("preempt")
          .field("list", q->preempts)
          .field("mode", qos_cell("PreemptMode", *q)->text)
          .close_object();
      json.field("usage_factor", static_cast<double>(q->usage_factor_thousandths) / 1000);
      json.open_object("limits");
      json.field("grace_time", q->grace.count());
      limit(json, "group_jobs", q->group.jobs);
      limit(json, "group_submit_jobs", q->group.submit);
      limit(json, "group_wall_clock", q->group.wall_minutes);
      tres(json, "group_tres", q->group.tres);
      limit(json, "max_jobs_per_user", q->max_jobs_per_user);
      limit(json, "max_jobs_per_account", q->max_jobs_per_account);
      limit(json, "max_submit_jobs_per_user", q->max_submit_per_user);
      limit(json, "max_submit_jobs_per_account", q->max_submit_per_account);
      limit(json, "max_wall_clock_per_job", q->max_wall_minutes);
      tres(json, "max_tres_per_job", q->max_tres_per_job);
      tres(json, "max_tres_per_node", q->max_tres_per_node);
      tres(json, "max_tres_per_user", q->max_tres_per_user);
      tres(json, "max_tres_per_account", q->max_tres_per_account);
      tres(json, "min_tres_per_job", q->min_tres_per_job);
      json.close_object();
      json.close_object();
    }
  });
}

void print_tres_json(Sacctmgr& s) {
  document(s, "TRES", [&](Json& json) {
    for (const auto& t : s.records().tres)
      json.open_object().field("type", t.type).field("name", t.name).field("id", t.id).close_object();
  });
}

}  // namespace spur::cli
