// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "stepd/pmi_server.h"

namespace spur::stepd {

SPUR_FUZZ(pmi_pairs, std::string_view("\x01\0\0\0k\x01\0\0\0v", 10), "abc") {
  PmiServer server({"1.0", 1, "(vector,(0,1,1))"}, {0});
  (void)server.pass_fence(input);
}

}  // namespace spur::stepd
