// SPDX-License-Identifier: Apache-2.0
// Manual pages, made from the tables of options: `spur man NAME` shows one (on a terminal through man, else as roff),
// `spur man --all DIRECTORY` writes them all.
#pragma once

#include <string>
#include <vector>

#include "cli/command_options.h"

namespace spur::cli {

// What a page says beside the options.
struct ManualText {
  std::string_view name;         // "squeue", "queue"
  std::string_view synopsis;     // behind the name
  std::string_view description;  // paragraphs, parted by '\n'
  std::string_view exits;        // what the exit status means, likewise; empty: 0, or 1 after an error
};
const ManualText* find_manual_text(std::string_view name);

// "squeue.1", or "spur-queue.1" of a native command.
std::string manual_file(const NamedCommand& command);
std::string manual_page(const NamedCommand& command, const std::vector<OptionsAsked::Row>& options,
                        std::string_view version);
// Of spur itself.
std::string manual_overview(const std::vector<NamedCommand>& commands, std::string_view version);

int cmd_manual(Context& context, const std::vector<NamedCommand>& commands);

}  // namespace spur::cli
