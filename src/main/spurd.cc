// SPDX-License-Identifier: Apache-2.0
// spurd: the agent of one node. One thread runs the agent's logic over an event loop; gRPC's threads only move steps'
// bytes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <grpcpp/server.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/file_service.h"
#include "agent/process_service.h"
#include "agent/step_service.h"
#include "agent/step_session.h"
#include "config/load.h"
#include "main/configless.h"
#include "main/daemon_options.h"
#include "main/daemon_start.h"
#include "main/dynamic_node.h"
#include "main/node_side.h"
#include "main/version.h"
#include "model/gres_in_force.h"
#include "os/auth_socket.h"
#include "os/controller_link.h"
#include "os/credentials.h"
#include "os/daemon.h"
#include "os/daemon_user.h"
#include "os/device_filter.h"
#include "os/event_loop.h"
#include "os/files.h"
#include "os/gpu_places.h"
#include "os/hardware.h"
#include "os/hook_runner.h"
#include "os/local_socket.h"
#include "os/log.h"
#include "os/signals.h"
#include "os/state_directory.h"
#include "os/step_channels.h"
#include "os/step_launcher.h"
#include "os/step_notes.h"
#include "os/system_clock.h"
#include "wire/credential_client.h"
#include "wire/id_codec.h"

namespace spur::main {
namespace {

os::Log::Targets agent_log_targets(const config::Loaded& loaded, const std::string& node,
                                   const DaemonOptions& options) {
  const auto& daemon = loaded.daemon;
  return log_targets(daemon.agent_log, config::agent_log_file(daemon, node, short_hostname()), options);
}

constexpr Duration kHealthTimeout = seconds(60);
constexpr const char *kTicketSocket = "/tickets.sock", *kAuthSocket = "/auth.sock";  // in the spool

// What a node shows that the controller does not know yet; empty: nothing.
Result<std::string> read_token(const std::string& path) {
  std::string token;
  if (path.empty()) {
    if (const char* text = std::getenv("SPUR_JOIN_TOKEN")) token = text;
    ::unsetenv("SPUR_JOIN_TOKEN");  // jobs must not inherit it
    return token;
  }
  SPUR_ASSIGN(token, os::read_file(path, 4096));
  while (!token.empty() && (token.back() == '\n' || token.back() == ' ')) token.pop_back();
  return token;
}

os::StepLauncher::Options::Hooks hooks_of(const config::DaemonConfig& daemon) {
  const config::HookConfig& hooks = daemon.hooks;
  return {.prolog = hooks.prolog,
          .epilog = hooks.epilog,
          .prolog_timeout = hooks.prolog_timeout.value_or(hooks.timeout),
          .epilog_timeout = hooks.epilog_timeout.value_or(hooks.timeout),
          .alloc = hooks.alloc,
          .contain = hooks.contain,
          .serial = hooks.serial,
          .task_prolog = hooks.task_prolog,
          .task_epilog = hooks.task_epilog,
          .propagate_nice = daemon.steps.propagate_nice,
          .unkillable_after = daemon.steps.unkillable_after,
          .unkillable_program = daemon.steps.unkillable_program};
}

constexpr Duration kJoinAgain = seconds(5);

class Spurd {
 public:
  Spurd(DaemonOptions options, config::Loaded loaded, Identity identity, std::string token, io::Clock& clock, os::Log& log)
      : options_(std::move(options)),
        loaded_(std::move(loaded)),
        node_(std::move(identity.node)),
        row_(std::move(identity.row)),
        to_join_(std::move(identity.to_join)),
        token_(std::move(token)),
        clock_(clock),
        log_(log) {}

