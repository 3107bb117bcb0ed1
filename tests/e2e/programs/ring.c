// SPDX-License-Identifier: Apache-2.0
// An MPI program: a token goes round the ring, then all ranks add up. `ring die N`: rank N leaves with 7 in between.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, token = 0, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc == 3 && strcmp(argv[1], "abort") == 0 && atoi(argv[2]) == rank) MPI_Abort(MPI_COMM_WORLD, 7);
  if (argc == 3 && strcmp(argv[1], "die") == 0 && atoi(argv[2]) == rank) _Exit(7);
  if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  token += rank;
  MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  int mine = rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  char node[256] = "";
  if (getenv("SLURMD_NODENAME")) snprintf(node, sizeof node, "%s", getenv("SLURMD_NODENAME"));
  printf("rank %d of %d on %s sum %d", rank, size, node, sum);
  if (rank == 0) printf(" token %d", token);
  printf("\n");
  MPI_Finalize();
  return 0;
}
