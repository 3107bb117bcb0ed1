// SPDX-License-Identifier: Apache-2.0
#include "main/controller_group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include "main/daemon_options.h"
#include "os/files.h"
#include "spur/v1/replica.pb.h"
#include "wire/lean_channel.h"

namespace spur::main {
namespace {

constexpr Duration kNoMajority = seconds(3), kRetry = milliseconds(100), kComplainEvery = seconds(10),
                   kLookEvery = seconds(2), kFetchFor = seconds(60), kRecoverFor = seconds(60);
constexpr std::uint16_t kControllerPort = 6817;
constexpr std::size_t kMaxSecretBytes = 64u << 10;

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

}  // namespace

bool ControllerGroup::is_wanted(const config::DaemonConfig& config) {
  return config.controllers.size() > 1 || !config.etcd.endpoints.empty();
}

Result<std::unique_ptr<ControllerGroup>> ControllerGroup::open(const config::Loaded& loaded, Options options) {
  std::unique_ptr<ControllerGroup> group(new ControllerGroup(loaded, std::move(options)));
  SPUR_TRY(group->choose_name());
  const std::string& directory = loaded.daemon.state_dir;
  SPUR_ASSIGN(group->directory_, os::StateDirectory::open(directory, "journal.lock"));
  if (exists(directory + "/journal.sqlite"))
    return fail(
        ErrorCode::ConfigInvalid,
        fmt::format(
            "{} has the state of a single controller: \"spur controllers convert etcd\" moves it into etcd; or go on "
            "with one controller, or move journal.sqlite away to begin without its jobs",
            directory));
  if (loaded.daemon.controllers.size() == 2 && loaded.daemon.etcd.endpoints.empty())
    group->options_.log("warning: with two controllers the loss of either stops the cluster; use three");
  SPUR_TRY(group->start_etcd());
  SPUR_TRY(group->join());
  return group;
}

Status ControllerGroup::choose_name() {
  const auto& controllers = loaded_.daemon.controllers;
  std::vector<std::string> names;
  std::vector<os::EtcdController> members;
  for (const auto& controller : controllers) {
    names.push_back(controller.host);
    members.push_back({controller.host, controller.address});
  }
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  const std::string wanted = options_.name;
  const auto mine = std::ranges::find_if(controllers, [&](const auto& controller) {
    return wanted.empty() ? controller.host == host || controller.host == short_hostname()
                          : controller.host == wanted;
  });
  if (mine == controllers.end())
    return fail(ErrorCode::ConfigInvalid,
                fmt::format("{} is none of the controllers {}; -N says which one this is",
                            wanted.empty() ? std::string(host) : wanted, fmt::join(names, ", ")));
  address_ = config::join_host_port(mine->address, loaded_.daemon.controller_port);
  membership_ = {.cluster = loaded_.cluster.cluster_name,
                 .member = mine->host,
                 .members = std::move(members),
                 .directory = loaded_.daemon.state_dir};
  return {};
}

// Made by the first controller of the list; the others need a copy, as nothing else tells them from strangers.
Result<std::string> ControllerGroup::secret() const {
  const auto& daemon = loaded_.daemon;
  const std::string path =
      daemon.etcd.secret_file.empty() ? daemon.state_dir + "/controllers.secret" : daemon.etcd.secret_file;
  if (!exists(path)) {
    if (membership_.member != membership_.members.front().name)
      return fail(
          ErrorCode::NotFound,
          fmt::format("{} is missing: copy it from controller {}, where it is made at the first start (mode 0600)",
                      path, membership_.members.front().name));
    std::random_device random;
    std::string fresh;
    for (int i = 0; i < 8; ++i) fresh += fmt::format("{:08x}", random());
    SPUR_TRY(os::write_file_durably(path, fresh + "\n", 0600));
    options_.log(fmt::format("{} was made; the other controllers need a copy of it", path));
  }
  SPUR_TRY(os::check_secret_file(path));
  SPUR_ASSIGN(std::string text, os::read_file(path, kMaxSecretBytes));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.size() < 32) return fail(ErrorCode::ConfigInvalid, path + " holds no secret of 32 characters or more");
  return text;
}

Status ControllerGroup::start_etcd() {
  const auto& etcd = loaded_.daemon.etcd;
  endpoints_ = etcd.endpoints;
  if (!endpoints_.empty()) return {};
  SPUR_ASSIGN(const std::string shared, secret());
  os::EtcdProcess::Options options{.directory = etcd_directory(),
                                   .cluster = membership_.cluster,
                                   .member = membership_.member,
                                   .peers = {},
                                   .peer_port = etcd.peer_port,
                                   .election = std::max(milliseconds(etcd.failover_ms), milliseconds(500)),
                                   .secret = shared,
                                   .log = options_.log};
  for (const auto& controller : loaded_.daemon.controllers)
    options.peers.push_back({controller.host, controller.address});
  if (!os::EtcdProcess::has_files(options.directory)) SPUR_TRY(find_peers(&options));
  SPUR_ASSIGN(etcd_, os::EtcdProcess::start(std::move(options)));
  endpoints_ = {etcd_->endpoint()};
  return {};
}

