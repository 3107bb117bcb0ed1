// SPDX-License-Identifier: Apache-2.0
// SetAccounts, DecayUsage, ResetUsage, and the tallies that limits and shares are reckoned from.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "model/counting.h"
#include "model/fair_tree.h"
#include "model/relative_qos.h"
#include "state/accounts.h"
#include "state/apply.h"

namespace spur::state {

using model::TallyPtr;

namespace {

template <class T, class Key>
std::vector<T> merged(const std::vector<T>& old, const std::vector<T>& news, bool all, const auto& gone, Key key) {
  std::map<std::remove_cvref_t<decltype(key(news.front()))>, T> rows;
  if (!all)
    for (const T& row : old) rows.insert_or_assign(key(row), row);
  for (const auto& name : gone) rows.erase(name);
  for (const T& row : news) rows.insert_or_assign(key(row), row);
  std::vector<T> out;
  for (auto& [name, row] : rows) out.push_back(std::move(row));
  return out;
}

std::vector<model::AssociationPtr> merged_tree(const model::AccountBook& old, const model::AccountsUpdate& update) {
  std::map<std::uint32_t, model::AssociationPtr> rows;
  if (!update.all)
    for (const auto& row : old.associations()) rows.emplace(row->id, row);
  for (const std::uint32_t id : update.associations_gone) rows.erase(id);
  for (const model::Association& row : update.associations)
    rows.insert_or_assign(row.id, std::make_shared<const model::Association>(row));
  std::vector<model::AssociationPtr> out;
  for (auto& [id, row] : rows) out.push_back(std::move(row));
  return out;
}

void store(CowMap<TallyPtr>& map, std::uint32_t id, model::Tally tally) {
  if (tally.empty()) {
    map.erase(id);
  } else {
    map.set(id, std::make_shared<const model::Tally>(std::move(tally)));
  }
}

}  // namespace

// Usage up to now becomes past, and fades.
void Applier::fade_usage(bool forget) {
  const std::int64_t at = model::whole_seconds(now);
  const auto elapsed = is_set(view.decayed) ? std::chrono::duration_cast<seconds>(now - view.decayed) : seconds(0);
  const std::uint64_t factor = forget ? 0 : model::fade_factor(elapsed, config().priority.half_life);
  const auto fade = [&](CowMap<TallyPtr>& map, const auto& fades) {
    CowMap<TallyPtr> next = map;
    map.for_each([&](std::uint32_t id, const TallyPtr& tally) {
      model::Tally changed = *tally;
      changed.settle(at);
      if (fades(id))
        for (model::Wide& past : changed.past) past = model::faded(past, factor);
      store(next, id, std::move(changed));
      return true;
    });
    map = std::move(next);
  };
  fade(view.tallies.associations, [](std::uint32_t) { return true; });
  fade(view.tallies.qos, [&](std::uint32_t id) {
    const auto qos = std::ranges::find(*view.qos, id, &model::Qos::id);
    return qos == view.qos->end() || forget || !(qos->flags & model::kQosNoDecay);
  });
  // Users and accounts in a QOS have no past that matters, but their moments must agree with the jobs'.
  const auto settle_inner = [&](CowMap<CowMap<TallyPtr>>& map) {
    CowMap<CowMap<TallyPtr>> next;
    map.for_each([&](std::uint32_t outer, const CowMap<TallyPtr>& list) {
      CowMap<TallyPtr> changed;
      list.for_each([&](std::uint32_t inner, const TallyPtr& tally) {
        model::Tally settled = *tally;
        settled.settle(at);
        std::ranges::fill(settled.past, model::Wide{0});
        store(changed, inner, std::move(settled));
        return true;
      });
      if (!changed.empty()) next.set(outer, std::move(changed));
      return true;
    });
    map = std::move(next);
  };
  settle_inner(view.tallies.users);
  settle_inner(view.tallies.accounts);
  view.decayed = Time(seconds(at));
}

// What jobs hold is added up anew, in the columns of now; usage stays with its association or QOS.
void Applier::recount_all(const model::TresTable& columns) {
  const model::Tallies old = std::exchange(view.tallies, {});
  const auto keep = [&](const CowMap<TallyPtr>& from, CowMap<TallyPtr>& to, const auto& is_there) {
    from.for_each([&](std::uint32_t id, const TallyPtr& tally) {
      if (!is_there(id)) return true;
      model::Tally kept;
      kept.widen(view.tres->size() + 1);
      for (std::size_t i = 0; i < tally->past.size(); ++i) {
        const bool wall = i == columns.size();
        const std::size_t column = wall ? view.tres->size() : view.tres->find(columns.names()[i]);
        if (wall || column < view.tres->size()) kept.past[column] = tally->past[i];
      }
      store(to, id, std::move(kept));
      return true;
    });
  };
  keep(old.associations, view.tallies.associations,
       [&](std::uint32_t id) { return view.accounts->find(id) != nullptr; });
  keep(old.qos, view.tallies.qos,
       [&](std::uint32_t id) { return std::ranges::find(*view.qos, id, &model::Qos::id) != view.qos->end(); });
  view.jobs.for_each([&](std::uint32_t, const model::JobPtr& job) {
    model::recount(view, nullptr, job.get(), now);
    return true;
  });
}

Outcome Applier::apply(const SetAccounts& command) {
  const model::AccountsUpdate& update = command.update;
  auto qos =
      merged(*view.qos, update.qos, update.all, update.qos_gone, [](const model::Qos& row) { return row.name; });
  auto users = merged(view.accounts->users(), update.users, update.all, update.users_gone,
                      [](const model::AccountUser& row) { return row.name; });
  auto book = model::AccountBook::make(update.revision, merged_tree(*view.accounts, update), std::move(users));
  if (!book) return refused(book.error());
  fade_usage(false);  // before anything moves: usage so far is that of the old tree
  view.accounts = *std::move(book);
  if (qos != *view.qos) {
    view.qos = std::make_shared<const std::vector<model::Qos>>(std::move(qos));
    cluster.changes_.qos = true;
  }
  view.qos_in_force = model::qos_with_amounts(view);
  recount_all(*view.tres);
  reckon_shares();
  others_may_age = true;
  return {};
}

Outcome Applier::apply(const DecayUsage& command) {
  fade_usage(command.reset);
  reckon_shares();
  return {};
}

Outcome Applier::reset_qos_usage(const std::string& name) {
  const model::Qos* qos = model::find_qos(view, name);
  if (!qos) return refused(ErrorCode::InvalidQos, fmt::format("there is no QOS {}", name));
  const model::TallyPtr* found = view.tallies.qos.find(qos->id);
  if (!found) return {};
  model::Tally tally = **found;
  std::ranges::fill(tally.past, model::Wide{0});
  view.tallies.qos.set(qos->id, std::make_shared<const model::Tally>(std::move(tally)));
  return {};
}

Outcome Applier::apply(const ResetUsage& command) {
  if (!command.qos.empty()) return reset_qos_usage(command.qos);
  if (!view.accounts->find(command.association))
    return refused(ErrorCode::InvalidAccount, fmt::format("there is no association {}", command.association));
  // Everything below it too; and what is gone there is gone above.
  std::set<std::uint32_t> below{command.association};
  std::vector<std::uint32_t> open{command.association};
  while (!open.empty()) {
    const std::size_t at = view.accounts->position(open.back());
    open.pop_back();
    for (const std::uint32_t child : view.accounts->children()[at])
      if (below.insert(view.accounts->associations()[child]->id).second)
        open.push_back(view.accounts->associations()[child]->id);
  }
  std::vector<model::Wide> gone;
  if (const model::TallyPtr* top = view.tallies.associations.find(command.association)) gone = (*top)->past;
  const auto set_past = [&](std::uint32_t id, const auto& f) {
    const model::TallyPtr* found = view.tallies.associations.find(id);
    if (!found) return;
    model::Tally tally = **found;
    f(tally.past);
    view.tallies.associations.set(id, std::make_shared<const model::Tally>(std::move(tally)));
  };
  for (const std::uint32_t id : below)
    set_past(id, [](std::vector<model::Wide>& past) { std::ranges::fill(past, model::Wide{0}); });
  for (const auto* row = view.accounts->parent(*view.accounts->find(command.association)); row;
       row = view.accounts->parent(*row))
    set_past(row->id, [&](std::vector<model::Wide>& past) {
      for (std::size_t i = 0; i < std::min(past.size(), gone.size()); ++i) past[i] -= std::min(past[i], gone[i]);
    });
  reckon_shares();
  return {};
}

std::uint32_t Applier::association_of(const model::JobSpec& spec) const {
  if (view.accounts->empty()) return 0;
  const model::Partition* partition =
      spec.partitions.empty() ? model::default_partition(view) : model::find_partition(view, spec.partitions.front());
  const model::Association* row =
      view.accounts->find(spec.account, spec.uid, partition ? std::string_view(partition->config.name) : "");
  return row ? row->id : 0;
}

void Applier::reckon_shares() {
  if (view.accounts->empty()) return;
  auto shares = model::fair_shares(view, now);
  if (shares == *view.shares) return;
  view.shares = std::make_shared<const std::vector<model::FairShare>>(std::move(shares));
  cluster.changes_.shares = true;
}

// ---- snapshots and checks

std::vector<model::PastUsage> usages(const model::View& view) {
  std::vector<model::PastUsage> out;
  const auto add = [&](model::PastUsage row, const model::Tally& tally) {
    for (std::size_t i = 0; i < tally.past.size(); ++i) {
      if (tally.past[i] == 0) continue;
      row.amounts.push_back({i < view.tres->size() ? view.tres->names()[i] : "wall",
                             static_cast<std::uint64_t>(tally.past[i] >> model::kFadedBits),
                             static_cast<std::uint32_t>(tally.past[i])});
    }
    if (!row.amounts.empty()) out.push_back(std::move(row));
  };
  view.tallies.associations.for_each([&](std::uint32_t id, const TallyPtr& tally) {
    add({id, {}, {}}, *tally);
    return true;
  });
  for (const model::Qos& qos : *view.qos)
    if (const TallyPtr* tally = view.tallies.qos.find(qos.id); tally && qos.id != 0) add({0, qos.name, {}}, **tally);
  return out;
}

Status load_usages(const std::vector<model::PastUsage>& usages, model::View& view) {
  for (const model::PastUsage& usage : usages) {
    model::Tally tally;
    tally.widen(view.tres->size() + 1);
    for (const auto& amount : usage.amounts) {
      const std::size_t at = amount.tres == "wall" ? view.tres->size() : view.tres->find(amount.tres);
      if (at < tally.past.size() && (at < view.tres->size() || amount.tres == "wall"))
        tally.past[at] = (model::Wide{amount.whole} << model::kFadedBits) | amount.fraction;
    }
    if (usage.association != 0) {
      if (!view.accounts->find(usage.association))
        return fail(ErrorCode::Corrupt,
                    fmt::format("usage of association {}, which is not there", usage.association));
      store(view.tallies.associations, usage.association, std::move(tally));
    } else if (const model::Qos* qos = model::find_qos(view, usage.qos)) {
      store(view.tallies.qos, qos->id, std::move(tally));
    }
  }
  return {};
}

namespace {

// But for their past.
bool same_holdings(const CowMap<TallyPtr>& kept, const CowMap<TallyPtr>& fresh) {
  bool same = true;
  const auto compare = [&](const CowMap<TallyPtr>& other) {
    return [&](std::uint32_t id, const TallyPtr& tally) {
      const TallyPtr* found = other.find(id);
      model::Tally a = *tally, b = found ? **found : model::Tally{};
      const std::size_t size = std::max(a.tres.size(), b.tres.size());
      a.widen(size), b.widen(size);
      a.past = b.past = {};
      same = same && a == b;
      return same;
    };
  };
  kept.for_each(compare(fresh));
  fresh.for_each(compare(kept));
  return same;
}

bool same_holdings(const CowMap<CowMap<TallyPtr>>& kept, const CowMap<CowMap<TallyPtr>>& fresh) {
  bool same = true;
  const auto compare = [&](const CowMap<CowMap<TallyPtr>>& other) {
    return [&](std::uint32_t id, const CowMap<TallyPtr>& list) {
      const CowMap<TallyPtr>* found = other.find(id);
      return same = same_holdings(list, found ? *found : CowMap<TallyPtr>{});
    };
  };
  kept.for_each(compare(fresh));
  if (same) fresh.for_each(compare(kept));
  return same;
}

}  // namespace

Status check_tallies(const model::View& view) {
  model::Tallies fresh;
  view.jobs.for_each([&](std::uint32_t, const model::JobPtr& job) {
    if (job->association == 0) return true;
    model::recount(fresh, view,
                   model::counted_in(view, *job->spec, job->association, model::partition_of(view, *job)), {},
                   model::part_of(view, *job), view.as_of);
    return true;
  });
  const auto& kept = view.tallies;
  if (same_holdings(kept.associations, fresh.associations) && same_holdings(kept.qos, fresh.qos) &&
      same_holdings(kept.users, fresh.users) && same_holdings(kept.accounts, fresh.accounts))
    return {};
  return fail(ErrorCode::Corrupt, "what accounts and QOS hold is not what their jobs have");
}

}  // namespace spur::state