  Status start(os::Signals& signals) {
    const std::string host = short_hostname();
    log_.set_subjects(loaded_.daemon.debug_flags);
    for (const auto& warning : loaded_.warnings) log_.debug("{}", warning);
    spool_ = config::agent_spool_dir(loaded_.daemon, node_, host);
    // Before anything in there is looked at: two agents over one spool would end each other's jobs.
    SPUR_ASSIGN(directory_, os::StateDirectory::open(spool_, "spurd.lock"));
    SPUR_ASSIGN(pid_file_, os::PidFile::create(config::agent_pid_file(loaded_.daemon, node_, host)));
    SPUR_ASSIGN(loop_, os::EventLoop::open());
    SPUR_TRY(loop_->watch(signals.fd(), EPOLLIN, [this, &signals](std::uint32_t) { on_signal(signals); }));
    SPUR_ASSIGN(machine_, discover());
    os::Machine& machine = machine_;
    devices_ = std::make_unique<NodeDevices>(
        detect_for(loaded_.daemon.detect, node_), declared() ? declared()->gres : std::vector<model::NodeGres>{},
        loaded_.daemon.cdi_dirs, [this](const std::string& text) { log_.warning("{}", text); });
    machine.hardware.gres = devices_->report(machine);
    confined_ = confined_node(loaded_.daemon.cgroup, machine, devices_->managed(machine));
    if (confined_.policy.devices && !confined_.devices.empty())
      if (auto able = os::can_deny_devices(); !able)
        log_.warning("{}: any job can open the devices of others", able.error().message);
    SPUR_ASSIGN(launcher_,
                os::StepLauncher::open(
                    *loop_, {.spool = spool_,
                             .stepd = options_.stepd.empty() ? sibling_program("spurstepd") : options_.stepd,
                             .node = node_,
                             .job_environment = job_environment(),
                             .use_cgroups = !loaded_.daemon.cgroup.disabled,
                             .confine = [this](const model::LaunchPart& part) { return limits_of(confined_, part); },
                             .keep_users = seconds(60),
                             .hooks = hooks_of(loaded_.daemon),
                             .gpu_load = gpu_load(),
                             .gpu_cores = gpu_cores(),
                             .containers = {.image_dir = config::image_dir(loaded_.daemon),
                                            .max_bytes = loaded_.daemon.max_image_mib << 20,
                                            .max_files = loaded_.daemon.max_image_files,
                                            .copy = loaded_.daemon.copy_images,
                                            .cdi_dirs = loaded_.daemon.cdi_dirs},
                             .sample_every = loaded_.daemon.sample_every,
                             .warn = [this](const std::string& text) { log_.warning("{}", text); }}));
    SPUR_ASSIGN(auto key, os::Ed25519Key::load_or_create(spool_ + "/node.key"));
    public_key_ = key.public_key();
    signer_ = std::make_unique<os::HostCredentialSigner>(std::move(key), loaded_.cluster.cluster_name, host);
    make_link();
    make_agent(machine);
    SPUR_TRY(serve_steps());
    SPUR_TRY(agent_->start());
    agent::recover_steps(*steps_);
    serve_jobs();
    link_->start();
    arm_timer();
    if (to_join_) loop_->call_after(kJoinAgain, [this] { join_again(); });
    cpus_ = declared() ? declared()->cpus.value_or(machine.hardware.cpus) : machine.hardware.cpus;
    hooks_ = std::make_unique<os::HookRunner>(*loop_);
    check_health();
    log_.info("spurd {} is ready: node {}, {} CPUs, steps on {}", kVersion, node_, machine.hardware.cpus, address_);
    return {};
  }

  void run() { loop_->run(); }

  void stop() {
    log_.info("stopping; running jobs go on");
    tickets_.reset();
    auth_.reset();
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
    server_->Wait();
    loop_->run_once(Duration{0});
    link_.reset();
  }

 private:
  const model::NodeConfig* declared() const {
    for (const auto& n : loaded_.cluster.nodes)
      if (n.name == node_) return &n;
    return row_ ? &*row_ : nullptr;
  }

  // With a TmpFS that is not there the node has no temporary disk space, as in Slurm.
  Result<os::Machine> discover() const {
    const std::string path = config::expand_path(loaded_.daemon.tmp_dir, node_, short_hostname());
    const bool there = ::access(path.c_str(), F_OK) == 0;
    SPUR_ASSIGN(auto machine, os::discover_machine({.tmp_dir = there ? path : "/", .synthetic = {}}));
    if (there) return machine;
    log_.error("TmpFS: there is no {}: this node has no temporary disk space", path);
    machine.hardware.tmp_disk_mib = 0;
    return machine;
  }

