/* The same work by MPI: a broadcast from rank 0, timed there until all have all.
 *
 *   mpi_broadcast BYTES ROUNDS
 *
 * Prints a line of JSON: mean and longest time in microseconds, bytes wrong at all ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char byte_of(long place, int round) {
  return (unsigned char)((unsigned long)place * 2654435761ul >> 24) ^ (unsigned char)round;
}

static long long wrong_of(const unsigned char* bytes, long count, int round) {
  long long wrong = 0;
  for (long i = 0; i < count; ++i) wrong += bytes[i] != byte_of(i, round);
  return wrong;
}

/* One round more than asked for comes first, for connections to be made. */
int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const long count = argc == 3 ? atol(argv[1]) : 0;
  const int rounds = argc == 3 ? atoi(argv[2]) : 0;
  unsigned char* const bytes = malloc((size_t)count + 1);
  if (count < 1 || count > 0x7fffffff || rounds < 1 || bytes == NULL) {
    fprintf(stderr, "usage: mpi_broadcast BYTES ROUNDS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
  }
  double sum = 0, most = 0;
  long long wrong = 0, wrong_everywhere = 0;
  for (int round = 0; round <= rounds; ++round) {
    for (long i = 0; i < count; ++i) bytes[i] = rank == 0 ? byte_of(i, round) : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    MPI_Bcast(bytes, (int)count, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    const double us = (MPI_Wtime() - begun) * 1e6;
    wrong += wrong_of(bytes, count, round);
    if (round == 0) continue;
    sum += us;
    if (us > most) most = us;
  }
  MPI_Reduce(&wrong, &wrong_everywhere, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("{\"mean_us\": %.1f, \"max_us\": %.1f, \"bytes_wrong\": %lld}\n", sum / rounds, most,
           wrong_everywhere);
  }
  free(bytes);
  MPI_Finalize();
  return 0;
}