Result<std::unique_ptr<os::EtcdClient>> ControllerGroup::client() const {
  const auto& etcd = loaded_.daemon.etcd;
  // A call that takes longer than a leader may be silent is of no use.
  return os::EtcdClient::open({.endpoints = endpoints_,
                               .ca_file = etcd.ca_file,
                               .certificate_file = etcd.certificate_file,
                               .key_file = etcd.key_file,
                               .timeout = std::max<Duration>(milliseconds(2 * etcd.failover_ms), milliseconds(500))});
}

// What a single controller's state becomes, once; os/etcd_snapshot.h has the files.
Result<os::EtcdBeginning> ControllerGroup::beginning() const {
  const std::string& directory = membership_.directory;
  os::EtcdBeginning out;
  SPUR_ASSIGN(out.id, os::load_converted_id(directory));
  if (out.id.empty()) return out;
  SPUR_ASSIGN(const auto snapshot, os::load_snapshot_file(directory));
  out.index = snapshot.index;
  for (const char* name : {"ctld.key", "join.token"}) {
    SPUR_ASSIGN(const std::string text, os::read_file(directory + "/" + name, kMaxSecretBytes));
    out.secrets.emplace_back(name, text);
  }
  return out;
}

Status ControllerGroup::join_once(os::EtcdClient& etcd, const os::EtcdBeginning& beginning) {
  SPUR_TRY(os::check_etcd_version(etcd));
  const os::EtcdKeys keys(membership_.cluster);
  SPUR_ASSIGN(auto identity, os::join_cluster(etcd, keys, membership_, beginning));
  if (!beginning.id.empty()) SPUR_TRY(os::forget_converted_id(membership_.directory));
  if (identity.reserved_for == membership_.member) {
    identity.reserved_for.clear();
    SPUR_TRY(os::write_identity(etcd, keys, identity));
  }
  set_known(identity);
  if (std::ranges::any_of(identity.controllers, [&](const auto& one) {
        return std::ranges::find(membership_.members, one.name, &os::EtcdController::name) ==
               membership_.members.end();
      }) ||
      identity.controllers.size() != membership_.members.size())
    options_.log(fmt::format("warning: the controllers are {}; correct controller.hosts here and on other hosts",
                             identity.names()));
  return {};
}

// Most controllers may not be up yet.
Status ControllerGroup::join() {
  SPUR_ASSIGN(const auto etcd, client());
  SPUR_ASSIGN(const auto begun, beginning());
  Duration told = options_.clock.monotonic(), looked = told;
  for (;;) {
    const Status joined = join_once(*etcd, begun);
    if (joined) return {};
    const ErrorCode code = joined.error().code;
    const bool again = code == ErrorCode::Unreachable || code == ErrorCode::TimedOut || code == ErrorCode::Busy;
    if (!again) return joined;
    if (options_.give_up()) return fail(ErrorCode::Busy, "stopped while waiting for etcd");
    const Duration now = options_.clock.monotonic();
    if (now - told > kComplainEvery) {
      told = now;
      options_.log("warning: waiting for a majority of the controllers: " + joined.error().message);
    }
    if (now - looked > kLookEvery) {
      looked = now;
      SPUR_TRY(look_around());
    }
    std::this_thread::sleep_for(kRetry);
  }
}

Status ControllerGroup::share_file(const std::string& name) {
  const std::string path = loaded_.daemon.state_dir + "/" + name;
  SPUR_ASSIGN(const std::string mine, os::read_file(path, kMaxSecretBytes));
  SPUR_ASSIGN(const auto etcd, client());
  for (int attempt = 0;; ++attempt) {
    auto agreed = os::agree_on_secret(*etcd, os::EtcdKeys(membership_.cluster), name, mine);
    if (agreed) return *agreed == mine ? Status() : os::write_file_durably(path, *agreed, 0600);
    if (attempt == 100 || options_.give_up()) return std::unexpected(agreed.error());
    std::this_thread::sleep_for(kRetry);
  }
}

// The one that has it may be starting just now.
Result<os::StoredSnapshot> ControllerGroup::fetch(const std::string& credential) const {
  const Duration until = options_.clock.monotonic() + kFetchFor;
  for (;;) {
    auto got = fetch_once(credential);
    if (got || options_.give_up() || options_.clock.monotonic() > until) return got;
    std::this_thread::sleep_for(kRetry);
  }
}