  std::function<os::GpuLoad(const model::LaunchPart&)> gpu_load() const {
    if (!devices_->any_gpu()) return {};
    return [this](const model::LaunchPart& part) { return devices_->load(part.devices); };
  }

  std::string gpu_cores() const {
    const auto& found = machine_.hardware.gres;
    return os::encode_gpu_cores(declared() ? model::gres_in_force(declared()->gres, found) : found);
  }

  // "100,300": of how many parts of each GPU jobs may have some (mps); empty: GPUs are not shared so.
  std::string mps_by_gpu() const {
    const auto& found = machine_.hardware.gres;
    const auto in_force = declared() ? model::gres_in_force(declared()->gres, found) : found;
    return fmt::format("{}", fmt::join(model::shares_by_gpu(in_force, "mps"), ","));
  }

  // Where commands inside a job find the controller and get their credentials, whatever the user's own environment
  // says.
  std::vector<std::string> job_environment() const {
    std::vector<std::string> out;
    if (const std::string mps = mps_by_gpu(); !mps.empty()) out.push_back("SPUR_NODE_MPS=" + mps);
    if (!loaded_.path.empty()) {
      const bool slurm = config::dialect_of(loaded_.path, {}) == config::Dialect::Slurm;
      out.push_back((slurm ? "SLURM_CONF=" : "SPUR_CONF=") + loaded_.path);
    }
    const std::string spool = std::filesystem::absolute(spool_);
    out.push_back("SPUR_TICKET_SOCKET=" + spool + kTicketSocket);
    out.push_back("SPUR_NODE_AUTH_SOCKET=" + spool + kAuthSocket);
    return out;
  }

  void make_agent(const os::Machine& machine) {
    agent_ = std::make_unique<agent::Agent>(agent::AgentIdentity{.node = node_,
                                                                 .address = {},
                                                                 .hostname = hostname(machine),
                                                                 .version = kVersion,
                                                                 .os = machine.os,
                                                                 .arch = machine.arch,
                                                                 .public_key = public_key_,
                                                                 .found = machine.hardware,
                                                                 .boot_time = options_.just_booted
                                                                                  ? clock_.now()
                                                                                  : machine.boot_time,
                                                                 .extra = options_.extra,
                                                                 .instance_id = options_.instance_id,
                                                                 .instance_type = options_.instance_type},
                                            clock_, *launcher_, *link_);
    agent_->on_reboot = [this](Time at) { reboot(at); };
    agent_->on_debug = [this](const model::ControllerDebug& debug) { set_debug(debug); };
    agent_->on_shutdown = [this] {
      log_.info("the controller was told to shut all down");
      ::kill(::getpid(), SIGTERM);
    };
    agent_->measure = [this](model::AgentHeartbeat& beat) {
      const auto load = os::sample_load();
      beat.load_hundredths = load.load_hundredths;
      beat.free_memory_mib = load.free_memory_mib;
      beat.problem = launcher_->has_unkillable() ? std::string("Kill task failed") : devices_->problem();
    };
    launcher_->on_unkillable = [this] {
      agent_->beat_soon();
      arm_timer();
    };
  }

  // Once for each time that the controller wants it, also over restarts of this agent: a node whose clock or kernel tells
  // another boot time than it should must not be rebooted again and again.
  void reboot(Time at) {
    const std::string& program = loaded_.cluster.reboot_program;
    const std::string mark = std::to_string(to_micros(at)), path = spool_ + "/reboot";
    if (rebooting_ == mark) return;
    rebooting_ = mark;
    if (program.empty()) return log_.error("this node is not rebooted: there is no RebootProgram in its configuration");
    if (const auto done = os::read_file(path, 64); done && *done == mark) return;
    if (auto noted = os::write_file_durably(path, mark); !noted)
      return log_.error("this node is not rebooted: {}", noted.error().message);
    log_.info("rebooting this node: {}", program);
    std::vector<std::string> environment = job_environment();
    environment.push_back("SLURMD_NODENAME=" + node_);
    environment.push_back("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    hooks_->run({.name = "reboot program", .programs = {program}, .environment = std::move(environment), .cgroup = {}},
                [this](const Status& status) {
                  if (!status) log_.error("this node is not rebooted: {}", status.error().message);
                });
  }

