// SPDX-License-Identifier: Apache-2.0
// A PMI-2 program by Debian's own client library: every rank puts a pair, and after the fence reads all of them.
#include <slurm/pmi2.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int spawned, size, rank, appnum, length, found;
  if (PMI2_Init(&spawned, &size, &rank, &appnum) != PMI2_SUCCESS) return 2;
  char job[256], key[64], value[256];
  PMI2_Job_GetId(job, sizeof job);
  snprintf(key, sizeof key, "card-%d", rank);
  snprintf(value, sizeof value, "a;b=%d;", rank * rank);
  if (PMI2_KVS_Put(key, value) != PMI2_SUCCESS || PMI2_KVS_Fence() != PMI2_SUCCESS) return 3;
  int sum = 0;
  for (int r = 0; r < size; ++r) {
    int got = 0;
    snprintf(key, sizeof key, "card-%d", r);
    if (PMI2_KVS_Get(job, r, key, value, sizeof value, &length) != PMI2_SUCCESS) return 4;
    if (sscanf(value, "a;b=%d;", &got) != 1) return 5;
    sum += got;
  }
  if (PMI2_Info_GetJobAttr("PMI_process_mapping", value, sizeof value, &found) != PMI2_SUCCESS || !found) return 6;
  printf("rank %d of %d sum %d %s\n", rank, size, sum, value);
  PMI2_Finalize();
  return 0;
}
