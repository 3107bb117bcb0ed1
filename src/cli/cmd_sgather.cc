// SPDX-License-Identifier: Apache-2.0
// sgather: a file from all nodes of a job, to DEST.NODE here. As Slurm's contributed command of that name, but over
// the agents instead of scp: a node's file is removed only when its copy is complete, and copies appear all at once.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>

#include "cli/commands.h"
#include "cli/job_places.h"
#include "cli/options.h"
#include "text/decimal.h"
#include "text/hostlist.h"

namespace spur::cli {
namespace {

using Value = std::string_view;

struct Sgather {
  bool compress = false, force = false, keep = false, preserve = false, recursive = false;
  bool help = false, usage = false, version = false;
  std::uint32_t fanout = 8, timeout = 60;
  int verbose = 0;
  std::string source, destination;
};

template <bool Sgather::* Field>
OptionStatus flag(Sgather& s, Value) {
  s.*Field = true;
  return {};
}
OptionStatus set_fanout(Sgather& s, Value value) {
  const auto number = text::parse_decimal32(value);
  if (!number || *number == 0 || *number > 8)
    return bad_option({}, 1, fmt::format("sgather: invalid fanout -- '{}'", value));
  s.fanout = *number;
  return {};
}
OptionStatus set_timeout(Sgather& s, Value value) {
  const auto number = text::parse_decimal32(value);
  if (!number || *number == 0) return bad_option({}, 1, fmt::format("sgather: invalid timeout -- '{}'", value));
  s.timeout = *number;
  return {};
}
OptionStatus set_verbose(Sgather& s, Value) {
  ++s.verbose;
  return {};
}

constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
// clang-format off
constexpr Option<Sgather> kOptions[] = {
    {{"compress", 'C', N}, flag<&Sgather::compress>, "SGATHER_COMPRESS"},
    {{"force", 'f', N}, flag<&Sgather::force>, "SGATHER_FORCE"},
    {{"fanout", 'F', V}, set_fanout, "SGATHER_FANOUT"},
    {{"keep", 'k', N}, flag<&Sgather::keep>, "SGATHER_KEEP"},
    {{"preserve", 'p', N}, flag<&Sgather::preserve>, "SGATHER_PRESERVE"},
    {{"recursive", 'r', N}, flag<&Sgather::recursive>, "SGATHER_RECURSIVE"},
    {{"timeout", 't', V}, set_timeout, "SGATHER_TIMEOUT"},
    {{"verbose", 'v', N}, set_verbose},
    {{"version", 'V', N}, flag<&Sgather::version>},
    {{"help", 'h', N}, flag<&Sgather::help>},
    {{"usage", 0, N}, flag<&Sgather::usage>},
};
constexpr std::string_view kHelp =
    "Usage: sgather [OPTIONS] SOURCE DEST\n"
    "  -C, --compress         compress the file on its way\n"
    "  -f, --force            do not mind nodes without the file\n"
    "  -F, --fanout=num       how many nodes at a time (1 to 8)\n"
    "  -k, --keep             leave the file on the nodes\n"
    "  -p, --preserve         keep modes and times of the file\n"
    "  -r, --recursive        copy directories with all that is in them\n"
    "  -t, --timeout=secs     how long a node may be silent\n"
    "  -v, --verbose          tell what is done\n"
    "  -V, --version          print the version and exit\n"
    "\nHelp options:\n"
    "  -h, --help             show this help message\n"
    "  --usage                display brief usage message\n";
// clang-format on

std::unexpected<Error> errno_failure(const std::string& path) {
  return fail(ErrorCode::Internal, fmt::format("{}: {}", path, std::strerror(errno)));
}

// What comes from one node, beside its final name until it is whole.
class Copy {
 public:
  Copy(std::string final_name, bool preserve)
      : final_(std::move(final_name)),
        temporary_(fmt::format("{}.part-{}", final_, ::getpid())),
        preserve_(preserve) {}
  ~Copy() {
    close();
    if (!made_.empty()) remove_tree();
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  Status entry(const wire::FetchedEntry& entry) {
    SPUR_TRY(end_file());
    // The node decides what it sends; where it goes is ours to decide.
    if (entry.path.starts_with('/') || ("/" + entry.path + "/").find("/../") != std::string::npos)
      return fail(ErrorCode::Corrupt, fmt::format("the node sends a file named {}", entry.path));
    const std::string path = entry.path.empty() ? temporary_ : temporary_ + "/" + entry.path;
    made_.push_back({path, S_ISDIR(entry.mode), entry.mode, entry.times});
    if (S_ISDIR(entry.mode)) return ::mkdir(path.c_str(), 0700) == 0 ? Status{} : Status(errno_failure(path));
    if (S_ISLNK(entry.mode))
      return ::symlink(entry.link.c_str(), path.c_str()) == 0 ? Status{} : Status(errno_failure(path));
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd_ >= 0 ? Status{} : Status(errno_failure(path));
  }

  Status data(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno_failure(final_);
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
  }

  Status complete() {
    SPUR_TRY(end_file());
    // Directories last, from below: a closed one could not be filled, and filling changes its times.
    for (auto it = made_.rbegin(); it != made_.rend(); ++it)
      if (it->directory) SPUR_TRY(settle(*it));
    if (::rename(temporary_.c_str(), final_.c_str()) != 0) return errno_failure(final_);
    made_.clear();
    return {};
  }

 private:
  struct Made {
    std::string path;
    bool directory;
    std::uint32_t mode;
    wire::FileTimes times;
  };

  Status settle(const Made& made) const {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::chmod(made.path.c_str(), made.mode & 0777 & (preserve_ ? ~0u : ~mask)) != 0)
      return errno_failure(made.path);
    if (!preserve_) return {};
    const auto time_of = [](std::int64_t ns) {
      return timespec{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
    };
    const timespec times[] = {time_of(made.times.accessed_ns), time_of(made.times.modified_ns)};
    return ::utimensat(AT_FDCWD, made.path.c_str(), times, 0) == 0 ? Status{} : Status(errno_failure(made.path));
  }
  Status end_file() {
    if (fd_ < 0) return {};
    const int closed = ::close(std::exchange(fd_, -1));
    if (closed != 0) return errno_failure(final_);
    return settle(made_.back());
  }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void remove_tree() {
    for (auto it = made_.rbegin(); it != made_.rend(); ++it)
      it->directory ? ::rmdir(it->path.c_str()) : ::unlink(it->path.c_str());
  }

  std::string final_, temporary_;
  bool preserve_;
  int fd_ = -1;
  std::vector<Made> made_;
};

int fetch(Context& context, Controller& controller, const Sgather& options, const wire::FilePlace& whole,
          std::size_t index) {
  const std::string& node = whole.nodes[index];
  const wire::FilePlace place{.ticket = whole.ticket,
                              .nodes = {node},
                              .addresses = {whole.addresses[index]},
                              .patience = seconds(options.timeout)};
  Copy copy(options.destination + "." + node, options.preserve);
  const wire::FileToFetch file{
      .path = options.source, .recursive = options.recursive, .remove = !options.keep, .compress = options.compress};
  const auto failure =
      controller.fetch_file(place, file,
                            {.entry = [&](const wire::FetchedEntry& entry) { return copy.entry(entry); },
                             .data = [&](std::string_view bytes) { return copy.data(bytes); },
                             .complete = [&] { return copy.complete(); }});
  if (!failure) {
    context.error("{}: {}", node, words(failure.error()));
    return 1;
  }
  if (!*failure) {
    if (context.verbosity > 0) context.info("{}: {} -> {}.{}", node, options.source, options.destination, node);
    return 0;
  }
  context.error("{}: Can't open {}: {}", node, options.source, (*failure)->text);
  if ((*failure)->number != ENOENT || !options.force) return 1;
  context.error("{}: {} ignored", node, options.source);
  return 0;
}

// So many of them at a time, each in a process of its own; the highest status.
int side_by_side(Context& context, const std::vector<std::function<int()>>& work, std::size_t at_a_time) {
  if (work.size() == 1 || at_a_time == 1) {
    int worst = 0;
    for (const auto& one : work) worst = std::max(worst, one());
    return worst;
  }
  int worst = 0;
  std::size_t next = 0, running = 0;
  context.out.flush();
  while (next < work.size() || running > 0) {
    if (next < work.size() && running < at_a_time) {
      const pid_t child = ::fork();
      if (child == 0) {
        const int status = work[next]();
        context.out.flush();
        ::_exit(status);
      }
      if (child < 0) {
        context.error("fork: {}", std::strerror(errno));
        return 1;
      }
      ++next;
      ++running;
      continue;
    }
    int status = 0;
    if (::waitpid(-1, &status, 0) <= 0) continue;
    --running;
    worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  return worst;
}

int gather(Context& context, const Sgather& options, std::string_view job) {
  const FileTarget target = parse_file_target(job);
  auto controller = context.controller();
  if (!controller) {
    context.error("{}", controller.error().message);
    return 1;
  }
  const auto places = find_places(**controller, target);
  if (!places) {
    context.error("Slurm job {} lookup error: {}", target.text(), words(places.error()));
    return 1;
  }
  std::vector<std::function<int()>> work;
  for (const auto& place : *places)
    for (std::size_t i = 0; i < place.nodes.size(); ++i)
      work.push_back([&, i] { return fetch(context, **controller, options, place, i); });
  return side_by_side(context, work, options.fanout);
}

}  // namespace

int cmd_sgather(Context& context) {
  Sgather options;
  const std::span<const Option<Sgather>> table(kOptions);
  auto names = read_line(context, table, options, Order::Anywhere, 1);
  if (!names) {
    context.plain("Try \"sgather --help\" for more information");
    return names.error();
  }
  if (options.version) return print_version(context);
  if (options.help || options.usage) {
    context.out.write(options.help ? std::string(kHelp) : "Usage: sgather [-CfFkprtvV] SOURCE DEST\n");
    return 0;
  }
  if (names->size() != 2) {
    context.plain("Need two file names, have {} names", names->size());
    context.plain("Try \"sgather --help\" for more information");
    return 1;
  }
  context.verbosity = options.verbose;
  options.source = (*names)[0];
  options.destination = (*names)[1];
  if (!options.source.starts_with('/')) {
    context.error("{} is not a full path", options.source);
    return 1;
  }
  const auto job = context.env("SLURM_JOB_ID").value_or(context.env("SLURM_JOBID").value_or(""));
  if (job.empty()) {
    context.error("Command only valid from within Slurm job");
    return 1;
  }
  return gather(context, options, job);
}

}  // namespace spur::cli