  Status serve_steps() {
    verifier_ = std::make_unique<os::TrustedKeyVerifier>(
        os::TrustedKeyVerifier::Options{.cluster = loaded_.cluster.cluster_name,
                                        .audience = "steps",
                                        .accepts = {io::CredentialKind::StepTicket},
                                        .user_on_node = {},
                                        .skew = seconds(5),
                                        .cache_entries = 1024});
    channels_ = std::make_unique<os::StepChannels>(*loop_, *launcher_);
    notes_ = std::make_unique<os::SpoolStepNotes>(spool_);
    steps_ = std::make_unique<agent::StepContext>(*agent_, clock_, *channels_, *notes_, node_);
    steps_->verify = [this](std::string_view ticket) -> Result<io::Verified> {
      if (agent_->controller_public_key().empty())  // it will say which key to trust
        return fail(ErrorCode::JobPending, "this node has not heard of the controller yet");
      return verifier_->verify(ticket, clock_.now());
    };
    set_step_limits();
    steps_->call_after = [this](Duration span, std::function<void()> f) { loop_->call_after(span, std::move(f)); };
    steps_->usage = [this](JobId job) { return usage_of(job); };
    steps_->step_began = [this](const v1::StepInfo& step) {
      log_.about(text::debug::kSteps, fmt::format("StepId={}.{} begins: {} tasks on {}", step.job(), step.step(),
                                                  step.tasks(), step.nodes()));
    };
    steps_->step_ended = [this](const model::JobRun& run, model::StepEnd end) {
      log_.about(text::debug::kSteps, fmt::format("StepId={}.{} has ended: {}:{}", run.job.value, end.step,
                                                  end.exit.code, end.exit.signal));
      agent_->step_ended(run, std::move(end));
    };
    agent_->on_forgotten = [this](const model::JobRun& run) { notes_->forget(run); };
    agent_->on_run_ends = [this](const model::JobRun& run, bool over) { steps_->run_ends(run, over); };
    agent_->on_nodes_lost = [this](const model::JobRun& run, const std::vector<std::string>& nodes) {
      steps_->nodes_lost(run, nodes);
    };
    agent_->on_notice = [this](const model::JobRun& run, const std::string& text) { steps_->notify(run, text); };
    service_ = std::make_unique<agent::StepService>(*steps_, kVersion, clock_.now(),
                                                    [this](std::function<void()> f) { loop_->post(std::move(f)); });
    const std::string listen =
        options_.listen.empty() ? config::agent_listen_address(loaded_.daemon, declared()) : options_.listen;
    int port = 0;
    files_ = std::make_unique<agent::FileContext>(agent::FileContext{.agent = *agent_,
                                                                     .port = *channels_,
                                                                     .node = node_,
                                                                     .verify = steps_->verify,
                                                                     .call_after = steps_->call_after});
    file_service_ =
        std::make_unique<agent::FileService>(*files_, [this](std::function<void()> f) { loop_->post(std::move(f)); });
    process_service_ = std::make_unique<agent::ProcessService>(
        [this](const v1::ListProcessesRequest& request, v1::ListProcessesReply& reply) {
          list_processes(request, reply);
        },
        [this](v1::AgentStatusReply& reply) { describe(reply); },
        [this](std::function<void()> f) { loop_->post(std::move(f)); });
    SPUR_ASSIGN(server_, agent::serve_steps(listen, *service_, &port, agent::kShortestPingInterval,
                                            {file_service_.get(), process_service_.get()}));
    address_ = config::join_host_port(reachable_host(listen, declared()), static_cast<std::uint16_t>(port));
    agent_->set_address(address_);
    return {};
  }

