// SPDX-License-Identifier: Apache-2.0
// spurctld: picks the real doors, wires the controller's parts, and waits for signals.
#include <fmt/format.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "config/load.h"
#include "config/needs_restart.h"
#include "ctld/agent_links.h"
#include "ctld/configless_service.h"
#include "ctld/controller_service.h"
#include "ctld/core_thread.h"
#include "ctld/grpc_server.h"
#include "ctld/history.h"
#include "ctld/identify.h"
#include "ctld/local_calls.h"
#include "ctld/replica_service.h"
#include "main/accounts_update.h"
#include "main/controller_files.h"
#include "main/controller_group.h"
#include "main/convert_state.h"
#include "main/daemon_options.h"
#include "main/daemon_start.h"
#include "main/lead_programs.h"
#include "main/line_reply.h"
#include "main/scheduler_log.h"
#include "main/traced_agents.h"
#include "main/version.h"
#include "os/auth_socket.h"
#include "os/controller_hooks.h"
#include "os/credentials.h"
#include "os/daemon.h"
#include "os/daemon_user.h"
#include "os/files.h"
#include "os/history_file.h"
#include "os/jwt.h"
#include "os/local_socket.h"
#include "os/log.h"
#include "os/name_lookup.h"
#include "os/outbox_file.h"
#include "os/signals.h"
#include "os/sqlite_journal.h"
#include "os/system_clock.h"
#include "os/thread_priority.h"
#include "wire/local_call.h"

namespace spur::main {
namespace {

class Spurctld {
 public:
  // `stopped`: whether the daemon was told to stop while it still starts.
  Spurctld(DaemonOptions options, config::Loaded loaded, io::Clock& clock, os::Log& log,
           std::function<bool()> stopped)
      : options_(std::move(options)),
        loaded_(std::move(loaded)),
        clock_(clock),
        log_(log),
        scheduler_log_(clock),
        stopped_(std::move(stopped)) {}

  Status start() {
    const auto& daemon = loaded_.daemon;
    serves_configuration_ = daemon.serve_configuration;
    log_.set_subjects(daemon.debug_flags);
    SPUR_TRY(configure_scheduler_log(daemon));
    for (const auto& warning : loaded_.warnings) log_.warning("{}", warning);
    SPUR_TRY(os::check_state_location(daemon.state_dir));
    SPUR_TRY(os::make_private_dir(daemon.state_dir));
    const bool several = ControllerGroup::is_wanted(daemon);
    if (several && (options_.clear_state || options_.ignore_damage))
      return fail(ErrorCode::NotSupported,
                  "-c and -i are not supported with several controllers: their state is in etcd");
    if (options_.clear_state) SPUR_TRY(clear_state());
    SPUR_TRY(several ? open_group() : open_journal());
    // Users must reach the two sockets in there; everything else in it is for us alone.
    if (::chmod(daemon.state_dir.c_str(), 0711) != 0)
      return os::fail_errno("cannot open up " + daemon.state_dir, errno);
    SPUR_ASSIGN(pid_file_, os::PidFile::create(config::controller_pid_file(daemon)));
    SPUR_ASSIGN(auto key, shared_key(daemon.state_dir + "/ctld.key"));
    SPUR_ASSIGN(join_token_, shared_token(daemon.state_dir + "/join.token"));
    const std::string public_key = key.public_key();
    cluster_name_ = loaded_.cluster.cluster_name;
    signer_ = std::make_unique<os::HostCredentialSigner>(std::move(key), cluster_name_, short_hostname());
    make_verifier(public_key);

    if (group_) SPUR_TRY(open_shared_journal());
    SPUR_TRY(start_core(public_key));
    identify_ = std::make_unique<ctld::Identify>(
        clock_, *verifier_,
        ctld::Identify::Options{.daemon_uid = Uid{::geteuid()},
                                .unknown_uid = os::LocalSocket::unknown_uid(),
                                .host = short_hostname(),
                                .join_token = join_token_,
                                .enrol = [this](const std::string& node, const std::string& node_key) {
                                  return verifier_->trust_node(node_key, node);
                                }});
    SPUR_TRY(serve());
    if (group_) group_->watch([this](const std::string& why) { stop_itself(why); });
    log_.info("spurctld {} is ready: cluster {}, {} jobs, state in {}", kVersion, cluster_name_,
              core_->picture()->view.jobs.size(), daemon.state_dir);
    return {};
  }

