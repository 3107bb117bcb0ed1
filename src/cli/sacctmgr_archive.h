// SPDX-License-Identifier: Apache-2.0
// What sacctmgr asks of spurdbd itself: archives, and how often it was called. The words are what comes behind the verb.
#pragma once

#include <span>
#include <string>

#include "cli/sacctmgr.h"

namespace spur::cli {

void sacctmgr_archive(Sacctmgr& s, std::span<const std::string> words);
void sacctmgr_clear(Sacctmgr& s, std::span<const std::string> words);
void show_statistics(Sacctmgr& s, bool reset);
// Words that stand alone. "slurmdbd(primary) at HOST is UP": anybody may know that.
void sacctmgr_ping(Sacctmgr& s);
void sacctmgr_reconfigure(Sacctmgr& s);
void sacctmgr_shutdown(Sacctmgr& s);

}  // namespace spur::cli
