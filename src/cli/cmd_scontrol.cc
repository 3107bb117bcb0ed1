// SPDX-License-Identifier: Apache-2.0
// scontrol: the table of keywords, one command from the line, or many from standard input.
#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/display.h"
#include "cli/look_back.h"
#include "cli/options.h"
#include "cli/scontrol.h"
#include "cli/users.h"
#include "text/decimal.h"
#include "text/directives.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::cli {
namespace {

struct Flags {
  bool consistent = false, future = false, all = false, details = false, one_line = false, quiet = false, help = false, usage = false, version = false;
  std::optional<DocumentStyle> document;  // --json, --yaml
  ClusterList clusters;
  int verbose = 0;
  std::optional<std::string> at;
  std::optional<Uid> as;  // --uid
};
using Value = std::string_view;
template <bool Flags::* Field>
OptionStatus flag(Flags& f, Value) {
  f.*Field = true;
  return {};
}
OptionStatus clear_all(Flags& f, Value) {
  f.all = false;
  return {};
}
OptionStatus set_verbose(Flags& f, Value) {
  ++f.verbose;
  return {};
}
template <DocumentStyle::Kind Kind>
OptionStatus set_document(Flags& f, Value v) {
  auto style = parse_document_style(Kind, v);
  if (!style) return std::unexpected(std::move(style).error());
  f.document = *style;
  return {};
}
OptionStatus set_clusters(Flags& f, Value v) {
  f.clusters = parse_clusters(v);
  return {};
}
OptionStatus set_at(Flags& f, Value v) {
  f.at = std::string(v);
  return {};
}
OptionStatus set_uid(Flags& f, Value v) {
  f.as = find_user(v);
  if (!f.as) return bad_option(fmt::format("--uid=\"{}\" invalid", v), 1);
  return {};
}
OptionStatus accept(Flags&, Value) {
  return {};
}

constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
constexpr auto M = Takes::Maybe;
// clang-format off
constexpr Option<Flags> kOptions[] = {
    {{"all", 'a', N, nullptr, "equivalent to \"all\" command"}, flag<&Flags::all>, "SCONTROL_ALL"},
    {{"at", 0, V, "time", "show jobs, nodes, partitions or reservations as they were at that time"}, set_at},
    {{"clusters", 'M', V, "cluster", "cluster to issue commands to: this one's name", "cluster"}, set_clusters, "SLURM_CLUSTERS"},
    {{"consistent", 0, N, nullptr, "ask the controller that leads"}, flag<&Flags::consistent>, "SPUR_CONSISTENT"},
    {{"details", 'd', N, nullptr, "equivalent to \"details\" command"}, flag<&Flags::details>},
    {{"federation", 0, N, nullptr, "report federated job information if a member of one (there is none)"}, accept, "SCONTROL_FEDERATION"},
    {{"future", 'F', N, nullptr, "report information about nodes in FUTURE state"}, flag<&Flags::future>, "SCONTROL_FUTURE"},
    {{"help", 'h', N, nullptr, "equivalent to \"help\" command"}, flag<&Flags::help>},
    {{"hide", 0, N, nullptr, "equivalent to \"hide\" command"}, clear_all},
    {{"json", 0, M, "data_parser", "produce JSON output"}, set_document<DocumentStyle::Kind::Json>},
    {{"local", 0, N, nullptr, "report information only about the local cluster"}, accept, "SCONTROL_LOCAL"},
    {{"oneliner", 'o', N, nullptr, "equivalent to \"oneliner\" command"}, flag<&Flags::one_line>},
    {{"quiet", 'Q', N, nullptr, "equivalent to \"quiet\" command"}, flag<&Flags::quiet>},
    {{"sibling", 0, N, nullptr, "report job information on each cluster of a federation (there is none)"}, accept, "SCONTROL_SIBLING"},
    {{"uid", 'u', V, "user", "update a job as this user (root only)"}, set_uid},
    {{"usage", 0, N, nullptr, "display this help message"}, flag<&Flags::usage>},
    {{"verbose", 'v', N, nullptr, "equivalent to \"verbose\" command"}, set_verbose},
    {{"version", 'V', N, nullptr, "equivalent to \"version\" command"}, flag<&Flags::version>},
    {{"yaml", 0, M, "data_parser", "produce YAML output"}, set_document<DocumentStyle::Kind::Yaml>},
};
// clang-format on

void not_yet(Scontrol& run, std::string_view keyword) {
  run.fail("scontrol: error: {} is not supported yet", keyword);
}

void help(Scontrol& run);
void do_all(Scontrol& run, const Words&) {
  run.all = true;
}
void do_hide(Scontrol& run, const Words&) {
  run.all = false;
}
void do_details(Scontrol& run, const Words&) {
  run.style.details = true;
}
void do_oneliner(Scontrol& run, const Words&) {
  run.style.one_line = true;
}
void do_quiet(Scontrol& run, const Words&) {
  run.quiet = true;
}
void do_verbose(Scontrol& run, const Words&) {
  run.quiet = false;
}
void do_help(Scontrol& run, const Words&) {
  help(run);
}
void do_quit(Scontrol& run, const Words&) {
  run.quit = true;
}
void do_version(Scontrol& run, const Words&) {
  print_version(run.context);
}

void do_errnumstr(Scontrol& run, const Words& words) {
  const auto number = text::parse_decimal32(words[0]);
  if (!number) return run.fail("numeric arguments required for keyword:errnumstr");
  for (int code = 0; code <= static_cast<int>(kLastErrorCode); ++code) {
    if (slurm_errno(static_cast<ErrorCode>(code)) != static_cast<int>(*number)) continue;
    run.context.out.print("{}\n", slurm_message(static_cast<ErrorCode>(code)));
    return;
  }
  run.context.out.print("{}\n", std::system_category().message(static_cast<int>(*number)));
}

void do_reconfigure(Scontrol& run, const Words&) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  if (const Status done = controller->reconfigure(); !done) {
    run.fail("slurm_reconfigure error: {}", words_of_update(done.error()));
    // What is wrong with a configuration is worth more than that it is.
    const bool unheard = done.error().code == ErrorCode::Unreachable || done.error().code == ErrorCode::TimedOut;
    if (!unheard && !done.error().message.empty() && words(done.error()) != done.error().message)
      run.fail("{}", done.error().message);
  }
}

