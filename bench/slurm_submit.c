/* SPDX-License-Identifier: Apache-2.0
 * Submits batch jobs through Slurm's C library, over its own connections, and prints how many it did per second. The
 * counterpart of spur-submit-load, with options of the same meaning:
 *   submit COUNT [--threads N] [--run] [--nodes N] [--tasks-per-node N] [--minutes M [--vary N]]
 * Each thread has one submit under way. Without --run the jobs are held. */
#include <getopt.h>
#include <pthread.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long count = 1000, threads = 1, nodes = 1, tasks_per_node = 1, minutes = 0, vary = 1;
static int run = 0;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void* submit(void* first) {
  char* environment[] = {"PATH=/usr/bin:/bin", "HOME=/root", NULL};
  for (long i = (long)first; i < count; i += threads) {
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
    job.min_nodes = (uint32_t)nodes;
    job.num_tasks = job.min_cpus = (uint32_t)(nodes * tasks_per_node);
    if (nodes > 1) job.max_nodes = (uint32_t)nodes;
    if (tasks_per_node > 1) job.ntasks_per_node = (uint16_t)tasks_per_node;
    if (minutes > 0) job.time_limit = (uint32_t)(minutes + i * 7919 % vary);
    if (!run) job.priority = 0;
    if (slurm_submit_batch_job(&job, &reply) != SLURM_SUCCESS) {
      slurm_perror("submit");
      exit(1);
    }
    slurm_free_submit_response_response_msg(reply);
  }
  return NULL;
}

int main(int argc, char** argv) {
  static const struct option options[] = {
      {"threads", required_argument, NULL, 'T'}, {"run", no_argument, NULL, 'r'},
      {"nodes", required_argument, NULL, 'N'},   {"tasks-per-node", required_argument, NULL, 'n'},
      {"minutes", required_argument, NULL, 't'}, {"vary", required_argument, NULL, 'v'},
      {NULL, 0, NULL, 0}};
  for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    if (c == 'T') threads = atol(optarg);
    else if (c == 'r') run = 1;
    else if (c == 'N') nodes = atol(optarg);
    else if (c == 'n') tasks_per_node = atol(optarg);
    else if (c == 't') minutes = atol(optarg);
    else if (c == 'v') vary = atol(optarg);
    else return 2;
  }
  if (optind < argc) count = atol(argv[optind]);
  if (threads < 1 || threads > 64 || vary < 1) return 2;
  double begin = now();
  pthread_t all[64];
  for (long i = 0; i < threads; ++i)
    if (pthread_create(&all[i], NULL, submit, (void*)i)) return 1;
  for (long i = 0; i < threads; ++i) pthread_join(all[i], NULL);
  printf("%.1f submits/s\n", (double)count / (now() - begin));
  return 0;
}
