// SPDX-License-Identifier: Apache-2.0
#include "main/dbd_options.h"

#include <fmt/format.h>
#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace spur::main {
namespace {

constexpr char kHelp[] = R"(Usage: spurdbd [OPTIONS]
  -D, --foreground          stay in the foreground, log to stderr
  -f, --config FILE         spur.conf, slurm.conf or slurmdbd.conf; slurmdbd.conf is looked for beside slurm.conf
  -v                        more messages; may be repeated
  -L FILE                   log file
      --state-dir DIR       directory of the key, the sockets and, unless another database is given, the database
      --database-url URL    sqlite:/path or postgresql://user:password@host/name
      --listen ADDR         host:port to listen on
      --migrate             bring the database's schema up to date and exit
      --dry-run             with --migrate: only say what would be done
      --load-archive FILE   put what is in an archive back into the database and exit
      --log-level WORD      error, info, debug ...
  -n VALUE                  nice value of the daemon
  -R[CLUSTERS]              nothing to do: lft and rgt of associations are counted whenever they are shown
  -s                        work in the directory of the log file, or in /var/tmp, where core files go
  -V, --version             print the version and exit
  -h, --help                this text
)";

}  // namespace

DbdOptions parse_dbd_options(int argc, char** argv) {
  enum { kStateDir = 256, kListen, kLogLevel, kDatabase, kMigrate, kDryRun, kArchive };
  const option known[] = {{"foreground", no_argument, nullptr, 'D'},
                          {"config", required_argument, nullptr, 'f'},
                          {"state-dir", required_argument, nullptr, kStateDir},
                          {"listen", required_argument, nullptr, kListen},
                          {"log-level", required_argument, nullptr, kLogLevel},
                          {"database-url", required_argument, nullptr, kDatabase},
                          {"migrate", no_argument, nullptr, kMigrate},
                          {"dry-run", no_argument, nullptr, kDryRun},
                          {"load-archive", required_argument, nullptr, kArchive},
                          {"version", no_argument, nullptr, 'V'},
                          {"help", no_argument, nullptr, 'h'},
                          {nullptr, 0, nullptr, 0}};
  DbdOptions out;
  for (int c; (c = getopt_long(argc, argv, "Df:vL:n:R::sVh", known, nullptr)) != -1;) {
    if (c == 'D')
      out.foreground = true;
    else if (c == 'f')
      out.config = optarg;
    else if (c == 'v')
      ++out.verbose;
    else if (c == 'L')
      out.log_file = optarg;
    else if (c == kStateDir)
      out.state_dir = optarg;
    else if (c == kListen)
      out.listen = optarg;
    else if (c == kDatabase)
      out.database_url = optarg;
    else if (c == kMigrate)
      out.migrate = true;
    else if (c == kDryRun)
      out.dry_run = true;
    else if (c == kArchive)
      out.archive = optarg;
    else if (c == kLogLevel) {
      const auto level = config::parse_log_level(optarg);
      if (!level) {
        std::fprintf(stderr, "spurdbd: error: --log-level: %s\n", level.error().message.c_str());
        std::exit(1);
      }
      out.log_level = *level;
    } else if (c == 'n') {
      char* end = nullptr;
      const long value = std::strtol(optarg, &end, 10);
      if (end == optarg || *end != '\0' || value < -20 || value > 19) {
        std::fprintf(stderr, "spurdbd: error: -n: '%s' is no nice value (-20 to 19)\n", optarg);
        std::exit(1);
      }
      out.nice = static_cast<int>(value);
    } else if (c == 'R') {
      out.resets_tree = true;
    } else if (c == 's') {
      out.works_at_log = true;
    } else if (c == 'V') {
      print_version(argv[0]);
    } else if (c == 'h') {
      std::fputs(kHelp, stdout);
      std::exit(0);
    } else {
      std::fprintf(stderr, "Try 'spurdbd --help' for more information\n");
      std::exit(1);
    }
  }
  // A daemon leaves its working directory.
  for (std::string* path : {&out.config, &out.log_file, &out.state_dir})
    if (!path->empty() && path->front() != '/') *path = std::filesystem::absolute(*path).string();
  if (optind < argc || (out.dry_run && !out.migrate)) {
    std::fprintf(stderr, "spurdbd: error: %s\n",
                 optind < argc ? fmt::format("unexpected argument '{}'", argv[optind]).c_str()
                               : "--dry-run goes with --migrate");
    std::exit(1);
  }
  return out;
}

}  // namespace spur::main
