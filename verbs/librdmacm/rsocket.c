/*
 * Rsockets are not supported. Programs such as rping, which use them only when asked to, load only
 * if the symbols exist.
 */
#include "cma.h"

long cma_no_rsockets(void);
long cma_no_rsockets(void)
{
	errno = EOPNOTSUPP;
	return -1;
}

#define UNSUPPORTED(name)                                                                          \
	long name(void) __attribute__((alias("cma_no_rsockets"))); /* of any type */

UNSUPPORTED(raccept)
UNSUPPORTED(rbind)
UNSUPPORTED(rclose)
UNSUPPORTED(rconnect)
UNSUPPORTED(rfcntl)
UNSUPPORTED(rgetpeername)
UNSUPPORTED(rgetsockname)
UNSUPPORTED(rgetsockopt)
UNSUPPORTED(riomap)
UNSUPPORTED(riounmap)
UNSUPPORTED(riowrite)
UNSUPPORTED(rlisten)
UNSUPPORTED(rpoll)
UNSUPPORTED(rread)
UNSUPPORTED(rreadv)
UNSUPPORTED(rrecv)
UNSUPPORTED(rrecvfrom)
UNSUPPORTED(rrecvmsg)
UNSUPPORTED(rselect)
UNSUPPORTED(rsend)
UNSUPPORTED(rsendmsg)
UNSUPPORTED(rsendto)
UNSUPPORTED(rsetsockopt)
UNSUPPORTED(rshutdown)
UNSUPPORTED(rsocket)
UNSUPPORTED(rwrite)
UNSUPPORTED(rwritev)
