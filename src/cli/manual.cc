// SPDX-License-Identifier: Apache-2.0
#include "cli/manual.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "text/words.h"

namespace spur::cli {
namespace {

// Text as roff reads it: signs that it would take for its own are escaped, lines do not begin with one.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else if (c == '\'') out += "\\(aq";
    else if (c == '"') out += "\\(dq";
    else if (c == '~') out += "\\(ti";
    else if (c == '^') out += "\\(ha";
    else if ((c == '.') && (out.empty() || out.back() == '\n')) out += "\\&.";
    else if (c == '\n') out += ' ';
    else out.push_back(c);
  }
  return out;
}

std::string paragraphs(std::string_view text) {
  std::string out;
  for (const std::string_view paragraph : text::split(text, '\n'))
    if (!paragraph.empty()) out += (out.empty() ? "" : ".PP\n") + roff(paragraph) + "\n";
  return out;
}

std::string option_head(const OptionRow& row) {
  const std::string value = roff(row.value_name != nullptr ? row.value_name : "value");
  const auto with_value = [&](const std::string& name, bool is_long) {
    std::string text = "\\fB" + name + "\\fR";
    if (row.takes == Takes::Value) text += (is_long ? "=\\fI" : " \\fI") + value + "\\fR";
    if (row.takes == Takes::Maybe) text += (is_long ? "[=\\fI" : "[\\fI") + value + "\\fR]";
    return text;
  };
  std::string head;
  if (row.letter != 0) head = with_value(fmt::format("\\-{}", row.letter), false) + ", ";
  head += with_value("\\-\\-" + roff(row.name), true);
  if (row.alias != nullptr) head += ", " + with_value("\\-\\-" + roff(row.alias), true);
  return head;
}

std::string heading(std::string_view name, std::string_view brief, std::string_view version) {
  std::string title;
  for (const char c : name) title.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
  return fmt::format(".\\\" Made by spur man\n.TH {} 1 \"\" \"spur {}\" \"Spur\"\n.SH NAME\n{} \\- {}\n", roff(title),
                     version, roff(name), roff(brief));
}

std::string environment(const std::vector<OptionsAsked::Row>& options) {
  std::map<std::string, std::string> variables;  // in order of their names
  for (const OptionsAsked::Row& option : options)
    if (option.env != nullptr) variables.emplace(option.env, fmt::format("The same as --{}.", option.row.name));
  variables.emplace("SPUR_CONF", "The configuration file, instead of /etc/spur/spur.conf.");
  variables.emplace("SLURM_CONF", "Slurm's configuration file, where there is none of Spur's.");
  std::string out = ".SH ENVIRONMENT\nThe command line wins over the environment.\n";
  for (const auto& [name, meaning] : variables) out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(name), roff(meaning));
  return out;
}

}  // namespace

std::string manual_file(const NamedCommand& command) {
  return (command.native ? "spur-" + command.name : command.name) + ".1";
}

std::string manual_page(const NamedCommand& command, const std::vector<OptionsAsked::Row>& options,
                        std::string_view version) {
  const std::string name = command.native ? "spur-" + command.name : command.name;
  const std::string called = command.native ? "spur " + command.name : command.name;
  const ManualText* text = find_manual_text(command.name);
  std::string page = heading(name, command.help != nullptr ? command.help : "", version);
  page += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR {}\n", roff(called), roff(text ? text->synopsis : "[OPTIONS]"));
  page += ".SH DESCRIPTION\n" + paragraphs(text ? text->description : "");
  if (!options.empty()) {
    page += ".SH OPTIONS\n";
    for (const OptionsAsked::Row& option : options)
      page += fmt::format(".TP\n{}\n{}\n", option_head(option.row),
                          option.row.help != nullptr ? roff(option.row.help) : "Another spelling that Slurm has, too.");
  }
  page += environment(options);
  const bool own_exits = text && !text->exits.empty();
  page += ".SH EXIT STATUS\n" + paragraphs(own_exits ? text->exits : "0, or 1 after an error, which is told on stderr.");
  return page + ".SH SEE ALSO\n\\fBspur\\fR(1)\n";
}

std::string manual_overview(const std::vector<NamedCommand>& commands, std::string_view version) {
  std::string page = heading("spur", "a job scheduler for clusters", version);
  page += ".SH SYNOPSIS\n\\fBspur\\fR COMMAND [OPTIONS] [ARGUMENTS]\n.SH DESCRIPTION\n";
  page += paragraphs(
      "One program for everything that users and administrators do. Slurm's commands are there by their own names, too, "
      "and behave as Slurm's.\nWords that are no command are refused with exit status 1.");
  page += ".SH COMMANDS\n";
  for (const NamedCommand& command : commands)
    page += fmt::format(".TP\n\\fB{}\\fR\n{}. See \\fB{}\\fR(1).\n", roff(command.name),
                        roff(command.help != nullptr ? command.help : ""),
                        roff(command.native ? "spur-" + command.name : command.name));
  page += environment({}) + ".SH EXIT STATUS\nThat of the command.\n.SH SEE ALSO\n";
  for (std::size_t i = 0; i < commands.size(); ++i)
    page += fmt::format("\\fB{}\\fR(1){}\n",
                        roff(commands[i].native ? "spur-" + commands[i].name : commands[i].name),
                        i + 1 < commands.size() ? "," : "");
  return page;
}

namespace {

int write_all(Context& context, const std::vector<NamedCommand>& commands, const std::string& directory) {
  const auto write = [&](const std::string& name, const std::string& page) {
    const std::string path = directory + "/" + name;
    FILE* file = std::fopen(path.c_str(), "we");
    const bool written = file != nullptr && std::fwrite(page.data(), 1, page.size(), file) == page.size();
    const bool closed = file != nullptr && std::fclose(file) == 0;
    if (!written || !closed) context.error("cannot write {}: {}", path, std::strerror(errno));
    return written && closed;
  };
  if (!write("spur.1", manual_overview(commands, context.spur_version))) return 1;
  for (const NamedCommand& command : commands)
    if (!write(manual_file(command), manual_page(command, options_of(command), context.spur_version))) return 1;
  return 0;
}

// Through man where somebody reads it; false: there is none.
bool show(Context& context, const std::string& page) {
  context.out.flush();
  FILE* man = ::popen("man -l - 2>/dev/null", "w");
  if (man == nullptr) return false;
  std::fwrite(page.data(), 1, page.size(), man);
  return ::pclose(man) == 0;
}

}  // namespace

int cmd_manual(Context& context, const std::vector<NamedCommand>& commands) {
  if (context.options_asked != nullptr) return 0;
  const auto& words_given = context.arguments;
  if (words_given.size() == 2 && words_given[0] == "--all") return write_all(context, commands, words_given[1]);
  if (words_given.size() != 1) {
    context.plain("Usage: spur man NAME\n       spur man --all DIRECTORY");
    return 1;
  }
  std::string name = words_given.front();
  if (name.starts_with("spur-")) name.erase(0, 5);
  const auto command = std::ranges::find(commands, name, &NamedCommand::name);
  if (command == commands.end() && name != "spur") {
    context.error("there is no command {}", name);
    return 1;
  }
  const std::string page = name == "spur" ? manual_overview(commands, context.spur_version)
                                          : manual_page(*command, options_of(*command), context.spur_version);
  if (!is_terminal(context.out) || !show(context, page)) context.out.write(page);
  return 0;
}

}  // namespace spur::cli
