// SPDX-License-Identifier: Apache-2.0
// What makes a spurctld one of several: etcd (its own member or one that is there), the cluster's identity in it,
// what all controllers share, and the journal. controller_group_members.cc has how the set of controllers changes.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "config/load.h"
#include "ctld/controller_calls.h"
#include "io/clock.h"
#include "io/outbox_spool.h"
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
  ~ControllerGroup();

  // The file's content becomes what all controllers have; it must exist.
  Status share_file(const std::string& name);
  // `credential`: what proves to the others who we are.
  std::unique_ptr<io::Journal> make_journal(std::function<Result<std::string>()> credential);
  // Records for accounting that other controllers' spools have; see AcctOutbox::Doors::ask_others.
  std::string fetch_outbox(Time born, std::uint64_t until, const std::function<std::optional<std::uint64_t>()>& next,
                           const std::function<Status(std::span<const io::OutboxSpool::Record>)>& take) const;
  ctld::ControllerCalls::Options::Following following() const;
  // Before the end: another controller leads from now on, while this one still tells its clients so.
  void retire();
  const std::string& name() const { return membership_.member; }

  // ---- the set of controllers; these block
  ctld::ControllerCalls::Options::Group calls();
  // From now on: looks after the members of etcd while this one leads, and calls `removed`, with a sentence, once this is
  // none of the controllers any more.
  void watch(std::function<void(const std::string&)> removed);
  void stop_watching();

  // ---- taking the state out of etcd (main/convert_state.cc)
  // Nobody but this controller can lead from now on.
  Status reserve_lead();
  // The others stop.
  Status dismiss_others();

 private:
  std::function<Result<std::string>()> credential_;
  ControllerGroup(const config::Loaded& loaded, Options options) : loaded_(loaded), options_(std::move(options)) {}
  Status choose_name();
  Status start_etcd();
  Status join();
  Status join_once(os::EtcdClient& etcd, const os::EtcdBeginning& beginning);
  Result<os::EtcdBeginning> beginning() const;
  Result<std::string> secret() const;
  Result<std::unique_ptr<os::EtcdClient>> client() const;
  Result<os::StoredSnapshot> fetch(const std::string& credential) const;
  Result<os::StoredSnapshot> fetch_once(const std::string& credential) const;
  std::string etcd_directory() const { return loaded_.daemon.state_dir + "/etcd"; }

  // The set as another controller tells it; nothing if none answers.
  std::optional<wire::ControllerMembers> ask_others() const;
  // What the first start of our own member needs to know.
  Status find_peers(os::EtcdProcess::Options* options);
  // What to do about an etcd of ours that does not answer.
  Status look_around();
  Status removed(const std::string& others) const;
  void put_files_aside();
  Result<wire::ControllerMembers> list();
  Status add(const std::string& name, const std::string& address);
  Status remove(const std::string& name);
  Status hand_over(const std::string& successor);
  void watch_once(os::EtcdClient& etcd, Duration* unanswered);
  void tend_members(os::EtcdClient& etcd);
  std::vector<os::EtcdController> others() const;
  void set_known(const os::EtcdIdentity& identity);

  const config::Loaded& loaded_;
  Options options_;
  std::optional<os::StateDirectory> directory_;
  os::EtcdMembership membership_;
  std::string address_;
  std::vector<std::string> endpoints_;
  std::unique_ptr<os::EtcdProcess> etcd_;
  os::EtcdJournal* journal_ = nullptr;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  os::EtcdIdentity known_;  // guarded by mutex_, as the next two
  bool stop_ = false;
  bool is_removed_ = false;
  std::function<void(const std::string&)> on_removed_;
  std::thread watcher_;
};

}  // namespace spur::main