  // On the signal. `done` comes on the core thread, whatever has become of it.
  void reload(std::function<void()> done) {
    auto fresh = load_again();
    if (!fresh) return done();
    model::Caller admin;
    admin.role = model::Role::Admin;
    core_->post(
        [this, admin, config = std::move(*fresh), done = std::move(done)](ctld::Controller& controller) mutable {
          controller.reconfigure(admin, std::move(config), [this, done = std::move(done)](Status status) {
            if (status)
              log_.info("configuration reloaded");
            else
              log_.error("the configuration is not reloaded: {}", status.error().message);
            done();
          });
        });
  }

  Status configure_scheduler_log(const config::DaemonConfig& daemon) {
    return scheduler_log_.configure(daemon.scheduler_log_file, daemon.scheduler_log,
                                    static_cast<os::LogTime>(daemon.controller_log.time));
  }

  void reopen_log() {
    if (auto ok = log_.reopen(); !ok) log_.error("{}", ok.error().message);
    if (auto ok = scheduler_log_.reopen(); !ok) log_.error("{}", ok.error().message);
  }

  void stop() {
    log_.info("stopping");
    lead_programs_.leave(programs_.get(), *core_->picture()->view.config);
    if (group_) group_->stop_watching();
    if (group_) group_->retire();
    watches_.stop();
    auth_.reset();
    local_.reset();
    links_.close();
    server_->stop(std::chrono::seconds(1));
    readers_.stop();  // nobody asks any more
    if (outbox_) outbox_->stop();  // it speaks to the core
    core_->stop();
    if (history_) history_->stop();
    programs_.reset();
    journal_.reset();  // others lead from here on
    group_.reset();
    ::unlink(config::controller_socket(loaded_.daemon).c_str());
  }

  bool stop_requested() const { return stop_requested_; }

 private:
  Status clear_state() {
    SPUR_ASSIGN(const std::string aside, move_state_aside(loaded_.daemon.state_dir));
    if (!aside.empty()) log_.warning("starting without the saved state, which is now in {}", aside);
    return {};
  }

  Status open_group() {
    SPUR_ASSIGN(group_, ControllerGroup::open(loaded_, {.name = options_.node,
                                                        .clock = clock_,
                                                        .log = [this](const std::string& line) { log_line(line); },
                                                        .give_up = stopped_}));
    return {};
  }

  Status open_shared_journal() {
    journal_ = group_->make_journal([this] { return own_credential("controller"); });
    if (!journal_) return fail(ErrorCode::ConfigInvalid, "etcd's addresses or files are not usable");
    return {};
  }

  // What proves to other daemons who we are.
  Result<std::string> own_credential(const char* audience) {
    io::CredentialClaims claims;
    claims.kind = io::CredentialKind::User;
    claims.uid = Uid{::geteuid()};
    claims.gid = Gid{::getegid()};
    claims.audience = audience;
    return signer_->sign(claims, clock_.now());
  }

  // All controllers sign with one key, so that credentials and tickets are good whoever leads.
  Result<os::Ed25519Key> shared_key(const std::string& path) {
    auto key = os::Ed25519Key::load_or_create(path);
    if (!key || !group_) return key;
    SPUR_TRY(group_->share_file("ctld.key"));
    return os::Ed25519Key::load(path);
  }
  Result<std::string> shared_token(const std::string& path) {
    auto token = load_or_create_join_token(path);
    if (!token || !group_) return token;
    SPUR_TRY(group_->share_file("join.token"));
    return load_or_create_join_token(path);
  }

  // With -i, once more without the state if it is damaged.
  template <class Open>
  Status open_or_clear(Open&& open) {
    Status opened = open();
    if (opened || !options_.ignore_damage || opened.error().code != ErrorCode::Corrupt) return opened;
    log_.error("{}", opened.error().message);
    core_.reset();
    history_.reset();
    history_file_.reset();
    journal_.reset();
    SPUR_TRY(clear_state());
    return open();
  }

  Status open_journal() {
    return open_or_clear([this]() -> Status {
      SPUR_ASSIGN(auto journal, os::SqliteJournal::open(loaded_.daemon.state_dir));
      journal_ = std::move(journal);
      return {};
    });
  }

