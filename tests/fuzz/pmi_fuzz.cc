// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "stepd/pmi_server.h"

namespace spur::stepd {

// A task that says anything; what it is told must be PMI again.
SPUR_FUZZ(pmi, "cmd=init pmi_version=1 pmi_subversion=1\ncmd=put key=a value=b\ncmd=get key=a\ncmd=barrier_in\n",
          "cmd=init pmi_version=2 pmi_subversion=0\n    16cmd=kvs-put;key=", "cmd=abort exitcode=9\n",
          "cmd=init pmi_version=2\n    13cmd=kvs-fence;     9cmd=spawn") {
  PmiServer server({"1.0", 2, "(vector,(0,1,2))"}, {0, 1});
  const std::size_t half = input.size() / 2;
  if (!server.receive(0, input.substr(0, half)) || !server.receive(0, input.substr(half))) return;
  (void)server.receive(1, "cmd=init pmi_version=1 pmi_subversion=1\ncmd=barrier_in\n");
  if (const auto pairs = server.take_fence()) SPUR_CHECK(server.pass_fence(*pairs).has_value());
  PmiReader reader;
  for (const auto& answer : server.take_answers()) {
    if (answer.task != 0) continue;
    reader.add(answer.bytes);
    const auto told = reader.next();
    SPUR_CHECK(told && *told);
    if ((*told)->get("pmi_version") == "2") reader.use_version_2();
  }
}

}  // namespace spur::stepd