void do_completing(Scontrol& run, const Words&) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  wire::JobFilter filter;
  filter.states = {{std::nullopt, model::kCompleting}};
  const auto table = controller->jobs(filter);
  if (!table) return run.fail("slurm_load_jobs error: {}", words(table.error()));
  for (const model::JobPtr& job : table->jobs) {
    if ((job->flags & model::kCompleting) == 0) continue;
    run.context.out.print(
        "JobId={} EndTime={} CompletingTime={} Nodes(COMPLETING)={}\n", model::display_id(*job),
        moment(job->ended, "Unknown"),
        text::format_clock(std::chrono::floor<seconds>(is_set(job->ended) ? table->as_of - job->ended : Duration{})),
        job_nodes(*job, *table));
  }
}

struct Keyword {
  const char* name;
  std::size_t letters;                             // fewest that are enough
  std::size_t least, most;                         // words that must and may follow
  void (*run)(Scontrol& run, const Words& words);  // null: not supported yet
  const char* help;                                // null: not listed
};
constexpr std::size_t kAny = static_cast<std::size_t>(-1);
constexpr Keyword kKeywords[] = {
    {"abort", 5, 0, 0, scontrol_abort, "end the controller at once, with a core file"},
    {"all", 3, 0, 0, do_all, "display information about all partitions,\nincluding hidden partitions"},
    {"cancel_reboot", 3, 0, 1, scontrol_cancel_reboot, "cancel the pending reboot of nodes"},
    {"cluster", 3, 0, 1, scontrol_cluster, "cluster to issue commands to"},
    {"completing", 3, 0, 0, do_completing, "display jobs in completing state along with\ntheir completing nodes"},
    {"create", 3, 1, kAny, scontrol_create, "create new nodes, a new partition or reservation"},
    {"delete", 3, 1, kAny, scontrol_delete, "delete the specified nodes, partition or reservation"},
    {"details", 3, 0, 0, do_details, "evokes additional details from the \"show\" command"},
    {"errnumstr", 3, 1, 1, do_errnumstr, "given a Slurm error number, return a\ndescriptive string"},
    {"exit", 2, 0, 0, do_quit, "terminate scontrol"},
    {"fsdampeningfactor", 3, 1, 1, scontrol_fsdampeningfactor, "set FairShareDampeningFactor (in the configuration only)"},
    {"getaddrs", 4, 1, 1, scontrol_getaddrs, "get IP addresses of nodes"},
    {"help", 3, 0, 0, do_help, "print this description of use"},
    {"hide", 3, 0, 0, do_hide, "do not display information about hidden partitions"},
    {"hold", 3, 1, kAny, scontrol_hold, "prevent specified jobs from starting"},
    {"holdu", 5, 1, kAny, scontrol_uhold, nullptr},
    {"listjobs", 5, 0, 1, scontrol_listjobs, "list the jobs on this node, or on the one named"},
    {"listpids", 5, 0, 2, scontrol_listpids, "list processes of jobs: [job[.step]] [node]"},
    {"liststeps", 5, 0, 1, scontrol_liststeps, "list the steps on this node, or on the one named"},
    {"notify", 1, 2, kAny, scontrol_notify, "send a message to the salloc, srun or output of a job"},
    {"oneliner", 3, 0, 0, do_oneliner, "report output one record per line"},
    {"pidinfo", 3, 0, 1, scontrol_pidinfo, "tell of the job that a process of this node belongs to"},
    {"ping", 3, 0, 0, scontrol_ping, "print status of controllers"},
    {"power", 3, 1, kAny, scontrol_power, "switch nodes on or off: up|down [ASAP|FORCE]\nNODES [reason=TEXT]"},
    {"quiet", 4, 0, 0, do_quiet, "print no messages other than error messages"},
    {"quit", 4, 0, 0, do_quit, "terminate this command"},
    {"reboot", 3, 0, kAny, scontrol_reboot, "reboot nodes when they become idle: [ASAP]\n[nextstate=RESUME|DOWN] [reason=TEXT] ALL|NODES"},
    {"reconfigure", 3, 0, 0, do_reconfigure, "re-read configuration files"},
    {"release", 3, 1, kAny, scontrol_release, "permit specified jobs to start (see hold)"},
    {"requeue", 3, 1, kAny, scontrol_requeue, "re-queue a batch job"},
    {"requeuehold", 8, 1, kAny, scontrol_requeuehold, "re-queue and hold a batch job"},
    {"resume", 3, 1, kAny, scontrol_resume, "resume previously suspended job (see suspend)"},
    {"schedloglevel", 3, 1, 1, scontrol_schedloglevel, "write the log of the scheduler's own, or not: 1, 0"},
    {"script", 3, 1, kAny, nullptr, nullptr},
    {"setdebug", 4, 1, kAny, scontrol_setdebug, "set the log level of the controller, or of agents: LEVEL [nodes=LIST]"},
    {"setdebugflags", 9, 1, kAny, scontrol_setdebugflags, "let the controller, or agents, log a subject, or not: +FLAG -FLAG [nodes=LIST]"},
    {"show", 3, 1, kAny, scontrol_show, "display state of identified entity, default\nis all records"},
    {"shutdown", 4, 0, 1, scontrol_shutdown, "shut the daemons down, or with \"slurmctld\" the\ncontroller only"},
    {"suspend", 2, 1, kAny, scontrol_suspend, "suspend specified job (see resume)"},
    {"takeover", 4, 0, 1, scontrol_takeover, "let a backup controller take over: [INDEX]"},
    {"token", 3, 0, kAny, scontrol_token, "print a token: [lifespan=SECONDS] [username=NAME]"},
    {"top", 3, 1, 1, scontrol_top, "put jobs in front of all others of their user"},
    {"uhold", 5, 1, kAny, scontrol_uhold, "place user hold on specified jobs (see hold)"},
    {"update", 1, 1, kAny, scontrol_update, "update job, step, node, partition or reservation"},
    {"verbose", 4, 0, 0, do_verbose, "enable detailed logging"},
    {"version", 4, 0, 0, do_version, "display tool version number"},
    {"wait_job", 4, 1, 1, scontrol_wait_job, "wait until the nodes of a job are ready"},
    {"write", 5, 1, 3, scontrol_write, "write batch_script <job_id> [file], or\nwrite config [file]"},
};

