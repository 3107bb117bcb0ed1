// SPDX-License-Identifier: Apache-2.0
// Any slurm.conf that loads can be written as spur.conf, that loads as well, and it has the same nodes and partitions.
#include "config/translate.h"

#include "config/load.h"
#include "config/resolve.h"
#include "config/slurm_conf.h"
#include "config/spur_conf.h"
#include "fuzz.h"

namespace spur::config {

namespace {

bool is_small(std::string_view input) {
  std::size_t run = 0;
  for (const char c : input) {
    run = c >= '0' && c <= '9' ? run + 1 : 0;
    if (run > 4) return false;
  }
  return true;
}

}  // namespace

SPUR_FUZZ(translate,
          "ClusterName=x\nSlurmctldHost=vm(127.0.0.1)\nNodeName=DEFAULT CPUs=4\nNodeName=n[1-4] Gres=gpu:2 Feature=a,b\n"
          "PartitionName=p Nodes=ALL Default=YES Priority=3\n",
          "MailProg=\"a b\"\nSchedulerParameters=defer,x\nLicenses=a:3,b\nProlog=/x\nProlog=/y\nNodeSet=s Feature=a\n",
          "NodeName=c1 Reason=\"a\\#b\" State=DOWN\nDownNodes=c1 State=DRAIN\nKillWait=4k\n") {
  if (!is_small(input)) return;
  const FileReader none = [](const std::string&) -> Result<std::string> { return fail(ErrorCode::NotFound, "none"); };
  Draft slurm;
  slurm.dialect = slurm.written_in = Dialect::Slurm;
  slurm.files.push_back("slurm.conf");
  if (!read_slurm_conf(input, none, slurm)) return;
  const auto text = to_spur_conf(slurm);
  if (!text) return fuzz::check_message(text.error());
  Draft spur;
  spur.files.push_back("spur.conf");
  const auto read = read_spur_conf(text->files[0].second, spur);
  SPUR_CHECK(read.has_value());
  SPUR_CHECK(spur.nodes.size() == slurm.nodes.size());
  SPUR_CHECK(spur.partitions.size() == slurm.partitions.size());
  const bool one = resolve_cluster(slurm).has_value(), other = resolve_cluster(spur).has_value();
  SPUR_CHECK(one == other);
  if (one) SPUR_CHECK(slurm.cluster.nodes == spur.cluster.nodes && slurm.cluster.partitions == spur.cluster.partitions);
}

}  // namespace spur::config