  Status open_programs() {
    const auto& hooks = loaded_.daemon.hooks;
    std::vector<std::string> environment;
    if (!loaded_.path.empty())
      environment.push_back((loaded_.dialect == config::Dialect::Slurm ? "SLURM_CONF=" : "SPUR_CONF=") +
                            loaded_.path);
    SPUR_ASSIGN(programs_, os::ThreadedHooks::open({.prolog = hooks.prolog_slurmctld,
                                                    .epilog = hooks.epilog_slurmctld,
                                                    .prolog_timeout = hooks.prolog_timeout.value_or(hooks.timeout),
                                                    .epilog_timeout = hooks.epilog_timeout.value_or(hooks.timeout),
                                                    .environment = std::move(environment),
                                                    .post = [this](std::function<void()> f) {
                                                      if (core_)
                                                        core_->post([f = std::move(f)](ctld::Controller&) { f(); });
                                                    }}));
    return {};
  }

  // Records are made while the cluster has accounting; one that had it may still have some to send.
  Status open_outbox() {
    outbox_.reset();
    spool_.reset();
    const std::string file = loaded_.daemon.state_dir + "/outbox.sqlite";
    if (!loaded_.cluster.is_accounted && ::access(file.c_str(), F_OK) != 0) return {};
    SPUR_ASSIGN(spool_, os::OutboxFile::open(loaded_.daemon.state_dir));
    outbox_ = std::make_unique<ctld::AcctOutbox>(ctld::AcctOutbox::Doors{
        .spool = *spool_,
        .address = config::accounting_address(loaded_.daemon),
        .cluster = cluster_name_,
        .control_host = short_hostname(),
        .control_port = loaded_.daemon.controller_port,
        .credential = [this] { return own_credential("accounting"); },
        .committed =
            [this](std::uint64_t number) {
              if (core_) core_->post([number](ctld::Controller& controller) { controller.on_accounted(number); });
            },
        .catalogue = [this](const std::string& update) { take_accounts(update); },
        .node_keys = [this] { return node_keys(); },
        .linked =
            [this](bool up) {
              if (core_) core_->post([up](ctld::Controller& controller) { controller.on_accounting_link(up); });
            },
        .log = [this](const std::string& line) { log_line(line); },
        .names = {.user = [](Uid uid) { return os::name_of_user(uid); },
                  .group = [](Gid gid) { return os::name_of_group(gid); }},
        .ask_others = group_ ? [this](Time born, std::uint64_t until, const auto& next,
                                      const auto& take) { return group_->fetch_outbox(born, until, next, take); }
                             : decltype(ctld::AcctOutbox::Doors::ask_others){}});
    return {};
  }

  // A history that cannot be opened is no reason not to serve.
  void open_history() {
    const auto& daemon = loaded_.daemon;
    history_.reset();
    history_file_.reset();
    if (daemon.history_days == 0 || daemon.history_max_mib == 0) return;
    auto file = os::HistoryFile::open(daemon.state_dir);
    if (!file) return log_.error("no history is kept: {}", file.error().message);
    history_file_ = *std::move(file);
    history_ = std::make_unique<ctld::History>(
        ctld::History::Doors{.store = *history_file_,
                             .clock = clock_,
                             .log = [this](const std::string& line) { log_line(line); },
                             .keep = std::chrono::hours(24) * daemon.history_days,
                             .max_bytes = std::uint64_t{daemon.history_max_mib} << 20,
                             .image_bytes = std::uint64_t{daemon.snapshot_mib} << 20});
  }

  std::vector<std::string> node_keys() const {
    std::vector<std::string> keys;
    const auto picture = core_ ? core_->picture() : nullptr;
    if (picture)
      picture->view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
        if (!node->public_key.empty()) keys.push_back(node->public_key);
      });
    return keys;
  }

