/* SPDX-License-Identifier: Apache-2.0
 * Submits held batch jobs through Slurm's C library, one after another over its own connections, and prints how many it did
 * per second. The counterpart of spur-submit-load. */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char** argv) {
  long count = argc > 1 ? atol(argv[1]) : 1000;
  char* environment[] = {"PATH=/usr/bin:/bin", "HOME=/root", NULL};
  double begin = now();
  for (long i = 0; i < count; ++i) {
    job_desc_msg_t job;
    submit_response_msg_t* reply = NULL;
    slurm_init_job_desc_msg(&job);
    job.name = "bench";
    job.script = "#!/bin/sh\ntrue\n";
    job.work_dir = "/tmp";
    job.std_out = "/dev/null";
    job.environment = environment;
    job.env_size = 2;
    job.user_id = getuid();
    job.group_id = getgid();
    job.priority = 0; /* held */
    job.min_nodes = 1;
    if (slurm_submit_batch_job(&job, &reply) != SLURM_SUCCESS) {
      slurm_perror("submit");
      return 1;
    }
    slurm_free_submit_response_response_msg(reply);
  }
  printf("%.1f submits/s\n", (double)count / (now() - begin));
  return 0;
}
