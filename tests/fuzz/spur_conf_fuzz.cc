// SPDX-License-Identifier: Apache-2.0
// Any bytes as spur.conf: loaded or refused in one line, and loading twice gives the same.
#include "config/load.h"
#include "fuzz.h"
#include "text/printable.h"

namespace spur::config {

namespace {

// A bracket may stand for a million nodes; such inputs are only read, not expanded, to keep the fuzzer quick.
bool is_small(std::string_view input) {
  std::size_t run = 0;
  for (const char c : input) {
    run = c >= '0' && c <= '9' ? run + 1 : 0;
    if (run > 4) return false;
  }
  return true;
}

}  // namespace

SPUR_FUZZ(
    spur_conf,
    "cluster_name = \"my-cluster\"\n[[partitions]]\nname = \"default\"\ndefault = true\nnodes = \"node[001-008]\"\n"
    "max_time = \"24:00:00\"\n[[nodes]]\nnames = \"node[001-008]\"\ncpus = 64\nmemory_mb = 2560\n",
    "[controller]\nlisten_addr = \"[::]:6817\"\nstate_dir = \"/var/spool/spur\"\nhosts = [\"ctrl1\", "
    "\"ctrl2(10.0.0.1)\"]\n"
    "[scheduler]\nplugin = \"backfill\"\ninterval_secs = 1\nmax_age = \"7-0\"\n",
    "licenses = { a = 1, b = 2 }\nauth.socket = \"/x\"\n[[nodes]]\nnames = \"a[1-3]\"\nport = \"[7001-7003]\"\n"
    "gres = [\"gpu:mi300x:8\"]\n[[devices.gres]]\nname = \"gpu\"\nfile = \"/dev/x[0-7]\"\n",
    "[update]\ncheck_on_startup = true\nchannel = \"stable\"\n[[partitions]]\nname = \"p\"\noversubscribe = "
    "\"FORCE:4\"\n") {
  const auto loaded = load_text(input, "spur.conf", is_small(input) ? Want::All : Want::DaemonOnly);
  if (!loaded) return fuzz::check_message(loaded.error());
  for (const std::string& line : loaded->warnings) {
    SPUR_CHECK(line.size() < 2000);
    SPUR_CHECK(text::printable(line) == line);
  }
  const auto again = load_text(input, "spur.conf", is_small(input) ? Want::All : Want::DaemonOnly);
  SPUR_CHECK(again.has_value() && again->cluster == loaded->cluster && again->daemon == loaded->daemon);
}

}  // namespace spur::config