  void set_step_limits() {
    const config::StepConfig& steps = loaded_.daemon.steps;
    steps_->book.most_tasks_per_node = steps.max_tasks_per_node.value_or(0);
    steps_->book.most_steps = steps.max_count.value_or(0);
  }

  void list_processes(const v1::ListProcessesRequest& request, v1::ListProcessesReply& reply) const {
    reply.set_node(node_);
    for (const auto& [job, processes] : launcher_->processes()) {
      if (request.job() != 0 && request.job() != job.value) continue;
      reply.add_jobs(job.value);
      for (const auto& process : processes) {
        auto* row = reply.add_processes();
        row->set_pid(process.pid);
        row->set_job(job.value);
        row->set_step(process.step);
        if (process.rank) row->set_rank(*process.rank);
        if (process.local_id) row->set_local_id(*process.local_id);
      }
    }
  }

  void describe(v1::AgentStatusReply& reply) const {
    const model::NodeHardware& found = machine_.hardware;
    const auto log = agent_log_targets(loaded_, node_, options_);
    reply.set_node(node_);
    reply.set_cpus(found.cpus);
    reply.set_boards(found.boards);
    reply.set_sockets(found.sockets);
    reply.set_cores_per_socket(found.cores_per_socket);
    reply.set_threads_per_core(found.threads_per_core);
    reply.set_memory_mib(found.memory_mib);
    reply.set_tmp_disk_mib(found.tmp_disk_mib);
    reply.set_started_us(to_micros(started_));
    reply.set_heard_us(is_set(heard_) ? to_micros(heard_) : 0);
    reply.set_pid(static_cast<std::uint32_t>(::getpid()));
    // Slurm counts no level of warnings.
    reply.set_debug(static_cast<std::uint32_t>(log.level) - (log.level >= os::LogLevel::Warning ? 1 : 0));
    reply.set_log_file(log.file);
    for (const auto& [job, processes] : launcher_->processes()) {
      std::set<std::string> steps;
      for (const auto& process : processes) steps.insert(process.step);
      for (const std::string& step : steps) reply.add_steps(std::to_string(job.value) + "." + step);
    }
  }

  // For commands in jobs: who they are, and the tickets of their steps. Without these sockets (a path too long for
  // one) jobs run all the same.
  void serve_jobs() {
    const std::string spool = std::filesystem::absolute(spool_);
    auto auth = os::AuthSocket::open(
        {.path = spool + kAuthSocket, .may_attest = [this](Uid uid) { return has_job_of(uid); }}, *signer_, clock_);
    auto tickets = os::LocalSocket::open(
        {.path = spool + kTicketSocket},
        [this](const std::string& request, std::shared_ptr<os::LocalSocket::Line> line) {
          loop_->post([this, request, line = std::move(line)] {
            line->send(agent::answer_ticket_call(steps_->tickets, *agent_, request, line->peer().uid, clock_.now()));
            line->finish();
          });
        },
        clock_);
    if (!auth) log_.warning("commands in jobs get no credential here: {}", auth.error().message);
    if (!tickets) log_.warning("every step of a job asks the controller: {}", tickets.error().message);
    if (auth) auth_ = std::move(*auth);
    if (tickets) tickets_ = std::move(*tickets);
  }

  // On a thread of the socket's.
  bool has_job_of(Uid uid) {
    auto answer = std::make_shared<std::promise<bool>>();
    auto known = answer->get_future();
    loop_->post([this, uid, answer] { answer->set_value(agent_->has_job_of(uid)); });
    return known.wait_for(seconds(1)) == std::future_status::ready && known.get();
  }

  std::vector<v1::StepUsage> usage_of(JobId job) const {
    std::vector<v1::StepUsage> out;
    for (const auto& sample : launcher_->usage(job)) {
      auto& step = out.emplace_back();
      step.set_step(sample.step);
      model::Usage sum;
      for (const auto& task : sample.tasks) {
        auto* row = step.add_tasks();
        row->set_rank(task.rank);
        row->set_pid(static_cast<std::uint32_t>(task.pid));
        wire::to_proto(task.usage, row->mutable_usage());
        sum.add(task.usage);
      }
      wire::to_proto(sum, step.mutable_usage());
    }
    return out;
  }

