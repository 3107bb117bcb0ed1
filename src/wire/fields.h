// SPDX-License-Identifier: Apache-2.0
// One row per field: the codecs list the fields of a struct once, and these macros turn the list into encoding,
// decoding and merging, so that the directions cannot drift apart. For the *_codec.cc files only.
//
//   #define SPUR_POINT_FIELDS(F) F(PLAIN, x) F(TIME, seen)
//   void to_proto(const Point& m, v1::Point* p) { SPUR_POINT_FIELDS(SPUR_TO) }
//   Status from_proto(const v1::Point& p, Point* m) { SPUR_POINT_FIELDS(SPUR_FROM) return {}; }
//
// The parameters must be called m and p. Decoding writes into a freshly made struct: what the message leaves out
// keeps its default. Kinds: PLAIN zero-default number, bool or text; ENUM; ID; TIME (proto name + _us); SECONDS
// (proto name + _seconds, optional); LIMIT a TimeLimit; OPT std::optional; DEF a default that is not zero; TEXTS,
// NUMBERS, IDS, MSGS vectors; MSG a struct; RUNS a vector of numbers as runs.
#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "wire/enum_range.h"

namespace spur::wire {

// A default instance to compare with: what equals it is not written.
template <class T>
const T& default_of() {
  static const T value{};
  return value;
}

// The message's value in the model's type; false if it does not fit. These run for every field of every row of a long
// list, so the good case makes no Status.
template <class To, class From>
bool take_plain(const From& from, To* to) {
  if constexpr (std::integral<To> && !std::same_as<To, From> && !std::same_as<To, bool>) {
    if (!std::in_range<To>(from)) return false;
  }
  *to = static_cast<To>(from);
  return true;
}
inline bool take_plain(const std::string& from, std::string* to) {
  if (!from.empty()) *to = from;
  return true;
}
template <class E>
bool take_enum(int from, E* to) {
  if (from < 0 || from > static_cast<int>(last_of(E{}))) return false;
  *to = static_cast<E>(from);
  return true;
}
inline std::unexpected<Error> bad_field(const char* name) {
  return fail(ErrorCode::Corrupt, std::string("A message holds an impossible value of ") + name);
}

}  // namespace spur::wire

#define SPUR_TO(kind, f) SPUR_TO_##kind(f)
#define SPUR_FROM(kind, f) SPUR_FROM_##kind(f)

#define SPUR_TO_PLAIN(f) \
  if (m.f != std::remove_cvref_t<decltype(m.f)>{}) p->set_##f(m.f);
#define SPUR_FROM_PLAIN(f) \
  if (!take_plain(p.f(), &m->f)) return bad_field(#f);

#define SPUR_TO_ENUM(f) p->set_##f(static_cast<decltype(p->f())>(m.f));
#define SPUR_FROM_ENUM(f) \
  if (!take_enum(p.f(), &m->f)) return bad_field(#f);

#define SPUR_TO_ID(f) p->set_##f(m.f.value);
#define SPUR_FROM_ID(f) m->f.value = p.f();

#define SPUR_TO_TIME(f) p->set_##f##_us(to_micros(m.f));
#define SPUR_FROM_TIME(f) m->f = from_micros(p.f##_us());

#define SPUR_TO_SECONDS(f) \
  if (m.f != default_of<std::remove_cvref_t<decltype(m)>>().f) p->set_##f##_seconds(m.f.count());
#define SPUR_FROM_SECONDS(f) \
  if (p.has_##f##_seconds()) m->f = seconds(p.f##_seconds());

#define SPUR_TO_LIMIT(f) \
  if (m.f.is_set()) p->set_##f(m.f.raw());
#define SPUR_FROM_LIMIT(f) m->f = p.has_##f() ? TimeLimit::from_raw(p.f()) : TimeLimit();

#define SPUR_TO_OPT(f) \
  if (m.f) p->set_##f(*m.f);
#define SPUR_FROM_OPT(f) \
  if (p.has_##f()) m->f = p.f();

#define SPUR_TO_DEF(f) \
  if (m.f != default_of<std::remove_cvref_t<decltype(m)>>().f) p->set_##f(m.f);
#define SPUR_FROM_DEF(f) \
  if (p.has_##f()) m->f = p.f();

#define SPUR_TO_TEXTS(f) \
  for (const auto& text : m.f) p->add_##f(text);
#define SPUR_FROM_TEXTS(f) m->f.assign(p.f().begin(), p.f().end());

#define SPUR_TO_NUMBERS(f) p->mutable_##f()->Add(m.f.begin(), m.f.end());
#define SPUR_FROM_NUMBERS(f) m->f.assign(p.f().begin(), p.f().end());

#define SPUR_TO_IDS(f) \
  for (auto id : m.f) p->add_##f(id.value);
#define SPUR_FROM_IDS(f)                                \
  m->f.reserve(static_cast<std::size_t>(p.f##_size())); \
  for (auto id : p.f()) m->f.emplace_back(id);

#define SPUR_TO_MSG(f) \
  if (m.f != default_of<std::remove_cvref_t<decltype(m)>>().f) to_proto(m.f, p->mutable_##f());
#define SPUR_FROM_MSG(f) \
  if (p.has_##f()) SPUR_TRY(from_proto(p.f(), &m->f));

#define SPUR_TO_MSGS(f) \
  for (const auto& item : m.f) to_proto(item, p->add_##f());
#define SPUR_FROM_MSGS(f)                               \
  m->f.reserve(static_cast<std::size_t>(p.f##_size())); \
  for (const auto& item : p.f()) SPUR_TRY(from_proto(item, &m->f.emplace_back()));

#define SPUR_TO_RUNS(f) \
  if (!m.f.empty()) runs_to_proto(m.f, p->mutable_##f());
#define SPUR_FROM_RUNS(f) SPUR_TRY(runs_from_proto(p.f(), &m->f));
