// SPDX-License-Identifier: Apache-2.0
// Defaults and name patterns of a daemon's files and addresses. Pure: reads no environment and no file system.
#include "config/daemon_config.h"

#include <fmt/format.h>

#include "text/printable.h"
#include "text/words.h"

namespace spur::config {

namespace {

// `path` expanded if there is one, else `fallback` below the state directory.
std::string path_or(const std::string& path, const std::string& fallback, std::string_view node,
                    std::string_view host) {
  return expand_path(path.empty() ? fallback : path, node, host);
}

}  // namespace

const std::string* DaemonConfig::find_kept(std::string_view key) const {
  for (const auto& [name, value] : kept)
    if (text::equal_ignoring_case(name, key)) return &value;
  return nullptr;
}

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::Quiet:
      return "quiet";
    case LogLevel::Fatal:
      return "fatal";
    case LogLevel::Error:
      return "error";
    case LogLevel::Warning:
      return "warning";
    case LogLevel::Info:
      return "info";
    case LogLevel::Verbose:
      return "verbose";
    case LogLevel::Debug:
      return "debug";
    case LogLevel::Debug2:
      return "debug2";
    case LogLevel::Debug3:
      return "debug3";
    case LogLevel::Debug4:
      return "debug4";
    case LogLevel::Debug5:
      return "debug5";
  }
  return "info";
}

Result<LogLevel> parse_log_level(std::string_view text) {
  struct Word {
    std::string_view text;
    LogLevel level;
  };
  static constexpr Word kWords[] = {{"quiet", LogLevel::Quiet},
                                    {"off", LogLevel::Quiet},
                                    {"fatal", LogLevel::Fatal},
                                    {"error", LogLevel::Error},
                                    {"warning", LogLevel::Warning},
                                    {"warn", LogLevel::Warning},
                                    {"info", LogLevel::Info},
                                    {"verbose", LogLevel::Verbose},
                                    {"debug", LogLevel::Debug},
                                    {"debug1", LogLevel::Debug},
                                    {"debug2", LogLevel::Debug2},
                                    {"debug3", LogLevel::Debug3},
                                    {"debug4", LogLevel::Debug4},
                                    {"debug5", LogLevel::Debug5},
                                    {"trace", LogLevel::Debug5},
                                    // Slurm's numbers.
                                    {"0", LogLevel::Quiet},
                                    {"1", LogLevel::Fatal},
                                    {"2", LogLevel::Error},
                                    {"3", LogLevel::Info},
                                    {"4", LogLevel::Verbose},
                                    {"5", LogLevel::Debug},
                                    {"6", LogLevel::Debug2},
                                    {"7", LogLevel::Debug3},
                                    {"8", LogLevel::Debug4},
                                    {"9", LogLevel::Debug5}};
  for (const Word& word : kWords)
    if (text::equal_ignoring_case(word.text, text)) return word.level;
  return fail(
      ErrorCode::ConfigInvalid,
      fmt::format("\"{}\" is no log level (quiet, fatal, error, warning, info, verbose, debug, debug2 to debug5)",
                  text::shown(text, 40)));
}

std::string expand_path(std::string_view pattern, std::string_view node, std::string_view host) {
  std::string out;
  out.reserve(pattern.size() + node.size() + host.size());
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      out += pattern[i];
      continue;
    }
    switch (pattern[++i]) {
      case 'n':
        out += node;
        break;
      case 'h':
        out += host;
        break;
      case '%':
        out += '%';
        break;
      default:
        out += '%', out += pattern[i];
    }
  }
  return out;
}

std::string controller_socket(const DaemonConfig& config) {
  return config.state_dir + "/ctld.sock";
}

std::string local_socket(const DaemonConfig& config) {
  return config.state_dir + "/local.sock";
}

std::string image_dir(const DaemonConfig& config) {
  return config.image_dir_path.empty() ? config.state_dir + "/images" : config.image_dir_path;
}

