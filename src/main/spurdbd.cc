// SPDX-License-Identifier: Apache-2.0
// spurdbd: picks the database, wires the accounting service's parts, and waits for signals.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "acct/accounting_service.h"
#include "acct/accounts_service.h"
#include "acct/archive.h"
#include "acct/server.h"
#include "config/load.h"
#include "config/needs_restart.h"
#include "config/show.h"
#include "config/show_accounting.h"
#include "main/daemon_start.h"
#include "main/dbd_options.h"
#include "main/version.h"
#include "os/accounting_database.h"
#include "os/accounting_schema.h"
#include "os/auth_socket.h"
#include "os/credentials.h"
#include "os/daemon.h"
#include "os/daemon_user.h"
#include "os/files.h"
#include "os/log.h"
#include "os/name_lookup.h"
#include "os/signals.h"
#include "os/state_directory.h"
#include "os/system_clock.h"

namespace spur::main {
namespace {

using Options = DbdOptions;

// The configuration with the command line's word over it.
Result<config::Loaded> load(const Options& options) {
  SPUR_ASSIGN(auto loaded, config::load_for_accounting(options.config));
  if (!options.state_dir.empty()) loaded.daemon.state_dir = options.state_dir;
  if (!options.listen.empty()) loaded.daemon.accounting_listen = options.listen;
  if (!options.database_url.empty()) loaded.daemon.accounting_url = options.database_url;
  return loaded;
}

int migrate(const config::Loaded& loaded, bool dry_run) {
  const auto run = [&]() -> Status {
    SPUR_ASSIGN(const auto connection,
                os::AccountingDatabase::connect(config::accounting_database(loaded.daemon), false));
    SPUR_ASSIGN(const int version, os::schema_version(*connection));
    SPUR_TRY(os::check_not_newer(version));
    const auto steps = os::steps_from(version);
    std::printf("schema version %d, newest %d\n", version, os::kAccountingSchema);
    for (const auto& step : steps)
      std::printf("%s version %d: %s\n", dry_run ? "would do" : "doing", step.version, step.what.c_str());
    if (steps.empty()) std::printf("nothing to do\n");
    return dry_run ? Status{} : os::migrate(*connection);
  };
  if (const auto ok = run(); !ok) {
    std::fprintf(stderr, "spurdbd: error: %s\n", ok.error().message.c_str());
    return 1;
  }
  return 0;
}

struct Restored {
  std::size_t jobs = 0, others = 0;
};

// What is in an archive, back into the database.
Result<Restored> restore_archive(io::AccountingStore& store, const std::string& path) {
  SPUR_ASSIGN(const std::string bytes, os::read_file(path, std::size_t{1} << 31));
  SPUR_ASSIGN(const auto archive, acct::decode_archive(bytes));
  std::map<std::string, std::vector<io::AccountingStore::Old>> by_cluster;
  for (const auto& job : archive.jobs) by_cluster[job.cluster].push_back(job.row);
  for (const auto& [cluster, rows] : by_cluster) SPUR_TRY(store.restore(cluster, rows));
  Restored out{archive.jobs.size(), 0};
  for (const auto& [cluster, rows] : archive.rows) {
    SPUR_TRY(store.restore_rows(cluster, rows));
    out.others += rows.size();
  }
  return out;
}

int load_archive(const config::Loaded& loaded, const std::string& path) {
  const auto run = [&]() -> Status {
    SPUR_ASSIGN(const auto store, os::AccountingDatabase::open(config::accounting_database(loaded.daemon)));
    SPUR_ASSIGN(const Restored back, restore_archive(*store, path));
    if (back.others == 0 || back.jobs > 0) std::printf("%zu jobs are in the database again\n", back.jobs);
    if (back.others > 0)
      std::printf("%zu steps, events, reservations or transactions are in the database again\n", back.others);
    return {};
  };
  if (const auto ok = run(); !ok) {
    std::fprintf(stderr, "spurdbd: error: %s\n", ok.error().message.c_str());
    return 1;
  }
  return 0;
}

class Spurdbd {
 public:
  Spurdbd(const Options& options, config::Loaded loaded, io::Clock& clock, os::Log& log)
      : options_(options), loaded_(std::move(loaded)), clock_(clock), log_(log) {}

