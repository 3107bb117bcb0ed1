// SPDX-License-Identifier: Apache-2.0
#include "config/load.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "config/keys.h"
#include "config/resolve.h"
#include "config/show.h"
#include "config/slurm_conf.h"
#include "config/slurm_files.h"
#include "config/slurm_keys.h"
#include "config/slurm_lines.h"
#include "config/spur_conf.h"
#include "config/topology_yaml.h"
#include "text/decimal.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::config {

namespace {

constexpr std::size_t kLargestFile = 64u << 20;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::string_view(value) : std::string_view();
}

Result<std::string> read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const int error = errno;
    const ErrorCode code = error == ENOENT ? ErrorCode::NotFound : ErrorCode::ConfigInvalid;
    return fail(code, fmt::format("cannot open {}: {}", text::shown(path), std::strerror(error)));
  }
  std::string out;
  struct stat status{};
  if (::fstat(fd, &status) == 0 && !S_ISDIR(status.st_mode) && status.st_size > 0)
    out.reserve(std::min(kLargestFile, static_cast<std::size_t>(status.st_size) + 1));
  char block[4096];  // most files are small, and a command that reads one lives for a millisecond
  ssize_t got = 0;
  while (out.size() <= kLargestFile && (got = ::read(fd, block, sizeof block)) > 0)
    out.append(block, static_cast<std::size_t>(got));
  const int error = errno;
  ::close(fd);
  if (got < 0)
    return fail(ErrorCode::ConfigInvalid, fmt::format("cannot read {}: {}", text::shown(path), std::strerror(error)));
  if (out.size() > kLargestFile)
    return fail(ErrorCode::ConfigInvalid, fmt::format("{} is too large", text::shown(path)));
  return out;
}

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

// The path to read, or empty for none.
std::string search() {
  for (const char* name : {"SPUR_CONF", "SLURM_CONF"})
    if (const auto path = environment(name); !path.empty()) return std::string(path);
  if (const auto home = environment("HOME"); !home.empty())
    if (std::string path = std::string(home) + "/.spur/etc/spur.conf"; exists(path)) return path;
  for (const char* path : {"/etc/spur/spur.conf", "/etc/slurm/slurm.conf"})
    if (exists(path)) return path;
  return {};
}

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

// Administrators by name or number. Only for daemons: a look-up may go over the network.
Status find_admins(Draft& draft) {
  for (const std::string& admin : draft.admins) {
    if (const auto uid = text::parse_decimal32(admin)) {
      draft.cluster.admin_uids.push_back(*uid);
    } else if (const passwd* entry = ::getpwnam(admin.c_str())) {
      draft.cluster.admin_uids.push_back(entry->pw_uid);
    } else {
      return draft.refuse({}, fmt::format("auth.admins: there is no user \"{}\"", text::shown(admin, 40)));
    }
  }
  return {};
}

// Slurm's further files: some are read, the others kept and named.
Status read_siblings(Draft& draft, const FileReader& read) {
  const std::string directory = draft.files[0].substr(0, draft.files[0].rfind('/') + 1);
  static constexpr struct {
    const char* name;
    Scope scope;
  } kRead[] = {{"gres.conf", Scope::Device}, {"topology.conf", Scope::Switch}, {"cgroup.conf", Scope::Cgroup}};
  for (const auto& [name, scope] : kRead) {
    const std::string path = directory + name;
    if (!exists(path)) continue;
    SPUR_ASSIGN(const std::string text, read(path));
    SPUR_TRY(read_slurm_sibling(scope, text, path, read, draft));
  }
  if (const std::string yaml = directory + "topology.yaml"; exists(yaml)) {
    SPUR_ASSIGN(const std::string text, read(yaml));
    draft.files.push_back(yaml);
    SPUR_TRY(read_topology_yaml(text, {.file = static_cast<std::uint32_t>(draft.files.size() - 1), .line = 0}, draft));
  }
  for (const SlurmFile& file : slurm_files()) {
    const std::string path = directory + std::string(file.name);
    if (!exists(path)) continue;
    draft.files.push_back(path);
    const Position at{.file = static_cast<std::uint32_t>(draft.files.size() - 1), .line = 0};
    const auto text = read(path);
    if (text)
      keep_slurm_file(draft, std::string(file.name), *text, at);
    else
      draft.warn(at, fmt::format("{}; not in force yet: {}", text.error().message, file.reason));
  }
  return {};
}

Result<Loaded> finish(Draft& draft, Want want, const std::string& path) {
  SPUR_TRY(resolve_daemon(draft, want == Want::All || draft.listen_on_controller_address ? host_name() : ""));
  if (want == Want::All) {
    SPUR_TRY(find_admins(draft));
    SPUR_TRY(resolve_cluster(draft));
  }
  Loaded loaded{.cluster = std::move(draft.cluster),
                .daemon = std::move(draft.daemon),
                .warnings = std::move(draft.warnings),
                .path = path,
                .dialect = draft.written_in};
  if (want == Want::All) loaded.cluster.shown = shown_config(loaded.cluster, loaded.daemon, path);
  return loaded;
}