  // As often as the site wants and while the node is in a state for it. What it finds is its own to act on
  // (scontrol update nodename=... state=drain); that it failed is only logged, as in Slurm.
  void check_health() {
    const auto& health = loaded_.daemon.health;
    health_timer_ = {};
    if (health.program.empty() || health.interval == seconds(0)) return;
    health_timer_ = loop_->call_after(health.interval, [this] { check_health(); });
    const std::uint32_t held = agent_->cpus_held();
    const bool anywhere = !health.idle && !health.mixed && !health.allocated;
    const bool full = held >= cpus_;
    if (checking_ || !(anywhere || (held == 0 ? health.idle : full ? health.allocated : health.mixed))) return;
    checking_ = true;
    std::vector<std::string> environment = job_environment();
    environment.push_back("SLURMD_NODENAME=" + node_);
    hooks_->run({.name = "health check",
                 .programs = {health.program},
                 .environment = std::move(environment),
                 .timeout = kHealthTimeout,
                 .cgroup = {}},
                [this](const Status& status) {
                  checking_ = false;
                  if (!status) log_.error("{}", status.error().message);
                });
  }

  // How other nodes and srun reach us: as told, by the address we listen on unless that means "all", or as declared.
  std::string reachable_host(const std::string& listen, const model::NodeConfig* declared) const {
    if (!options_.address.empty()) return options_.address;
    std::string host = listen.substr(0, listen.rfind(':'));
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (host != "::" && host != "0.0.0.0" && !host.empty()) return host;
    if (options_.future) return short_hostname();  // what is declared is of nobody yet
    if (declared && !declared->address.empty()) return declared->address;
    return declared && !declared->hostname.empty() ? declared->hostname : short_hostname();
  }

  void make_link() {
    link_ = std::make_unique<os::ControllerLink>(
        *loop_, os::ControllerLink::Options{
                    .addresses = [this] { return controllers_of(options_, loaded_.daemon); },
                    .metadata = [this] { return metadata(); },
                    .on_connected =
                        [this] {
                          agent_->on_connected();
                          arm_timer();
                        },
                    .on_disconnected = [this] { agent_->on_disconnected(); },
                    .on_message =
                        [this](const model::ControllerMessage& message) {
                          heard_ = clock_.now();
                          if (const auto* welcome = std::get_if<model::ControllerWelcome>(&message)) trust(*welcome);
                          if (is_for_us(message)) return reload_and_tell();
                          agent_->on_message(message);
                          arm_timer();
                        },
                    .log =
                        [this](const std::string& line) {
                          log_.error("{}", std::string_view(line).substr(line.starts_with("error: ") ? 7 : 0));
                        }});
  }

  // A signal for no job: scontrol reconfigure.
  static bool is_for_us(const model::ControllerMessage& message) {
    const auto* signal = std::get_if<model::ControllerSignal>(&message);
    return signal && !signal->run.job && signal->signal == SIGHUP;
  }

  void trust(const model::ControllerWelcome& welcome) {
    if (welcome.controller_public_key.empty()) return;
    verifier_->replace_all({{welcome.controller_public_key, {.any_user = false, .step_tickets = true, .node = {}}}});
  }

  // -F: what the node is known by, whatever its name.
  std::string hostname(const os::Machine& machine) const {
    return options_.future && !options_.node.empty() ? options_.node : machine.hostname;
  }

  // Until somebody has said yes or no: jobs of before go on meanwhile.
  void join_again() {
    const auto joined = join_cluster(*to_join_, options_, loaded_.daemon, token_, seconds(0));
    if (joined) return log_.info("taken in as node {}", *joined);
    if (is_nobody_there(joined.error())) return (void)loop_->call_after(kJoinAgain, [this] { join_again(); });
    log_.error("this host is not taken in: {}", joined.error().message);
  }

