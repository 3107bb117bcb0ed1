// SPDX-License-Identifier: Apache-2.0
// The controllers' processes, their doors, and what their hosts keep.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "os/crc32c.h"
#include "os/etcd_keys.h"
#include "os/etcd_membership.h"
#include "sim/world.h"
#include "wire/command_codec.h"

namespace spur::sim {
namespace {

constexpr const char* kCluster = "sim";

std::string controller_name(std::size_t i) {
  return "c" + std::to_string(i);
}

}  // namespace

struct World::AgentsOfController final : io::AgentPort {
  World& world;
  std::size_t c;
  AgentsOfController(World& w, std::size_t controller) : world(w), c(controller) {}
  static std::size_t number(std::string_view node) { return std::stoul(std::string(node.substr(1))); }
  void send(std::string_view node, model::ControllerMessage message) override {
    world.to_node(c, number(node), std::move(message));
  }
  void hang_up(std::string_view node) override {
    const std::size_t i = number(node);
    auto& process = *world.hosts_[c].process;
    const auto known = process.links.find(i);
    if (known == process.links.end()) return;
    world.trace_.line("c{} hangs up on {}", c, node);
    process.process.after(Duration{1}, [&w = world, i, c = c, link = known->second] {
      w.drop_at_controller(i, c, link);
      if (w.nodes_[i].ways[c].to_node == 0)
        w.events_.after(Duration(w.random_.between(50, 3'000)), [&w, i, link] { w.drop_at_agent(i, link); });
    });
  }
};

struct World::WatchedJournal final : io::Journal {
  World& world;
  std::size_t c;
  io::Journal& real;
  WatchedJournal(World& w, std::size_t controller, io::Journal& journal) : world(w), c(controller), real(journal) {}
  Result<Recovery> recover() override { return real.recover(); }
  void append(std::uint64_t index, std::string entry, Done done) override {
    world.checker_.on_append(c, world.events_.now());
    real.append(index, std::move(entry), std::move(done));
  }
  void save_snapshot(std::uint64_t index, std::string snapshot, Done done) override {
    real.save_snapshot(index, std::move(snapshot), std::move(done));
  }
  bool shared() const override { return real.shared(); }
  void follow(std::uint64_t after, Roles roles) override { real.follow(after, std::move(roles)); }
  void applied(std::uint64_t index) override { real.applied(index); }
  bool is_current() const override { return real.is_current(); }
  void catch_up(Done done) override { real.catch_up(std::move(done)); }
};

World::ControllerProcess::~ControllerProcess() {
  process.kill();
  fibers->kill_all();
}

// As the first controller leaves it when it begins a cluster.
void World::begin_etcd() {
  os::EtcdIdentity identity;
  identity.id = kCluster;
  for (std::size_t i = 0; i < hosts_.size(); ++i) identity.controllers.push_back({controller_name(i), {}});
  etcd_->begin_with(os::EtcdKeys(kCluster).identity(), os::encode_etcd_identity(identity));
}

std::unique_ptr<io::Journal> World::make_journal(std::size_t i) {
  auto& process = *hosts_[i].process;
  if (!etcd_) {
    auto journal = std::make_unique<SimJournal>(events_, random_.fork(), hosts_[i].disk);
    journal->on_durable = [this, i](std::uint64_t index, const std::string& entry) {
      checker_.on_durable(i, index, entry, events_.now());
    };
    return journal;
  }
  os::EtcdJournal::Options options;
  options.membership = {.cluster = kCluster, .member = controller_name(i), .members = {}, .directory = {}};
  for (std::size_t other = 0; other < hosts_.size(); ++other)
    options.membership.members.push_back({controller_name(other), {}});
  options.failover = Duration(story_.failover_us);
  options.piece_bytes = story_.piece_bytes;
  options.fetch = [this, i] { return fetch_snapshot(i); };
  options.log = [this, i](const std::string& line) { trace_.line("c{} journal: {}", i, line); };
  options.threads = process.fibers;
  options.snapshots = std::make_shared<SimSnapshots>(hosts_[i].disk);
  auto journal = std::make_unique<os::EtcdJournal>(etcd_->client(i, *process.fibers), process.clock, std::move(options));
  process.shared = journal.get();
  return journal;
}

// From whoever can be asked, as ControllerGroup does.
Result<io::StoredSnapshot> World::fetch_snapshot(std::size_t i) {
  hosts_[i].process->fibers->sleep(Duration(random_.between(1'000, 300'000)));
  for (std::size_t other = 0; other < hosts_.size(); ++other) {
    if (other == i || !up(other) || hosts_[other].process->process.paused() || controllers_cut_[i][other] > 0) continue;
    const auto& cluster = hosts_[other].process->logic->cluster();
    if (cluster.index() == 0) continue;
    trace_.line("c{} gets the state of c{} at index {}", i, other, cluster.index());
    checker_.on_fetched(i);
    return io::StoredSnapshot{cluster.index(), wire::encode_image(cluster.image())};
  }
  return fail(ErrorCode::Unreachable, "no other controller answers");
}

ctld::Controller::Doors World::make_doors(std::size_t i) {
  auto& process = *hosts_[i].process;
  return {
      .clock = process.clock,
      .journal = *process.watched,
      .agents = *process.agents,
      .post = [&process](std::function<void()> f) { process.process.after(Duration{1}, std::move(f)); },
      .in_background =
          [this, &process](std::function<void()> f) {
            process.process.after(Duration(random_.between(1'000, 100'000)), std::move(f));
          },
      .publish =
          [this, &process, i](const std::shared_ptr<const ctld::Picture>& picture) {
            if (process.logic) checker_.on_published(i, process.logic->cluster(), picture->leading);
          },
      .request_plan =
          [this, &process](std::shared_ptr<const ctld::Picture> picture, Time now, ctld::PlanKind kind) {
            process.process.after(Duration(random_.between(100, 20'000)), [this, &process, picture, now, kind] {
              auto& engine = process.engine;
              engine.see(picture->view);
              sched::Plan plan = kind == ctld::PlanKind::Full ? engine.plan(now) : engine.respond(now);
              checker_.on_plan(picture->view, plan);
              process.logic->plan_done(std::move(plan));
              if (engine.lost_track() > 0) checker_.violate("progress: the scheduler lost track");
            });
          },
      .fatal = [this, i](const Error& error) { on_fatal(i, error); },
      .log = [this, i](std::string text) { trace_.line("c{} log {}", i, text); },
      .account = [this, i](Time, std::vector<state::OutboxRecord> records) { checker_.on_account(i, records); },
      .when_accounted =
          [this, &process](std::uint64_t, std::function<void()> then) {
            process.process.after(Duration(random_.between(100, 200'000)), std::move(then));
          },
      .on_lead =
          [this, &process, i](const state::Cluster& cluster) {
            trace_.line("c{} leads at index {}", i, cluster.index());
            ++leaders_;
            checker_.on_lead(i, events_.now());
            const std::uint64_t known = cluster.outbox().next - 1;
            if (random_.chance(500))
              process.process.after(Duration(random_.between(1'000, 5'000'000)),
                                    [&process, known] { process.logic->on_accounted(known); });
          },
      .on_step_down = [this, i] { trace_.line("c{} steps down", i); },
      .snapshot_bytes = story_.snapshot_bytes};
}

// A controller that cannot go on ends, and is started again by its host.
void World::on_fatal(std::size_t i, const Error& error) {
  trace_.line("c{} ends: {}", i, error.message);
  const bool expected = error.code == ErrorCode::OutOfSpace ||
                        (etcd_ && (error.code == ErrorCode::NotFound || error.code == ErrorCode::TimedOut ||
                                   error.code == ErrorCode::Unreachable));
  if (!expected) return checker_.violate(fmt::format("replay: c{} cannot go on: {}", i, error.message));
  hosts_[i].process->process.after(Duration{1}, [this, i] {
    // Not from inside: it is destroyed.
    events_.after(Duration{0}, [this, i] { crash_controller(i); });
  });
  events_.after(Duration(random_.between(200'000, 2'000'000)), [this, i] { start_controller(i); });
}

void World::start_controller(std::size_t i) {
  if (hosts_[i].process) return;
  trace_.line("c{} starts", i);
  hosts_[i].process = std::make_unique<ControllerProcess>(events_, hosts_[i].skew);
  auto& process = *hosts_[i].process;
  process.journal = make_journal(i);
  process.watched = std::make_unique<WatchedJournal>(*this, i, *process.journal);
  process.agents = std::make_unique<AgentsOfController>(*this, i);
  process.logic = std::make_unique<ctld::Controller>(make_doors(i));
  const auto begin = [this, &process, i] {
    const Status started = process.logic->start(config_, [this, &process, i](const Status& status) {
      if (!status) return on_fatal(i, status.error());
      process.ready = true;
      trace_.line("c{} is ready at index {}", i, process.logic->cluster().index());
    });
    if (!started) on_fatal(i, started.error());
  };
  if (!etcd_) return begin();
  process.start = process.fibers->start(begin);  // it waits for etcd, and perhaps for another controller
}

void World::crash_controller(std::size_t i) {
  if (!hosts_[i].process) return;
  auto& process = *hosts_[i].process;
  trace_.line("c{} crashes at index {}", i, process.logic->cluster().index());
  ++crashes_;
  if (process.process.paused()) checker_.on_slept(i, process.paused_at, events_.now());
  if (!etcd_) checker_.on_crash(process.logic->cluster(), hosts_[i].disk);
  const auto links = process.links;
  hosts_[i].process.reset();
  for (const auto& [node, link] : links)
    events_.after(Duration(random_.between(100, 300'000)), [this, node = node, link = link] { drop_at_agent(node, link); });
}

void World::stop_controller(std::size_t i, Duration away) {
  if (!up(i) || hosts_[i].process->process.paused()) return;
  trace_.line("c{} is told to stop", i);
  hosts_[i].process->shared->retire();
  events_.after(Duration(random_.between(1'000, 2'000'000)), [this, i] { crash_controller(i); });
  events_.after(away + Duration(2'100'000), [this, i] { start_controller(i); });
}

void World::pause_controller(std::size_t i) {
  if (!hosts_[i].process || hosts_[i].process->process.paused()) return;
  trace_.line("c{} stands still", i);
  hosts_[i].process->process.pause();
  hosts_[i].process->paused_at = events_.now();
  for (std::size_t node = 0; node < nodes_.size(); ++node) notice_silence(node, i);
}

void World::resume_controller(std::size_t i) {
  if (!hosts_[i].process || !hosts_[i].process->process.paused()) return;
  trace_.line("c{} goes on", i);
  auto& process = *hosts_[i].process;
  checker_.on_slept(i, process.paused_at, events_.now());
  // Its core thread may find its timers due before it finds what lies in its sockets.
  const bool timers_first = random_.chance(500);
  process.process.go_on();
  if (timers_first && process.ready && process.clock.monotonic() >= process.logic->next_timer()) process.logic->on_timer();
}

void World::set_host_up(std::size_t i, bool up) {
  if (etcd_) etcd_->set_up(i, up);
}

// Only while another one could give it back the state that the log does not hold any more.
bool World::wipe_controller(std::size_t i) {
  const os::EtcdKeys keys(kCluster);
  const auto first = etcd_->keys().lower_bound(keys.log(0));
  const auto begins = first == etcd_->keys().end() ? std::nullopt : keys.log_index(first->first);
  const bool known = std::ranges::any_of(hosts_, [&](const Host& host) {
    return &host != &hosts_[i] && (!begins || host.disk.snapshot_index + 1 >= *begins);
  });
  if (!known) return false;
  crash_controller(i);
  trace_.line("c{} loses its snapshot", i);
  hosts_[i].disk.snapshot_index = 0;
  hosts_[i].disk.snapshot.clear();
  return true;
}

void World::cut_controllers(std::size_t i, std::size_t j, bool cut) {
  controllers_cut_[i][j] += cut ? 1 : -1;
  controllers_cut_[j][i] = controllers_cut_[i][j];
  etcd_->set_cut(i, j, controllers_cut_[i][j] > 0);
}

void World::jump_clock(std::size_t i, Duration by) {
  trace_.line("clock of c{} jumps by {} us", i, by.count());
  hosts_[i].skew += by;
  if (hosts_[i].process) hosts_[i].process->clock.jump(by);
}

// What is durable in etcd: an entry is, once its last piece is.
void World::on_commit(std::size_t member, const io::KvTransaction& transaction) {
  const os::EtcdKeys keys(kCluster);
  for (const auto& [key, value] : transaction.puts) {
    const auto index = keys.log_index(key);
    if (!index) continue;
    const auto entry = os::decode_etcd_entry(value);
    if (!entry) return checker_.violate("log: an entry that nobody can read");
    std::string whole;
    for (std::uint32_t part = 0; part < entry->parts; ++part) {
      const auto piece = etcd_->keys().find(keys.part(*index, entry->term, part));
      if (piece == etcd_->keys().end()) return checker_.violate(fmt::format("log: entry {} lacks a piece", *index));
      whole += piece->second.value;
    }
    whole += entry->last;
    if (os::crc32c(whole) != entry->checksum) return checker_.violate(fmt::format("log: entry {} is damaged", *index));
    trace_.line("entry {} of c{} is durable", *index, member);
    checker_.on_durable(member, *index, whole, events_.now());
  }
}

}  // namespace spur::sim
