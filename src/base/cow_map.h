// SPDX-License-Identifier: Apache-2.0
// A persistent ordered map from 32-bit keys: copying it is O(1), and a copy never changes. The core thread writes
// its own copy; published views hold others. A write copies only the tree nodes on the path that somebody else
// can still see; where nobody can, it writes in place. Six bits of the key per level, and as many levels as the
// largest key needs: at most six.
//
// Threads: distinct copies may be used by distinct threads at once. One copy is not for two writers.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"

namespace spur {

template <class Value>
class CowMap {
 public:
  using Key = std::uint32_t;

  CowMap() = default;
  CowMap(const CowMap&) = default;
  CowMap& operator=(const CowMap&) = default;
  // A moved-from map is empty.
  CowMap(CowMap&& other) noexcept
      : root_(std::move(other.root_)), size_(std::exchange(other.size_, 0)), top_(std::exchange(other.top_, 0)) {}
  CowMap& operator=(CowMap&& other) noexcept {
    root_ = std::move(other.root_);
    size_ = std::exchange(other.size_, 0);
    top_ = std::exchange(other.top_, 0);
    return *this;
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  // Null if absent. Valid until this copy is changed.
  const Value* find(Key key) const {
    const Node* node = root_.get();
    if (!node || top_of(key) > top_) return nullptr;
    for (int level = top_; level > 0; --level) {
      const auto& branch = static_cast<const Branch&>(*node);
      node = branch.child(slot(key, level));
      if (!node) return nullptr;
    }
    return static_cast<const Leaf&>(*node).find(slot(key, 0));
  }
  bool contains(Key key) const { return find(key) != nullptr; }

  // Inserts or replaces.
  void set(Key key, Value value) {
    Leaf& leaf = leaf_for_writing(key);
    if (leaf.set(slot(key, 0), std::move(value))) ++size_;
  }

  // False if absent.
  bool erase(Key key) {
    if (!find(key)) return false;
    erase_below(root_, key, top_);
    if (--size_ == 0) top_ = 0;
    return true;
  }

  void clear() { root_ = {}, size_ = 0, top_ = 0; }

  // Calls f(key, value) in ascending order of keys; f may return void, or bool where false ends the walk.
  template <class F>
  void for_each(F&& f) const {
    if (root_) walk(*root_, 0, top_, 0, f);
  }

  // The same from the first key on that is not below `from`: a long walk can be made in pieces.
  template <class F>
  void for_each_from(Key from, F&& f) const {
    if (root_ && top_of(from) <= top_) walk(*root_, 0, top_, from, f);
  }

  // Calls f(key, before, after) in ascending order of keys for every key whose values differ (by ==); null where the
  // key is absent. What both copies share is skipped unseen, so it costs what was written between them.
  template <class F>
  static void diff(const CowMap& before, const CowMap& after, F&& f) {
    const Node* a = before.root_.get();
    const Node* b = after.root_.get();
    // What the lower tree has is below the first slots of the higher one; the rest of that is the higher one's alone.
    if (before.top_ > after.top_)
      diff_heights<true>(a, before.top_, b, after.top_, f);
    else
      diff_heights<false>(b, after.top_, a, before.top_, f);
  }

 private:
  static constexpr int kBits = 6, kFan = 1 << kBits;
  static constexpr unsigned slot(Key key, int level) {
    return static_cast<unsigned>((static_cast<std::uint64_t>(key) >> (level * kBits)) & (kFan - 1));
  }

  // The level of a tree's root that has room for the key.
  static constexpr int top_of(Key key) { return key == 0 ? 0 : (static_cast<int>(std::bit_width(key)) - 1) / kBits; }

  struct Node {
    virtual ~Node() = default;
  };
  using Ref = std::shared_ptr<Node>;

  // Children packed in slot order; a bitmap says which slots are there.
  struct Branch final : Node {
    std::uint64_t present = 0;
    std::vector<Ref> children;
    std::size_t rank(unsigned s) const {
      return static_cast<std::size_t>(std::popcount(present & ((std::uint64_t{1} << s) - 1)));
    }
    const Node* child(unsigned s) const { return present >> s & 1 ? children[rank(s)].get() : nullptr; }
  };
  struct Leaf final : Node {
    std::uint64_t present = 0;
    std::vector<Value> values;
    std::size_t rank(unsigned s) const {
      return static_cast<std::size_t>(std::popcount(present & ((std::uint64_t{1} << s) - 1)));
    }
    const Value* find(unsigned s) const { return present >> s & 1 ? &values[rank(s)] : nullptr; }
    bool set(unsigned s, Value&& v) {
      if (present >> s & 1) {
        values[rank(s)] = std::move(v);
        return false;
      }
      values.insert(values.begin() + static_cast<std::ptrdiff_t>(rank(s)), std::move(v));
      present |= std::uint64_t{1} << s;
      return true;
    }
  };

  // The node behind `ref`, made ours alone if another copy shares it. use_count() is exact here: only this copy's
  // owner could raise it from one, and a concurrent release by a reader merely costs us a needless copy.
  template <class N>
  static N& own(Ref& ref) {
    if (!ref) {
      ref = std::make_shared<N>();
    } else if (ref.use_count() != 1) {
      ref = std::make_shared<N>(static_cast<const N&>(*ref));
    } else {
      // See the last reader's release of it.
#ifdef __SANITIZE_THREAD__
      Ref(ref).reset();  // gcc's sanitizer knows no fences; dropping a copy acquires the same count
#else
      std::atomic_thread_fence(std::memory_order_acquire);
#endif
    }
    return static_cast<N&>(*ref);
  }

  // Makes the tree as high as the key needs.
  void grow(Key key) {
    const int top = top_of(key);
    if (!root_) top_ = top;
    for (; top_ < top; ++top_) {
      auto above = std::make_shared<Branch>();
      above->present = 1;
      above->children.push_back(std::move(root_));
      root_ = std::move(above);
    }
  }

  Leaf& leaf_for_writing(Key key) {
    grow(key);
    Ref* ref = &root_;
    for (int level = top_; level > 0; --level) {
      auto& branch = own<Branch>(*ref);
      const unsigned s = slot(key, level);
      const std::size_t at = branch.rank(s);
      if (!(branch.present >> s & 1)) {
        branch.children.insert(branch.children.begin() + static_cast<std::ptrdiff_t>(at), Ref{});
        branch.present |= std::uint64_t{1} << s;
      }
      ref = &branch.children[at];
    }
    return own<Leaf>(*ref);
  }

  // Removes the key below `ref`, which has it, and lets go of nodes that become empty.
  static void erase_below(Ref& ref, Key key, int level) {
    const unsigned s = slot(key, level);
    if (level == 0) {
      auto& leaf = own<Leaf>(ref);
      leaf.values.erase(leaf.values.begin() + static_cast<std::ptrdiff_t>(leaf.rank(s)));
      leaf.present &= ~(std::uint64_t{1} << s);
      if (leaf.present == 0) ref = {};
      return;
    }
    auto& branch = own<Branch>(ref);
    const std::size_t at = branch.rank(s);
    erase_below(branch.children[at], key, level - 1);
    if (!branch.children[at]) {
      branch.children.erase(branch.children.begin() + static_cast<std::ptrdiff_t>(at));
      branch.present &= ~(std::uint64_t{1} << s);
      if (branch.present == 0) ref = {};
    }
  }

  // What is below `node`, the keys below `from` left out.
  template <class F>
  static bool walk(const Node& node, std::uint64_t prefix, int level, Key from, F& f) {
    // The slots before that of `from` hold only keys that are left out, if anything below this node is.
    const bool cut = from != 0 && (static_cast<std::uint64_t>(from) >> ((level + 1) * kBits)) == prefix;
    const std::uint64_t before = cut ? (std::uint64_t{1} << slot(from, level)) - 1 : 0;
    auto visit = [&](std::uint64_t present, auto&& each) {
      std::size_t at = static_cast<std::size_t>(std::popcount(present & before));
      for (std::uint64_t left = present & ~before; left != 0; left &= left - 1, ++at) {
        const auto s = static_cast<unsigned>(std::countr_zero(left));
        if (!each((prefix << kBits) | s, at)) return false;
      }
      return true;
    };
    if (level > 0) {
      const auto& branch = static_cast<const Branch&>(node);
      return visit(branch.present,
                   [&](std::uint64_t key, std::size_t at) { return walk(*branch.children[at], key, level - 1, from, f); });
    }
    const auto& leaf = static_cast<const Leaf&>(node);
    return visit(leaf.present, [&](std::uint64_t key, std::size_t at) {
      if constexpr (std::is_void_v<decltype(f(Key{}, leaf.values[at]))>) {
        f(static_cast<Key>(key), leaf.values[at]);
        return true;
      } else {
        return static_cast<bool>(f(static_cast<Key>(key), leaf.values[at]));
      }
    });
  }

  // Of trees of any height; `swapped` if the higher one is the one from before.
  template <bool swapped, class F>
  static void diff_heights(const Node* high, int high_top, const Node* low, int low_top, F& f) {
    if (high_top == low_top || !high)
      return swapped ? diff_below(high, low, 0, low_top, f) : diff_below(low, high, 0, low_top, f);
    const auto& branch = static_cast<const Branch&>(*high);
    diff_heights<swapped>(branch.child(0), high_top - 1, low, low_top, f);
    std::size_t at = branch.present & 1;
    for (std::uint64_t left = branch.present >> 1 << 1; left != 0; left &= left - 1, ++at) {
      const Node* alone = branch.children[at].get();
      const auto s = static_cast<std::uint64_t>(std::countr_zero(left));
      swapped ? diff_below(alone, nullptr, s, high_top - 1, f) : diff_below(nullptr, alone, s, high_top - 1, f);
    }
  }

  // Either may be null.
  template <class F>
  static void diff_below(const Node* before, const Node* after, std::uint64_t prefix, int level, F& f) {
    if (before == after) return;
    // Calls visit(key, item before, item after) for every slot that is in one of them; null where it is not.
    const auto each = [&](std::uint64_t in_before, const auto* items_before, std::uint64_t in_after,
                          const auto* items_after, auto&& visit) {
      for (std::uint64_t left = in_before | in_after; left != 0; left &= left - 1) {
        const std::uint64_t bit = left & (~left + 1);
        const auto* a = in_before & bit ? items_before++ : nullptr;
        const auto* b = in_after & bit ? items_after++ : nullptr;
        visit((prefix << kBits) | static_cast<unsigned>(std::countr_zero(left)), a, b);
      }
    };
    if (level > 0) {
      const auto* a = static_cast<const Branch*>(before);
      const auto* b = static_cast<const Branch*>(after);
      each(a ? a->present : 0, a ? a->children.data() : nullptr, b ? b->present : 0, b ? b->children.data() : nullptr,
           [&](std::uint64_t key, const Ref* x, const Ref* y) {
             diff_below(x ? x->get() : nullptr, y ? y->get() : nullptr, key, level - 1, f);
           });
      return;
    }
    const auto* a = static_cast<const Leaf*>(before);
    const auto* b = static_cast<const Leaf*>(after);
    each(a ? a->present : 0, a ? a->values.data() : nullptr, b ? b->present : 0, b ? b->values.data() : nullptr,
         [&](std::uint64_t key, const Value* x, const Value* y) {
           if (!x || !y || !(*x == *y)) f(static_cast<Key>(key), x, y);
         });
  }

  Ref root_;
  std::size_t size_ = 0;
  int top_ = 0;  // the root's level
};

}  // namespace spur
