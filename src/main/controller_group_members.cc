// SPDX-License-Identifier: Apache-2.0
// How the set of controllers changes while the cluster runs. Who the controllers are is one key of etcd (identity);
// where they run etcd themselves its members change with it: a new one begins as a learner, so that it counts for a
// majority only once it has all the data. A controller that was removed sees it in etcd, or hears it from the others
// where its own member was removed with it.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>

#include "main/controller_group.h"
#include "os/etcd_snapshot.h"

namespace spur::main {
namespace {

constexpr Duration kHealthTimeout = milliseconds(200), kAskTimeout = seconds(1), kRetry = milliseconds(200), kWatchEvery = milliseconds(500);
constexpr Duration kComplainEvery = seconds(10), kUnanswered = seconds(2);

Status check_name(const std::string& what, const std::string& text) {
  const bool good = !text.empty() && text.size() < 256 && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '.' || c == '_' || c == ':';
  });
  if (good) return {};
  return fail(ErrorCode::InvalidArgument, fmt::format("\"{}\" is no {} of a controller", text, what));
}

}  // namespace

void ControllerGroup::set_known(const os::EtcdIdentity& identity) {
  const std::lock_guard lock(mutex_);
  known_ = identity;
  for (auto& one : known_.controllers) {  // of a version that did not note it
    if (!one.address.empty()) continue;
    const auto configured = std::ranges::find(membership_.members, one.name, &os::EtcdController::name);
    one.address = configured == membership_.members.end() ? one.name : configured->address;
  }
}

// All we have ever heard of, but for ourselves.
std::vector<os::EtcdController> ControllerGroup::others() const {
  const std::lock_guard lock(mutex_);
  auto out = known_.controllers;
  for (const auto& one : membership_.members)
    if (std::ranges::find(out, one.name, &os::EtcdController::name) == out.end()) out.push_back(one);
  std::erase_if(out, [this](const auto& one) { return one.name == membership_.member; });
  return out;
}

std::optional<wire::ControllerMembers> ControllerGroup::ask_others() const {
  for (const auto& other : others()) {
    wire::ClientOptions options;
    options.controllers = {config::join_host_port(other.address, loaded_.daemon.controller_port)};
    options.timeout = kAskTimeout;
    auto told = wire::ControllerClient(std::move(options)).controllers();
    if (told && told->cluster_name == membership_.cluster && !told->cluster_id.empty()) return *std::move(told);
  }
  return std::nullopt;
}

Status ControllerGroup::removed(const std::string& others) const {
  return fail(ErrorCode::ConfigInvalid,
              fmt::format("{} is none of the controllers of cluster {} any more ({}); \"spur controllers add\" makes "
                          "it one again",
                          membership_.member, membership_.cluster, others));
}

// A member of etcd without files must not come back under its old identity: it may have promised what it no longer
// knows. The others forget it first.
Status ControllerGroup::find_peers(os::EtcdProcess::Options* options) {
  SPUR_ASSIGN(const std::string own, os::load_cluster_id(membership_.directory));
  for (Duration told{0};; ::usleep(static_cast<useconds_t>(kRetry.count()))) {
    const auto known = ask_others();
    std::string waits;
    if (!known) {
      if (own.empty()) return {};  // the first start of all
      waits = "no other controller answers, and the files of this one's etcd are lost";
    } else {
      const auto self = std::ranges::find(known->members, membership_.member, &wire::ControllerMember::name);
      if (self == known->members.end()) {
        std::string names;
        for (const auto& one : known->members) names += (names.empty() ? "" : ", ") + one.name;
        return removed(names);
      }
      if (!self->started && !self->peer.empty()) {
        options->joins = true;
        options->peers.clear();
        for (const auto& one : known->members)
          if (!one.peer.empty()) options->peers.push_back({one.name, one.address});
        return {};
      }
      waits = fmt::format(
          "the files of this controller's etcd are lost: \"spur controllers remove {0}\" and then \"spur controllers "
          "add {0}\", at another controller",
          membership_.member);
    }
    if (options_.give_up()) return fail(ErrorCode::Busy, "stopped while waiting for other controllers");
    if (told == Duration{0} || options_.clock.monotonic() - told > kComplainEvery) {
      told = options_.clock.monotonic();
      options_.log("warning: waiting: " + waits);
    }
  }
}

// It may have been removed, and perhaps added again, while this controller was away.
Status ControllerGroup::look_around() {
  if (!etcd_) return {};
  SPUR_ASSIGN(const std::string own, os::load_cluster_id(membership_.directory));
  const auto known = own.empty() ? std::nullopt : ask_others();
  if (!known || known->cluster_id != own) return {};
  const auto self = std::ranges::find(known->members, membership_.member, &wire::ControllerMember::name);
  if (self == known->members.end()) {
    is_removed_ = true;
    return removed("the others say so");
  }
  if (self->peer.empty() || self->started || !os::EtcdProcess::has_files(etcd_directory())) return {};
  options_.log("warning: this controller was removed and added again: its etcd begins anew");
  etcd_.reset();
  put_files_aside();
  return start_etcd();
}