  Status start_core(const std::string& public_key) {
    return open_or_clear([&]() -> Status {
      if (!journal_) SPUR_TRY(open_journal());
      if (!programs_) SPUR_TRY(open_programs());
      SPUR_TRY(open_outbox());
      open_history();
      core_ = std::make_unique<ctld::CoreThread>(
          ctld::CoreThread::Doors{.clock = clock_,
                                  .journal = *journal_,
                                  .agents = traced_links_,
                                  .log = [this](const std::string& line) { log_line(line); },
                                  .fatal = [this](const Error& error) { die(error); },
                                  .programs = programs_.get(),
                                  .traces_jobs = [this] { return log_.traces(text::debug::kTraceJobs); },
                                  .logs_scheduling = [this] { return scheduler_log_.is_on(); },
                                  .outbox = outbox_.get(),
                                  .history = history_.get(),
                                  .on_lead = [this](const state::Cluster& cluster) { lead(cluster); },
                                  .on_step_down =
                                      [this] {
                                        if (outbox_) outbox_->follow();
                                        if (core_) lead_programs_.end(programs_.get(), *core_->picture()->view.config);
                                      },
                                  .on_publish = [this] { watches_.wake(); },
                                  .statistics = &statistics_,
                                  .host = short_hostname(),
                                  .batch_sched_delay = loaded_.daemon.batch_sched_delay,
                                  .snapshot_bytes = std::uint64_t{loaded_.daemon.snapshot_mib} << 20,
                                  .max_backlog = loaded_.daemon.accounting_max_backlog});
      return core_->start(loaded_.cluster, public_key);
    });
  }

  // All or nothing: a file that is wrong, or a log that cannot be opened, leaves everything as it is.
  Result<model::ClusterConfig> load_again() {
    const auto load = [this]() -> Result<config::Loaded> {
      SPUR_ASSIGN(auto fresh, load_for(options_));
      const auto& log = fresh.daemon.controller_log;
      SPUR_TRY(log_.set_targets(log_targets(log, log.file, options_)));
      SPUR_TRY(configure_scheduler_log(fresh.daemon));
      log_.set_subjects(fresh.daemon.debug_flags);
      return fresh;
    };
    auto fresh = load();
    if (!fresh) {
      log_.error("the configuration is not reloaded: {}", fresh.error().message);
      return std::unexpected(fresh.error());
    }
    for (const auto& warning : fresh->warnings) log_.warning("{}", warning);
    if (const auto late = config::needs_restart(loaded_, *fresh); !late.empty())
      log_.warning("changed in the configuration, but in force only after a restart: {}", late);
    serves_configuration_ = fresh->daemon.serve_configuration;
    return std::move(fresh->cluster);
  }

  // For agents without files of their own. On threads of calls.
  Result<std::vector<std::pair<std::string, std::string>>> config_files() {
    if (!serves_configuration_)
      return fail(ErrorCode::NotSupported,
                  "this controller gives its configuration to nobody (SlurmctldParameters=enable_configless)");
    return config::files_of(loaded_.path);
  }

  // As far as the next reading of the configuration.
  Status set_debug(std::string_view level) {
    SPUR_ASSIGN(const auto parsed, config::parse_log_level(level));
    const auto& log = loaded_.daemon.controller_log;
    auto targets = log_targets(log, log.file, options_);
    targets.level = static_cast<os::LogLevel>(parsed);
    SPUR_TRY(log_.set_targets(targets));
    log_.info("debug level is now {}", config::name_of(parsed));
    return {};
  }

  Status log_scheduling(bool on) {
    SPUR_TRY(scheduler_log_.turn(true));
    const std::string line = fmt::format("Set scheduler log level to {}", on ? 1 : 0);
    scheduler_log_.write(line);
    log_.info("sched: {}", line);
    return scheduler_log_.turn(on);
  }

  Status set_debug_flags(std::string_view on, std::string_view off) {
    const auto more = text::parse_debug_flags(on), less = text::parse_debug_flags(off);
    if (!more || !less) return fail(ErrorCode::InvalidArgument, "invalid debug flag");
    log_.set_subjects((log_.subjects() | *more) & ~*less);
    log_.info("debug flags are now {}", text::debug_flags_text(log_.subjects()));
    return {};
  }

  void make_verifier(const std::string& public_key) {
    verifier_ = std::make_unique<os::TrustedKeyVerifier>(os::TrustedKeyVerifier::Options{
        .cluster = cluster_name_,
        .audience = "controller",
        .accepts = {io::CredentialKind::User, io::CredentialKind::Node},
        .user_on_node = [this](const std::string& node, Uid uid) { return has_job_on(node, uid); },
        .skew = seconds(5),
        .cache_entries = 8192});
    verifier_->trust(public_key, {.any_user = true, .step_tickets = false, .node = {}});
  }

  void lead(const state::Cluster& cluster) {
    trust_nodes(cluster.view());
    if (outbox_) outbox_->lead(cluster.outbox());
    lead_programs_.begin(programs_.get(), *cluster.view().config);
  }

