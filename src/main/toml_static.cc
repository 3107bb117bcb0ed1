// SPDX-License-Identifier: Apache-2.0
// toml++'s functions as an object file: Debian has the library only as a shared one, and the commands are linked
// statically.
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