Status read_into(Draft& draft, std::string_view text, const FileReader& read) {
  return draft.written_in == Dialect::Spur ? read_spur_conf(text, draft) : read_slurm_conf(text, read, draft);
}

}  // namespace

Dialect dialect_of(std::string_view path, std::string_view text) {
  const std::string_view name = path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
  if (name == "spur.conf" || name.ends_with(".toml")) return Dialect::Spur;
  if (name == "slurm.conf") return Dialect::Slurm;
  for (const SlurmLine& line : slurm_lines(text.substr(0, 64 * 1024))) {
    if (!included_file(line.text).empty()) return Dialect::Slurm;
    std::string_view key = text::trim(line.text);
    key = text::trim(key.substr(0, key.find('=')));
    if (find_spur_key(Scope::Top, key) || key.starts_with('[')) return Dialect::Spur;
    if (find_slurm_key(Scope::Top, key) || find_slurm_name(Scope::Top, key)) return Dialect::Slurm;
    for (const std::string_view block : {"NodeName", "PartitionName", "NodeSet", "DownNodes"})
      if (text::equal_ignoring_case(key, block)) return Dialect::Slurm;
  }
  return Dialect::Spur;
}

Result<Draft> read_draft(const std::string& path, Want want) {
  const std::string found = path.empty() ? search() : path;
  Draft draft;
  draft.daemon_only = want == Want::DaemonOnly;
  if (found.empty()) return draft;
  SPUR_ASSIGN(const std::string text, read_file(found));
  draft.files.push_back(found);
  draft.dialect = draft.written_in = dialect_of(found, text);
  const FileReader read = [](const std::string& name) { return read_file(name); };
  SPUR_TRY(read_into(draft, text, read));
  if (draft.written_in == Dialect::Slurm && want == Want::All) SPUR_TRY(read_siblings(draft, read));
  return draft;
}

Result<Loaded> resolved(Draft& draft, Want want) {
  return finish(draft, want, draft.files.empty() ? std::string() : draft.files[0]);
}

Result<Draft> read_resolved(const std::string& path) {
  SPUR_ASSIGN(Draft draft, read_draft(path, Want::All));
  SPUR_ASSIGN(Loaded loaded, resolved(draft, Want::All));
  draft.cluster = std::move(loaded.cluster);
  draft.daemon = std::move(loaded.daemon);
  draft.warnings = std::move(loaded.warnings);
  return draft;
}

Result<std::vector<std::pair<std::string, std::string>>> files_of(const std::string& path) {
  SPUR_ASSIGN(const Draft draft, read_draft(path, Want::All));
  if (draft.files.empty()) return fail(ErrorCode::NotFound, "there is no configuration file");
  const std::string directory = draft.files[0].substr(0, draft.files[0].rfind('/') + 1);
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& file : draft.files) {
    if (!file.starts_with(directory) || file.find("/../") != std::string::npos)
      return fail(ErrorCode::ConfigInvalid,
                  fmt::format("{} is not below {}: agents cannot be given it", text::shown(file), text::shown(directory)));
    SPUR_ASSIGN(std::string text, read_file(file));
    out.emplace_back(file.substr(directory.size()), std::move(text));
  }
  return out;
}

Result<Loaded> load(const std::string& path, Want want) {
  SPUR_ASSIGN(Draft draft, read_draft(path, want));
  return resolved(draft, want);
}

// slurmdbd.conf may hold a password: as in Slurm it is for its owner alone.
static Status check_dbd_file(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    return fail(ErrorCode::ConfigInvalid, fmt::format("No slurmdbd.conf file ({})", text::shown(path)));
  if ((status.st_mode & 077) != 0)
    return fail(ErrorCode::ConfigInvalid,
                fmt::format("slurmdbd.conf file {} should be 600 is {:o} accessible for group or others",
                            text::shown(path), status.st_mode & 0777));
  return {};
}

// And its owner is who reads it again when told to: the user that the daemon becomes.
static Status check_dbd_owner(const std::string& path, const std::string& user) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0)
    return fail(ErrorCode::ConfigInvalid, fmt::format("No slurmdbd.conf file ({})", text::shown(path)));
  uid_t wanted = ::geteuid();
  if (const auto number = text::parse_decimal32(user)) wanted = *number;
  if (const passwd* entry = user.empty() ? nullptr : ::getpwnam(user.c_str())) wanted = entry->pw_uid;
  if (status.st_uid == wanted) return {};
  const auto name = [](uid_t uid) {
    const passwd* entry = ::getpwuid(uid);
    return entry ? std::string(entry->pw_name) : std::to_string(uid);
  };
  const std::string owner = name(status.st_uid);
  return fail(ErrorCode::ConfigInvalid, fmt::format("slurmdbd.conf not owned by SlurmUser {}!={}", owner,
                                                    user.empty() ? name(wanted) : text::shown(user, 40)));
}

