#define _GNU_SOURCE
#include "log.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <rte_eal.h>
#include <rte_log.h>

#define LOG_SIZE (32 * 1024)
#define LOG_PIECES 512

/* The text, and the level of each piece of it (one rte_log). When either is full the rest is
 * dropped: the first messages explain a failure. */
static struct {
	pthread_mutex_t lock;
	size_t used;
	unsigned pieces;
	struct {
		uint32_t level, len;
	} piece[LOG_PIECES];
	char text[LOG_SIZE];
} log_buffer = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void log_add(unsigned level, const char *text, size_t size)
{
	pthread_mutex_lock(&log_buffer.lock);
	size_t room = LOG_SIZE - log_buffer.used;
	size_t n = size < room ? size : room;
	if (n > 0 && log_buffer.pieces < LOG_PIECES) {
		memcpy(log_buffer.text + log_buffer.used, text, n);
		log_buffer.piece[log_buffer.pieces].level = level;
		log_buffer.piece[log_buffer.pieces].len = n;
		log_buffer.used += n;
		log_buffer.pieces++;
	}
	pthread_mutex_unlock(&log_buffer.lock);
}

static ssize_t log_write(void *cookie, const char *text, size_t size)
{
	(void)cookie;
	log_add(rte_log_cur_msg_loglevel(), text, size);
	return size;
}

static ssize_t stderr_write(void *cookie, const char *text, size_t size)
{
	(void)cookie;
	log_add(RTE_LOG_ERR, text, size);
	return size;
}

static ssize_t nowhere(void *cookie, const char *text, size_t size)
{
	(void)cookie;
	(void)text;
	return size;
}

static FILE *stream(ssize_t (*write)(void *, const char *, size_t), int mode)
{
	FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write});
	if (f != NULL)
		setvbuf(f, NULL, mode, BUFSIZ);
	return f;
}

int gr_log_open(void)
{
	static FILE *f; /* for the life of the process: drivers log at any time */
	if (f == NULL)
		f = stream(log_write, _IOFBF); /* rte_log flushes after each message */
	return f == NULL ? -1 : rte_openlog_stream(f);
}

size_t gr_log_read(unsigned level, char *out, size_t size)
{
	size_t at = 0, used = 0;
	pthread_mutex_lock(&log_buffer.lock);
	for (unsigned i = 0; i < log_buffer.pieces; i++) {
		size_t len = log_buffer.piece[i].len;
		if (log_buffer.piece[i].level <= level && used + len <= size) {
			memcpy(out + used, log_buffer.text + at, len);
			used += len;
		}
		at += len;
	}
	pthread_mutex_unlock(&log_buffer.lock);
	return used;
}

void gr_log_clear(void)
{
	pthread_mutex_lock(&log_buffer.lock);
	log_buffer.used = 0;
	log_buffer.pieces = 0;
	pthread_mutex_unlock(&log_buffer.lock);
}

/* EAL keeps pointers to the arguments, but changes argv. This copy, with argv behind it, shows
 * LeakSanitizer that they are in use. */
static char **volatile arguments;

int gr_eal_init(int argc, char **argv)
{
	FILE *out = stdout, *err = stderr;
	FILE *quiet = stream(nowhere, _IOFBF), *kept = stream(stderr_write, _IOLBF);
	int rc;

	arguments = calloc(argc + 1, sizeof *argv);
	if (arguments != NULL) {
		memcpy(arguments, argv, argc * sizeof *argv);
		arguments[argc] = (char *)argv;
	}
	if (quiet != NULL)
		stdout = quiet;
	if (kept != NULL)
		stderr = kept;
	rc = rte_eal_init(argc, argv);
	stdout = out;
	stderr = err;
	if (quiet != NULL)
		fclose(quiet);
	if (kept != NULL)
		fclose(kept);
	return rc;
}
