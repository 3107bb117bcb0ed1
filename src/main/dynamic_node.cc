// SPDX-License-Identifier: Apache-2.0
#include "main/dynamic_node.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string_view>
#include <thread>
#include <utility>

#include "config/load.h"
#include "config/node_words.h"
#include "config/value.h"
#include "main/node_side.h"
#include "model/gres_in_force.h"
#include "os/system_clock.h"
#include "text/words.h"
#include "wire/config_codec.h"
#include "wire/credential_client.h"
#include "wire/lean_channel.h"
#include "wire/node_codec.h"

namespace spur::main {
namespace {

constexpr auto kPause = std::chrono::seconds(1);

// Slurm's number for a kind of GRES: the letters of its name, four abreast.
std::uint32_t gres_number(std::string_view name) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < name.size(); ++i)
    number += static_cast<std::uint32_t>(static_cast<unsigned char>(name[i])) << (8 * (i % 4));
  return number;
}

bool says_processors(const config::NodeWords& words) {
  static constexpr std::string_view kProcessors[] = {"CPUs",           "Procs",          "Boards",        "Sockets",
                                                     "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore"};
  return std::ranges::any_of(words, [](const auto& word) {
    return std::ranges::any_of(kProcessors,
                               [&](std::string_view key) { return text::equal_ignoring_case(key, word.first); });
  });
}

bool says(const config::NodeWords& words, std::string_view key) {
  return std::ranges::any_of(words, [&](const auto& word) { return text::equal_ignoring_case(key, word.first); });
}

}  // namespace

std::string hardware_lines(const os::Machine& machine, const std::string& node, Time now) {
  const model::NodeHardware& found = machine.hardware;
  const auto up = std::chrono::floor<seconds>(now - machine.boot_time).count();
  return fmt::format(
      "NodeName={} CPUs={} Boards={} SocketsPerBoard={} CoresPerSocket={} ThreadsPerCore={} RealMemory={}\n"
      "UpTime={}-{:02}:{:02}:{:02}\n",
      node, found.cpus, found.boards, found.sockets / std::max(1u, found.boards), found.cores_per_socket,
      found.threads_per_core, found.memory_mib, up / 86400, up / 3600 % 24, up / 60 % 60, up % 60);
}

std::string gres_lines(const std::vector<model::NodeGres>& gres) {
  std::string out;
  std::map<std::string, std::uint64_t> before;  // devices of the name
  for (const model::NodeGres& row : gres) {
    const std::uint64_t index = std::exchange(before[row.name], before[row.name] + row.count);
    out += fmt::format("slurmd: Gres Name={} Type={} Count={} Index={} ID={}", row.name,
                       row.type.empty() ? "(null)" : row.type, row.count, index, gres_number(row.name));
    if (!row.file.empty()) out += " File=" + row.file;
    if (!row.cores.empty()) out += " Cores=" + row.cores;
    if (!row.links.empty()) out += " Links=" + row.links;
    if (!row.flags.empty()) out += fmt::format(" Flags={}", fmt::join(row.flags, ","));
    out += '\n';
  }
  return out;
}

Result<model::NodeConfig> own_row(const DaemonOptions& options, const os::Machine& machine, const std::string& node) {
  config::NodeWords words = config::split_node_words(options.node_words);
  for (const auto& [key, value] : words)
    if (text::equal_ignoring_case(key, "NodeName") || text::equal_ignoring_case(key, "Port"))
      return fail(ErrorCode::InvalidArgument, fmt::format("--conf: {} is not supported", key));
  const model::NodeHardware& found = machine.hardware;
  if (!says_processors(words)) {
    words.emplace_back("CPUs", fmt::format("{}", found.cpus));
    words.emplace_back("Boards", fmt::format("{}", found.boards));
    words.emplace_back("SocketsPerBoard", fmt::format("{}", found.sockets / std::max(1u, found.boards)));
    words.emplace_back("CoresPerSocket", fmt::format("{}", found.cores_per_socket));
    words.emplace_back("ThreadsPerCore", fmt::format("{}", found.threads_per_core));
  }
  if (!says(words, "RealMemory")) words.emplace_back("RealMemory", fmt::format("{}", found.memory_mib));
  auto rows = config::read_node_words(node, words);
  if (!rows) return fail(rows.error().code, fmt::format("--conf: {}", rows.error().message));
  if (rows->size() != 1) return fail(ErrorCode::InvalidArgument, fmt::format("\"{}\" is no name of one node", node));
  model::NodeConfig row = std::move(rows->front());
  if (!says(words, "NodeHostname")) row.hostname = machine.hostname;
  if (!says(words, "NodeAddr")) row.address = options.address.empty() ? machine.hostname : options.address;
  return row;
}

std::vector<std::string> controllers_of(const DaemonOptions& options, const config::DaemonConfig& daemon) {
  return options.controller.empty() ? config::find_controllers(daemon) : config::split_list(options.controller);
}

