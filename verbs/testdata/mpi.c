/* Ring, bandwidth and all-reduce over MPI, for verbs_compat. The result of each is checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

/* ring passes a number around, to which each rank adds 1. */
static int ring(void)
{
	const int rounds = 100;
	int n = 0;
	for (int i = 0; i < rounds; i++) {
		if (rank) {
			MPI_Recv(&n, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			n++;
		}
		MPI_Send(&n, 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
		if (!rank) {
			MPI_Recv(&n, 1, MPI_INT, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			n++;
		}
	}
	return rank || n == rounds * ranks ? 0 : 1;
}

/* bandwidth sends 64 messages of 1 MiB from the lower half of the ranks to the upper. */
static int bandwidth(void)
{
	enum { MESSAGES = 64, SIZE = 1 << 20 };
	char *buf = malloc(SIZE);
	int half = ranks / 2, bad = 0;
	double start = MPI_Wtime();
	for (int i = 0; i < MESSAGES; i++) {
		if (rank < half) {
			memset(buf, i, SIZE);
			MPI_Send(buf, SIZE, MPI_CHAR, rank + half, i, MPI_COMM_WORLD);
			continue;
		}
		MPI_Recv(buf, SIZE, MPI_CHAR, rank - half, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		bad |= buf[0] != (char)i || buf[SIZE - 1] != (char)i;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank)
		printf("%.0f MB/s\n", half * (double)MESSAGES * SIZE / (MPI_Wtime() - start) / 1e6);
	free(buf);
	return bad;
}

static int all_reduce(void)
{
	enum { COUNT = 1 << 16 };
	int *in = malloc(COUNT * sizeof(int)), *out = malloc(COUNT * sizeof(int)), bad = 0;
	for (int i = 0; i < COUNT; i++)
		in[i] = rank + i;
	for (int i = 0; i < 10; i++)
		MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < COUNT; i++)
		bad |= out[i] != ranks * i + ranks * (ranks - 1) / 2;
	free(in);
	free(out);
	return bad;
}

int main(int argc, char **argv)
{
	int bad, worst;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	const char *test = argc > 1 ? argv[1] : "";
	bad = !strcmp(test, "ring") ? ring()
	      : !strcmp(test, "bandwidth") ? bandwidth()
	      : !strcmp(test, "allreduce") ? all_reduce()
					   : 1;
	MPI_Allreduce(&bad, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (!rank)
		printf("%s of %d ranks: %s\n", test, ranks, worst ? "wrong" : "right");
	MPI_Finalize();
	return worst;
}
