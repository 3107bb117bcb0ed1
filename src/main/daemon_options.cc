// SPDX-License-Identifier: Apache-2.0
#include "main/daemon_options.h"

#include <fmt/format.h>
#include <getopt.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "config/show.h"
#include "main/version.h"

namespace spur::main {
namespace {

constexpr char kControllerHelp[] = R"(Usage: spurctld [OPTIONS]
  -D, --foreground       stay in the foreground, log to stderr
  -f, --config FILE      spur.conf or slurm.conf
  -c                     start without the saved state (it is moved aside, not deleted)
  -i                     if the saved state is damaged, start without it (it is moved aside, not deleted)
  -r                     recover the saved state, as always
  -N, --name HOST        which of the controllers to be (default: the one of this host's name)
  -v                     more messages; may be repeated
  -L FILE                log file
      --convert KIND     move the state into etcd, or into sqlite, and exit (spur controllers convert)
      --state-dir DIR    directory of the journal and the sockets
      --listen ADDR      host:port to listen on
      --log-level WORD   error, info, debug ...
  -V, --version          print the version and exit
  -h, --help             this text
)";
constexpr char kAgentHelp[] = R"(Usage: spurd [OPTIONS]
  -D, --foreground       stay in the foreground, log to stderr
  -f, --config FILE      spur.conf or slurm.conf
  -N, --hostname NODE    the node to be (default: this host's name)
  -d, --stepd FILE       path of spurstepd (default: beside spurd)
  -b                     say that the node has just been booted, to try out reboots
  -c                     accepted as in Slurm: there are never stale locks to clear
  -C                     print the hardware of this host as a line of slurm.conf and exit
  -F[FEATURE]            take the place of a FUTURE node that is like this host, and has the feature
  -G                     print the GRES of this node and exit
  -Z                     be a node that the configuration does not have
      --conf WORDS       with -Z: what is to be said of the node, as in a NodeName line ("Feature=x Gres=gpu:2")
      --extra TEXT       text that is shown with the node
      --instance-id ID   the machine's in a cloud, shown with the node
      --instance-type TYPE
  -v                     more messages; may be repeated
  -L FILE                log file
      --conf-server HOST[:PORT]
                         get the configuration from the controller there (SlurmctldParameters=enable_configless)
      --controller ADDR  http://host:port of the controller; a comma list for several
      --listen ADDR      host:port to listen on for steps
      --address HOST     the name or address under which others reach this node
      --token FILE       file with the join token, for a node that the controller does not know yet
      --print-cdi        print CDI specifications of the GPUs of this host and exit
      --log-level WORD   error, info, debug ...
  -V, --version          print the version and exit
  -h, --help             this text
)";

enum { kStateDir = 256, kListen, kLogLevel, kController, kToken, kAddress, kPrintCdi, kConfServer, kConvert, kNodeWords, kExtra,
       kInstanceId, kInstanceType };
constexpr option kControllerOptions[] = {{"foreground", no_argument, nullptr, 'D'},
                                         {"config", required_argument, nullptr, 'f'},
                                         {"convert", required_argument, nullptr, kConvert},
                                         {"state-dir", required_argument, nullptr, kStateDir},
                                         {"name", required_argument, nullptr, 'N'},
                                         {"listen", required_argument, nullptr, kListen},
                                         {"log-level", required_argument, nullptr, kLogLevel},
                                         {"version", no_argument, nullptr, 'V'},
                                         {"help", no_argument, nullptr, 'h'},
                                         {nullptr, 0, nullptr, 0}};
constexpr option kAgentOptions[] = {{"foreground", no_argument, nullptr, 'D'},
                                    {"config", required_argument, nullptr, 'f'},
                                    {"hostname", required_argument, nullptr, 'N'},
                                    {"stepd", required_argument, nullptr, 'd'},
                                    {"controller", required_argument, nullptr, kController},
                                    {"conf-server", required_argument, nullptr, kConfServer},
                                    {"conf", required_argument, nullptr, kNodeWords},
                                    {"extra", required_argument, nullptr, kExtra},
                                    {"instance-id", required_argument, nullptr, kInstanceId},
                                    {"instance-type", required_argument, nullptr, kInstanceType},
                                    {"listen", required_argument, nullptr, kListen},
                                    {"address", required_argument, nullptr, kAddress},
                                    {"token", required_argument, nullptr, kToken},
                                    {"print-cdi", no_argument, nullptr, kPrintCdi},
                                    {"log-level", required_argument, nullptr, kLogLevel},
                                    {"version", no_argument, nullptr, 'V'},
                                    {"help", no_argument, nullptr, 'h'},
                                    {nullptr, 0, nullptr, 0}};

}  // namespace

void print_version(const char* argv0) {
  const std::string_view name = std::string_view(argv0).substr(std::string_view(argv0).rfind('/') + 1);
  // Under Slurm's name, Slurm's answer: programs read the number.
  if (name.starts_with("slurm"))
    std::printf("slurm %s\n", std::string(config::kSlurmVersion).c_str());
  else
    std::printf("%s %s (slurm %s)\n", std::string(name).c_str(), kVersion,
                std::string(config::kSlurmVersion).c_str());
  std::exit(0);
}

DaemonOptions parse_daemon_options(Daemon daemon, int argc, char** argv) {
  DaemonOptions out;
  const bool controller = daemon == Daemon::Controller;
  for (int c; (c = getopt_long(argc, argv, controller ? "Df:cirvL:N:Vh" : "Df:N:d:bcCF::GZvL:Vh",
                               controller ? kControllerOptions : kAgentOptions, nullptr)) != -1;) {
    switch (c) {
      case 'D':
        out.foreground = true;
        break;
      case 'f':
        out.config = optarg;
        break;
      case 'c':
        out.clear_state = true;
        break;
      case 'b':
        out.just_booted = true;
        break;
      case 'C':
        out.print_hardware = true;
        break;
      case 'F':
        out.future = true;
        if (optarg) out.feature = optarg;
        break;
      case 'G':
        out.print_gres = true;
        break;
      case 'Z':
        out.dynamic = true;
        break;
      case kNodeWords:
        out.node_words = optarg;
        break;
      case kExtra:
        out.extra = optarg;
        break;
      case kInstanceId:
        out.instance_id = optarg;
        break;
      case kInstanceType:
        out.instance_type = optarg;
        break;
      case 'i':
        out.ignore_damage = true;
        break;
      case 'r':
        break;
      case 'v':
        ++out.verbose;
        break;
      case 'L':
        out.log_file = optarg;
        break;
      case 'N':
        out.node = optarg;
        break;
      case 'd':
        out.stepd = optarg;
        break;
      case kConvert:
        out.convert = optarg;
        break;
      case kStateDir:
        out.state_dir = optarg;
        break;
      case kListen:
        out.listen = optarg;
        break;
      case kLogLevel:
        if (const auto level = config::parse_log_level(optarg)) {
          out.log_level = *level;
        } else {
          std::fprintf(stderr, "%s: error: --log-level: %s\n", argv[0], level.error().message.c_str());
          std::exit(1);
        }
        break;
      case kController:
        out.controller = optarg;
        break;
      case kConfServer:
        out.conf_server = optarg;
        break;
      case kToken:
        out.token_file = optarg;
        break;
      case kAddress:
        out.address = optarg;
        break;
      case kPrintCdi:
        out.print_cdi = true;
        break;
      case 'V':
        print_version(argv[0]);
      case 'h':
        std::fputs(controller ? kControllerHelp : kAgentHelp, stdout);
        std::exit(0);
      default:
        std::fprintf(stderr, "Try '%s --help' for more information\n", argv[0]);
        std::exit(1);
    }
  }
  if (optind < argc) {
    std::fprintf(stderr, "%s: error: unexpected argument '%s'\n", argv[0], argv[optind]);
    std::exit(1);
  }
  if (!out.conf_server.empty() && !out.config.empty()) {
    std::fprintf(stderr, "%s: error: --conf-server and -f exclude each other\n", argv[0]);
    std::exit(1);
  }
  if (out.dynamic && out.future) {
    std::fprintf(stderr, "%s: error: -F and -Z exclude each other\n", argv[0]);
    std::exit(1);
  }
  if (!out.node_words.empty() && !out.dynamic) {
    std::fprintf(stderr, "%s: error: --conf is for -Z\n", argv[0]);
    std::exit(1);
  }
  // A daemon leaves its working directory: paths from the command line count from where it was started.
  for (std::string* path : {&out.config, &out.state_dir, &out.log_file, &out.token_file, &out.stepd}) {
    char whole[PATH_MAX];
    if (!path->empty() && path->front() != '/' && ::getcwd(whole, sizeof whole))
      *path = std::string(whole) + "/" + *path;
  }
  return out;
}

Result<config::Loaded> load_for(const DaemonOptions& options) {
  SPUR_ASSIGN(auto loaded, config::load(options.config, config::Want::All));
  if (!options.state_dir.empty()) loaded.daemon.state_dir = options.state_dir;
  if (!options.listen.empty()) loaded.daemon.controller_listen = {options.listen};
  return loaded;
}

os::Log::Targets log_targets(const config::LogConfig& config, const std::string& file, const DaemonOptions& options) {
  os::Log::Targets out;
  const int level = static_cast<int>(options.log_level.value_or(config.level));
  out.level = static_cast<os::LogLevel>(std::min(level + options.verbose, static_cast<int>(os::LogLevel::Debug5)));
  out.json = config.format == config::LogFormat::Json;
  out.time = static_cast<os::LogTime>(config.time);
  out.file = options.log_file.empty() ? file : options.log_file;
  out.to_stderr = options.foreground;
  out.to_syslog = config.syslog_level || (!options.foreground && out.file.empty());
  if (config.syslog_level) out.syslog_level = static_cast<os::LogLevel>(*config.syslog_level);
  return out;
}

std::string sibling_program(const std::string& name) {
  char self[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", self, sizeof self);
  if (n <= 0) return name;
  const std::string path(self, static_cast<std::size_t>(n));
  return path.substr(0, path.rfind('/') + 1) + name;
}

std::string short_hostname() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, sizeof name - 1);
  const std::string_view text(name);
  return std::string(text.substr(0, text.find('.')));
}

}  // namespace spur::main
