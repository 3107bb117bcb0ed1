// SPDX-License-Identifier: Apache-2.0
#include "os/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "base/check.h"
#include "os/crc32c.h"
#include "os/files.h"
#include "os/step_control.h"

namespace spur::os {
namespace {

constexpr std::size_t kStartAt = 1024, kEndAt = 1536, kLaunchAt = 4096;
constexpr std::size_t kMaxLaunch = 256u << 20;
constexpr std::string_view kSpoolMagic = "spur-run 1\n";
constexpr std::string_view kSpare = "spare";
constexpr std::size_t kMaxSpares = 256;

constexpr std::pair<std::string_view, std::uint64_t model::Usage::*> kUsageFields[] = {
    {"user_cpu_us", &model::Usage::user_cpu_us},         {"system_cpu_us", &model::Usage::system_cpu_us},
    {"max_rss_kib", &model::Usage::max_rss_kib},         {"max_vsize_kib", &model::Usage::max_vsize_kib},
    {"memory_peak_kib", &model::Usage::memory_peak_kib}, {"read_bytes", &model::Usage::read_bytes},
    {"write_bytes", &model::Usage::write_bytes},         {"major_faults", &model::Usage::major_faults},
};

// A part: lines of text, then "sum <crc>" and a newline, then NUL bytes up to its fixed size.
std::string seal(std::string text, std::size_t size) {
  text += fmt::format("sum {:08x}\n", crc32c(text));
  SPUR_CHECK(text.size() <= size);
  text.resize(size, '\0');
  return text;
}

std::optional<std::string> unseal(std::string_view part) {
  const auto at = part.rfind("sum ");
  if (at == std::string_view::npos || part.size() < at + 13 || (at != 0 && part[at - 1] != '\n')) return std::nullopt;
  if (part.substr(at, 13) != fmt::format("sum {:08x}\n", crc32c(part.substr(0, at)))) return std::nullopt;
  return std::string(part.substr(0, at));
}

std::optional<std::string> read_part(int fd, std::size_t from, std::size_t to) {
  std::string bytes(to - from, '\0');
  const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(from));
  if (got <= 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(got));
  return unseal(bytes);
}

// The value of the line that starts with `key` and a blank; empty if there is none.
std::string_view value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ')
      return line.substr(key.size() + 1);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

template <class Number>
Number number_of(std::string_view text, std::string_view key, int base = 10) {
  Number out{};
  const auto value = value_of(text, key);
  std::from_chars(value.data(), value.data() + value.size(), out, base);
  return out;
}

// One line whatever the text holds: the record is made of lines.
std::string one_line(std::string_view text, std::size_t limit) {
  std::string out(text.substr(0, limit));
  std::ranges::replace_if(out, [](char c) { return c == '\n' || c == '\0'; }, ' ');
  return out;
}

std::string header_part(const RunHeader& header, std::string_view launch) {
  return seal(
      fmt::format(
          "{}job {}\nepoch {}\nbatch_host {}\nscript {}\nboot {}\ncgroup {}\nlaunch_size {}\nlaunch_sum {:08x}\n",
          kSpoolMagic, header.run.job.value, header.run.epoch.value, int{header.is_batch_host}, int{header.has_script},
          header.boot_id, header.cgroup, launch.size(), crc32c(launch)),
      kStartAt);
}

std::optional<model::JobRun> run_of_name(std::string_view name) {
  if (!name.starts_with("job")) return std::nullopt;
  model::JobRun run;
  const char* end = name.data() + name.size();
  auto [dot, error] = std::from_chars(name.data() + 3, end, run.job.value);
  if (error != std::errc{} || dot == end || *dot != '.') return std::nullopt;
  auto [stop, second] = std::from_chars(dot + 1, end, run.epoch.value);
  if (second != std::errc{} || stop != end || Spool::run_name(run) != name) return std::nullopt;
  return run;
}

}  // namespace

Result<RunHeader> RunFile::header() const {
  const auto text = read_part(fd_.get(), 0, kStartAt);
  if (!text || !text->starts_with(kSpoolMagic)) return fail(ErrorCode::Corrupt, "the header of a run record is damaged");
  RunHeader out;
  out.run = {JobId{number_of<std::uint32_t>(*text, "job")}, Epoch{number_of<std::uint32_t>(*text, "epoch")}};
  out.is_batch_host = value_of(*text, "batch_host") == "1";
  out.has_script = value_of(*text, "script") == "1";
  out.boot_id = value_of(*text, "boot");
  out.cgroup = value_of(*text, "cgroup");
  return out;
}