  // The files anew: how long things are kept, where archives are, and the log. The rest is for the next start.
  Status reload() {
    auto fresh = load(options_);
    if (fresh) {
      const auto& log = fresh->daemon.accounting_log;
      if (auto ok = log_.set_targets(log_targets(log, log.file, options_)); !ok)
        fresh = std::unexpected(std::move(ok.error()));
    }
    if (!fresh) {
      log_.error("the configuration is not reloaded: {}", fresh.error().message);
      return std::unexpected(std::move(fresh.error()));
    }
    for (const auto& warning : fresh->warnings) log_.warning("{}", warning);
    const std::lock_guard lock(house_mutex_);
    config::DaemonConfig& mine = loaded_.daemon;
    const config::DaemonConfig& next = fresh->daemon;
    mine.accounting_keep_days = next.accounting_keep_days;
    mine.accounting_keep_step_days = next.accounting_keep_step_days;
    mine.accounting_keep_event_days = next.accounting_keep_event_days;
    mine.accounting_keep_reservation_days = next.accounting_keep_reservation_days;
    mine.accounting_keep_transaction_days = next.accounting_keep_transaction_days;
    mine.accounting_archive_dir = next.accounting_archive_dir;
    const auto database = [](config::StorageConfig s) {  // all but what is about keeping
      s.archive_dir.clear();
      s.archive_jobs = s.archive_steps = s.archive_events = s.archive_reservations = s.archive_transactions = false;
      s.keep_jobs = s.keep_steps = s.keep_events = s.keep_reservations = s.keep_transactions = 0;
      return s;
    };
    std::string late = config::needs_restart(loaded_, *fresh);
    const auto compare = [&](const char* what, const auto& a, const auto& b) {
      if (a != b) late += fmt::format("{}{}", late.empty() ? "" : ", ", what);
    };
    compare("the database", database(mine.storage), database(next.storage));
    compare("TrackWCKey", loaded_.cluster.accounting.track_wckeys, fresh->cluster.accounting.track_wckeys);
    compare("AllowNoDefAcct", mine.accounting_no_default, next.accounting_no_default);
    compare("Parameters", mine.accounting_keeps_case, next.accounting_keeps_case);
    compare("SlurmUser", mine.slurm_user, next.slurm_user);
    compare("DefaultQOS", mine.accounting_default_qos, next.accounting_default_qos);
    compare("DisableCoordDBD", mine.accounting_no_coordinators, next.accounting_no_coordinators);
    compare("MaxQueryTimeRange", mine.accounting_max_query, next.accounting_max_query);
    mine.accounting_no_archives = next.accounting_no_archives;
    const auto kind = mine.storage.kind;
    mine.storage = next.storage;
    mine.storage.kind = kind;
    mine.accounting_log = next.accounting_log;
    if (!late.empty())
      log_.warning("changed in the configuration, but in force only after a restart: {}", late);
    tell_settings();
    log_.info("configuration reloaded");
    return {};
  }

  Status start() {
    const auto& daemon = loaded_.daemon;
    tell_settings();
    for (const auto& warning : loaded_.warnings) log_.warning("{}", warning);
    SPUR_TRY(os::make_private_dir(daemon.state_dir));
    SPUR_ASSIGN(lock_, hold_directory(daemon.state_dir));
    // Users must reach the sockets in there; everything else in it is for us alone.
    if (::chmod(daemon.state_dir.c_str(), 0711) != 0)
      return os::fail_errno("cannot open up " + daemon.state_dir, errno);
    SPUR_ASSIGN(pid_file_, os::PidFile::create(config::accounting_pid_file(daemon)));
    SPUR_TRY(open_database());
    SPUR_ASSIGN(auto key, os::Ed25519Key::load_or_create(daemon.state_dir + "/dbd.key"));
    own_key_ = key.public_key();
    signer_ =
        std::make_unique<os::HostCredentialSigner>(std::move(key), loaded_.cluster.cluster_name, short_hostname());
    verifier_ = std::make_unique<HostKeys>(*this);
    identify_ = std::make_unique<acct::Identify>(
        clock_, *verifier_,
        acct::Identify::Options{.daemon_uid = Uid{::geteuid()}, .admin_uids = loaded_.cluster.admin_uids});
    return serve();
  }

