// SPDX-License-Identifier: Apache-2.0
// What makes a spurctld one of several: etcd (its own member or one that is there), the cluster's identity in it,
// what all controllers share, and the journal.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "config/load.h"
#include "ctld/controller_calls.h"
#include "io/clock.h"
#include "os/etcd_journal.h"
#include "os/etcd_process.h"
#include "os/state_directory.h"

namespace spur::main {

class ControllerGroup {
 public:
  struct Options {
    std::string name;  // which controller to be; empty: that of this host
    io::Clock& clock;
    std::function<void(const std::string&)> log;
    std::function<bool()> give_up;  // asked while waiting for etcd
  };
  // Whether the configuration asks for more than one controller.
  static bool is_wanted(const config::DaemonConfig& config);
  // Waits until etcd answers. Busy: given up.
  static Result<std::unique_ptr<ControllerGroup>> open(const config::Loaded& loaded, Options options);

  // The file's content becomes what all controllers have; it must exist.
  Status share_file(const std::string& name);
  // `credential`: what proves to the others who we are.
  std::unique_ptr<io::Journal> make_journal(std::function<Result<std::string>()> credential);
  ctld::ControllerCalls::Options::Following following() const;
  // Before the end: another controller leads from now on, while this one still tells its clients so.
  void retire();
  const std::string& name() const { return membership_.member; }

 private:
  ControllerGroup(const config::Loaded& loaded, Options options) : loaded_(loaded), options_(std::move(options)) {}
  Status choose_name();
  Status start_etcd();
  Status join();
  Result<std::string> secret() const;
  Result<std::unique_ptr<os::EtcdClient>> client() const;
  Result<os::StoredSnapshot> fetch(const std::string& credential) const;

  const config::Loaded& loaded_;
  Options options_;
  std::optional<os::StateDirectory> directory_;
  os::EtcdMembership membership_;
  std::string address_;
  std::vector<std::string> endpoints_;
  std::unique_ptr<os::EtcdProcess> etcd_;
  os::EtcdJournal* journal_ = nullptr;
};

}  // namespace spur::main
