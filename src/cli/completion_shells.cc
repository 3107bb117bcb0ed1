// SPDX-License-Identifier: Apache-2.0
// The completions of each shell as text. What is the same in all of them is in completion.cc.
#include <algorithm>

#include <fmt/format.h>

#include "cli/completion.h"

namespace spur::cli {
namespace {

// The first line of a help text, without what a shell would take for its own.
std::string brief(const char* help) {
  std::string text;
  for (const char c : std::string_view(help != nullptr ? help : "")) {
    if (c == '\n') text.push_back(' ');
    else if (std::string_view("'\"`$\\[]:").find(c) == std::string_view::npos) text.push_back(c);
  }
  return text;
}

std::vector<std::string> spellings(const OptionRow& row) {
  std::vector<std::string> all;
  if (row.letter != 0) all.push_back(fmt::format("-{}", row.letter));
  all.push_back(fmt::format("--{}", row.name));
  if (row.alias != nullptr) all.push_back(fmt::format("--{}", row.alias));
  return all;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

// "file", "" (anything), or the kind that is asked of the cluster.
std::string kind_of(ValueOf value) {
  return value == ValueOf::File ? "file" : std::string(value_name(value));
}

constexpr std::string_view kBashHead = R"sh(# Completions for spur and Slurm's commands, printed by "spur completion bash".

# Values of a kind that the cluster knows; behind a comma the next of a list.
_spur_values() {
  local kind=$1 cur=$2 before=""
  if [[ $kind == file ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    return
  fi
  if [[ $cur == *,* ]]; then
    before=${cur%,*},
    cur=${cur##*,}
  fi
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$(command spur complete-values "$kind" 2>/dev/null)" -- "$cur")
}

_spur() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev="" command=${COMP_WORDS[0]##*/} first=1 option="" kind="" i
  ((COMP_CWORD > 0)) && prev=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  if [[ $command == spur ]]; then
    if ((COMP_CWORD == 1)); then
      mapfile -t COMPREPLY < <(compgen -W "$(_spur_names)" -- "$cur")
      return
    fi
    command=${COMP_WORDS[1]}
    first=2
  fi
  # "--name=value" arrives in three words, since "=" parts words.
  if [[ $cur == "=" ]]; then
    option=$prev
    cur=""
  elif [[ $prev == "=" ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $prev == -* && $cur != -* ]]; then
    option=$prev
    [[ $(_spur_kind "$command" "$option") == none ]] && option=""
  fi
  if [[ -n $option ]]; then
    kind=$(_spur_kind "$command" "$option")
    [[ -n $kind && $kind != none && $kind != any ]] && _spur_values "$kind" "$cur"
    return
  fi
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_spur_options "$command")" -- "$cur")
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    return
  fi
  local words
  words=$(_spur_words "$command")
  if [[ $words == @* ]]; then
    _spur_values "${words#@}" "$cur"
  elif [[ -n $words ]] && ((COMP_CWORD == first)); then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  fi
}

)sh";

}  // namespace

std::string bash_completion(const std::vector<CompletedCommand>& commands) {
  std::string names, own, options, kinds, words;
  for (const CompletedCommand& each : commands) {
    const std::string& name = each.command.name;
    names += (names.empty() ? "" : " ") + name;
    if (!each.command.native) own += " " + name;
    std::vector<std::string> all;
    for (const OptionsAsked::Row& option : each.options) {
      for (const std::string& spelling : spellings(option.row))
        all.push_back(spelling + (option.row.takes == Takes::Value && spelling.starts_with("--") ? "=" : ""));
      const std::string kind = kind_of(value_of_option(each.command, option.row));
      kinds += fmt::format("    {}) echo {} ;;\n", [&] {
        std::vector<std::string> cases;
        for (const std::string& spelling : spellings(option.row)) cases.push_back(name + ":" + spelling);
        return joined(cases, "|");
      }(), option.row.takes == Takes::Nothing ? "none" : kind.empty() ? "any" : kind);
    }
    options += fmt::format("    {}) echo \"{}\" ;;\n", name, joined(all, " "));
    const std::string kind = kind_of(value_of_words(each.command));
    if (!each.words.empty()) words += fmt::format("    {}) echo \"{}\" ;;\n", name, joined(each.words, " "));
    else if (!kind.empty()) words += fmt::format("    {}) echo @{} ;;\n", name, kind);
  }
  std::string text(kBashHead);
  text += fmt::format("_spur_names() {{\n  echo \"{}\"\n}}\n\n", names);
  text += fmt::format("_spur_options() {{\n  case $1 in\n{}  esac\n}}\n\n", options);
  text += "# What the value of an option is: a file, one of the cluster's names, anything, or none.\n";
  text += fmt::format("_spur_kind() {{\n  case $1:$2 in\n{}    *) echo none ;;\n  esac\n}}\n\n", kinds);
  text += fmt::format("_spur_words() {{\n  case $1 in\n{}  esac\n}}\n\n", words);
  return text + fmt::format("complete -o default -F _spur spur{}\n", own);
}

std::string zsh_completion(const std::vector<CompletedCommand>& commands) {
  std::string own, names, functions, dispatch;
  for (const CompletedCommand& each : commands) {
    const std::string& name = each.command.name;
    if (!each.command.native) own += " " + name;
    names += fmt::format("    '{}:{}'\n", name, brief(each.command.help));
    dispatch += fmt::format("    {}) _spur_{} ;;\n", name, name);
    functions += fmt::format("_spur_{}() {{\n  _arguments -s -S \\\n", name);
    for (const OptionsAsked::Row& option : each.options) {
      const auto all = spellings(option.row);
      const std::string kind = kind_of(value_of_option(each.command, option.row));
      const std::string action = kind == "file" ? "_files" : kind.empty() ? "" : "_spur_values " + kind;
      const std::string value = brief(option.row.value_name != nullptr ? option.row.value_name : "value");
      for (const std::string& spelling : all) {
        const bool is_long = spelling.starts_with("--");
        std::string spec = all.size() > 1 ? fmt::format("({})", joined(all, " ")) : "";
        spec += spelling;
        if (option.row.takes == Takes::Value) spec += is_long ? "=" : "+";
        if (option.row.takes == Takes::Maybe) spec += is_long ? "=-" : "-";
        spec += fmt::format("[{}]", brief(option.row.help));
        if (option.row.takes != Takes::Nothing)
          spec += fmt::format("{}{}:{}", option.row.takes == Takes::Maybe ? "::" : ":", value, action);
        functions += fmt::format("    '{}' \\\n", spec);
      }
    }
    const std::string kind = kind_of(value_of_words(each.command));
    if (!each.words.empty())
      functions += fmt::format("    '1:command:({})' \\\n    '*::argument:'\n}}\n\n", joined(each.words, " "));
    else
      functions += fmt::format("    '*:argument:{}'\n}}\n\n",
                               kind == "file" ? "_files" : kind.empty() ? "" : "_spur_values " + kind);
  }
  return fmt::format(
      "#compdef spur{}\n"
      "# Completions for spur and Slurm's commands, printed by \"spur completion zsh\".\n\n"
      "_spur_values() {{\n"
      "  local -a values\n"
      "  values=(${{(f)\"$(command spur complete-values $1 2>/dev/null)\"}})\n"
      "  compset -P '*,'\n"
      "  compadd -a values\n"
      "}}\n\n"
      "{}"
      "_spur_command() {{\n"
      "  case $1 in\n{}  esac\n"
      "}}\n\n"
      "_spur_all() {{\n"
      "  local -a names\n"
      "  names=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command names\n"
      "    return\n"
      "  fi\n"
      "  local name=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  _spur_command $name\n"
      "}}\n\n"
      "if [[ $service == spur ]]; then\n  _spur_all \"$@\"\nelse\n  _spur_command $service\nfi\n",
      own, functions, dispatch, names);
}

std::string fish_completion(const std::vector<CompletedCommand>& commands) {
  std::string text =
      "# Completions for spur and Slurm's commands, printed by \"spur completion fish\".\n\n"
      "function __spur_values\n"
      "    set -l typed (commandline -ct | string replace -r '^-[^=]*=' '')\n"
      "    set -l before (string match -r '.*,' -- $typed)\n"
      "    for value in (command spur complete-values $argv[1] 2>/dev/null)\n"
      "        echo $before$value\n"
      "    end\n"
      "end\n\n";
  const auto add = [&](const std::string& to, const CompletedCommand& each) {
    for (const OptionsAsked::Row& option : each.options) {
      text += to;
      if (option.row.letter != 0) text += fmt::format(" -s {}", option.row.letter);
      text += fmt::format(" -l {}", option.row.name);
      if (option.row.alias != nullptr) text += fmt::format(" -l {}", option.row.alias);
      const std::string kind = kind_of(value_of_option(each.command, option.row));
      if (option.row.takes == Takes::Value) text += kind == "file" ? " -r -F" : " -x";
      if (!kind.empty() && kind != "file" && option.row.takes != Takes::Nothing)
        text += fmt::format(" -a '(__spur_values {})'", kind);
      text += fmt::format(" -d '{}'\n", brief(option.row.help));
    }
    const std::string kind = kind_of(value_of_words(each.command));
    if (!each.words.empty()) text += fmt::format("{} -f -a '{}'\n", to, joined(each.words, " "));
    else if (!kind.empty() && kind != "file") text += fmt::format("{} -f -a '(__spur_values {})'\n", to, kind);
  };
  for (const CompletedCommand& each : commands) {
    const std::string& name = each.command.name;
    text += fmt::format("complete -c spur -n __fish_use_subcommand -f -a {} -d '{}'\n", name, brief(each.command.help));
    add(fmt::format("complete -c spur -n '__fish_seen_subcommand_from {}'", name), each);
    if (!each.command.native) add("complete -c " + name, each);
  }
  return text;
}

}  // namespace spur::cli