  void reopen_log() {
    if (auto ok = log_.reopen(); !ok) log_.error("{}", ok.error().message);
  }

  // What is old leaves, into the archive if there is one. Called now and then.
  void keep_house() {
    const std::lock_guard lock(house_mutex_);
    const auto to = [&](std::size_t kind) {
      return is_archived(kind) ? loaded_.daemon.accounting_archive_dir : std::string();
    };
    if (const auto ok = purge(configured_ages(), to, nullptr); !ok)
      log_.error("what is old stays in the database: {}", ok.error().message);
  }

  void stop() {
    log_.info("stopping");
    auth_.reset();
    service_->stop();
    server_->stop(std::chrono::seconds(1));
    ::unlink(config::accounting_socket(loaded_.daemon).c_str());
  }

 private:
  using Store = io::AccountingStore;

  static constexpr const char* kKinds[] = {"jobs", "steps", "events", "reservations", "transactions"};
  using Ages = std::array<Duration, std::size(kKinds)>;  // what is older goes; 0: nothing does
  using Gone = std::array<std::uint64_t, std::size(kKinds)>;

  Ages configured_ages() const {
    const auto& daemon = loaded_.daemon;
    const auto& storage = daemon.storage;
    const auto age = [](std::uint32_t in_hours, std::uint32_t days) {
      return Duration(in_hours > 0 ? hours(in_hours) : hours(24) * days);
    };
    return {age(storage.keep_jobs, daemon.accounting_keep_days), age(storage.keep_steps, daemon.accounting_keep_step_days),
            age(storage.keep_events, daemon.accounting_keep_event_days),
            age(storage.keep_reservations, daemon.accounting_keep_reservation_days),
            age(storage.keep_transactions, daemon.accounting_keep_transaction_days)};
  }
  // Whether what leaves by its age is kept in files: slurmdbd.conf says so for each kind, spur.conf for all.
  bool is_archived(std::size_t kind) const {
    const auto& storage = loaded_.daemon.storage;
    const bool archived[] = {storage.archive_jobs, storage.archive_steps, storage.archive_events,
                             storage.archive_reservations, storage.archive_transactions};
    static_assert(std::size(archived) == std::size(kKinds));
    return storage.kind == config::StorageConfig::Kind::Unset || archived[kind];
  }

  // `to(kind)` is the directory of the archive.
  template <class Directory>
  Status purge(const Ages& ages, Directory&& to, Gone* gone) {
    SPUR_ASSIGN(const auto clusters, store_->clusters());
    for (std::size_t kind = 0; kind < ages.size(); ++kind) {
      if (ages[kind] == Duration{0}) continue;
      const bool of_clusters = kind != static_cast<std::size_t>(Store::OldKind::Transactions) + 1;
      const std::string directory = to(kind);
      if (!of_clusters) SPUR_TRY(purge_kind(kind, "", ages[kind], directory, gone));
      for (const auto& cluster : clusters)
        if (of_clusters) SPUR_TRY(purge_kind(kind, cluster.name, ages[kind], directory, gone));
    }
    return {};
  }

  Status purge_kind(std::size_t kind, const std::string& cluster, Duration age, const std::string& directory, Gone* gone) {
    const Time before = clock_.now() - age;
    const char* name = kKinds[kind];
    const auto put = [&](const auto& rows) {
      return put_into_archive(directory, name, acct::encode_archive(cluster, rows));
    };
    SPUR_ASSIGN(const auto count, kind == 0 ? store_->purge_jobs(cluster, before, put)
                                            : store_->purge_rows(static_cast<Store::OldKind>(kind - 1), cluster, before, put));
    if (count > 0) log_.info("cluster {}: {} old {} have left the database", cluster, count, name);
    if (gone) (*gone)[kind] += count;
    return {};
  }

  // A file for each batch, named by the time: written whole or not at all.
  Status put_into_archive(const std::string& directory, const char* name, const std::string& bytes) {
    if (directory.empty()) return {};
    SPUR_TRY(os::make_private_dir(directory));
    const std::string path = fmt::format("{}/{}-{}-{}.archive", directory, name, to_micros(clock_.now()), ++archives_);
    return os::write_file_durably(path, bytes);
  }