static std::string directory_of(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

Result<Loaded> load_for_accounting(const std::string& path) {
  const bool is_own = path.ends_with("slurmdbd.conf");
  std::string main = is_own ? directory_of(path) + "slurm.conf" : path.empty() ? search() : path;
  if (is_own && !exists(main)) main.clear();
  std::string own(environment("SLURMDBD_CONF"));
  if (is_own) own = path;
  // $SLURM_CONF need not exist for its directory to be the place.
  if (own.empty() && !main.empty() && exists(directory_of(main) + "slurmdbd.conf"))
    own = directory_of(main) + "slurmdbd.conf";
  if (own.empty() && main.empty() && exists("/etc/slurm/slurmdbd.conf")) own = "/etc/slurm/slurmdbd.conf";
  if (!own.empty() && !main.empty() && !exists(main)) main.clear();
  Draft draft;
  if (!main.empty()) {
    SPUR_ASSIGN(draft, read_draft(main, Want::All));
  } else {
    draft.files.push_back(own);
  }
  if (!own.empty()) {
    SPUR_TRY(check_dbd_file(own));
    SPUR_ASSIGN(const std::string text, read_file(own));
    draft.warnings.clear();  // slurm.conf's are the controller's to tell
    draft.cluster.accounting.track_wckeys = false;  // the file has its own word on it
    SPUR_TRY(read_slurm_sibling(Scope::Dbd, text, own, [](const std::string& name) { return read_file(name); }, draft));
    SPUR_TRY(check_dbd_owner(own, draft.daemon.slurm_user));
    const StorageConfig& storage = draft.daemon.storage;
    if (storage.kind == StorageConfig::Kind::Unset && draft.daemon.accounting_url.empty())
      return fail(ErrorCode::ConfigInvalid, fmt::format("{}: StorageType must be specified", text::shown(own)));
    if (storage.archive_jobs || storage.archive_steps || storage.archive_events || storage.archive_reservations ||
        storage.archive_transactions)
      draft.daemon.accounting_archive_dir = storage.archive_dir;
  }
  const auto warnings = draft.warnings;
  auto loaded = finish(draft, Want::All, main.empty() ? own : main);
  if (loaded && !own.empty()) loaded->warnings = warnings;
  if (loaded) loaded->accounting_path = own;
  return loaded;
}

Result<Loaded> load_text(std::string_view text, const std::string& path, Want want) {
  Draft draft;
  draft.daemon_only = want == Want::DaemonOnly;
  draft.files.push_back(path);
  draft.dialect = draft.written_in = dialect_of(path, text);
  const FileReader none = [](const std::string& name) -> Result<std::string> {
    return fail(ErrorCode::NotFound, fmt::format("cannot open {}: there are no files here", text::shown(name)));
  };
  SPUR_TRY(read_into(draft, text, none));
  return finish(draft, want, path);
}

static bool is_socket(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

std::vector<std::string> find_controllers(const DaemonConfig& config) {
  if (auto given = split_list(environment("SPUR_CONTROLLER_ADDR")); !given.empty()) return given;
  std::vector<std::string> out;
  if (const std::string socket = controller_socket(config); is_socket(socket)) out.push_back("unix:" + socket);
  for (const ControllerHost& controller : config.controllers)
    out.push_back(join_host_port(controller.address, config.controller_port));
  return out;
}

ClientEndpoints client_options(const DaemonConfig& config) {
  std::string socket(environment("SPUR_AUTH_SOCKET"));
  if (socket.empty()) socket = auth_socket(config);
  if (const auto of_node = environment("SPUR_NODE_AUTH_SOCKET"); !of_node.empty() && !is_socket(socket))
    socket = of_node;
  const std::string local = local_socket(config);
  return {.controllers = find_controllers(config),
          .local_socket = environment("SPUR_CONTROLLER_ADDR").empty() && is_socket(local) ? local : std::string{},
          .auth_socket = std::move(socket),
          .ticket_socket = std::string(environment("SPUR_TICKET_SOCKET")),
          .timeout = config.message_timeout,
          .defaults = config.commands};
}

Result<AccountingEndpoints> accounting_options(const std::string& path) {
  SPUR_ASSIGN(const Loaded loaded, load(path, Want::DaemonOnly));
  const auto& daemon = loaded.daemon;
  AccountingEndpoints out;
  out.cluster = loaded.cluster.cluster_name;
  out.timeout = daemon.message_timeout;
  out.prices = daemon.accounting_prices;
  out.currency = daemon.accounting_currency;
  out.auth_socket = client_options(daemon).auth_socket;
  if (const std::string own = accounting_auth_socket(daemon); is_socket(own)) out.auth_socket = own;
  out.addresses = split_list(environment("SPUR_ACCOUNTING_ADDR"));
  if (!out.addresses.empty()) return out;
  if (!loaded.cluster.is_accounted)
    return fail(ErrorCode::RequestDisabled, "Slurm accounting storage is disabled");
  if (const std::string socket = accounting_socket(daemon); is_socket(socket))
    out.addresses.push_back("unix:" + socket);
  out.addresses.push_back(accounting_address(daemon));
  return out;
}

Result<ClientEndpoints> client_options(const std::string& path) {
  SPUR_ASSIGN(const Loaded loaded, load(path, Want::DaemonOnly));
  return client_options(loaded.daemon);
}

}  // namespace spur::config