Result<std::string> RunFile::launch() const {
  const auto bad = fail(ErrorCode::Corrupt, "the launch in a run record is damaged");
  const auto text = read_part(fd_.get(), 0, kStartAt);
  if (!text) return bad;
  const auto size = number_of<std::size_t>(*text, "launch_size");
  if (size > kMaxLaunch) return bad;
  std::string bytes(size, '\0');
  if (::pread(fd_.get(), bytes.data(), size, kLaunchAt) != static_cast<ssize_t>(size)) return bad;
  if (crc32c(bytes) != number_of<std::uint32_t>(*text, "launch_sum", 16)) return bad;
  return bytes;
}

std::optional<pid_t> RunFile::started() const {
  const auto text = read_part(fd_.get(), kStartAt, kEndAt);
  if (!text) return std::nullopt;
  const auto pid = number_of<pid_t>(*text, "pid");
  return pid > 0 ? std::optional(pid) : std::nullopt;
}

std::optional<EndRecord> RunFile::end() const {
  const auto text = read_part(fd_.get(), kEndAt, kLaunchAt);
  if (!text) return std::nullopt;
  EndRecord out;
  out.exit = {number_of<std::uint16_t>(*text, "code"), number_of<std::uint16_t>(*text, "signal")};
  out.out_of_memory = value_of(*text, "out_of_memory") == "1";
  out.launch_failed = value_of(*text, "launch_failed") == "1";
  out.ended = from_micros(number_of<std::int64_t>(*text, "ended_us"));
  out.prolog_failed = value_of(*text, "prolog_failed") == "1";
  out.node_blameless = value_of(*text, "node_blameless") == "1";
  for (const auto& [name, member] : kUsageFields) out.usage.*member = number_of<std::uint64_t>(*text, name);
  out.error = value_of(*text, "error");
  return out;
}

Status RunFile::note_started(pid_t stepd) const {
  const auto part = seal(fmt::format("pid {}\n", stepd), kEndAt - kStartAt);
  if (::pwrite(fd_.get(), part.data(), part.size(), kStartAt) != static_cast<ssize_t>(part.size()))
    return fail_errno("cannot write a run record", errno);
  return {};
}

Status RunFile::note_end(const EndRecord& record) const {
  std::string text = fmt::format(
      "code {}\nsignal {}\nout_of_memory {}\nlaunch_failed {}\nprolog_failed {}\nnode_blameless {}\nended_us {}\n",
      record.exit.code, record.exit.signal, int{record.out_of_memory}, int{record.launch_failed},
      int{record.prolog_failed}, int{record.node_blameless}, to_micros(record.ended));
  for (const auto& [name, member] : kUsageFields)
    if (record.usage.*member > 0) text += fmt::format("{} {}\n", name, record.usage.*member);
  if (!record.error.empty()) text += "error " + one_line(record.error, 1800) + "\n";
  const auto part = seal(std::move(text), kLaunchAt - kEndAt);
  if (::pwrite(fd_.get(), part.data(), part.size(), kEndAt) != static_cast<ssize_t>(part.size()))
    return fail_errno("cannot write a run record", errno);
  return {};
}

Status RunFile::sync() const {
  // The directories above are found through the descriptor's own name; syncing the file system covers them too.
  if (::syncfs(fd_.get()) != 0) return fail_errno("cannot make a run record durable", errno);
  return {};
}

bool RunFile::try_lock() const {
  return ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0;
}

Result<Spool> Spool::open(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  SPUR_TRY(make_private_dir(path));
  // Jobs reach their script through it: others may pass, but neither list nor write.
  if (::chmod(path.c_str(), 0711) != 0) return fail_errno("cannot set the mode of " + path, errno);
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno("cannot open " + path, errno);
  Spool spool(std::move(path), std::move(fd));
  SPUR_ASSIGN(const auto names, spool.names());
  for (const auto& name : names)
    if (name.starts_with(kSpare)) spool.remove_for_good(name);  // of an agent that ended; not worth checking
  return spool;
}

std::string Spool::run_name(model::JobRun run) {
  return fmt::format("job{}.{}", run.job.value, run.epoch.value);
}
std::string Spool::run_path(model::JobRun run) const {
  return path_ + "/" + run_name(run);
}