void ControllerGroup::put_files_aside() {
  const std::string data = etcd_directory() + "/data";
  const std::string aside = fmt::format("{}-removed-{}", data, ::time(nullptr));
  if (::rename(data.c_str(), aside.c_str()) != 0 && errno != ENOENT)
    options_.log(fmt::format("warning: {} cannot be moved away", data));
}

ctld::ControllerCalls::Options::Group ControllerGroup::calls() {
  return {.list = [this] { return list(); },
          .add = [this](const std::string& name, const std::string& address) { return add(name, address); },
          .remove = [this](const std::string& name) { return remove(name); },
          .hand_over = [this](const std::string& successor) { return hand_over(successor); }};
}

Status ControllerGroup::hand_over(const std::string& successor) {
  const auto known = list();
  if (!known) return std::unexpected(known.error());
  const bool there = std::ranges::any_of(known->members, [&](const auto& one) { return one.name == successor; });
  if (!successor.empty() && !there) return fail(ErrorCode::NotFound, successor + " is none of the controllers");
  if (successor != name()) journal_->hand_over(successor);
  return {};
}

Result<wire::ControllerMembers> ControllerGroup::list() {
  SPUR_ASSIGN(const auto etcd, client());
  // A new controller asks as soon as it has been added; without a majority, what was known last.
  if (const auto fresh = os::read_identity(*etcd, os::EtcdKeys(membership_.cluster), false)) set_known(*fresh);
  wire::ControllerMembers out;
  {
    const std::lock_guard lock(mutex_);
    out.cluster_id = known_.id;
    for (const auto& one : known_.controllers) out.members.push_back({one.name, one.address, {}, false, false});
  }
  out.cluster_name = membership_.cluster;
  if (!etcd_) return out;
  SPUR_ASSIGN(const auto members, etcd->members());
  for (auto& one : out.members) {
    const std::string peer = os::EtcdProcess::peer_url(one.address, loaded_.daemon.etcd.peer_port);
    const auto member = std::ranges::find(members, peer, &os::EtcdMember::peer);
    if (member == members.end()) continue;
    one.peer = peer;
    one.started = member->started;
    one.learner = member->learner;
  }
  return out;
}

// What was done before a failure is not done twice: the command may be given again.
Status ControllerGroup::add(const std::string& name, const std::string& wanted) {
  const std::string address = wanted.empty() ? name : wanted;
  SPUR_TRY(check_name("name", name));
  SPUR_TRY(check_name("address", address));
  SPUR_ASSIGN(const auto etcd, client());
  const os::EtcdKeys keys(membership_.cluster);
  SPUR_ASSIGN(auto identity, os::read_identity(*etcd, keys, false));
  if (identity.has(name)) return fail(ErrorCode::AlreadyExists, name + " is a controller already");
  const auto at = std::ranges::find(identity.controllers, address, &os::EtcdController::address);
  if (at != identity.controllers.end())
    return fail(ErrorCode::AlreadyExists, fmt::format("controller {} has the address {}", at->name, address));
  if (etcd_) {
    const std::string peer = os::EtcdProcess::peer_url(address, loaded_.daemon.etcd.peer_port);
    SPUR_ASSIGN(const auto members, etcd->members());
    if (std::ranges::find(members, peer, &os::EtcdMember::peer) == members.end()) SPUR_TRY(etcd->add_learner(peer));
  }
  identity.controllers.push_back({name, address});
  SPUR_TRY(os::write_identity(*etcd, keys, identity));
  set_known(identity);
  options_.log(fmt::format("{} ({}) is a controller now", name, address));
  return {};
}

Status ControllerGroup::remove(const std::string& name) {
  SPUR_ASSIGN(const auto etcd, client());
  const os::EtcdKeys keys(membership_.cluster);
  SPUR_ASSIGN(auto identity, os::read_identity(*etcd, keys, false));
  const auto found = std::ranges::find(identity.controllers, name, &os::EtcdController::name);
  if (found == identity.controllers.end())
    return fail(ErrorCode::NotFound, fmt::format("{} is none of the controllers {}", name, identity.names()));
  if (identity.controllers.size() == 1)
    return fail(ErrorCode::InvalidArgument,
                "the last controller cannot be removed; \"spur controllers convert sqlite\" makes it a single one");
  if (name == membership_.member) {
    retire();
    return fail(ErrorCode::NotLeader, fmt::format("{} leads no longer; another controller removes it", name));
  }
  if (etcd_) {
    const std::string peer = os::EtcdProcess::peer_url(
        found->address.empty() ? found->name : found->address, loaded_.daemon.etcd.peer_port);
    SPUR_ASSIGN(const auto members, etcd->members());
    const auto member = std::ranges::find(members, peer, &os::EtcdMember::peer);
    if (member != members.end()) SPUR_TRY(etcd->remove(member->id));
  }
  identity.controllers.erase(found);
  SPUR_TRY(os::write_identity(*etcd, keys, identity));
  set_known(identity);
  options_.log(name + " is no controller any more");
  return {};
}

