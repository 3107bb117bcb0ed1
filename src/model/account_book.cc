// SPDX-License-Identifier: Apache-2.0
#include "model/account_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace spur::model {

Result<std::shared_ptr<const AccountBook>> AccountBook::make(std::uint64_t revision,
                                                             std::vector<AssociationPtr> associations,
                                                             std::vector<AccountUser> users) {
  auto book = std::make_shared<AccountBook>();
  book->revision_ = revision;
  book->associations_ = std::move(associations);
  book->users_ = std::move(users);
  std::ranges::sort(book->associations_, {}, [](const AssociationPtr& a) { return a->id; });
  std::ranges::sort(book->users_, {}, &AccountUser::name);
  SPUR_TRY(book->link());
  return book;
}

Status AccountBook::link() {
  const auto bad = [](std::uint32_t id, const char* what) {
    return fail(ErrorCode::InvalidAccount, fmt::format("association {} {}", id, what));
  };
  for (std::uint32_t at = 0; at < associations_.size(); ++at) {
    const Association& row = *associations_[at];
    if (row.id == 0 || !position_.emplace(row.id, at).second) return bad(row.id, "is there twice, or has no number");
    if (!row.is_user()) {
      by_account_.emplace(row.account, at);
    } else if (row.uid) {
      by_user_[*row.uid].push_back(at);
    }
  }
  children_.resize(associations_.size());
  for (std::uint32_t at = 0; at < associations_.size(); ++at) {
    const Association& row = *associations_[at];
    if (row.parent == 0) continue;
    const auto parent = position_.find(row.parent);
    if (parent == position_.end()) return bad(row.id, "has no parent");
    if (associations_[parent->second]->is_user()) return bad(row.id, "is below a user");
    children_[parent->second].push_back(at);
  }
  // Whoever is its own ancestor is not reached from a root.
  std::vector<std::uint32_t> open;
  for (std::uint32_t at = 0; at < associations_.size(); ++at)
    if (associations_[at]->parent == 0) open.push_back(at);
  std::size_t reached = 0;
  for (; !open.empty(); ++reached) {
    const std::uint32_t at = open.back();
    open.pop_back();
    open.insert(open.end(), children_[at].begin(), children_[at].end());
  }
  if (reached != associations_.size())
    return fail(ErrorCode::InvalidAccount, "accounts that are their own ancestors");
  for (auto& list : children_) {
    std::ranges::sort(list, [&](std::uint32_t a, std::uint32_t b) {
      const Association &x = *associations_[a], &y = *associations_[b];
      if (x.is_user() != y.is_user()) return x.is_user();
      return std::tie(x.user, x.account, x.partition, x.id) < std::tie(y.user, y.account, y.partition, y.id);
    });
  }
  for (std::uint32_t at = 0; at < users_.size(); ++at)
    if (users_[at].uid) user_by_uid_.emplace(*users_[at].uid, at);
  return {};
}

const Association* AccountBook::find(std::uint32_t id) const {
  const auto found = position_.find(id);
  return found == position_.end() ? nullptr : associations_[found->second].get();
}

std::size_t AccountBook::position(std::uint32_t id) const {
  return position_.at(id);
}

const Association* AccountBook::account(std::string_view name) const {
  const auto found = by_account_.find(std::string(name));
  return found == by_account_.end() ? nullptr : associations_[found->second].get();
}

const Association* AccountBook::find(std::string_view account, Uid user, std::string_view partition) const {
  const auto rows = by_user_.find(user.value);
  if (rows == by_user_.end()) return nullptr;
  const Association* any = nullptr;
  for (const std::uint32_t at : rows->second) {
    const Association& row = *associations_[at];
    if (row.account != account) continue;
    if (!partition.empty() && row.partition == partition) return &row;
    if (row.partition.empty()) any = &row;
  }
  return any;
}

std::string_view AccountBook::default_account(Uid user) const {
  const auto rows = by_user_.find(user.value);
  if (rows == by_user_.end()) return {};
  for (const std::uint32_t at : rows->second)
    if (associations_[at]->is_default) return associations_[at]->account;
  const AccountUser* known = this->user(user);
  return known ? std::string_view(known->default_account) : std::string_view();
}

const AccountUser* AccountBook::user(Uid uid) const {
  const auto found = user_by_uid_.find(uid.value);
  return found == user_by_uid_.end() ? nullptr : &users_[found->second];
}

bool AccountBook::coordinates(Uid uid, std::string_view name) const {
  const AccountUser* known = user(uid);
  const auto rows = by_user_.find(uid.value);
  for (const Association* at = account(name); at; at = parent(*at)) {
    if (known && std::ranges::find(known->coordinates, at->account) != known->coordinates.end()) return true;
    if (!(at->flags & kUsersAreCoordinators) || rows == by_user_.end()) continue;
    for (const std::uint32_t row : rows->second)
      if (associations_[row]->account == at->account) return true;
  }
  return false;
}

}  // namespace spur::model