  void take_accounts(const std::string& bytes) {
    auto update = read_accounts(bytes);
    if (!update) return log_line("error: " + update.error().message);
    if (!core_) return;
    core_->post([this, update = *std::move(update)](ctld::Controller& controller) mutable {
      controller.set_accounts(std::move(update), [this](const Status& status) {
        if (!status) log_line("error: the accounts of spurdbd are refused: " + status.error().message);
      });
    });
  }

  void trust_nodes(const model::View& view) {
    view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
      if (!node->public_key.empty()) (void)verifier_->trust_node(node->public_key, node->name);
    });
  }

  bool has_job_on(const std::string& node, Uid uid) const {
    const auto picture = core_->picture();
    const auto* found = model::find_node(picture->view, node);
    if (!found) return false;
    for (const JobId id : found->jobs)
      if (const auto* job = model::find_job(picture->view, id); job && job->spec->uid == uid) return true;
    return false;
  }

  std::function<ctld::ControllerCalls::Options::Following()> following() const {
    if (!group_) return {};
    return [this] { return group_->following(); };
  }

  std::function<bool()> is_current() const {
    if (!group_) return {};
    return [this] { return journal_->is_current(); };
  }

  Status serve() {
    const auto& daemon = loaded_.daemon;
    calls_ = std::make_unique<ctld::ControllerCalls>(
        *core_,
        ctld::ControllerCalls::Options{.host = group_ ? group_->name() : short_hostname(),
                                       .version = kVersion,
                                       .started = clock_.now(),
                                       .reload = [this] { return load_again(); },
                                       .shutdown = [this] { request_stop(); },
                                       .abort = [this] { dump_core(); },
                                       .set_debug = [this](std::string_view level) { return set_debug(level); },
                                       .set_debug_flags = [this](std::string_view on,
                                                                 std::string_view off) { return set_debug_flags(on, off); },
                                       .debug_flags = [this] { return text::debug_flags_text(log_.subjects()); },
                                       .log_scheduling = [this](bool on) { return log_scheduling(on); },
                                       .audit = [this](std::string_view method,
                                                       const model::Caller& caller) { audit(method, caller); },
                                       .statistics = &statistics_,
                                       .accounting_backlog =
                                           [this]() -> std::uint64_t {
                                         if (!outbox_) return 0;
                                         const auto standing = outbox_->standing();
                                         return standing.last - std::min(standing.last, standing.committed);
                                       },
                                       .sign_ticket =
                                           [this](const model::Job& job) {
                                             io::CredentialClaims claims;
                                             claims.kind = io::CredentialKind::StepTicket;
                                             claims.uid = job.spec->uid;
                                             claims.gid = job.spec->gid;
                                             claims.audience = "steps";
                                             claims.job = job.id;
                                             claims.epoch = job.epoch;
                                             return signer_->sign(claims, clock_.now());
                                           },
                                       .sign_token = os::make_jwt_with,
                                       .name_of = os::name_of_user,
                                       .names = {.user = os::user_by_name, .members = os::members_of_group},
                                       .groups_of = os::group_names_of,
                                       .name_of_user = os::name_of_user,
                                       .following = following(),
                                       .is_current = is_current(),
                                       .catch_up = [this](auto done) { journal_->catch_up(std::move(done)); },
                                       .history = history_.get(),
                                       .group = group_ ? group_->calls() : ctld::ControllerCalls::Options::Group{},
                                       .now = [this] { return clock_.now(); },
                                       .readers = &readers_,
                                       .watches = &watches_,
                                       .user_jobs = &user_jobs_});
    service_ = std::make_unique<ctld::ControllerService>(*calls_, *identify_);
    local_calls_ = std::make_unique<ctld::LocalCalls>(*calls_, *identify_);
    agent_service_ = std::make_unique<ctld::AgentLinks::Service>(
        links_, *core_, *identify_,
        group_ ? std::function<Error()>([this] { return group_->following().refusal; }) : nullptr);
    replica_service_ = std::make_unique<ctld::ReplicaService>(*core_, *identify_, spool_.get(), outbox_.get());
    configless_service_ = std::make_unique<ctld::ConfiglessService>(
        *core_, *identify_,
        ctld::ConfiglessService::Options{.join_token = join_token_, .files = [this] { return config_files(); }});
    const std::string socket = config::controller_socket(daemon);
    ::unlink(socket.c_str());  // the journal's lock says that nobody else serves it
    std::vector<std::string> addresses = daemon.controller_listen;
    addresses.push_back("unix:" + socket);
    SPUR_ASSIGN(server_, ctld::GrpcServer::start(addresses, *service_, *agent_service_, {replica_service_.get(), configless_service_.get()}));
    SPUR_ASSIGN(local_, os::LocalSocket::open(
                            {.path = config::local_socket(daemon),
                             .max_connections = 2048,
                             .max_connections_per_user = 1024,
                             .max_request_bytes = wire::kMaxLocalRequestBytes,
                             .request_limit = seconds(10),
                             .stall_limit = seconds(30),
                             .threads = 2},
                            [this](std::string request, std::shared_ptr<os::LocalSocket::Line> line) {
                              const auto peer = line->peer();
                              local_calls_->take(peer.uid, peer.gid, std::move(request),
                                                 std::make_shared<LineReply>(std::move(line), readers_));
                            },
                            clock_));
    SPUR_ASSIGN(auth_,
                os::AuthSocket::open({.path = config::auth_socket(daemon), .may_attest = {}}, *signer_, clock_));
    watches_.start(os::give_way);
    return {};
  }

  // Kept out of line: inlined, g++-12 takes the string for one that was never filled.
  [[gnu::noinline]] void log_line(const std::string& line) {
    const std::string_view text(line);
    if (text.starts_with("error: ")) return log_.error("{}", text.substr(7));
    if (text.starts_with("warning: ")) return log_.warning("{}", text.substr(9));
    if (text.starts_with("sched: ")) return scheduler_log_.write(text.substr(7));
    if (text.starts_with("debug: ")) return log_.debug("{}", text.substr(7));
    if (text.starts_with("about "))
      if (const auto subject = text::find_debug_flag(text.substr(6, text.find(':') - 6)))
        return log_.about(*subject, text.substr(text.find(':') + 2));
    log_.info("{}", text);
  }

  void audit(std::string_view method, const model::Caller& caller) {
    if (log_.traces(text::debug::kAuditRpcs))
      log_.about(text::debug::kAuditRpcs, fmt::format("{} from uid={} node={}", method, caller.uid.value, caller.node));
  }

  void stop_itself(const std::string& why) {
    log_.error("{}", why);
    request_stop();
  }

  // What was acknowledged is durable: nothing is lost. The answer gets a moment to leave.
  void dump_core() {
    log_.error("performing core dump as requested");
    rlimit limit{};
    if (::getrlimit(RLIMIT_CORE, &limit) == 0) {
      limit.rlim_cur = limit.rlim_max;
      ::setrlimit(RLIMIT_CORE, &limit);
    }
    ::prctl(PR_SET_DUMPABLE, 1);
    const std::string& directory = loaded_.daemon.state_dir;
    if (::chdir(directory.c_str()) != 0) log_.error("the core file is not in {}", directory);
    std::thread([] {
      std::this_thread::sleep_for(milliseconds(100));
      std::abort();
    }).detach();
  }

  void request_stop() {
    stop_requested_ = true;
    ::kill(::getpid(), SIGTERM);
  }

  [[noreturn]] void die(const Error& error) {
    log_.fatal("cannot make the state durable: {}. Nothing more is accepted; start again when this is mended",
               error.message);
    std::_Exit(1);
  }

  std::atomic<bool> serves_configuration_ = false;
  DaemonOptions options_;
  config::Loaded loaded_;
  io::Clock& clock_;
  os::Log& log_;
  SchedulerLog scheduler_log_;
  ctld::Statistics statistics_{clock_.now()};
  os::PidFile pid_file_;
  std::string cluster_name_;
  std::function<bool()> stopped_;
  std::unique_ptr<ControllerGroup> group_;
  std::unique_ptr<io::Journal> journal_;
  std::unique_ptr<os::HostCredentialSigner> signer_;
  std::unique_ptr<os::TrustedKeyVerifier> verifier_;
  ctld::AgentLinks links_;
  TracedAgents traced_links_{links_, log_};
  LeadPrograms lead_programs_{log_};
  std::unique_ptr<os::ThreadedHooks> programs_;
  std::unique_ptr<os::OutboxFile> spool_;
  std::unique_ptr<ctld::AcctOutbox> outbox_;
  std::unique_ptr<os::HistoryFile> history_file_;
  std::unique_ptr<ctld::History> history_;
  ctld::UserJobs user_jobs_;
  ctld::Readers readers_{2, os::give_way};
  ctld::JobWatches watches_{{.picture = [this] { return core_->picture(); },
                             .now = [this] { return clock_.now(); },
                             .clock = clock_,
                             .every_minute = [this] { user_jobs_.forget_unused(); }}};
  std::unique_ptr<ctld::CoreThread> core_;
  std::unique_ptr<ctld::Identify> identify_;
  std::unique_ptr<ctld::ControllerCalls> calls_;
  std::unique_ptr<ctld::ControllerService> service_;
  std::unique_ptr<ctld::LocalCalls> local_calls_;
  std::unique_ptr<ctld::AgentLinks::Service> agent_service_;
  std::unique_ptr<ctld::ConfiglessService> configless_service_;
  std::string join_token_;
  std::unique_ptr<ctld::ReplicaService> replica_service_;
  std::unique_ptr<ctld::GrpcServer> server_;
  std::unique_ptr<os::LocalSocket> local_;
  std::unique_ptr<os::AuthSocket> auth_;
  std::atomic<bool> stop_requested_{false};
};