std::string auth_socket(const DaemonConfig& config) {
  return config.auth_socket_path.empty() ? config.state_dir + "/auth.sock" : config.auth_socket_path;
}

std::string accounting_address(const DaemonConfig& config) {
  return join_host_port(config.accounting_host.empty() ? "localhost" : config.accounting_host,
                        config.accounting_port);
}

std::string accounting_listen(const DaemonConfig& config) {
  return config.accounting_listen.empty() ? join_host_port("::", config.accounting_port) : config.accounting_listen;
}

std::string accounting_socket(const DaemonConfig& config) {
  return config.state_dir + "/dbd.sock";
}

std::string accounting_auth_socket(const DaemonConfig& config) {
  return config.state_dir + "/dbd-auth.sock";
}

// For a part of a URL.
static std::string escaped(std::string_view part) {
  std::string out;
  for (const char c : part) {
    const bool plain = text::is_alpha(c) || text::is_digit(c) || std::string_view("-._~").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string accounting_database(const DaemonConfig& config) {
  if (!config.accounting_url.empty()) return config.accounting_url;
  const StorageConfig& storage = config.storage;
  if (storage.kind == StorageConfig::Kind::Postgres) {
    const std::string who = storage.user.empty() ? "" : escaped(storage.user);
    const std::string password = storage.password.empty() ? "" : ":" + escaped(storage.password);
    return fmt::format("postgresql://{}{}{}{}{}/{}", who, password, who.empty() ? "" : "@",
                       storage.host.empty() ? "localhost" : storage.host,
                       storage.port == 0 ? "" : fmt::format(":{}", storage.port),
                       storage.location.empty() ? "slurm_acct_db" : escaped(storage.location));
  }
  if (storage.kind == StorageConfig::Kind::Sqlite && storage.location.starts_with('/'))
    return "sqlite:" + storage.location;
  return "sqlite:" + config.state_dir + "/accounting.sqlite";
}

std::string accounting_pid_file(const DaemonConfig& config) {
  return config.accounting_pid_file_path.empty() ? config.state_dir + "/spurdbd.pid"
                                                 : config.accounting_pid_file_path;
}

std::string controller_pid_file(const DaemonConfig& config) {
  return config.controller_pid_file.empty() ? config.state_dir + "/spurctld.pid" : config.controller_pid_file;
}

std::string agent_spool_dir(const DaemonConfig& config, std::string_view node, std::string_view host) {
  return path_or(config.spool_dir, config.state_dir + "/spurd-%n", node, host);
}

std::string agent_pid_file(const DaemonConfig& config, std::string_view node, std::string_view host) {
  if (!config.agent_pid_file.empty()) return expand_path(config.agent_pid_file, node, host);
  return agent_spool_dir(config, node, host) + "/spurd.pid";
}

std::string agent_log_file(const DaemonConfig& config, std::string_view node, std::string_view host) {
  return expand_path(config.agent_log.file, node, host);
}

std::string join_host_port(std::string_view host, std::uint16_t port) {
  const bool bare_ipv6 = host.find(':') != std::string_view::npos && !host.starts_with('[');
  return bare_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string agent_listen_address(const DaemonConfig& config, const model::NodeConfig* node) {
  const std::uint16_t port = node && node->port != 0 ? node->port : config.agent_port;
  const bool on_node = node && config.agent_listen_on_node_address && !node->address.empty();
  return join_host_port(on_node ? node->address : config.agent_listen, port);
}

const model::NodeConfig* find_node_of_host(const model::ClusterConfig& cluster, std::string_view host) {
  const std::string_view names[] = {host, host.substr(0, host.find('.'))};
  for (const std::string_view name : names)
    for (const model::NodeConfig& node : cluster.nodes)
      if (node.name == name) return &node;
  for (const std::string_view name : names)
    for (const model::NodeConfig& node : cluster.nodes)
      if (node.hostname == name) return &node;
  return nullptr;
}

}  // namespace spur::config
