// SPDX-License-Identifier: Apache-2.0
#include "sched/features.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/decimal.h"

namespace spur::sched {
namespace {

using Op = FeatureTerm::Op;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), rest_(text) {}

  Result<FeatureRequest> parse() {
    // A '|' outside of all brackets makes it one formula.
    if (has_or_outside()) {
      SPUR_ASSIGN(const std::uint32_t term, formula('\0'));
      made_.all.push_back(term);
    } else {
      SPUR_TRY(conjunct());
      while (take('&')) SPUR_TRY(conjunct());
    }
    if (!rest_.empty()) return bad();
    if (made_.one_of.size() > kMaxFeatureGroups || made_.counts.size() > kMaxFeatureGroups) return bad();
    return std::move(made_);
  }

 private:
  std::unexpected<Error> bad() const {
    return fail(ErrorCode::InvalidFeature, fmt::format("invalid feature expression \"{}\"", text_));
  }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool has_or_outside() const {
    int depth = 0;
    for (const char c : text_) {
      if (c == '[' || c == '(') ++depth;
      if (c == ']' || c == ')') --depth;
      if (c == '|' && depth == 0) return true;
    }
    return false;
  }
  std::uint32_t add(FeatureTerm term) {
    made_.terms.push_back(std::move(term));
    return static_cast<std::uint32_t>(made_.terms.size()) - 1;
  }

  // [..], X*N or a plain term.
  Status conjunct() {
    if (take('[')) return bracket();
    SPUR_ASSIGN(const std::uint32_t term, primary());
    if (!rest_.starts_with('*')) {
      made_.all.push_back(term);
      return {};
    }
    SPUR_ASSIGN(const std::uint32_t nodes, count());
    made_.counts.push_back({term, nodes});
    return {};
  }

  Result<std::uint32_t> count() {
    if (!take('*')) return bad();
    const auto end = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    const auto nodes = text::parse_decimal(rest_.substr(0, end), 1'000'000);
    if (!nodes || *nodes == 0) return bad();
    rest_.remove_prefix(end);
    return static_cast<std::uint32_t>(*nodes);
  }

  Status bracket() {
    if (!made_.one_of.empty() || bracketed_) return bad();  // one of them at most
    bracketed_ = true;
    SPUR_ASSIGN(std::uint32_t term, primary());
    if (rest_.starts_with('*')) {
      const std::size_t first = made_.counts.size();
      for (;;) {
        SPUR_ASSIGN(const std::uint32_t nodes, count());
        made_.counts.push_back({term, nodes});
        if (!take('&')) break;
        SPUR_ASSIGN(term, primary());
      }
      // Every node is one of those that are counted.
      std::uint32_t any = made_.counts[first].term;
      for (std::size_t i = first + 1; i < made_.counts.size(); ++i)
        any = add({Op::Or, {}, any, made_.counts[i].term});
      made_.all.push_back(any);
      made_.counts_add_up = true;
    } else {
      const auto alternative = [&](std::uint32_t from) -> Status {
        while (take('&')) {
          SPUR_ASSIGN(const std::uint32_t right, primary());
          from = add({Op::And, {}, from, right});
        }
        made_.one_of.push_back(from);
        return {};
      };
      SPUR_TRY(alternative(term));
      while (take('|')) {
        SPUR_ASSIGN(term, primary());
        SPUR_TRY(alternative(term));
      }
    }
    return take(']') ? Status() : bad();
  }

  // Up to `end`, from left to right.
  Result<std::uint32_t> formula(char end) {
    SPUR_ASSIGN(std::uint32_t left, primary());
    while (rest_.starts_with('&') || rest_.starts_with('|')) {
      const Op op = rest_.front() == '&' ? Op::And : Op::Or;
      rest_.remove_prefix(1);
      SPUR_ASSIGN(const std::uint32_t right, primary());
      left = add({op, {}, left, right});
    }
    if (end != '\0' && !take(end)) return bad();
    return left;
  }

  Result<std::uint32_t> primary() {
    if (depth_ > 32) return bad();
    if (take('!')) {
      ++depth_;
      SPUR_ASSIGN(const std::uint32_t term, primary());
      --depth_;
      return add({Op::Not, {}, term, 0});
    }
    if (take('(')) {
      ++depth_;
      SPUR_ASSIGN(const std::uint32_t term, formula(')'));
      --depth_;
      return term;
    }
    const auto end = std::min(rest_.find_first_of("&|!()[]*, \t"), rest_.size());
    if (end == 0) return bad();
    const std::uint32_t term = add({Op::Name, std::string(rest_.substr(0, end)), 0, 0});
    rest_.remove_prefix(end);
    return term;
  }

  std::string_view text_, rest_;
  FeatureRequest made_;
  bool bracketed_ = false;
  int depth_ = 0;
};

bool holds(const model::Node& node, const FeatureRequest& request, std::uint32_t at) {
  const FeatureTerm& term = request.terms[at];
  switch (term.op) {
    case Op::Name:
      return std::ranges::find(node.active_features, term.name) != node.active_features.end();
    case Op::Not:
      return !holds(node, request, term.left);
    case Op::And:
      return holds(node, request, term.left) && holds(node, request, term.right);
    case Op::Or:
      return holds(node, request, term.left) || holds(node, request, term.right);
  }
  return false;
}

}  // namespace

std::uint32_t FeatureRequest::least_nodes() const {
  std::uint64_t most = 1, sum = 0;
  for (const auto& count : counts) {
    most = std::max<std::uint64_t>(most, count.nodes);
    sum += count.nodes;
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(counts_add_up ? sum : most, 0xffff'fffeu));
}

Result<FeatureRequest> parse_features(std::string_view text) {
  if (text.empty()) return FeatureRequest{};
  return Parser(text).parse();
}

bool has_features(const model::Node& node, const FeatureRequest& request) {
  if (request.terms.empty()) return true;
  const auto has = [&](std::uint32_t term) { return holds(node, request, term); };
  return std::ranges::all_of(request.all, has) &&
         (request.one_of.empty() || std::ranges::any_of(request.one_of, has));
}

FeatureBits feature_bits(const model::Node& node, const FeatureRequest& request) {
  FeatureBits bits = 0;
  for (std::size_t i = 0; i < request.one_of.size(); ++i)
    if (holds(node, request, request.one_of[i])) bits |= FeatureBits{1} << i;
  for (std::size_t i = 0; i < request.counts.size(); ++i)
    if (holds(node, request, request.counts[i].term)) bits |= FeatureBits{1} << (16 + i);
  return bits;
}

}  // namespace spur::sched
