// SPDX-License-Identifier: Apache-2.0
// sacctmgr: accounts, users, associations and QOS of the accounting service. Words, tables and answers are those of
// Slurm 22.05. Without a command it reads lines from its input until quit.
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/sacctmgr.h"
#include "cli/sacctmgr_archive.h"
#include "cli/sacctmgr_jobs.h"
#include "spur/v1/accounting.pb.h"
#include "text/date.h"
#include "text/directives.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using Value = std::string_view;

struct Line {
  bool help = false, usage = false, version = false, immediate = false, no_header = false, read_only = false,
       associations = false, parsable = false, parsable2 = false, json = false, quiet = false;
  int verbose = 0;
};
template <bool Line::* Field>
OptionStatus flag(Line& l, Value) {
  l.*Field = true;
  return {};
}
OptionStatus accept(Line&, Value) {
  return {};
}
OptionStatus more(Line& l, Value) {
  ++l.verbose;
  return {};
}

constexpr auto N = Takes::Nothing;
// clang-format off
constexpr Option<Line> kOptions[] = {
    {{"help", 'h', N, nullptr, "show this help message"}, flag<&Line::help>},
    {{"usage", 0, N, nullptr, "the same"}, flag<&Line::usage>},
    {{"immediate", 'i', N, nullptr, "commit changes without asking"}, flag<&Line::immediate>},
    {{"noheader", 'n', N, nullptr, "no header on output"}, flag<&Line::no_header>},
    {{"oneliner", 'o', N, nullptr, "one record per line (it always is)"}, accept},
    {{"parsable", 'p', N, nullptr, "'|' behind every field"}, flag<&Line::parsable>},
    {{"parsable2", 'P', N, nullptr, "'|' between fields"}, flag<&Line::parsable2>},
    {{"quiet", 'Q', N, nullptr, "no messages other than errors"}, flag<&Line::quiet>},
    {{"readonly", 'r', N, nullptr, "refuse to change anything"}, flag<&Line::read_only>},
    {{"associations", 's', N, nullptr, "show associations along with accounts and users"}, flag<&Line::associations>},
    {{"verbose", 'v', N, nullptr, "more messages"}, more},
    {{"version", 'V', N, nullptr, "output version information and exit"}, flag<&Line::version>},
    {{"json", 0, N, nullptr, "show as JSON"}, flag<&Line::json>},
};
// clang-format on

constexpr std::string_view kHelp =
    R"(sacctmgr [<OPTION>] [<COMMAND>]
    Valid <OPTION> values are:
     -h or --help: this text, as the command "help"
     -i or --immediate: changes are made without asking
     -n or --noheader: no titles above what is shown
     -o or --oneliner: one record per line, as always
     -p or --parsable: fields with a '|' behind each
     -P or --parsable2: fields with a '|' between them
     -Q or --quiet: errors are told, nothing else
     -r or --readonly: nothing can be changed
     -s or --associations: accounts and users are shown with their associations
     -v or --verbose: more is told
     -V or --version: the version
     --json: shown as JSON

  Without a command, lines are read and carried out until "quit".

  Valid <COMMAND> values are:
     add <ENTITY> <SPECS>     make it
     archive <DUMP/LOAD> <SPECS>
                              what is old leaves the database, or comes back from a file
     associations             as the option
     clear stats              the counts of spurdbd begin anew
     delete <ENTITY> <SPECS>  remove what the words choose
     dump <CLUSTER> [File=<FILENAME>]
                              accounts and users of a cluster as a file
     exit                     end
     help                     this text
     list <ENTITY> [<SPECS>]  show what the words choose, or all
     load <FILE> [<SPECS>]    add and change what such a file says; Cluster=<NAME>: of that
                              cluster; clean: what the file does not have goes
     modify <ENTITY> [where] <SPECS> set <SPECS>
                              change it
     oneliner, parsable, parsable2, quiet, readonly, verbose
                              as the options
     ping                     whether spurdbd answers
     quit                     end
     reconfigure              spurdbd reads its files again
     shutdown                 spurdbd ends
     show                     as list
     version                  the version
     !!                       the last line again

  <ENTITY> may be "account", "association", "cluster", "configuration",
                  "coordinator", "event", "federation", "job", "problem", "qos",
                  "resource", "reservation", "runawayjobs", "stats", "transaction",
                  "tres", "user" or "wckey"

  <SPECS> are different for each command entity pair.
     what chooses: Names=, Clusters=, Accounts=, Users=, Parents=, Partitions=, QosLevel=,
       Descriptions=, Organizations=, AdminLevel=, DefaultAccount=, WCKeys=, Ids=, Start=, End=
     what is set: Fairshare=, GrpJobs=, GrpJobsAccrue=, GrpSubmitJobs=, GrpTRES=, GrpTRESMins=,
       GrpTRESRunMins=, GrpWall=, MaxJobs=, MaxJobsAccrue=, MaxSubmitJobs=, MaxTRES=,
       MaxTRESPerNode=, MaxTRESMins=, MaxWall=, MinPrioThresh=, Priority=, QosLevel=,
       DefaultQOS=, DefaultAccount=, DefaultWCKey=, AdminLevel=, Description=, Organization=,
       Parent=, RawUsage=0; -1 takes a limit away
     what is shown: Format=<FIELD>,...; <FIELD>%<WIDTH>, negative: to the left

  All commands, entities and options are taken in any case.

)";