int convert(const DaemonOptions& options, const config::Loaded& loaded, io::Clock& clock, os::Log& log,
            os::Signals& signals) {
  bool stopped = false;
  const auto say = [&](const std::string& line) {
    line.starts_with("warning: ") ? log.warning("{}", std::string_view(line).substr(9)) : log.info("{}", line);
  };
  const auto give_up = [&] {
    while (const auto signal = signals.take()) stopped |= *signal == os::DaemonSignal::Stop;
    return stopped;
  };
  const auto done = convert_state({loaded, options.node, clock, say, give_up}, options.convert);
  if (!done) log.fatal("{}", done.error().message);
  return done ? 0 : 1;
}

int run(int argc, char** argv) {
  const DaemonOptions options = parse_daemon_options(Daemon::Controller, argc, argv);
  os::SystemClock clock;
  os::Log log("spurctld", clock);
  DaemonStart start("spurctld", options.foreground, log);
  auto loaded = load_for(options);
  if (!loaded) return log.fatal("{}", loaded.error().message), 1;
  if (options.convert.empty())
    if (auto ok = start.detach(); !ok) return start.failed(ok.error());
  const auto& settings = loaded->daemon.controller_log;
  const auto targets = log_targets(settings, settings.file, options);
  os::raise_open_file_limit();
  // From here on nothing is root's, unless the configuration wants it so.
  if (auto ok = os::become_daemon_user(loaded->daemon.slurm_user,
                                       {{targets.file, 0600}, {config::controller_pid_file(loaded->daemon), 0644}});
      !ok)
    return start.failed(ok.error());
  if (auto ok = start.open_log(targets); !ok) return start.failed(ok.error());
  auto signals = os::Signals::open();
  if (!signals) return start.failed(signals.error());
  bool stopped = false;
  if (!options.convert.empty()) return convert(options, *loaded, clock, log, *signals);
  Spurctld daemon(options, std::move(*loaded), clock, log, [&] {
    while (const auto signal = signals->take()) stopped |= *signal == os::DaemonSignal::Stop;
    return stopped;
  });
  if (auto ok = daemon.start(); !ok) {
    if (stopped) return 0;
    return start.failed(ok.error());
  }
  start.ready();
  while (!daemon.stop_requested()) {
    const auto signal = signals->wait(std::chrono::hours(1));
    if (!signal) continue;
    if (*signal == os::DaemonSignal::Stop) break;
    if (*signal == os::DaemonSignal::Reload) {
      start.notifier().reloading();
      daemon.reload([&start] { start.notifier().ready(); });
    }
    if (*signal == os::DaemonSignal::ReopenLog) daemon.reopen_log();
  }
  start.notifier().stopping();
  daemon.stop();
  return 0;
}

}  // namespace
}  // namespace spur::main

int main(int argc, char** argv) {
  // Calls come in on many threads, and what they bring is kept by one: with a heap for each thread a sixth of the memory was
  // room that nobody had any use for.
  ::mallopt(M_ARENA_MAX, 4);
  return spur::main::run(argc, argv);
}