// ---- while the cluster runs

void ControllerGroup::watch(std::function<void(const std::string&)> on_removed) {
  on_removed_ = std::move(on_removed);
  watcher_ = std::thread([this] {
    const auto etcd = client();
    if (!etcd) return;
    Duration unanswered{0};
    std::unique_lock lock(mutex_);
    while (!stop_ && !is_removed_) {
      lock.unlock();
      watch_once(**etcd, &unanswered);
      lock.lock();
      wake_.wait_for(lock, kWatchEvery, [this] { return stop_; });
    }
  });
}

void ControllerGroup::stop_watching() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

void ControllerGroup::watch_once(os::EtcdClient& etcd, Duration* unanswered) {
  const auto identity = os::read_identity(etcd, os::EtcdKeys(membership_.cluster), true);
  std::optional<std::string> names;  // of the controllers, if we are none of them
  if (identity) {
    *unanswered = Duration{0};
    if (!identity->has(membership_.member)) names = identity->names();
    else set_known(*identity);
    if (etcd_ && journal_->standing().leads) tend_members(etcd);
  } else if (etcd_ && (*unanswered += kWatchEvery) >= kUnanswered) {
    *unanswered = Duration{0};
    const auto told = ask_others();
    const bool listed = !told || told->cluster_id != known_.id ||
                        std::ranges::find(told->members, membership_.member, &wire::ControllerMember::name) !=
                            told->members.end();
    if (!listed) {
      names.emplace();
      for (const auto& one : told->members) *names += (names->empty() ? "" : ", ") + one.name;
    }
  }
  if (!names) return;
  {
    const std::lock_guard lock(mutex_);
    is_removed_ = true;
  }
  on_removed_(removed(*names).error().message + ": this controller stops");
}

// As the leader. New members are promoted. And etcd's own leader is to be on another host than ours: else the loss of
// one host would cost an election of etcd and then a takeover, one after the other.
void ControllerGroup::tend_members(os::EtcdClient& etcd) {
  const auto members = etcd.members();
  const auto self = etcd.leads();
  if (!members || !self) return;
  for (const auto& member : *members)
    if (member.learner && etcd.promote(member.id)) options_.log(fmt::format("etcd member {} counts now", member.name));
  if (*self == 0) return;
  // To one that is there: while etcd waits for one that is not, it takes no writes.
  for (const auto& other : others()) {
    const std::string peer = os::EtcdProcess::peer_url(other.address, loaded_.daemon.etcd.peer_port);
    const auto member = std::ranges::find(*members, peer, &os::EtcdMember::peer);
    if (member == members->end() || !member->started || member->learner) continue;
    wire::ClientOptions options;
    options.controllers = {config::join_host_port(other.address, loaded_.daemon.controller_port)};
    options.timeout = kHealthTimeout;
    if (wire::ControllerClient(std::move(options)).ping(0) && etcd.hand_lead_to(member->id)) return;
  }
}

// ---- taking the state out of etcd

Status ControllerGroup::reserve_lead() {
  SPUR_ASSIGN(const auto etcd, client());
  const os::EtcdKeys keys(membership_.cluster);
  SPUR_ASSIGN(auto identity, os::read_identity(*etcd, keys, false));
  identity.reserved_for = membership_.member;
  SPUR_ASSIGN(const auto commit,
              etcd->commit({.unchanged = {{keys.identity(), identity.revision}},
                            .puts = {{keys.identity(), os::encode_etcd_identity(identity)}, {keys.term(), "\n"}},
                            .deletes = {{keys.tick(), keys.tick() + '\0'}}}));
  if (!commit.done) return fail(ErrorCode::Busy, "the set of controllers is being changed; try again");
  return {};
}

Status ControllerGroup::dismiss_others() {
  SPUR_ASSIGN(const auto etcd, client());
  const os::EtcdKeys keys(membership_.cluster);
  SPUR_ASSIGN(auto identity, os::read_identity(*etcd, keys, false));
  std::erase_if(identity.controllers, [this](const auto& one) { return one.name != membership_.member; });
  return os::write_identity(*etcd, keys, identity);
}

}  // namespace spur::main
