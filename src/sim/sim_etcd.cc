// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_etcd.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace spur::sim {

SimEtcd::SimEtcd(EventQueue& events, Random random, std::size_t members, Duration timeout)
    : events_(events), random_(random), timeout_(timeout), members_(members) {
  for (Member& member : members_) member.cut.assign(members, false);
}

void SimEtcd::begin_with(const std::string& key, const std::string& value) {
  change(keys_, {.unchanged = {}, .puts = {{key, value}}, .deletes = {}}, revision_);
  for (Member& member : members_) member.keys = keys_;
}

void SimEtcd::set_up(std::size_t member, bool up) {
  catch_up(members_[member], in_majority(member));
  members_[member].up = up;
}

void SimEtcd::set_cut(std::size_t one, std::size_t other, bool cut) {
  for (std::size_t i = 0; i < members_.size(); ++i) catch_up(members_[i], in_majority(i));
  members_[one].cut[other] = members_[other].cut[one] = cut;
}

bool SimEtcd::in_majority(std::size_t member) const {
  if (!members_[member].up) return false;
  std::size_t reached = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) reached += members_[i].up && !members_[member].cut[i];
  return 2 * reached > members_.size();
}

void SimEtcd::change(Keys& keys, const io::KvTransaction& transaction, std::int64_t revision) {
  for (const auto& [from, to] : transaction.deletes) keys.erase(keys.lower_bound(from), keys.lower_bound(to));
  for (const auto& [key, value] : transaction.puts) {
    io::KvValue& row = keys[key];
    if (row.created == 0) row.created = revision, row.key = key;
    row.value = value;
    row.changed = revision;
  }
}

// A member that is cut off knows what it knew.
void SimEtcd::catch_up(Member& member, bool reached) {
  if (!reached) return;
  while (!member.behind.empty() && member.behind.front().seen_at <= events_.now()) {
    const Change& next = member.behind.front();
    change(member.keys, *next.transaction, next.revision);
    member.revision = next.revision;
    member.behind.pop_front();
  }
}

io::KvRange SimEtcd::range(const Keys& keys, const std::string& from, const std::string& to, std::int64_t limit,
                           std::int64_t revision) {
  io::KvRange out;
  out.revision = revision;
  for (auto it = keys.lower_bound(from); it != keys.end(); ++it) {
    if (to.empty() ? it->first != from : it->first >= to) break;
    if (limit > 0 && out.values.size() == static_cast<std::size_t>(limit)) {
      out.more = true;
      break;
    }
    out.values.push_back(it->second);
  }
  return out;
}

Result<io::KvCommit> SimEtcd::commit(std::size_t member, const io::KvTransaction& transaction) {
  if (full_ && !transaction.puts.empty())
    return fail(ErrorCode::OutOfSpace, "etcdserver: mvcc: database space exceeded");
  for (const auto& [key, revision] : transaction.unchanged) {
    const auto it = keys_.find(key);
    if ((it == keys_.end() ? 0 : it->second.changed) != revision) return io::KvCommit{false, revision_};
  }
  ++revision_;
  change(keys_, transaction, revision_);
  const auto shared = std::make_shared<const io::KvTransaction>(transaction);
  for (Member& other : members_) {
    Duration seen = events_.now() + way(other);
    if (!other.behind.empty()) seen = std::max(seen, other.behind.back().seen_at);
    other.behind.push_back({seen, revision_, shared});
  }
  on_commit(member, transaction);
  return io::KvCommit{true, revision_};
}

Duration SimEtcd::way(const Member& member) {
  Duration time(random_.between(50, 3'000));
  if (member.lag > Duration{0}) time += Duration(random_.between(0, static_cast<std::uint64_t>(member.lag.count())));
  return time;
}

// Blocks the calling fiber. Everything that will become of a call is laid down when it is made and when it arrives,
// so one event brings its end.
class SimEtcd::Client final : public io::KvStore {
 public:
  Client(SimEtcd& etcd, std::size_t member, Fibers& fibers) : etcd_(etcd), member_(member), fibers_(fibers) {}

  Result<io::KvRange> range(const std::string& from, const std::string& to, std::int64_t limit, bool local) override {
    const auto look = [&etcd = etcd_, member = member_, from, to, limit, local]() -> Result<io::KvRange> {
      if (!local) return SimEtcd::range(etcd.keys_, from, to, limit, etcd.revision_);
      Member& own = etcd.members_[member];
      etcd.catch_up(own, etcd.in_majority(member));
      return SimEtcd::range(own.keys, from, to, limit, own.revision);
    };
    return call<io::KvRange>(local, etcd_.timeout_, look);
  }
  Result<io::KvCommit> commit(const io::KvTransaction& transaction) override {
    return call<io::KvCommit>(
        false, transaction.patience > Duration{0} ? transaction.patience : etcd_.timeout_,
        [&etcd = etcd_, member = member_, transaction] { return etcd.commit(member, transaction); });
  }

 private:
  template <class Answer>
  Result<Answer> call(bool local, Duration patience, std::function<Result<Answer>()> work) {
    auto answer = std::make_shared<std::optional<Result<Answer>>>();
    fibers_.block([&](Process::Action resume) { send(local, patience, std::move(work), answer, std::move(resume)); });
    if (!*answer) return fail(ErrorCode::TimedOut, "etcd does not answer");
    return std::move(**answer);
  }

  template <class Answer>
  void send(bool local, Duration patience, std::function<Result<Answer>()> work,
            std::shared_ptr<std::optional<Result<Answer>>> answer, Process::Action resume) {
    auto& events = etcd_.events_;
    auto& random = etcd_.random_;
    const Duration give_up = events.now() + patience;
    Duration arrives = events.now() + etcd_.way(etcd_.members_[member_]);
    if (!local && etcd_.trouble_.late > 0 && random.chance(etcd_.trouble_.late))
      arrives += etcd_.timeout_ + Duration(random.between(0, static_cast<std::uint64_t>(etcd_.timeout_.count())));
    if (!local) arrives = std::max(arrives, etcd_.stalled_until_);
    const bool lost = !local && etcd_.trouble_.lost_answers > 0 && random.chance(etcd_.trouble_.lost_answers);
    if (arrives > give_up) events.at(give_up, resume);
    events.at(arrives, [&etcd = etcd_, member = member_, local, lost, give_up, work = std::move(work), answer,
                        resume = std::move(resume)]() mutable {
      auto& own = etcd.members_[member];
      const bool given_up = etcd.events_.now() > give_up;
      if (!(local ? own.up : etcd.in_majority(member))) {
        if (!given_up) etcd.events_.at(own.up ? give_up : etcd.events_.now() + Duration(1'000), std::move(resume));
        return;
      }
      auto result = work();
      const Duration back = etcd.events_.now() + etcd.way(own);
      if (given_up) return;
      if (lost || back > give_up) return etcd.events_.at(give_up, std::move(resume));
      *answer = std::move(result);
      etcd.events_.at(back, std::move(resume));
    });
  }

  SimEtcd& etcd_;
  std::size_t member_;
  Fibers& fibers_;
};

std::unique_ptr<io::KvStore> SimEtcd::client(std::size_t member, Fibers& fibers) {
  return std::make_unique<Client>(*this, member, fibers);
}

}  // namespace spur::sim
