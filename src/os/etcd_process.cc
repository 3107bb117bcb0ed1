// SPDX-License-Identifier: Apache-2.0
#include "os/etcd_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "os/etcd_certificates.h"
#include "os/files.h"
#include "os/process.h"

namespace spur::os {
namespace {

constexpr Duration kFirstRestartPause = milliseconds(200), kLongestRestartPause = seconds(5);
constexpr int kStopMillis = 5000, kLookMillis = 500;
// Less than kFull is what etcd dies of; with kRoom it can live.
constexpr std::uint64_t kFull = std::uint64_t{1} << 20, kRoom = std::uint64_t{16} << 20;

std::string find_program() {
  const char* path = std::getenv("PATH");
  std::string all = path ? path : "";
  all += ":/usr/bin:/usr/local/bin";
  for (std::size_t from = 0; from < all.size();) {
    const std::size_t end = std::min(all.find(':', from), all.size());
    const std::string candidate = all.substr(from, end - from) + "/etcd";
    if (end > from && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    from = end + 1;
  }
  return {};
}

bool is_literal(const std::string& address) {
  in6_addr parsed;
  return ::inet_pton(AF_INET, address.c_str(), &parsed) == 1 || ::inet_pton(AF_INET6, address.c_str(), &parsed) == 1;
}

std::uint64_t free_bytes(const std::string& directory) {
  struct statvfs disk{};
  if (::statvfs(directory.c_str(), &disk) != 0) return kRoom;
  return std::uint64_t{disk.f_bavail} * disk.f_frsize;
}

bool wait_readable(int fd, int millis) {
  pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, millis) > 0;
}

}  // namespace

std::string EtcdProcess::peer_url(const std::string& address, std::uint16_t port) {
  return address.find(':') == std::string::npos ? fmt::format("https://{}:{}", address, port)
                                                : fmt::format("https://[{}]:{}", address, port);
}

bool EtcdProcess::has_files(const std::string& directory) {
  return ::access((directory + "/data/member").c_str(), F_OK) == 0;
}

Result<std::unique_ptr<EtcdProcess>> EtcdProcess::start(Options options) {
  std::unique_ptr<EtcdProcess> out(new EtcdProcess(std::move(options)));
  out->program_ = find_program();
  if (out->program_.empty())
    return fail(
        ErrorCode::NotFound,
        "several controllers need etcd, which is not installed here: install the package etcd-server, or name an "
        "etcd with controller.etcd");
  SPUR_TRY(make_private_dir(out->options_.directory));
  out->stop_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  if (!out->adopt()) {
    const auto own = std::ranges::find(out->options_.peers, out->options_.member, &Peer::name);
    SPUR_TRY(write_etcd_certificates(out->options_.directory, out->options_.secret, own->address));
    SPUR_TRY(out->launch());
  }
  out->watcher_ = std::thread([raw = out.get()] { raw->watch(); });
  return out;
}

EtcdProcess::~EtcdProcess() {
  const std::uint64_t one = 1;
  if (watcher_.joinable()) {
    if (::write(stop_.get(), &one, sizeof one) != sizeof one) std::abort();
    watcher_.join();
  }
  if (pidfd_.get() < 0) return;
  ::kill(pid_, SIGTERM);
  if (!wait_readable(pidfd_.get(), kStopMillis)) {
    ::kill(pid_, SIGKILL);
    wait_readable(pidfd_.get(), kStopMillis);
  }
  static_cast<void>(reap(pidfd_));
  ::unlink((options_.directory + "/etcd.pid").c_str());
}

std::vector<std::string> EtcdProcess::arguments() const {
  const auto own = std::ranges::find(options_.peers, options_.member, &Peer::name);
  const std::string advertised = peer_url(own->address, options_.peer_port);
  std::string cluster;
  for (const Peer& peer : options_.peers)
    cluster += fmt::format("{}{}={}", cluster.empty() ? "" : ",", peer.name, peer_url(peer.address, options_.peer_port));
  const auto election_ms = std::chrono::duration_cast<milliseconds>(options_.election).count();
  const std::string listen = is_literal(own->address) ? advertised : peer_url("0.0.0.0", options_.peer_port);
  return {"etcd", "--name=" + options_.member, "--data-dir=data", "--listen-client-urls=unix://etcd:1",
          "--advertise-client-urls=" + advertised,  // nobody dials it: clients are on this host
          "--listen-peer-urls=" + listen, "--initial-advertise-peer-urls=" + advertised,
          "--initial-cluster=" + cluster, "--initial-cluster-token=spur-" + options_.cluster,
          std::string("--initial-cluster-state=") + (options_.joins ? "existing" : "new"),
          "--peer-client-cert-auth", "--peer-trusted-ca-file=ca.pem", "--peer-cert-file=member.pem",
          "--peer-key-file=member.key",
          // Losing etcd's leader must not take much longer than losing ours. Members draw their patience in heartbeats: the
          // shorter these are, the rarer two stand for election at once. With the vote before the vote, one that comes
          // back does not take the lead from who has it.
          fmt::format("--heartbeat-interval={}", election_ms / 20), fmt::format("--election-timeout={}", election_ms),
          "--pre-vote", "--auto-compaction-mode=revision",
          "--auto-compaction-retention=10000", "--quota-backend-bytes=8589934592", "--logger=zap", "--log-level=warn",
          "--log-outputs=stderr"};
}

Status EtcdProcess::launch() {
  ::unlink((options_.directory + "/etcd:1").c_str());
  const UniqueFd log(
      ::open((options_.directory + "/etcd.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const UniqueFd none(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (log.get() < 0 || none.get() < 0) return fail_errno("cannot open " + options_.directory + "/etcd.log", errno);
  std::vector<std::string> environment{"PATH=/usr/bin:/bin", "HOME=" + options_.directory};
  auto arguments = this->arguments();
  // It finds its files from where it is.
  std::vector<std::string> through{"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", options_.directory, program_};
  through.insert(through.end(), arguments.begin() + 1, arguments.end());
  auto spawned = spawn({.path = "/bin/sh",
                        .arguments = std::move(through),
                        .environment = std::move(environment),
                        .fds = {none.get(), log.get(), log.get()},
                        .new_session = true});
  if (!spawned) return std::unexpected(spawned.error());
  pid_ = spawned->pid;
  pidfd_ = std::move(spawned->pidfd);
  return write_file_durably(options_.directory + "/etcd.pid", std::to_string(pid_) + "\n", 0600);
}

// One that an earlier controller left running over the same files.
bool EtcdProcess::adopt() {
  const auto text = read_file(options_.directory + "/etcd.pid", 64);
  if (!text) return false;
  const int pid = std::atoi(text->c_str());
  if (pid <= 1) return false;
  UniqueFd pidfd = open_pidfd(pid);
  if (pidfd.get() < 0) return false;
  std::error_code none;
  const auto where = std::filesystem::read_symlink(fmt::format("/proc/{}/cwd", pid), none);
  const auto wanted = std::filesystem::canonical(options_.directory, none);
  const auto what = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), none);
  if (where != wanted || what.filename() != "etcd") return false;
  pid_ = pid;
  pidfd_ = std::move(pidfd);
  options_.log(fmt::format("etcd (pid {}) still runs and is used", pid));
  return true;
}

bool EtcdProcess::wait_for_room() {
  if (free_bytes(options_.directory) >= kFull) return true;
  options_.log(fmt::format("error: the disk of {} is full: etcd has ended, and this controller steps aside until there "
                           "is room; the others go on",
                           options_.directory));
  while (free_bytes(options_.directory) < kRoom)
    if (wait_readable(stop_.get(), kLookMillis)) return false;
  options_.log(fmt::format("{} has room again: etcd is started", options_.directory));
  return true;
}

void EtcdProcess::watch() {
  Duration pause = kFirstRestartPause;
  auto started = std::chrono::steady_clock::now();
  for (;;) {
    pollfd watched[2] = {{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                         {.fd = pidfd_.get(), .events = POLLIN, .revents = 0}};
    if (::poll(watched, 2, -1) < 0) continue;
    if (watched[0].revents) return;
    static_cast<void>(reap(pidfd_));
    pidfd_ = {};
    if (std::chrono::steady_clock::now() - started > seconds(30)) pause = kFirstRestartPause;
    if (free_bytes(options_.directory) >= kFull)
      options_.log(fmt::format("error: etcd (pid {}) has ended and is started again; {}/etcd.log says why", pid_,
                               options_.directory));
    if (!wait_for_room()) return;
    if (wait_readable(stop_.get(), static_cast<int>(std::chrono::duration_cast<milliseconds>(pause).count()))) return;
    pause = std::min(2 * pause, kLongestRestartPause);
    started = std::chrono::steady_clock::now();
    for (Status ok = launch(); !ok; ok = launch()) {
      options_.log("error: etcd cannot be started: " + ok.error().message);
      if (wait_readable(stop_.get(), kStopMillis)) return;
    }
  }
}

}  // namespace spur::os
