// SPDX-License-Identifier: Apache-2.0
// One fuzz target per parser: a function that takes any bytes and checks what must hold of the answer, and a few good
// samples to start from. Built on its own with -DSPUR_LIBFUZZER it is a libFuzzer program; otherwise all targets
// register with the deterministic driver in smoke.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/result.h"

namespace spur::fuzz {

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);
  std::vector<std::string_view> seeds;
};

#ifndef SPUR_LIBFUZZER
std::vector<Target>& targets();
struct Registration {
  explicit Registration(Target target) { targets().push_back(std::move(target)); }
};
#endif

// Every refusal is one short line that a terminal can bear.
inline void check_message(const Error& error) {
  SPUR_CHECK(!error.message.empty());
  SPUR_CHECK(error.message.size() < 1000);
  for (const char c : error.message) SPUR_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

}  // namespace spur::fuzz

// SPUR_FUZZ(name, "sample", "sample", ...) { uses `input` }
#ifdef SPUR_LIBFUZZER
#define SPUR_FUZZ(name, ...)                                                          \
  static void fuzz_##name(std::string_view input);                                    \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    fuzz_##name(std::string_view(reinterpret_cast<const char*>(data), size));         \
    return 0;                                                                         \
  }                                                                                   \
  static void fuzz_##name(std::string_view input)
#else
#define SPUR_FUZZ(name, ...)                                    \
  static void fuzz_##name(std::string_view input);              \
  static const ::spur::fuzz::Registration registration_##name(  \
      ::spur::fuzz::Target{#name, fuzz_##name, {__VA_ARGS__}}); \
  static void fuzz_##name(std::string_view input)
#endif