  // How this agent proves who it is: the controller's host vouches for it where both are on one machine; a node that
  // is known signs with its own key; one that is not shows the join token.
  Result<wire::Metadata> metadata() {
    wire::Metadata out;
    if (!token_.empty()) out.emplace_back("spur-join-token", token_);
    const std::string socket = config::client_options(loaded_.daemon).auth_socket;
    if (::access(socket.c_str(), W_OK) == 0) {
      if (auto credential = wire::ask_credential(socket, "controller", std::chrono::seconds(2))) {
        out.emplace_back("spur-credential-bin", std::move(*credential));
        return out;
      }
    }
    io::CredentialClaims claims;
    claims.kind = io::CredentialKind::Node;
    claims.uid = Uid{::geteuid()};
    claims.gid = Gid{::getegid()};
    claims.node = node_;
    claims.audience = "controller";
    SPUR_ASSIGN(auto credential, signer_->sign(claims, clock_.now()));
    out.emplace_back("spur-credential-bin", std::move(credential));
    return out;
  }

  void arm_timer() {
    const Duration due = agent_->next_timer();
    if (timer_ && timer_.at == due) return;
    if (timer_) loop_->cancel(timer_);
    timer_ = {};
    if (due == Duration::max()) return;
    timer_ = loop_->call_at(due, [this] {
      timer_ = {};
      agent_->on_timer();
      arm_timer();
    });
  }

  void on_signal(os::Signals& signals) {
    while (const auto signal = signals.take()) {
      if (*signal == os::DaemonSignal::Stop) loop_->stop();
      if (*signal == os::DaemonSignal::Reload) reload_and_tell();
      if (*signal == os::DaemonSignal::ReopenLog)
        if (auto ok = log_.reopen(); !ok) log_.error("{}", ok.error().message);
    }
  }

  // scontrol setdebug, setdebugflags nodes=: as far as the next reading of the configuration.
  void set_debug(const model::ControllerDebug& debug) {
    const auto more = text::parse_debug_flags(debug.flags_on), less = text::parse_debug_flags(debug.flags_off);
    if (more && less) log_.set_subjects((log_.subjects() | *more) & ~*less);
    if (!debug.level.empty()) {
      const auto level = config::parse_log_level(debug.level);
      if (!level) return log_.error("{}", level.error().message);
      auto targets = agent_log_targets(loaded_, node_, options_);
      targets.level = static_cast<os::LogLevel>(*level);
      if (auto ok = log_.set_targets(targets); !ok) return log_.error("{}", ok.error().message);
      log_.info("debug level is now {}", config::name_of(*level));
    } else {
      log_.info("debug flags are now {}", text::debug_flags_text(log_.subjects()));
    }
  }

  void reload_and_tell() {
    if (auto ok = reload(); !ok)
      log_.error("the configuration is not reloaded: {}", ok.error().message);
    else
      log_.info("configuration reloaded");
  }

  // All or nothing. What is in use (directories, the address we listen on) stays until the next start.
  Status reload() {
    if (!options_.conf_server.empty()) SPUR_TRY(fetch_configuration(options_.conf_server, token_, node_, false));
    SPUR_ASSIGN(auto fresh, load_for(options_));
    SPUR_TRY(log_.set_targets(agent_log_targets(fresh, node_, options_)));
    log_.set_subjects(fresh.daemon.debug_flags);
    constexpr std::string_view kLate = "changed in the configuration, but in force only after a restart";
    if (config::agent_spool_dir(fresh.daemon, node_, short_hostname()) != spool_)
      log_.warning("{}: the spool directory", kLate);
    if (fresh.cluster.cluster_name != loaded_.cluster.cluster_name) log_.warning("{}: the cluster's name", kLate);
    loaded_.daemon = std::move(fresh.daemon);
    loaded_.cluster = std::move(fresh.cluster);
    // Devices are what they were at the start: jobs hold them by number.
    confined_.policy = confined_node(loaded_.daemon.cgroup, machine_, {}).policy;
    launcher_->set_site(hooks_of(loaded_.daemon), loaded_.daemon.sample_every);
    set_step_limits();
    if (!health_timer_) check_health();
    return {};
  }