  // For calls, which must not wait for a purge to end.
  struct Told {
    std::vector<std::pair<std::string, std::string>> settings;
    bool no_archives = false;
  };
  void tell_settings() {
    const std::lock_guard lock(told_mutex_);
    told_ = {config::shown_accounting_config(loaded_, config::kSlurmVersion, started_),
             loaded_.daemon.accounting_no_archives};
  }
  Told told() {
    const std::lock_guard lock(told_mutex_);
    return told_;
  }

  // sacctmgr archive dump and load.
  Result<v1::AcctArchiveReply> archive(const v1::AcctArchiveRequest& request) {
    v1::AcctArchiveReply reply;
    const auto add = [&](std::string_view name, std::uint64_t count) {
      auto* row = reply.add_kinds();
      row->set_name(std::string(name));
      row->set_count(count);
    };
    if (told().no_archives)
      return fail(ErrorCode::RequestDisabled, "sacctmgr archive is disabled (DisableArchiveCommands)");
    if (!request.load_file().empty()) {
      SPUR_ASSIGN(const Restored back, restore_archive(*store_, request.load_file()));
      add("jobs", back.jobs);
      add("others", back.others);
      return reply;
    }
    const std::lock_guard lock(house_mutex_);
    const std::string directory = request.directory().empty() ? loaded_.daemon.accounting_archive_dir : request.directory();
    if (directory.empty())
      return fail(ErrorCode::InvalidArgument, "there is no archive_dir (ArchiveDir), and no Directory was named");
    Ages ages{};
    const Ages configured = configured_ages();
    if (request.kinds().empty()) ages = configured;
    for (const auto& kind : request.kinds()) {
      const auto at = std::ranges::find(kKinds, kind.name(), [](const char* name) { return std::string_view(name); });
      if (at == std::end(kKinds))
        return fail(ErrorCode::InvalidArgument, fmt::format("there are no {} in the database", kind.name()));
      const auto index = static_cast<std::size_t>(at - std::begin(kKinds));
      ages[index] = kind.hours() > 0 ? Duration(hours(kind.hours())) : configured[index];
    }
    if (std::ranges::all_of(ages, [](Duration age) { return age == Duration{0}; }))
      return fail(ErrorCode::InvalidArgument, "nothing is to leave the database: keep_days and the like are not set, and no Purge...After was given");
    Gone gone{};
    SPUR_TRY(purge(ages, [&](std::size_t) { return directory; }, &gone));
    for (std::size_t kind = 0; kind < gone.size(); ++kind)
      if (ages[kind] != Duration{0}) add(kKinds[kind], gone[kind]);
    return reply;
  }

  // Whom we believe: our own host, and the controller that has its state here. Its key may be made after us, so a
  // credential of an unknown key makes us look again.
  class HostKeys final : public io::CredentialVerifier {
   public:
    explicit HostKeys(Spurdbd& daemon)
        : daemon_(daemon),
          keys_({.cluster = daemon.loaded_.cluster.cluster_name,
                 .audience = "accounting",
                 .accepts = {io::CredentialKind::User},
                 // Only reading, and as the user that the node names.
                 .user_on_node = [](const std::string&, Uid uid) { return uid != kRootUid; },
                 .skew = seconds(5),
                 .cache_entries = 8192}) {
      keys_.trust(daemon.own_key_, {.any_user = true, .step_tickets = false, .node = {}});
    }
    Result<io::Verified> verify(std::string_view credential, Time now) override {
      auto verified = keys_.verify(credential, now);
      if (verified || !look_again()) return verified;
      return keys_.verify(credential, now);
    }
    void trust_nodes(const std::vector<std::string>& node_keys) {
      for (const auto& key : node_keys)
        if (key != daemon_.own_key_ && key != controller_key_) (void)keys_.trust_node(key, "node:" + key);
    }

   private:
    bool look_again() {
      const std::lock_guard lock(mutex_);
      const std::string path = daemon_.loaded_.daemon.state_dir + "/ctld.key";
      if (::access(path.c_str(), R_OK) != 0) return false;
      auto key = os::Ed25519Key::load_or_create(path);
      if (!key || key->public_key() == controller_key_) return false;
      controller_key_ = key->public_key();
      keys_.trust(controller_key_, {.any_user = true, .step_tickets = false, .node = {}});
      return true;
    }
    Spurdbd& daemon_;
    os::TrustedKeyVerifier keys_;
    std::mutex mutex_;
    std::string controller_key_;
  };

