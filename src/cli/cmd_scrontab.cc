// SPDX-License-Identifier: Apache-2.0
// scrontab: a user's table of batch jobs that come back at set times. It is read here (text/cron.h) and becomes one job
// per entry, with the options of the #SCRON lines above it; the controller keeps the text and runs the jobs.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/job_environment.h"
#include "cli/job_options.h"
#include "cli/name_service.h"
#include "cli/read_file.h"
#include "cli/users.h"
#include "text/cron.h"
#include "text/words.h"

namespace spur::cli {
namespace {

struct Scrontab {
  bool edit = false, list = false, remove = false, help = false, usage = false, version = false, quiet = false;
  std::optional<Uid> user;
  int verbose = 0;
};
using Value = std::string_view;

template <bool Scrontab::* Field>
OptionStatus flag(Scrontab& s, Value) {
  s.*Field = true;
  return {};
}
OptionStatus set_user(Scrontab& s, Value v) {
  s.user = find_user(v);
  if (!s.user) return bad_option(fmt::format("Invalid user: {}", v), 1);
  return {};
}
OptionStatus set_verbose(Scrontab& s, Value) {
  ++s.verbose;
  return {};
}

constexpr auto N = Takes::Nothing;
// clang-format off
constexpr Option<Scrontab> kOptions[] = {
    {{"edit", 'e', N, nullptr, "edit the table with $VISUAL, $EDITOR or vi"}, flag<&Scrontab::edit>},
    {{"list", 'l', N, nullptr, "print the table"}, flag<&Scrontab::list>},
    {{"remove", 'r', N, nullptr, "remove the table and its jobs"}, flag<&Scrontab::remove>},
    {{"user", 'u', Takes::Value, "user", "of this user (root only)"}, set_user},
    {{"quiet", 'Q', N, nullptr, "no informational messages"}, flag<&Scrontab::quiet>},
    {{"verbose", 'v', N, nullptr, "name the jobs that were made"}, set_verbose},
    {{"version", 'V', N, nullptr, "output version information and exit"}, flag<&Scrontab::version>},
    {{"help", 0, N, nullptr, "show this help message"}, flag<&Scrontab::help>},
    {{"usage", 0, N, nullptr, "display brief usage message"}, flag<&Scrontab::usage>},
};
// clang-format on

constexpr std::string_view kUsage = "Usage: scrontab [-u user] [-e | -l | -r | file]\n";
constexpr std::string_view kTemplate =
    "# One entry a line: minute hour day-of-month month day-of-week command,\n"
    "# or @hourly, @daily, @weekly, @monthly, @yearly and a command.\n"
    "# Options of sbatch for the next entry stand in lines that begin with #SCRON.\n";

// Whose table it is.
struct Owner {
  Uid uid;
  Gid gid;
  std::string name, home;
};

Owner owner_of(const Scrontab& options) {
  Owner owner;
  owner.uid = options.user.value_or(Uid(::geteuid()));
  owner.gid = group_of(owner.uid).value_or(Gid(::getegid()));
  owner.name = user_name(owner.uid);
  owner.home = "/";
  const auto entry = NameService().find(NameService::Database::Passwd, std::to_string(owner.uid.value), true);
  if (entry && entry->size() > 5 && !(*entry)[5].empty()) owner.home = (*entry)[5];
  return owner;
}

std::string base_name(std::string_view command) {
  const std::string_view word = command.substr(0, command.find_first_of(" \t;|&<>"));
  const std::string_view name = word.substr(word.rfind('/') + 1);
  return std::string(name.empty() ? "cron" : name);
}

// What cron gives its programs, and what the table sets above the entry.
std::vector<std::string> environment_of(const Owner& owner, const text::CronLine& line) {
  std::vector<std::string> entries = {"HOME=" + owner.home, "LOGNAME=" + owner.name, "USER=" + owner.name,
                                      "SHELL=/bin/sh", "PATH=/usr/bin:/bin"};
  for (const auto& [name, value] : line.variables) {
    std::erase_if(entries, [&](const std::string& known) { return known.starts_with(name + "="); });
    entries.push_back(name + "=" + value);
  }
  return entries;
}

// The job of an entry. Nothing comes from the environment of this process: it is to be the same whoever sets the table.
std::expected<model::JobSpec, int> spec_of(Context& context, const Owner& owner, const text::CronLine& line) {
  const std::vector<Option<JobRequest>> table = job_options_of(kSbatch);
  const std::vector<OptionRow> rows = rows_of<JobRequest>(table);
  JobRequest request;
  request.now = context.now();
  request.is_root = ::geteuid() == 0;
  request.directory = owner.home;
  auto given = parse_words(context, rows, line.options, Order::Anywhere, 1);
  if (!given) return std::unexpected(1);
  if (!given->rest.empty()) {
    context.error("Invalid option: {}", given->rest.front());
    return std::unexpected(1);
  }
  request.begin_source();
  if (const int status = apply_options<JobRequest>(context, table, *given, request); status != 0)
    return std::unexpected(1);
  request.finish();
  if (auto sound = reconcile(context, request); !sound) return std::unexpected(report(context, sound.error()));
  settle_tasks_by_shape(request);
  if (owner.uid != Uid(::geteuid())) {
    request.run_as = owner.uid;
    request.run_as_group = owner.gid;
  }
  model::JobSpec& spec = request.spec;
  if (!request.name_given) spec.name = base_name(line.command);
  if (spec.work_dir.empty()) spec.work_dir = owner.home;
  if (auto done = capture_process(context, request); !done) return std::unexpected(report(context, done.error()));
  const std::vector<std::string> entries = environment_of(owner, line);
  std::vector<const char*> pointers;
  for (const std::string& entry : entries) pointers.push_back(entry.c_str());
  pointers.push_back(nullptr);
  const char* const* own = std::exchange(context.environment, pointers.data());
  const auto captured = capture_environment(context, request);
  context.environment = own;
  if (!captured) return std::unexpected(report(context, captured.error()));
  spec.script = std::make_shared<const std::string>("#!/bin/sh\n# An entry of scrontab.\n" + line.command + "\n");
  return spec;
}

// Lines that are to blame; 0: none.
struct Blame {
  std::uint32_t first = 0, last = 0;
};

int report_failure(Context& context, const Error& error) {
  if (error.code == ErrorCode::RequestDisabled)
    context.fatal("scrontab is disabled on this cluster");
  else
    context.error("{}", words(error));
  return 1;
}

// Makes the text the user's table. The exit status; `blame` says which lines of it were refused.
int install(Context& context, Controller& controller, const Scrontab& options, const Owner& owner,
            const std::string& content, Blame* blame) {
  const auto lines = text::parse_crontab(content);
  if (!lines) {
    *blame = {lines.error().first_line, lines.error().last_line};
    context.error("line {}: {}", lines.error().last_line, lines.error().message);
    return 1;
  }
  model::Crontab table{owner.uid, content, {}};
  std::vector<model::JobSpec> specs;
  for (const text::CronLine& line : *lines) {
    auto spec = spec_of(context, owner, line);
    if (!spec) {
      *blame = {line.first_line, line.last_line};
      context.error("lines {}-{} were refused", line.first_line, line.last_line);
      return spec.error();
    }
    table.entries.push_back({line.schedule, line.first_line, line.last_line, {}});
    specs.push_back(*std::move(spec));
  }
  const auto outcome = controller.set_crontab(table, specs);
  if (!outcome) return report_failure(context, outcome.error());
  if (outcome->first_line > 0) {
    *blame = {outcome->first_line, outcome->last_line};
    context.error("lines {}-{}: {}", outcome->first_line, outcome->last_line, outcome->error);
    return 1;
  }
  if (options.verbose > 0)
    for (std::size_t i = 0; i < outcome->jobs.size() && i < table.entries.size(); ++i)
      context.info("job {}: {}", outcome->jobs[i].value, table.entries[i].schedule);
  return 0;
}

std::string with_blame(std::string_view content, Blame blame) {
  std::string out;
  for (std::uint32_t line = 1; !content.empty(); ++line) {
    const std::size_t end = std::min(content.find('\n'), content.size() - 1) + 1;
    if (line >= blame.first && line <= blame.last) out += "#BAD: ";
    out += content.substr(0, end);
    content.remove_prefix(end);
  }
  return out;
}

// Has the user change the text; nothing if that did not work.
std::optional<std::string> edited(Context& context, const std::string& content) {
  const std::string directory(context.env("TMPDIR").value_or("/tmp"));
  std::string path = directory + "/scrontab-XXXXXX";
  const int file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) {
    context.error("cannot make a file in {}", directory);
    return std::nullopt;
  }
  const bool written = ::write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size());
  ::close(file);
  const std::string editor(
      context.env("VISUAL").value_or(context.env("EDITOR").value_or("vi")));
  const std::string command = editor + " \"$0\"";
  context.out.flush();
  std::optional<std::string> result;
  const pid_t child = written ? ::fork() : -1;
  if (child == 0) {
    ::execle("/bin/sh", "sh", "-c", command.c_str(), path.c_str(), nullptr, context.environment);
    ::_exit(127);
  }
  int status = -1;
  if (child > 0 && ::waitpid(child, &status, 0) == child && status == 0) {
    if (auto read = read_file(path)) result = *std::move(read);
  }
  if (!result) context.error("the editor {} failed; nothing was changed", editor);
  ::unlink(path.c_str());
  return result;
}