  DaemonOptions options_;
  config::Loaded loaded_;
  std::string node_;
  std::optional<model::NodeConfig> row_;
  std::optional<v1::JoinRequest> to_join_;
  std::string token_, spool_, public_key_, address_;
  io::Clock& clock_;
  os::Log& log_;
  std::optional<os::StateDirectory> directory_;
  os::PidFile pid_file_;
  std::unique_ptr<os::EventLoop> loop_;
  os::Machine machine_;
  os::ConfinedNode confined_;
  std::unique_ptr<NodeDevices> devices_;
  std::unique_ptr<os::HookRunner> hooks_;
  std::uint32_t cpus_ = 0;
  bool checking_ = false;
  const Time started_ = clock_.now();
  Time heard_;  // the last word of a controller
  std::string rebooting_;  // what the controller wanted last, and was done
  std::unique_ptr<os::StepLauncher> launcher_;
  std::unique_ptr<os::HostCredentialSigner> signer_;
  std::unique_ptr<os::TrustedKeyVerifier> verifier_;
  std::unique_ptr<os::StepChannels> channels_;
  std::unique_ptr<os::ControllerLink> link_;
  std::unique_ptr<agent::Agent> agent_;
  std::unique_ptr<os::SpoolStepNotes> notes_;
  std::unique_ptr<agent::StepContext> steps_;
  std::unique_ptr<agent::StepService> service_;
  std::unique_ptr<agent::FileContext> files_;
  std::unique_ptr<agent::FileService> file_service_;
  std::unique_ptr<agent::ProcessService> process_service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<os::AuthSocket> auth_;
  std::unique_ptr<os::LocalSocket> tickets_;
  os::EventLoop::TimerId timer_, health_timer_;
};

// Pieces of step data are larger than what the C library by itself takes from the kernel, and gives back, one by one:
// most of the time would go into fresh pages.
void keep_large_pieces() {
  ::mallopt(M_MMAP_THRESHOLD, 8 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 16 << 20);
}

int run(int argc, char** argv) {
  keep_large_pieces();
  DaemonOptions options = parse_daemon_options(Daemon::Agent, argc, argv);
  if (options.print_hardware) return print_hardware(options);
  os::SystemClock clock;
  os::Log log("spurd", clock);
  DaemonStart start("spurd", options.foreground, log);
  auto token = read_token(options.token_file);
  if (!token) return log.fatal("{}", token.error().message), 1;
  if (!options.conf_server.empty()) {
    auto fetched = fetch_configuration(options.conf_server, *token, options.node, true);
    if (!fetched) return log.fatal("{}", fetched.error().message), 1;
    options.config = std::move(*fetched);
  }
  auto loaded = load_for(options);
  if (!loaded) return log.fatal("{}", loaded.error().message), 1;
  if (options.print_cdi || options.print_gres) return print_devices(options, *loaded);
  if (auto ok = os::check_agent_user(loaded->daemon.slurmd_user); !ok) return log.fatal("{}", ok.error().message), 1;
  auto identity = identify(options, *loaded, *token);
  if (!identity) return log.fatal("{}", identity.error().message), 1;
  if (auto ok = start.detach(); !ok) return start.failed(ok.error());
  if (auto ok = start.open_log(agent_log_targets(*loaded, identity->node, options)); !ok) return start.failed(ok.error());
  os::raise_open_file_limit();
  auto signals = os::Signals::open();
  if (!signals) return start.failed(signals.error());
  Spurd daemon(options, std::move(*loaded), std::move(*identity), std::move(*token), clock, log);
  if (auto ok = daemon.start(*signals); !ok) return start.failed(ok.error());
  start.ready();
  daemon.run();
  start.notifier().stopping();
  daemon.stop();
  return 0;
}

}  // namespace
}  // namespace spur::main

int main(int argc, char** argv) {
  return spur::main::run(argc, argv);
}
