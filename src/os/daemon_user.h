// SPDX-License-Identifier: Apache-2.0
// A daemon that is started as root becomes the user that its configuration names (SlurmUser), for good, or does not start.
// Like slurmctld it makes its log and its pid file before, as they are often where root alone may make files, and gives them to
// that user; everything else it makes, and every program that it runs, is that user's.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace spur::os {

// A name or a number; Slurm's words for one who does not exist. `key` is what the configuration calls it.
Result<Uid> configured_user(std::string_view key, const std::string& user);

// A log is its owner's alone, a pid file for everybody.
struct DaemonFile {
  std::string path;
  mode_t mode;
};

// Before any thread. Empty `user`: nothing is done, the daemon stays who started it. Root drops its capabilities and takes
// the user's groups; anybody else must be the user already. `files` are made, if they are missing, and given away by root,
// where they are in root's directories.
Status become_daemon_user(const std::string& user, const std::vector<DaemonFile>& files);

// The agent's part: it changes to nobody, as only root can start the jobs of all, but insists on who it is to be (SlurmdUser).
Status check_agent_user(const std::string& user);

// By root, for `user`: a directory that is not there, below one of root's. One that is there is left alone.
Status make_directory_for(const std::string& user, const std::string& path);

// What the daemon finds in place of its state directory, in slurmctld's words: nothing, and it may not make it, or one that it may
// not write to.
Status check_state_location(const std::string& path);

}  // namespace spur::os
