/* EAL's log and what it prints, kept in memory so that an error can repeat the reason. */
#ifndef GOROCE_EAL_LOG_H
#define GOROCE_EAL_LOG_H

#include <stddef.h>

/* From now on every rte_log goes to the buffer and nothing to stderr. */
int gr_log_open(void);

/* Copies out what was logged at most `level` (RTE_LOG_ERR...) since the last gr_log_clear. */
size_t gr_log_read(unsigned level, char *out, size_t size);

void gr_log_clear(void);

/* rte_eal_init with stdout and stderr of the C library turned into the log buffer: EAL prints its
 * usage and getopt its complaint there. */
int gr_eal_init(int argc, char **argv);

#endif
