// SPDX-License-Identifier: Apache-2.0
// Any bytes as a workload trace: every line is a job, a comment or counted as broken, and what is replayed of it fits
// the machine.
#include "replay/swf.h"

#include "fuzz.h"
#include "replay/workload.h"
#include "text/printable.h"

namespace spur::replay {

SPUR_FUZZ(
    swf,
    "; MaxProcs: 96\n; UnixStartTime: 1163199901\n1 1 -1 60 8 1.5 -1 8 60 -1 1 3 4 -1 2 1 -1 -1\n"
    "2 0 0 9 -1 -1 -1 4 -1 -1 1 3 4 -1 2 1 -1 -1\r\n",
    "; Computer: x\n639487\t1672529301\t-1\t3632\t-1\t-1\t-1\t8\t3600\t-1\t-1\t-1\t-1\t-1\t-1\t-1\t-1\t-1\t0\n") {
  const SwfTrace trace = parse_swf(input);
  SPUR_CHECK(text::printable(trace.computer) == trace.computer);
  SPUR_CHECK((trace.broken_lines == 0) == (trace.first_broken == 0));
  WorkloadOptions options;
  options.limit = 1000;
  const auto work = make_workload(trace, options);
  if (!work) return fuzz::check_message(work.error());
  SPUR_CHECK(work->jobs.size() + work->too_wide + work->without_run <= trace.jobs.size());
  Time before;
  for (const ReplayJob& job : work->jobs) {
    SPUR_CHECK(job.run.count() > 0 && job.run <= job.limit && is_set(job.submit));
    SPUR_CHECK(job.processors > 0 && job.processors <= work->machine.processors);
    SPUR_CHECK(job.submit >= before);
    before = job.submit;
  }
}

}  // namespace spur::replay
