/* tcp: what kernel TCP costs over loopback: 64 KiB at a time from one thread to another.
 *
 *   tcp [--seconds S]
 *
 * Prints "tcp.goodput GBIT" and "tcp.cpu NS": processor time of both threads, in the kernel too,
 * for each KiB. The first tenth of the time is not counted: the windows open in it. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE = 64 << 10 };

static atomic_ullong received; /* bytes */

static void die(const char *what)
{
	fprintf(stderr, "tcp: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *receive(void *arg)
{
	int s = *(int *)arg;
	char *buf = malloc(MESSAGE);
	for (ssize_t n; (n = read(s, buf, MESSAGE)) > 0;)
		atomic_fetch_add_explicit(&received, n, memory_order_relaxed);
	free(buf);
	return NULL;
}

static void *transmit(void *arg)
{
	int s = *(int *)arg;
	char *buf = calloc(1, MESSAGE);
	while (send(s, buf, MESSAGE, MSG_NOSIGNAL) > 0)
		;
	free(buf);
	return NULL;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* The processor time of the process, in seconds. */
static double used(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void pause_for(double s)
{
	struct timespec t = { (time_t)s, (long)((s - (time_t)s) * 1e9) };
	nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
	double seconds = 1;
	if (argc == 3 && !strcmp(argv[1], "--seconds"))
		seconds = atof(argv[2]);
	else if (argc != 1)
		seconds = 0;
	if (!(seconds > 0)) {
		fprintf(stderr, "usage: tcp [--seconds S], more than 0\n");
		return 2;
	}

	int l = socket(AF_INET, SOCK_STREAM, 0), out = socket(AF_INET, SOCK_STREAM, 0), in;
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	if (l < 0 || out < 0 || bind(l, (void *)&a, len) || listen(l, 1) ||
	    getsockname(l, (void *)&a, &len) || connect(out, (void *)&a, len) ||
	    (in = accept(l, NULL, NULL)) < 0)
		die("loopback connection");
	pthread_t sender, receiver;
	if (pthread_create(&receiver, NULL, receive, &in) ||
	    pthread_create(&sender, NULL, transmit, &out))
		die("thread");

	pause_for(seconds / 10);
	double t = now(), cpu = used();
	unsigned long long bytes = received;
	pause_for(seconds);
	t = now() - t, cpu = used() - cpu, bytes = received - bytes;
	shutdown(in, SHUT_RDWR);
	pthread_join(sender, NULL);
	pthread_join(receiver, NULL);
	if (!bytes)
		die("nothing arrived");
	printf("tcp.goodput %.4g\ntcp.cpu %.4g\n", bytes * 8 / t / 1e9, cpu * 1e9 / (bytes / 1024.));
	return 0;
}
