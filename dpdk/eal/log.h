/* EAL's log and output, kept in memory for the texts of errors. */
#ifndef GOROCE_EAL_LOG_H
#define GOROCE_EAL_LOG_H

#include <stddef.h>

/* Redirects every rte_log from stderr to the buffer. */
int gr_log_open(void);

/* Copies out the messages of at most `level` (RTE_LOG_ERR...) since the last gr_log_clear. */
size_t gr_log_read(unsigned level, char *out, size_t size);

void gr_log_clear(void);

/* rte_eal_init with stdout and stderr of the C library redirected to the log buffer: EAL prints its
 * usage and getopt its errors there. */
int gr_eal_init(int argc, char **argv);

#endif