void help(Scontrol& run) {
  std::string text =
      "scontrol [<OPTION>] [<COMMAND>]\n    Valid <OPTION> values are:\n" + help_text(rows_of<Flags>(kOptions));
  text.append(
      "\n  <COMMAND> may be omitted; scontrol then reads commands from standard input.\n\n    Valid <COMMAND> values "
      "are:\n");
  for (const Keyword& keyword : kKeywords) {
    if (keyword.help == nullptr) continue;
    text.append(fmt::format("     {:<24} ", keyword.name));
    for (const char c : std::string_view(keyword.help)) {
      text.push_back(c);
      if (c == '\n') text.append(30, ' ');
    }
    text.push_back('\n');
  }
  text.append(
      "\n  <ENTITY> of show may be \"config\", \"daemons\", \"hostlist\", \"hostlistsorted\",\n"
      "       \"hostnames\", \"job\", \"licenses\", \"node\", \"partition\", \"reservation\",\n"
      "       \"slurmd\", \"step\", \"topology\", \"aliases\" or \"assoc_mgr\".\n"
      "  All commands and options are case-insensitive, names are not.\n");
  run.context.out.write(text);
}

void run_words(Scontrol& run, const Words& words) {
  if (words.empty()) return;
  const std::string& word = words.front();
  const auto keyword = std::ranges::find_if(
      kKeywords, [&](const Keyword& known) { return abbreviates(word, known.name, known.letters); });
  if (keyword == std::end(kKeywords)) return run.fail("invalid keyword: {}", word);
  if (keyword->run == nullptr) return not_yet(run, fmt::format("\"{}\"", keyword->name));
  const std::size_t given = words.size() - 1;
  if (given > keyword->most && keyword->run == do_errnumstr)
    return run.fail("one arguments required for keyword:{}", word);
  if (given > keyword->most) return run.fail("too many arguments for keyword:{}", word);
  if (given < keyword->least) {
    if (keyword->run == scontrol_update || keyword->run == scontrol_create || keyword->run == scontrol_delete)
      return run.fail("too few arguments for {} keyword", word);
    if (keyword->run == do_errnumstr) return run.fail("one arguments required for keyword:{}", word);
    return run.fail("too few arguments for keyword:{}", word);
  }
  if (run.looks_back && keyword->run != scontrol_show)
    return run.fail("scontrol: error: --at is for \"show\", not for \"{}\"", keyword->name);
  keyword->run(run, Words(words.begin() + 1, words.end()));
}