Result<RunFile> Spool::create_in(const std::string& name, const RunHeader& header, std::string_view launch) const {
  const std::string path = path_ + "/" + name;
  const UniqueFd dir(::openat(fd_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!dir) return fail_errno("cannot open " + path, errno);
  RunFile file(UniqueFd(::openat(dir.get(), "run", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)));
  if (file.fd() < 0) return fail_errno("cannot create " + path + "/run", errno);
  SPUR_CHECK(file.try_lock());  // new, or a spare that nobody had locked
  std::string front = header_part(header, launch);
  front.resize(kLaunchAt, '\0');
  const iovec parts[] = {{front.data(), front.size()}, {const_cast<char*>(launch.data()), launch.size()}};
  const ssize_t written = ::pwritev(file.fd(), parts, 2, 0);
  if (written < 0) return fail_errno("cannot write " + path + "/run", errno);
  if (static_cast<std::size_t>(written) != front.size() + launch.size())
    return fail(ErrorCode::OutOfSpace, "cannot write all of " + path + "/run: the disk is full");
  return file;
}

// A spare one, else a new one.
Status Spool::take_directory(const std::string& name) {
  if (!spares_.empty()) {
    const std::string spare = std::move(spares_.back());
    spares_.pop_back();
    if (::renameat2(fd_.get(), spare.c_str(), fd_.get(), name.c_str(), RENAME_NOREPLACE) == 0) return {};
    const int error = errno;
    remove_for_good(spare);
    if (error == EEXIST) return fail_errno("cannot create " + path_ + "/" + name, error);
  }
  if (::mkdirat(fd_.get(), name.c_str(), 0711) != 0) return fail_errno("cannot create " + path_ + "/" + name, errno);
  ::fchmodat(fd_.get(), name.c_str(), 0711, 0);  // whatever the umask
  return {};
}

Result<RunFile> Spool::create(const RunHeader& header, std::string_view launch) {
  if (header.cgroup.size() > kStartAt - 400)
    return fail(ErrorCode::InvalidArgument, "the path of the job's cgroup is too long: " + header.cgroup);
  if (launch.size() > kMaxLaunch)
    return fail(ErrorCode::JobScriptTooLarge, "the job's script and environment are too large");
  const std::string name = run_name(header.run);
  SPUR_TRY(take_directory(name));
  auto file = create_in(name, header, launch);
  if (!file) remove_for_good(name);
  return file;
}

Result<RunFile> Spool::open_run(model::JobRun run) const {
  const std::string name = run_name(run) + "/run";
  UniqueFd fd(::openat(fd_.get(), name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail_errno("cannot open " + path_ + "/" + name, errno);
  return RunFile(std::move(fd));
}

Result<std::vector<std::string>> Spool::names() const {
  const int copy = ::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return fail_errno("cannot open " + path_, errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(copy), ::closedir);
  std::vector<std::string> out;
  while (const dirent* entry = ::readdir(stream.get())) out.emplace_back(entry->d_name);
  return out;
}

Result<std::vector<model::JobRun>> Spool::list() const {
  SPUR_ASSIGN(const auto all, names());
  std::vector<model::JobRun> out;
  for (const auto& name : all)
    if (const auto run = run_of_name(name)) out.push_back(*run);
  std::ranges::sort(out);
  return out;
}

void Spool::remove(model::JobRun run) {
  const std::string name = run_name(run);
  const UniqueFd dir(::openat(fd_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (dir && !keep_spare(name, dir.get())) remove_for_good(name);
}

// Blanks the record and gives the directory a name that is no run's.
bool Spool::keep_spare(const std::string& name, int dir) {
  if (spares_.size() >= kMaxSpares) return false;
  const RunFile file(UniqueFd(::openat(dir, "run", O_RDWR | O_NOFOLLOW | O_CLOEXEC)));
  // Whoever can still write to it has the lock.
  if (file.fd() < 0 || !file.try_lock()) return false;
  static constexpr char kBlank[kLaunchAt] = {};
  if (::pwrite(file.fd(), kBlank, sizeof kBlank, 0) != static_cast<ssize_t>(sizeof kBlank) ||
      ::ftruncate(file.fd(), kLaunchAt) != 0)
    return false;
  for (const char* left : {"slurm_script", kNoticesFile}) ::unlinkat(dir, left, 0);
  const std::string spare = fmt::format("{}{}", kSpare, next_spare_++);
  if (::renameat2(fd_.get(), name.c_str(), fd_.get(), spare.c_str(), RENAME_NOREPLACE) != 0) return false;
  spares_.push_back(spare);
  return true;
}

void Spool::remove_for_good(const std::string& name) const {
  const UniqueFd dir(::openat(fd_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!dir) return;
  for (const char* file : {"run", "slurm_script", "ctl", kNoticesFile}) ::unlinkat(dir.get(), file, 0);
  ::unlinkat(fd_.get(), name.c_str(), AT_REMOVEDIR);
}

std::string usage_file(std::string_view run_directory, model::JobRun run, std::string_view step) {
  const auto spool = run_directory.substr(0, run_directory.rfind('/'));
  return fmt::format("{}/{}/{}.{}", spool, kUsageDirectory, Spool::run_name(run), step);
}

std::string run_token(std::string_view spool_token, model::JobRun run) {
  return fmt::format("SPUR_JOB_TOKEN={}.{}.{}", spool_token, run.job.value, run.epoch.value);
}

std::string current_boot_id() {
  const UniqueFd fd(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[64];
  const ssize_t got = fd ? ::read(fd.get(), text, sizeof text) : 0;
  return got > 36 ? std::string(text, 36) : std::string("unknown");
}

}  // namespace spur::os