  static Result<std::unique_ptr<os::StateDirectory>> hold_directory(const std::string& path) {
    SPUR_ASSIGN(auto held, os::StateDirectory::open(path, "dbd.lock"));
    return std::make_unique<os::StateDirectory>(std::move(held));
  }

  // A database that is away now may be there soon: whoever starts both at once need not care for the order.
  Status open_database() {
    const std::string url = config::accounting_database(loaded_.daemon);
    std::string said;
    for (int attempt = 0;; ++attempt) {
      auto opened = os::AccountingDatabase::open(url);
      if (opened) {
        store_ = std::move(*opened);
        return {};
      }
      if (opened.error().code != ErrorCode::Unreachable || attempt >= 60) return std::unexpected(opened.error());
      if (opened.error().message != said) log_.warning("{}; it is tried again", opened.error().message);
      said = opened.error().message;
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
  }

  Status serve() {
    const auto& daemon = loaded_.daemon;
    SPUR_ASSIGN(accounts_, acct::AccountsService::open({.store = *store_,
                                                        .clock = clock_,
                                                        .identify = *identify_,
                                                        .log = [this](const std::string& line) { log_line(line); },
                                                        .user_name = [](Uid uid) { return os::name_of_user(uid); },
                                                        .statistics = &statistics_,
                                                        .hidden = daemon.accounting_private,
                                                        .may_lack_default = daemon.accounting_no_default,
                                                        .keeps_case = daemon.accounting_keeps_case,
                                                        .no_coordinators = daemon.accounting_no_coordinators,
                                                        .default_qos = daemon.accounting_default_qos}));
    service_ = std::make_unique<acct::AccountingService>(acct::AccountingService::Doors{
        .store = *store_,
        .clock = clock_,
        .identify = *identify_,
        .log = [this](const std::string& line) { log_line(line); },
        .version = kVersion,
        .feed = accounts_.get(),
        .track_wckeys = loaded_.cluster.accounting.track_wckeys,
        .trust_nodes = [this](const auto& keys) { verifier_->trust_nodes(keys); },
        .archive = [this](const v1::AcctArchiveRequest& request) { return archive(request); },
        .statistics = &statistics_,
        .viewer = [this](const model::Caller& caller) { return accounts_->viewer(caller); },
        .reconfigure = [this] { return reload(); },
        .shutdown = [] { ::kill(::getpid(), SIGTERM); },
        .settings = [this] { return told().settings; },
        .max_query = daemon.accounting_max_query,
        .is_operator = [this](const model::Caller& caller) { return accounts_->is_operator(caller); }});
    const std::string socket = config::accounting_socket(daemon);
    ::unlink(socket.c_str());  // the directory's lock says that nobody else serves it
    SPUR_ASSIGN(server_, acct::Server::start({config::accounting_listen(daemon), "unix:" + socket}, {service_.get(), accounts_.get()}));
    SPUR_ASSIGN(auth_, os::AuthSocket::open({.path = config::accounting_auth_socket(daemon), .may_attest = {}},
                                            *signer_, clock_));
    log_.info("spurdbd {} is ready: {}, schema {}, port {}", kVersion, store_->kind(), store_->schema(),
              server_->port());
    return {};
  }

  // Kept out of line: inlined, g++-12 takes the string for one that was never filled.
  [[gnu::noinline]] void log_line(const std::string& line) {
    const std::string_view text(line);
    if (text.starts_with("error: ")) return log_.error("{}", text.substr(7));
    if (text.starts_with("warning: ")) return log_.warning("{}", text.substr(9));
    log_.info("{}", text);
  }

  const Options options_;
  config::Loaded loaded_;
  io::Clock& clock_;
  os::Log& log_;
  const Time started_ = clock_.now();
  std::mutex told_mutex_;
  Told told_;
  std::atomic<int> archives_ = 0;
  std::mutex house_mutex_;  // one purge at a time; what reload() changes
  acct::CallStatistics statistics_{clock_.now()};
  std::unique_ptr<os::StateDirectory> lock_;
  os::PidFile pid_file_;
  std::unique_ptr<os::AccountingDatabase> store_;
  std::unique_ptr<os::HostCredentialSigner> signer_;
  std::string own_key_;
  std::unique_ptr<HostKeys> verifier_;
  std::unique_ptr<acct::Identify> identify_;
  std::unique_ptr<acct::AccountsService> accounts_;
  std::unique_ptr<acct::AccountingService> service_;
  std::unique_ptr<acct::Server> server_;
  std::unique_ptr<os::AuthSocket> auth_;
};

// -s, as slurmdbd has it. Once it is a daemon, which leaves its directory.
void work_at_log(const std::string& log_file, os::Log& log) {
  const std::string wanted = log_file.starts_with('/') ? log_file.substr(0, log_file.rfind('/') + 1) : "";
  const bool at_log = !wanted.empty() && ::access(wanted.c_str(), W_OK) == 0 && ::chdir(wanted.c_str()) == 0;
  if (!at_log && (::access("/var/tmp", W_OK) != 0 || ::chdir("/var/tmp") != 0))
    log.warning("-s: neither the directory of the log file nor /var/tmp can be written to");
}

// From here on nothing is root's, unless the configuration wants it so. Slurm has no directory in the place of ours, which is
// often below one of root's.
Status change_user(const config::DaemonConfig& daemon, const std::string& log_file) {
  SPUR_TRY(os::make_directory_for(daemon.slurm_user, daemon.state_dir));
  return os::become_daemon_user(daemon.slurm_user, {{log_file, 0600}, {config::accounting_pid_file(daemon), 0644}});
}

// What works on the database without a daemon leaves files, too.
int run_as_user(const config::DaemonConfig& daemon, os::Log& log, const std::function<int()>& work) {
  if (auto ok = change_user(daemon, {}); !ok) return log.fatal("{}", ok.error().message), 1;
  return work();
}

int run(int argc, char** argv) {
  const Options options = parse_dbd_options(argc, argv);
  os::SystemClock clock;
  os::Log log("spurdbd", clock);
  DaemonStart start("spurdbd", options.foreground || options.migrate || !options.archive.empty(), log);
  auto loaded = load(options);
  if (!loaded) return log.fatal("{}", loaded.error().message), 1;
  if (options.migrate) return run_as_user(loaded->daemon, log, [&] { return migrate(*loaded, options.dry_run); });
  if (!options.archive.empty())
    return run_as_user(loaded->daemon, log, [&] { return load_archive(*loaded, options.archive); });
  if (auto ok = start.detach(); !ok) return start.failed(ok.error());
  const auto& settings = loaded->daemon.accounting_log;
  const auto targets = log_targets(settings, settings.file, options);
  // Threads have the value of who starts them, so it is set before any; and root alone may go below 0.
  const int not_nice = options.nice && ::setpriority(PRIO_PROCESS, 0, *options.nice) != 0 ? errno : 0;
  os::raise_open_file_limit();
  if (auto ok = change_user(loaded->daemon, targets.file); !ok) return start.failed(ok.error());
  if (auto ok = start.open_log(targets); !ok) return start.failed(ok.error());
  const std::string log_file = settings.file;
  if (not_nice != 0) log.warning("{}", os::errno_error("-n: the nice value stays as it is", not_nice).message);
  if (options.resets_tree) log.info("-R: lft and rgt of associations are counted from the tree, there is nothing to reset");
  auto signals = os::Signals::open();
  if (!signals) return start.failed(signals.error());
  Spurdbd daemon(options, std::move(*loaded), clock, log);
  if (auto ok = daemon.start(); !ok) return start.failed(ok.error());
  start.ready();
  if (options.works_at_log) work_at_log(options.log_file.empty() ? log_file : options.log_file, log);
  while (true) {
    daemon.keep_house();
    const auto signal = signals->wait(std::chrono::hours(1));
    if (!signal) continue;
    if (*signal == os::DaemonSignal::Stop) break;
    if (*signal == os::DaemonSignal::Reload) (void)daemon.reload();  // it says in the log how it went
    if (*signal == os::DaemonSignal::ReopenLog) daemon.reopen_log();
  }
  start.notifier().stopping();
  daemon.stop();
  return 0;
}

}  // namespace
}  // namespace spur::main

int main(int argc, char** argv) {
  return spur::main::run(argc, argv);
}