struct Verb {
  std::string_view name;
  std::size_t least;
  void (*run)(Sacctmgr&, std::span<const std::string>);
};

void show(Sacctmgr& s, std::span<const std::string> words) {
  sacctmgr_show(s, words);
}
// Words that stand alone.
void run_plain(Sacctmgr& s, std::span<const std::string> words, void (*run)(Sacctmgr&)) {
  if (words.size() == 1) return run(s);
  s.plain("too many arguments for {} keyword", words[0]);
  s.failed();
}
constexpr Verb kVerbs[] = {
    {"add", 3, sacctmgr_add},       {"archive", 3, sacctmgr_archive},
    {"clear", 2, sacctmgr_clear},   {"create", 3, sacctmgr_add},
    {"delete", 1, sacctmgr_delete},
    {"dump", 3, sacctmgr_dump},     {"list", 3, show},
    {"load", 3, sacctmgr_load},     {"modify", 1, sacctmgr_modify},
    {"remove", 3, sacctmgr_delete}, {"show", 3, show},
    {"update", 1, sacctmgr_modify},
};

// True: go on reading.
bool run_words(Sacctmgr& s, std::span<const std::string> words) {
  if (words.empty()) return true;
  const std::string& verb = words[0];
  const auto is = [&](std::string_view name, std::size_t least) { return matches(verb, name, least); };
  if (is("exit", 1) || is("quit", 4)) return false;
  for (const Verb& v : kVerbs)
    if (is(v.name, v.least)) return v.run(s, words.subspan(1)), true;
  if (is("help", 2)) return s.context.out.write(kHelp), true;
  if (is("version", 4)) return print_version(s.context), true;
  if (is("associations", 3)) return s.with_associations = true;
  if (is("parsable2", 9)) return s.style = TableStyle::Parsable2, true;
  if (is("parsable", 1)) return s.style = TableStyle::Parsable, true;
  if (is("quiet", 4)) return s.context.quiet = true;
  if (is("readonly", 4)) return s.read_only = true;
  if (is("verbose", 4) || is("oneliner", 1)) return true;
  if (is("ping", 4)) return run_plain(s, words, sacctmgr_ping), true;
  if (is("reconfigure", 4)) return run_plain(s, words, sacctmgr_reconfigure), true;
  if (is("shutdown", 4)) return run_plain(s, words, sacctmgr_shutdown), true;
  s.plain("invalid keyword: {}", verb);
  s.failed();
  return true;
}

// A line of standard input without its end; nothing at the end of input, or when `seconds_left` have passed.
std::optional<std::string> read_line(int input, int timeout_ms) {
  std::string line;
  while (true) {
    pollfd ready{input, POLLIN, 0};
    if (::poll(&ready, 1, timeout_ms) <= 0) return std::nullopt;
    char c = 0;
    const ssize_t got = ::read(input, &c, 1);
    if (got <= 0) return line.empty() ? std::nullopt : std::optional(line);
    if (c == '\n') return line;
    line.push_back(c);
  }
}

int interactive(Sacctmgr& s) {
  std::vector<std::string> last;
  while (true) {
    s.context.out.write("sacctmgr: ");
    s.context.out.flush();
    const auto line = read_line(s.context.input, -1);
    if (!line) {
      s.context.out.write("\n");
      return s.status;
    }
    if (!::isatty(s.context.input)) s.context.out.print("{}\n", *line);
    auto words = text::split_directive(*line);
    if (!words) {
      s.context.error("{}", words.error().message);
      continue;
    }
    if (*words == std::vector<std::string>{"!!"})
      *words = last;
    else
      last = *words;
    if (!run_words(s, *words)) return s.status;
  }
}

}  // namespace

const model::AccountRecords* Sacctmgr::load(bool with_deleted) {
  if (!accounts) {
    auto made = context.connect_accounts();
    if (!made) {
      if (made.error().code == ErrorCode::RequestDisabled) {
        plain(
            "You are not running a supported accounting_storage plugin\nOnly 'accounting_storage/slurmdbd' is "
            "supported.");
      } else {
        context.error("{}", words(made.error()));
      }
      failed();
      return nullptr;
    }
    accounts = std::move(*made);
  }
  auto got = accounts->read(with_deleted);
  if (!got) {
    context.error("Problem talking to the database: {}", words(got.error()));
    failed();
    return nullptr;
  }
  records_ = std::move(got->records);
  deleted_ = std::move(got->deleted);
  return &*records_;
}

std::vector<std::string> Sacctmgr::flags_of(model::RecordKind kind, const std::string& key) const {
  return deleted_.contains({kind, key}) ? std::vector<std::string>{"DELETED"} : std::vector<std::string>{};
}