// --uid: all calls are that user's from now on. Only root can be somebody else.
bool become(Uid user) {
  if (::geteuid() == user.value) return true;
  const gid_t group = group_of(user).value_or(Gid{user.value}).value;
  return ::setgroups(1, &group) == 0 && ::setresgid(group, group, group) == 0 &&
         ::setresuid(user.value, user.value, user.value) == 0;
}

// Lines from standard input until its end, "quit" or "exit"; "!!" repeats the line before.
void run_session(Scontrol& run) {
  Words last;
  std::string line;
  const bool typed = ::isatty(run.context.input);
  const auto prompt = [&] {
    run.context.out.write("scontrol: ");
    run.context.out.flush();
  };
  prompt();
  for (char c = 0; !run.quit;) {
    const ssize_t got = ::read(run.context.input, &c, 1);
    if (got == 1 && c != '\n') {
      line.push_back(c);
      continue;
    }
    // A line that does not come from a terminal is shown behind the prompt, as if it had been typed.
    if (!typed) run.context.out.write(line + "\n");
    auto words = text::split_directive(line);
    line.clear();
    if (!words) {
      run.fail("{}", words.error().message);
    } else if (*words == Words{"!!"}) {
      run_words(run, last);
    } else if (!words->empty()) {
      last = *words;
      run_words(run, last);
    }
    if (got != 1) break;
    if (!run.quit) prompt();
  }
  run.context.out.flush();
}

}  // namespace

Controller* Scontrol::controller() {
  const auto found = context.controller();
  if (found) return *found;
  fail("scontrol: error: {}", words(found.error()));
  return nullptr;
}

KeyValue split_pair(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return {word, {}, false};
  return {word.substr(0, equals), word.substr(equals + 1), true};
}

bool abbreviates(std::string_view word, std::string_view keyword, std::size_t least) {
  return word.size() >= least && text::starts_with_ignoring_case(keyword, word);
}

std::string refusal_of(std::string_view job, std::string_view why) {
  const std::size_t task = job.find('_');
  const bool one_task = task != std::string_view::npos && task + 1 < job.size() && job[task + 1] != '[';
  return one_task ? fmt::format("{}: {}", job, why) : fmt::format("{} for job {}", why, job);
}

int cmd_scontrol(Context& context) {
  Flags flags;
  // Behind this word "-name" is no option.
  if (const auto at = std::ranges::find(context.arguments, "setdebugflags"); at != context.arguments.end())
    context.arguments.insert(at, "--");
  const auto rest = read_line<Flags>(context, kOptions, flags, Order::Anywhere, 1);
  if (!rest) return rest.error();
  context.consistent |= flags.consistent;
  Scontrol run{context, {flags.one_line, flags.details}, flags.all, flags.quiet, flags.document};
  if (flags.document && flags.document->list) return list_document_styles(context);
  if (flags.at) {
    Controller* controller = run.controller();
    if (controller == nullptr || look_back(context, *controller, *flags.at) != 0) return 1;
    run.looks_back = true;
  }
  run.future = flags.future;
  set_time_format(context.env("SLURM_TIME_FORMAT").value_or(""), context.now());
  if (flags.version) return print_version(context);
  if (flags.help || flags.usage) {
    help(run);
    return 0;
  }
  if (flags.as && !become(*flags.as)) {
    context.error("{}", slurm_message(ErrorCode::InvalidUser));
    return 1;
  }
  if (!flags.clusters.names.empty()) {
    Controller* controller = run.controller();
    if (controller == nullptr || !is_this_cluster(context, *controller, flags.clusters)) return 1;
  }
  if (rest->empty()) {
    run_session(run);
  } else {
    run_words(run, *rest);
  }
  return run.exit_status;
}

std::vector<std::string> scontrol_keywords() {
  std::vector<std::string> names;
  for (const Keyword& keyword : kKeywords)
    if (keyword.help != nullptr) names.emplace_back(keyword.name);
  return names;
}

}  // namespace spur::cli