bool wants_retry(Context& context) {
  for (;;) {
    context.out.write("Do you want to retry the edit? [y/N] ");
    context.out.flush();
    char first = 0, c = 0;
    while (::read(context.input, &c, 1) == 1 && c != '\n')
      if (first == 0) first = c;
    if (first == 'y' || first == 'Y') return true;
    if (first == 'n' || first == 'N' || first == 0 || c != '\n') return false;
  }
}

int edit(Context& context, Controller& controller, const Scrontab& options, const Owner& owner) {
  const auto known = controller.crontab(owner.uid);
  if (!known) return report_failure(context, known.error());
  std::string content = *known ? (*known)->text : std::string(kTemplate);
  for (;;) {
    auto changed = edited(context, content);
    if (!changed) return 1;
    if (*changed == content && !context.quiet) context.info("nothing was changed");
    if (*changed == content) return 0;
    Blame blame;
    const int status = install(context, controller, options, owner, *changed, &blame);
    if (status == 0) return 0;
    if (blame.first > 0) context.error("the lines that failed are marked with #BAD:");
    if (!wants_retry(context)) return status;
    content = with_blame(*changed, blame);
  }
}

int list(Context& context, Controller& controller, const Owner& owner) {
  const auto known = controller.crontab(owner.uid);
  if (!known) return report_failure(context, known.error());
  if (!*known) {
    context.plain("no crontab for {}", owner.name);
    return 1;
  }
  context.out.write((*known)->text);
  return 0;
}

