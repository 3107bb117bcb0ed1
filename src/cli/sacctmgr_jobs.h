// SPDX-License-Identifier: Apache-2.0
// Verbs of sacctmgr for what the database has of jobs and reservations.
#pragma once

#include <span>
#include <string>

namespace spur::cli {

struct Sacctmgr;

void modify_job(Sacctmgr& s, std::span<const std::string> words);
void show_reservations(Sacctmgr& s, std::span<const std::string> words);
// Jobs that the database has as unfinished and the controller does not know; ends them if that is wanted.
void show_runaway_jobs(Sacctmgr& s, std::span<const std::string> words);

}  // namespace spur::cli