void Sacctmgr::plain_lines(std::string_view text) {
  for (const std::string_view line : text::split(text, '\n')) context.plain("{}", line);
}

bool Sacctmgr::ask(std::string_view question) {
  if (immediate) return true;
  context.out.print("{} (You have 30 seconds to decide)\n", question);
  while (true) {
    context.out.write("(N/y): ");
    context.out.flush();
    const auto answer = read_line(context.input, 30'000);
    context.out.write("\n");
    if (!answer || answer->empty()) return false;
    const char c = text::to_lower(answer->front());
    if (c == 'y' || c == 'n') return c == 'y';
    context.out.write("Y or N please\n");
  }
}

void Sacctmgr::fail_with(const Error& error) {
  if (error.code == ErrorCode::PermissionDenied) {
    context.error("Your user doesn't have privilege to perform this action");
    plain(" Error with request: Access/permission denied");
  } else {
    plain(" Error with request: {}", error.message.empty() ? words(error) : error.message);
  }
  failed();
}

void Sacctmgr::commit(model::AccountsChange change, std::string_view what, std::string_view denied) {
  change.based_on = records_->revision;
  const auto send = [&](bool only_check) {
    change.only_check = only_check;
    const auto done = accounts->change(change);
    if (!done && !denied.empty() && done.error().code == ErrorCode::PermissionDenied) {
      if (denied.ends_with("users")) {
        context.error("Your user doesn't have privilege to perform this action");
        context.info("If you are a coordinator ignore the previous error");
      }
      plain(" {}: Access/permission denied", denied);
      return failed(), false;
    }
    if (!done) return fail_with(done.error()), false;
    if (done->empty()) return true;
    plain(" Error with request: Job(s) active, cancel job(s) before remove");
    for (const std::string& line : *done) context.plain("  {}", line);
    failed();
    return false;
  };
  if (immediate) {
    if (send(false)) context.out.write(what);
    return;
  }
  if (!send(true)) return;
  context.out.write(what);
  if (!ask("Would you like to commit changes?")) return context.out.write(" Changes Discarded\n");
  send(false);
}

void sacctmgr_show(Sacctmgr& s, std::span<const std::string> words) {
  const std::string entity = words.empty() ? "" : words.front();
  const auto rest = words.empty() ? words : words.subspan(1);
  const auto is = [&](std::string_view name, std::size_t least) {
    return !entity.empty() && matches(entity, name, least);
  };
  if (is("Accounts", 2) || is("Acct", 4)) return show_accounts(s, rest);
  if (is("Associations", 2)) return show_associations(s, rest);
  if (is("Clusters", 2)) return show_clusters(s, rest);
  if (is("Configuration", 2)) return show_configuration(s);
  if (is("Events", 1)) return show_events(s, rest);
  if (is("Problems", 1)) return show_problems(s, rest);
  if (is("QOS", 1)) return show_qos(s, rest);
  if (is("Resources", 1) && !is("Reservations", 4)) return show_resources(s, rest);
  if (is("Transactions", 2) && !is("TRES", 3)) return show_transactions(s, rest);
  if (is("TRES", 2)) return show_tres(s, rest);
  if (is("Users", 1)) return show_users(s, rest);
  if (is("WCKeys", 1)) return show_wckeys(s, rest);
  if (is("RunAwayJobs", 2) || is("OrphanJobs", 1)) return show_runaway_jobs(s, rest);
  if (is("Reservations", 4)) return show_reservations(s, rest);
  if (is("Stats", 1)) return show_statistics(s, false);
  if (is("Federations", 1)) return show_federations(s, rest);
  s.plain(
      "No valid entity in list command\nInput line must include \"Account\", \"Association\", \"Cluster\", "
      "\"Configuration\",\n"
      "\"Event\", \"Federation\", \"Problem\", \"QOS\", \"Resource\", \"Reservation\",\n"
      "\"RunAwayJobs\", \"Stats\", \"Transaction\", \"TRES\", \"User\", or \"WCKey\"");
  s.failed();
}

int cmd_sacctmgr(Context& context) {
  Line line;
  const auto rows = rows_of(std::span<const Option<Line>>(kOptions));
  const auto parsed = parse_words(context, rows, context.arguments, Order::Anywhere, 1);
  if (!parsed) {
    return parsed.error();
  }
  for (const GivenOption& given : parsed->options) (void)kOptions[given.row].set(line, given.value);
  if (line.help || line.usage) return context.out.write(kHelp), 0;
  if (line.version) return print_version(context);
  context.quiet = line.quiet;
  context.verbosity = line.verbose;
  Sacctmgr s(context);
  s.immediate = line.immediate;
  s.no_header = line.no_header;
  s.read_only = line.read_only;
  s.with_associations = line.associations;
  s.json = line.json;
  if (line.parsable) s.style = TableStyle::Parsable;
  if (line.parsable2) s.style = TableStyle::Parsable2;
  if (parsed->rest.empty()) return interactive(s);
  run_words(s, parsed->rest);
  return s.status;
}

}  // namespace spur::cli
