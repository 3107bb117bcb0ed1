// SPDX-License-Identifier: Apache-2.0
// Any bytes as slurm.conf and as gres.conf: read or refused in one line, and reading twice gives the same.
#include "config/slurm_conf.h"

#include "config/load.h"
#include "fuzz.h"
#include "text/printable.h"

namespace spur::config {

namespace {

// As for spur.conf: no million nodes.
bool is_small(std::string_view input) {
  std::size_t run = 0;
  for (const char c : input) {
    run = c >= '0' && c <= '9' ? run + 1 : 0;
    if (run > 4) return false;
  }
  return true;
}

void check_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    SPUR_CHECK(line.size() < 2000);
    SPUR_CHECK(text::printable(line) == line);
  }
}

}  // namespace

SPUR_FUZZ(
    slurm_conf,
    "ClusterName=x\nSlurmctldHost=vm(127.0.0.1)\nSlurmctldPort=6817-6819\nNodeName=DEFAULT CPUs=4\n"
    "NodeName=n[1-4] NodeAddr=10.0.0.[1-4] Port=[7001-7004] Gres=gpu:2 Feature=a,b\nPartitionName=p Nodes=ALL "
    "Default=YES\n",
    "SelectTypeParameters=CR_Core_Memory\nSchedulerParameters=bf_continue,max_script_size=100\nLicenses=a:3,b\n"
    "Prolog=/x # why\nMailProg=\"a b\"\n",
    "NodeName=c[1-3] \\\n  Sockets=2 CoresPerSocket=4\nNodeSet=s Feature=a\nNodeSet=t Nodes=c[1-2]\nDownNodes=c1 "
    "State=DRAIN "
    "Reason=\"x y\"\nPartitionName=DEFAULT MaxTime=1-0\nPartitionName=q Nodes=s,t State=DOWN OverSubscribe=FORCE:2\n",
    "Include other.conf\n") {
  const Want want = is_small(input) ? Want::All : Want::DaemonOnly;
  const auto loaded = load_text(input, "slurm.conf", want);
  if (!loaded) return fuzz::check_message(loaded.error());
  check_lines(loaded->warnings);
  const auto again = load_text(input, "slurm.conf", want);
  SPUR_CHECK(again.has_value() && again->cluster == loaded->cluster && again->daemon == loaded->daemon);
}

}  // namespace spur::config