int remove(Context& context, Controller& controller, const Owner& owner) {
  const Status done = controller.remove_crontab(owner.uid);
  if (done) return 0;
  if (done.error().code != ErrorCode::NotFound) return report_failure(context, done.error());
  context.plain("no crontab for {}", owner.name);
  return 1;
}

}  // namespace

int cmd_scrontab(Context& context) {
  Scrontab options;
  const auto rest = read_line<Scrontab>(context, kOptions, options, Order::Anywhere, 1);
  if (!rest) return rest.error();
  if (options.version) return print_version(context);
  if (options.usage || options.help) {
    context.out.write(options.usage ? std::string(kUsage)
                                    : std::string(kUsage) + help_text(rows_of<Scrontab>(kOptions)));
    return 0;
  }
  if (options.edit + options.list + options.remove + (rest->empty() ? 0 : 1) > 1 || rest->size() > 1) {
    context.error("only one of -e, -l, -r and a file may be given");
    return 1;
  }
  context.quiet = options.quiet;
  const bool from_input = !options.edit && !options.list && !options.remove &&
                          (rest->empty() ? ::isatty(context.input) == 0 : rest->front() == "-");
  const auto controller = context.controller();
  if (!controller) {
    context.error("{}", words(controller.error()));
    return 1;
  }
  const Owner owner = owner_of(options);
  if (options.list) return list(context, **controller, owner);
  if (options.remove) return remove(context, **controller, owner);
  if (options.edit || (rest->empty() && !from_input)) return edit(context, **controller, options, owner);
  const auto content = from_input ? read_descriptor(context.input) : read_file(rest->front());
  if (!content) {
    context.error("cannot read {}: {}", from_input ? "standard input" : rest->front(), content.error().message);
    return 1;
  }
  Blame blame;
  return install(context, **controller, options, owner, *content, &blame);
}

}  // namespace spur::cli
