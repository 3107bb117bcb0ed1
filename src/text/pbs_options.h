// SPDX-License-Identifier: Apache-2.0
// PBS and Torque options (#PBS lines) in sbatch's words:
//   -N name  -q queue  -A account  -o file  -e file  -j oe|eo|n  -m abe|n  -M users  -t/-J array  -a date  -h  -r y|n
//   -v list  -V  -d dir  -W depend=...  -W block=true
//   -l walltime= cput= nodes=2:ppn=4[:gpus=1] nodes=n1+n2 select=2:ncpus=8:mpiprocs=4:mem=4gb:ngpus=1 ncpus= procs=
//      mem= pmem= file= nice= host= place=excl
// -c, -k, -p, -S, -u and -z are known and have no counterpart; they translate to nothing, as in Slurm. Anything else
// is an error.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace spur::text {

// `words`: all PBS lines of a script, one after another. Later options win over earlier ones.
Result<std::vector<std::string>> translate_pbs_options(const std::vector<std::string>& words);

}  // namespace spur::text