Result<os::StoredSnapshot> ControllerGroup::fetch_once(const std::string& credential) const {
  Error last{ErrorCode::Unreachable, "there is no other controller"};
  for (const auto& controller : others()) {
    wire::LeanChannel channel({config::join_host_port(controller.address, loaded_.daemon.controller_port)},
                              kControllerPort);
    wire::CallOptions call;
    call.timeout = minutes(10);
    call.metadata.emplace_back("spur-credential-bin", credential);
    os::StoredSnapshot snapshot;
    std::uint64_t total = 0;
    const auto status =
        channel.stream("/spur.v1.Replica/FetchSnapshot", "", call, [&](std::string_view bytes) -> Status {
          v1::SnapshotChunk chunk;
          if (!chunk.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
            return fail(ErrorCode::Corrupt, "the other controller's state cannot be read");
          snapshot.index = chunk.index();
          snapshot.bytes += chunk.data();
          total = chunk.total_bytes();
          return {};
        });
    if (status && snapshot.index > 0 && snapshot.bytes.size() == total) return snapshot;
    if (!status) last = status.error();
  }
  return std::unexpected(last);
}

namespace {

// What one of them has behind `after`.
Status fetch_outbox_from(const std::string& address, const std::string& credential, const v1::FetchOutboxRequest& request,
                         const std::function<Status(std::span<const io::OutboxSpool::Record>)>& take) {
  wire::LeanChannel channel({address}, kControllerPort);
  wire::CallOptions call;
  call.timeout = minutes(10);
  call.metadata.emplace_back("spur-credential-bin", credential);
  return channel.stream("/spur.v1.Replica/FetchOutbox", request.SerializeAsString(), call, [&](std::string_view bytes) -> Status {
    v1::OutboxChunk chunk;
    if (!chunk.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return fail(ErrorCode::Corrupt, "the other controller's records cannot be read");
    std::vector<io::OutboxSpool::Record> records;
    for (auto& record : *chunk.mutable_records()) records.push_back({record.number(), std::move(*record.mutable_bytes())});
    return take(records);
  });
}

}  // namespace

std::string ControllerGroup::fetch_outbox(Time born, std::uint64_t until,
                                          const std::function<std::optional<std::uint64_t>()>& next,
                                          const std::function<Status(std::span<const io::OutboxSpool::Record>)>& take) const {
  std::string silent;
  for (const auto& controller : others()) {
    const auto after = next();
    if (!after) return {};
    v1::FetchOutboxRequest request;
    request.set_born_us(to_micros(born));
    request.set_after(*after);
    request.set_until(until);
    const auto credential = credential_ ? credential_() : Result<std::string>(std::string());
    const Status status =
        credential ? fetch_outbox_from(config::join_host_port(controller.address, loaded_.daemon.controller_port), *credential, request, take)
                   : Status(std::unexpected(credential.error()));
    // One that was removed from the cluster is not waited for.
    const std::lock_guard lock(mutex_);
    const bool counts = std::ranges::find(known_.controllers, controller.name, &os::EtcdController::name) != known_.controllers.end();
    if (!status && counts) silent += fmt::format("{}{} ({})", silent.empty() ? "" : ", ", controller.name, status.error().message);
  }
  return silent;
}

std::unique_ptr<io::Journal> ControllerGroup::make_journal(std::function<Result<std::string>()> credential) {
  credential_ = credential;
  auto etcd = client();
  if (!etcd) return nullptr;
  auto journal = std::make_unique<os::EtcdJournal>(
      *std::move(etcd), options_.clock,
      os::EtcdJournal::Options{.membership = membership_,
                               .address = address_,
                               .failover = milliseconds(loaded_.daemon.etcd.failover_ms),
                               .patience = kRecoverFor,
                               .fetch = [this, credential = std::move(credential)]() -> Result<os::StoredSnapshot> {
                                 SPUR_ASSIGN(const std::string shown, credential());
                                 return fetch(shown);
                               },
                               .log = options_.log});
  journal_ = journal.get();
  return journal;
}

ControllerGroup::~ControllerGroup() {
  stop_watching();
  etcd_.reset();
  if (is_removed_) put_files_aside();
}

void ControllerGroup::retire() {
  journal_->retire();
}

ctld::ControllerCalls::Options::Following ControllerGroup::following() const {
  const auto standing = journal_->standing();
  // etcd may have to choose a leader first, more than once if votes are split.
  if (standing.silence >= std::max<Duration>(kNoMajority, milliseconds(5 * loaded_.daemon.etcd.failover_ms)))
    return {
        standing.caught_up,
        {ErrorCode::Unreachable,
         fmt::format("no controller leads: {} has heard of none for {} s; most of {} must be up and reach each other",
                     membership_.member, std::chrono::duration_cast<seconds>(standing.silence).count(),
                     [this] {
                       const std::lock_guard lock(mutex_);
                       return known_.names();
                     }())},
        {},
        standing.silence};
  const bool nobody = standing.leader.empty() || standing.leader == membership_.member;
  return {standing.caught_up,
          {ErrorCode::NotLeader, nobody ? fmt::format("{} does not lead yet", membership_.member)
                                        : fmt::format("{} leads, at {}", standing.leader, standing.address)},
          // Not of one that may be gone: who is sent there would wait for it.
          nobody || standing.silence >= milliseconds(loaded_.daemon.etcd.failover_ms) ? std::string() : standing.address,
          standing.silence, standing.leads && standing.silence < milliseconds(loaded_.daemon.etcd.failover_ms)};
}

}  // namespace spur::main
