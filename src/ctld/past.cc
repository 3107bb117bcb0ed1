// SPDX-License-Identifier: Apache-2.0
#include "ctld/past.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "text/date.h"
#include "wire/command_codec.h"

namespace spur::ctld {
namespace {

constexpr std::size_t kMostWalks = 3;
constexpr std::size_t kReadBytes = std::size_t{4} << 20;

}  // namespace

Result<std::shared_ptr<const Picture>> Past::at(Time then) {
  SPUR_ASSIGN(const auto held, store_.held());
  if (!is_set(held.since)) return fail(ErrorCode::NotFound, "there is no history yet");
  if (then < held.since)
    return fail(ErrorCode::NotFound, fmt::format("there is no history before {}", text::format_date(held.since)));
  SPUR_ASSIGN(Walk * walk, walk_towards(then));
  if (auto ok = go_on(*walk, then); !ok) {
    std::erase_if(walks_, [&](const Walk& w) { return &w == walk; });
    return std::unexpected(ok.error());
  }
  walk->used = ++uses_;
  return std::make_shared<const Picture>(
      Picture{walk->cluster->view(), std::make_shared<const ExpectedStarts>(), false});
}

Result<Past::Walk*> Past::walk_towards(Time then) {
  SPUR_ASSIGN(auto image, store_.image_before(then));
  if (!image) return fail(ErrorCode::NotFound, "there is no history of that time");
  Walk* best = nullptr;
  for (Walk& walk : walks_)
    if (walk.shown <= then && walk.cluster->index() >= image->index &&
        (!best || walk.cluster->index() > best->cluster->index()))
      best = &walk;
  if (best) return best;
  Walk fresh{std::make_unique<state::Cluster>(), image->shown};
  if (image->index > 0) {
    SPUR_ASSIGN(auto state, wire::decode_image(image->bytes));
    SPUR_ASSIGN(fresh.cluster, state::Cluster::from_image(std::move(state)));
  }
  if (walks_.size() >= kMostWalks) walks_.erase(std::ranges::min_element(walks_, {}, &Walk::used));
  return &walks_.emplace_back(std::move(fresh));
}

// When an entry was shown is said best by the one behind it, which its leader stamped then; so each waits for the next
// one to be read.
Status Past::go_on(Walk& walk, Time then) {
  struct Waiting {
    std::uint64_t index;
    Time shown;
    state::Batch batch;
  };
  std::optional<Waiting> waiting;
  const auto apply = [&](Time shown) {
    if (shown > then) return false;
    walk.cluster->apply(waiting->index, waiting->batch, nullptr);
    (void)walk.cluster->take_changes();
    walk.shown = std::max(walk.shown, shown);
    waiting.reset();
    return true;
  };
  while (true) {
    const std::uint64_t after = waiting ? waiting->index : walk.cluster->index();
    SPUR_ASSIGN(const auto entries, store_.read(after, kReadBytes));
    if (entries.empty()) break;
    std::uint64_t expected = after + 1;
    for (const auto& entry : entries) {
      if (entry.index != expected++) {
        if (waiting && !apply(waiting->shown)) return {};
        return then > walk.shown ? gap_behind(walk) : Status{};
      }
      SPUR_ASSIGN(auto batch, wire::decode_batch(entry.bytes));
      if (waiting && !apply(is_set(batch.shown_before) ? batch.shown_before : waiting->shown)) return {};
      waiting.emplace(entry.index, entry.shown, std::move(batch));
    }
  }
  if (waiting) apply(waiting->shown);
  SPUR_ASSIGN(const Time next, store_.next_image(walk.cluster->index()));
  // An image further on, but no entries that lead to it.
  if (is_set(next) && !waiting && then > walk.shown) return gap_behind(walk);
  return {};
}

Status Past::gap_behind(const Walk& walk) {
  SPUR_ASSIGN(const Time next, store_.next_image(walk.cluster->index()));
  if (!is_set(next))
    return fail(ErrorCode::NotFound, fmt::format("there is no history after {}", text::format_date(walk.shown)));
  return fail(ErrorCode::NotFound, fmt::format("there is no history between {} and {}", text::format_date(walk.shown),
                                               text::format_date(next)));
}

}  // namespace spur::ctld
