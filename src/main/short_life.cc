// SPDX-License-Identifier: Apache-2.0
// What the commands do without, because they live for a millisecond: the linker puts these functions in the place of the
// libraries' own (cmake/bin_spur.cmake, docs/decisions/0019). tests/cli/binary.sh checks what they take for granted.

// main() leaves by _exit, so nothing is destroyed at the end and nothing need be noted down for it, which three hundred
// static messages would be.
extern "C" int __wrap___cxa_atexit(void (*)(void*), void*, void*) {
  return 0;
}

// Nothing writes to std::cout and the like. The headers of protobuf would have them set up in every start, and with them a
// locale with all its facets: std::ios_base::Init::Init() and ~Init().
extern "C" void __wrap__ZNSt8ios_base4InitC1Ev(void*) {}
extern "C" void __wrap__ZNSt8ios_base4InitD1Ev(void*) {}