v1::JoinRequest join_request(const DaemonOptions& options, const os::Machine& machine,
                             const std::optional<model::NodeConfig>& row) {
  v1::JoinRequest request;
  if (row) wire::to_proto(*row, request.mutable_node());
  // Several agents on one host (-N) are several hosts here.
  request.set_hostname(options.node.empty() ? machine.hostname : options.node);
  request.set_feature(options.feature);
  wire::to_proto(machine.hardware, request.mutable_found());
  return request;
}

bool is_nobody_there(const Error& error) {
  return error.code == ErrorCode::Unreachable || error.code == ErrorCode::TimedOut || error.code == ErrorCode::Busy ||
         error.code == ErrorCode::NotLeader;
}

Result<std::string> join_cluster(const v1::JoinRequest& request, const DaemonOptions& options,
                                 const config::DaemonConfig& daemon, const std::string& token, seconds patience) {
  wire::LeanChannel channel(controllers_of(options, daemon), config::kControllerPort);
  const std::string socket = config::client_options(daemon).auth_socket;
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    wire::CallOptions call;
    call.timeout = seconds(10);
    if (!token.empty()) call.metadata.emplace_back("spur-join-token", token);
    if (::access(socket.c_str(), W_OK) == 0)
      if (auto credential = wire::ask_credential(socket, "controller", std::chrono::seconds(2)))
        call.metadata.emplace_back("spur-credential-bin", std::move(*credential));
    auto bytes = channel.call("/spur.v1.AgentLink/Join", request.SerializeAsString(), call);
    if (bytes) {
      v1::JoinReply reply;
      if (!reply.ParseFromString(*bytes) || reply.node().empty())
        return fail(ErrorCode::Corrupt, "the controller's answer cannot be read");
      return reply.node();
    }
    if (!is_nobody_there(bytes.error()) || std::chrono::steady_clock::now() >= until)
      return std::unexpected(bytes.error());
    std::this_thread::sleep_for(kPause);
  }
}

static std::string node_name(const DaemonOptions& options, const model::ClusterConfig& cluster) {
  if (!options.node.empty()) return options.node;
  const auto* declared = config::find_node_of_host(cluster, short_hostname());
  return declared ? declared->name : short_hostname();
}

Result<Identity> identify(const DaemonOptions& options, const config::Loaded& loaded, const std::string& token) {
  Identity out{.node = node_name(options, loaded.cluster), .row = {}, .to_join = {}};
  if (!options.dynamic && !options.future) {
    // One that runs on the controller's own configuration: it would be refused for ever.
    const auto& nodes = loaded.cluster.nodes;
    const bool known = std::ranges::any_of(nodes, [&](const auto& n) { return n.name == out.node; });
    if (!loaded.path.empty() && options.controller.empty() && !nodes.empty() && !known)
      return fail(ErrorCode::InvalidNode, "Unable to determine this slurmd's NodeName: " + out.node + " is not in " + loaded.path);
    return out;
  }
  SPUR_ASSIGN(const auto machine, os::discover_machine());
  if (options.dynamic) {
    SPUR_ASSIGN(out.row, own_row(options, machine, out.node));
  }
  auto request = join_request(options, machine, out.row);
  auto joined = join_cluster(request, options, loaded.daemon, token, options.future ? seconds(30) : seconds(3));
  // A node that was there before goes on without a controller; and who must show a key shows it when it connects.
  const bool may_be_known = options.dynamic && !joined &&
                            (is_nobody_there(joined.error()) || joined.error().code == ErrorCode::Unauthenticated);
  if (may_be_known) {
    if (is_nobody_there(joined.error())) out.to_join = std::move(request);
    return out;
  }
  if (!joined) return fail(joined.error().code, "Unable to register with slurm controller: " + joined.error().message);
  out.node = *std::move(joined);
  return out;
}

int print_hardware(const DaemonOptions& options) {
  const auto machine = os::discover_machine();
  if (!machine) return std::fprintf(stderr, "spurd: error: %s\n", machine.error().message.c_str()), 1;
  os::SystemClock clock;
  const std::string name = options.node.empty() ? short_hostname() : options.node;
  std::fputs(hardware_lines(*machine, name, clock.now()).c_str(), stdout);
  return 0;
}

int print_devices(const DaemonOptions& options, const config::Loaded& loaded) {
  const auto silent = [](const std::string&) {};
  if (options.print_cdi) {
    const NodeDevices devices(config::Detect::All, {}, loaded.daemon.cdi_dirs, silent);
    for (const std::string& text : devices.cdi_specifications()) std::fputs(text.c_str(), stdout);
    return 0;
  }
  const auto machine = os::discover_machine();
  if (!machine) return std::fprintf(stderr, "spurd: error: %s\n", machine.error().message.c_str()), 1;
  const std::string node = node_name(options, loaded.cluster);
  std::vector<model::NodeGres> declared;
  for (const auto& row : loaded.cluster.nodes)
    if (row.name == node) declared = row.gres;
  const NodeDevices devices(detect_for(loaded.daemon.detect, node), declared, loaded.daemon.cdi_dirs, silent);
  // Slurm logs them.
  std::fputs(gres_lines(model::gres_in_force(declared, devices.report(*machine))).c_str(), stderr);
  return 0;
}

}  // namespace spur::main
