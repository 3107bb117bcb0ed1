// SPDX-License-Identifier: Apache-2.0
// sbcast: a file to all nodes of a job. Options, wordings and exit statuses are those of Slurm 22.05.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/broadcast.h"
#include "cli/commands.h"
#include "cli/job_places.h"
#include "cli/options.h"
#include "text/hostlist.h"

namespace spur::cli {
namespace {

using Value = std::string_view;

struct Sbcast {
  Broadcast what;
  std::optional<bool> compress, send_libs;
  std::optional<std::string> exclude;
  std::string job;
  std::uint32_t fanout = 0;
  std::uint32_t timeout = 0;  // 0: the usual
  std::size_t block_shown = std::size_t{8} << 20;
  int verbose = 0;
  bool help = false, usage = false, version = false;
  std::vector<std::string> complaints;  // about values that are then not used; the first word tells how
};

std::uint32_t number(Value value) {
  return static_cast<std::uint32_t>(std::max(0l, std::strtol(std::string(value).c_str(), nullptr, 10)));
}

template <bool Sbcast::* Field>
OptionStatus flag(Sbcast& s, Value) {
  s.*Field = true;
  return {};
}
template <bool Broadcast::* Field>
OptionStatus trait(Sbcast& s, Value) {
  s.what.*Field = true;
  return {};
}
OptionStatus set_compress(Sbcast& s, Value value) {
  s.compress = value.empty() || value == "lz4";
  if (!*s.compress && value != "none")
    s.complaints.push_back(fmt::format("Compression type '{}' unknown, disabling compression support.", value));
  return {};
}
OptionStatus set_exclude(Sbcast& s, Value value) {
  s.exclude = std::string(value);
  return {};
}
OptionStatus set_fanout(Sbcast& s, Value value) {
  s.fanout = std::min(number(value), 8u);
  return {};
}
OptionStatus set_job(Sbcast& s, Value value) {
  s.job = value;
  return {};
}
OptionStatus set_send_libs(Sbcast& s, Value value) {
  if (value == "yes" || value.empty() || value == "no")
    s.send_libs = value != "no";
  else
    s.complaints.push_back(fmt::format("Ignoring unrecognized --send-libs value '{}'", value));
  return {};
}
OptionStatus set_size(Sbcast& s, Value value) {
  const std::string text(value);
  char* end = nullptr;
  const unsigned long long size = std::strtoull(text.c_str(), &end, 10);
  const char unit = *end == 0 ? 0 : static_cast<char>(*end | 0x20);
  const bool good =
      end != text.c_str() && (unit == 0 || ((unit == 'k' || unit == 'm') && end[1] == 0)) && size < (1ull << 40);
  if (!good) {
    s.complaints.push_back("!size specification is invalid, ignored");
    return {};
  }
  const std::size_t bytes = size << (unit == 'k' ? 10 : unit == 'm' ? 20 : 0);
  if (bytes == 0) return {};
  s.what.block_bytes = s.block_shown = std::clamp<std::size_t>(bytes, 4096, std::size_t{8} << 20);
  return {};
}
OptionStatus set_timeout(Sbcast& s, Value value) {
  s.timeout = number(value);
  return {};
}
OptionStatus set_verbose(Sbcast& s, Value) {
  ++s.verbose;
  return {};
}

constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
constexpr auto M = Takes::Maybe;
// clang-format off
constexpr Option<Sbcast> kOptions[] = {
    {{"compress", 'C', M}, set_compress, "SBCAST_COMPRESS"},
    {{"exclude", 0, V}, set_exclude, "SBCAST_EXCLUDE"},
    {{"fanout", 'F', V}, set_fanout, "SBCAST_FANOUT"},
    {{"force", 'f', N}, trait<&Broadcast::replace>, "SBCAST_FORCE"},
    {{"jobid", 'j', V}, set_job},
    {{"preserve", 'p', N}, trait<&Broadcast::preserve>, "SBCAST_PRESERVE"},
    {{"send-libs", 0, M}, set_send_libs, "SBCAST_SEND_LIBS"},
    {{"size", 's', V}, set_size, "SBCAST_SIZE"},
    {{"timeout", 't', V}, set_timeout, "SBCAST_TIMEOUT"},
    {{"verbose", 'v', N}, set_verbose},
    {{"version", 'V', N}, flag<&Sbcast::version>},
    {{"help", 0, N}, flag<&Sbcast::help>},
    {{"usage", 0, N}, flag<&Sbcast::usage>},
};
constexpr std::string_view kHelp =
    "Usage: sbcast [OPTIONS] SOURCE DEST\n"
    "  -C, --compress[=lib]  compress the file being transmitted\n"
    "  --exclude=<path_list> shared object paths to be excluded\n"
    "  -f, --force           replace destination file as required\n"
    "  -F, --fanout=num      specify message fanout\n"
    "  -j, --jobid=#[+#][.#] specify job ID with optional hetjob offset and/or step ID\n"
    "  -p, --preserve        preserve modes and times of source file\n"
    "  --send-libs[=yes|no]  autodetect and broadcast executable's shared objects\n"
    "  -s, --size=num        block size in bytes (rounded off)\n"
    "  -t, --timeout=secs    specify message timeout (seconds)\n"
    "  -v, --verbose         provide detailed event logging\n"
    "  -V, --version         print version information and exit\n"
    "\nHelp options:\n"
    "  --help                show this help message\n"
    "  --usage               display brief usage message\n";
// clang-format on

// What the options leave to the site.
void settle(const config::CommandDefaults& site, Sbcast& options) {
  options.what.compress = options.compress.value_or(site.broadcast_compressed);
  options.what.send_libs = options.send_libs.value_or(site.broadcast_libraries);
  if (!site.broadcast_exclude.empty()) options.what.exclude = site.broadcast_exclude;
  if (options.exclude) options.what.exclude = *options.exclude;
}

void describe(Context& context, const Sbcast& options) {
  if (context.verbosity == 0) return;
  const Broadcast& what = options.what;
  context.info("-----------------------------");
  context.info("block_size = {}", options.block_shown);
  context.info("compress   = {}", what.compress ? 2 : 0);
  context.info("exclude    = {}", what.exclude);
  context.info("force      = {}", what.replace);
  context.info("fanout     = {}", options.fanout);
  context.info("preserve   = {}", what.preserve);
  context.info("send_libs  = {}", what.send_libs);
  context.info("timeout    = {}", options.timeout);
  context.info("verbose    = {}", options.verbose);
  context.info("source     = {}", what.source);
  context.info("dest       = {}", what.destination);
  context.info("-----------------------------");
}

int send(Context& context, Sbcast& options) {
  const FileTarget target = parse_file_target(options.job);
  auto controller = context.controller();
  if (!controller) {
    context.error("{}", controller.error().message);
    return 1;
  }
  auto places = find_places(**controller, target);
  if (!places) {
    context.error("Slurm job {} lookup error: {}", target.text(), words(places.error()));
    return 255;
  }
  for (auto& place : *places) {
    if (context.verbosity > 0) {
      context.info("jobid      = {}", target.text());
      context.info("node_list  = {}", text::compress_hostlist(place.nodes));
    }
    place.fanout = options.fanout;
    if (options.timeout > 0) place.patience = seconds(options.timeout);
  }
  return broadcast(context, **controller, options.what, *places);
}

}  // namespace

int cmd_sbcast(Context& context) {
  Sbcast options;
  const std::span<const Option<Sbcast>> table(kOptions);
  auto names = read_line(context, table, options, Order::Anywhere, 1);
  if (!names) return names.error();
  if (options.version) return print_version(context);
  if (options.help || options.usage) {
    context.out.write(options.help ? std::string(kHelp)
                                   : "Usage: sbcast [--exclude] [-CfFjpvV] [--send-libs] SOURCE DEST\n");
    return 0;
  }
  for (const auto& complaint : options.complaints)
    complaint.starts_with('!') ? context.plain("{}", complaint.substr(1)) : context.error("{}", complaint);
  if (names->size() != 2) {
    context.plain("Need two file names, have {} names", names->size());
    context.plain("Try \"sbcast --help\" for more information");
    return 1;
  }
  context.verbosity = options.verbose;
  options.what.source = (*names)[0];
  options.what.destination = (*names)[1];
  if (options.what.destination.ends_with('/')) {
    context.error("Target filename cannot be a directory.");
    return 1;
  }
  const config::CommandDefaults site = context.defaults();
  settle(site, options);
  if (!options.what.destination.starts_with('/') && !site.broadcast_directory.empty()) {
    options.what.destination = site.broadcast_directory + "/" + options.what.destination;
  } else if (!options.what.destination.starts_with('/')) {
    char directory[4096];
    if (::getcwd(directory, sizeof directory) == nullptr) {
      context.error("getcwd failed");
      return 1;
    }
    options.what.destination = std::string(directory) + "/" + options.what.destination;
  }
  if (options.job.empty())
    options.job = context.env("SLURM_JOB_ID").value_or(context.env("SLURM_JOBID").value_or(""));
  if (options.job.empty()) {
    context.error("Need a job id to run this command.  Run from within a Slurm job or use the --jobid option.");
    return 1;
  }
  describe(context, options);
  return send(context, options);
}

}  // namespace spur::cli
