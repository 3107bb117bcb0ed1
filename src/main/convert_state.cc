// SPDX-License-Identifier: Apache-2.0
#include "main/convert_state.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <future>
#include <random>
#include <utility>
#include <vector>

#include "main/controller_group.h"
#include "os/etcd_snapshot.h"
#include "os/files.h"
#include "os/journal_store.h"
#include "state/cluster.h"
#include "wire/command_codec.h"

namespace spur::main {
namespace {

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

Status put_aside(const std::string& directory, const std::vector<std::string>& names,
                 const std::function<void(const std::string&)>& log) {
  const std::string aside = fmt::format("{}/converted-{}", directory, ::time(nullptr));
  if (::mkdir(aside.c_str(), 0700) != 0 && errno != EEXIST) return os::fail_errno("cannot create " + aside, errno);
  for (const std::string& name : names) {
    const std::string from = directory + "/" + name;
    if (exists(from) && ::rename(from.c_str(), (aside + "/" + name).c_str()) != 0)
      return os::fail_errno("cannot move " + from, errno);
  }
  log("what was there before is in " + aside);
  return {};
}

Result<std::unique_ptr<state::Cluster>> restored(const io::Journal::Recovery& recovery) {
  auto cluster = std::make_unique<state::Cluster>();
  if (recovery.snapshot_index > 0) {
    SPUR_ASSIGN(auto image, wire::decode_image(recovery.snapshot));
    SPUR_ASSIGN(cluster, state::Cluster::from_image(std::move(image)));
  }
  for (const std::string& entry : recovery.entries) {
    SPUR_ASSIGN(const auto batch, wire::decode_batch(entry));
    cluster->apply(cluster->index() + 1, batch, nullptr, nullptr);
  }
  return cluster;
}

std::string new_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", random());
  return id;
}

Status to_etcd(const Conversion& conversion) {
  const std::string& directory = conversion.loaded.daemon.state_dir;
  if (!exists(directory + "/journal.sqlite"))
    return fail(ErrorCode::NotFound, directory + " has no journal.sqlite: nothing is there to be converted");
  if (exists(directory + "/cluster.id"))
    return fail(ErrorCode::AlreadyExists, directory + " has the state of several controllers already");
  for (const char* name : {"ctld.key", "join.token"})
    if (!exists(directory + "/" + name))
      return fail(ErrorCode::NotFound, fmt::format("{}/{} is missing: the controller has never run here", directory, name));
  {
    SPUR_ASSIGN(auto store, os::JournalStore::open(directory));  // Busy: the controller runs
    SPUR_ASSIGN(const auto recovery, store.load());
    SPUR_ASSIGN(const auto cluster, restored(recovery));
    const auto index = cluster->index();
    SPUR_TRY(os::store_snapshot_file(directory, index, wire::encode_image(cluster->image())));
    SPUR_TRY(os::store_converted_id(directory, new_id()));
    SPUR_TRY(store.close());
    conversion.log(fmt::format("the state of {} jobs, up to entry {}, is ready for etcd", cluster->view().jobs.size(), index));
  }
  SPUR_TRY(put_aside(directory, {"journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "journal.mark"},
                     conversion.log));
  conversion.log("next: name the controllers (this one first) or controller.etcd in the configuration, and start them");
  return {};
}

// All that is in the log, by leading once.
Result<std::unique_ptr<state::Cluster>> whole_state(io::Journal& journal) {
  SPUR_ASSIGN(const auto recovery, journal.recover());
  SPUR_ASSIGN(auto cluster, restored(recovery));
  std::promise<Status> end;
  bool ended = false;
  const auto finish = [&](Status status) {
    if (!std::exchange(ended, true)) end.set_value(std::move(status));
  };
  journal.follow(cluster->index(), {.on_entry =
                                        [&](std::uint64_t index, const std::string& entry) {
                                          const auto batch = wire::decode_batch(entry);
                                          if (!batch) return finish(std::unexpected(batch.error()));
                                          if (!ended) cluster->apply(index, *batch, nullptr, nullptr);
                                        },
                                    .on_lead = [&](bool) { finish({}); },
                                    .on_follow = [&](const Error& why) { finish(std::unexpected(why)); },
                                    .on_failed = [&](const Error& why) { finish(std::unexpected(why)); }});
  SPUR_TRY(end.get_future().get());
  return cluster;
}

Status to_sqlite(const Conversion& conversion) {
  const std::string& directory = conversion.loaded.daemon.state_dir;
  if (!exists(directory + "/cluster.id"))
    return fail(ErrorCode::NotFound, directory + " has no state of several controllers");
  if (!ControllerGroup::is_wanted(conversion.loaded.daemon))
    return fail(ErrorCode::ConfigInvalid, "the configuration must still name all controllers, or controller.etcd");
  std::unique_ptr<state::Cluster> cluster;
  {
    SPUR_ASSIGN(auto group, ControllerGroup::open(conversion.loaded, {.name = conversion.name,
                                                                      .clock = conversion.clock,
                                                                      .log = conversion.log,
                                                                      .give_up = conversion.give_up}));
    SPUR_TRY(group->reserve_lead());
    auto journal = group->make_journal([]() -> Result<std::string> {
      return fail(ErrorCode::NotFound, "this controller was away for too long: start it, and convert then");
    });
    if (!journal) return fail(ErrorCode::ConfigInvalid, "etcd's addresses or files are not usable");
    SPUR_ASSIGN(cluster, whole_state(*journal));
    // Before the others go: should this fail, they lead again once it is given up.
    SPUR_TRY(os::store_snapshot_file(directory, cluster->index(), wire::encode_image(cluster->image())));
    journal.reset();
    SPUR_TRY(group->dismiss_others());
  }
  {
    SPUR_ASSIGN(auto store, os::JournalStore::open(directory));
    SPUR_TRY(store.load());
    SPUR_TRY(store.import_state(cluster->index(), wire::encode_image(cluster->image())));
    SPUR_TRY(store.close());
  }
  SPUR_TRY(put_aside(directory, {"cluster.id", "snapshot.bin", "etcd"}, conversion.log));
  conversion.log(fmt::format("{} jobs, up to entry {}, are in journal.sqlite", cluster->view().jobs.size(), cluster->index()));
  conversion.log("next: name this controller alone in the configuration, without controller.etcd, and start it");
  return {};
}

}  // namespace

Status convert_state(const Conversion& conversion, const std::string& to) {
  if (to == "etcd") return to_etcd(conversion);
  if (to == "sqlite") return to_sqlite(conversion);
  return fail(ErrorCode::InvalidArgument, fmt::format("\"{}\" is neither etcd nor sqlite", to));
}

}  // namespace spur::main
