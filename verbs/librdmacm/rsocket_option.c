/* Rsockets: options and flags. */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>

#include "rsocket.h"

/* Options that are kept only to be read again. */
enum { KEPT_REUSE = 1, KEPT_KEEPALIVE = 2, KEPT_OOB = 4, KEPT_NODELAY = 8, KEPT_V6ONLY = 16 };

static int kept(int level, int name)
{
	if (level == SOL_SOCKET)
		return name == SO_REUSEADDR   ? KEPT_REUSE
		       : name == SO_KEEPALIVE ? KEPT_KEEPALIVE
		       : name == SO_OOBINLINE ? KEPT_OOB
					      : 0;
	if (level == IPPROTO_TCP)
		return name == TCP_NODELAY ? KEPT_NODELAY : 0;
	return level == IPPROTO_IPV6 && name == IPV6_V6ONLY ? KEPT_V6ONLY : 0;
}

static uint32_t clamp(int n, uint32_t low, uint32_t high)
{
	return n < 0 || (uint32_t)n < low ? low : (uint32_t)n > high ? high : (uint32_t)n;
}

/* size_option sets what a queue pair is created with; it is too late once there is one. */
static int size_option(struct rs *s, int level, int name, int n)
{
	if (level == SOL_SOCKET && name == SO_SNDBUF)
		s->sbuf_size = clamp(n, 1 << 12, 1 << 24) & ~1U;
	else if (level == SOL_SOCKET && name == SO_RCVBUF)
		s->rbuf_size = clamp(n, 1 << 12, 1 << 24) & ~1U;
	else if (level == SOL_RDMA && name == RDMA_SQSIZE)
		s->sq_size = clamp(n, RS_MIN_QUEUE, RS_MAX_QUEUE);
	else if (level == SOL_RDMA && name == RDMA_RQSIZE)
		s->rq_size = clamp(n, RS_MIN_QUEUE, RS_MAX_QUEUE);
	else if (level == SOL_RDMA && name == RDMA_INLINE)
		s->inline_size = clamp(n, RS_MIN_INLINE, RS_MAX_INLINE);
	else if (level == SOL_RDMA && name == RDMA_IOMAPSIZE)
		s->iomap_size = clamp(n, 0, RS_MAX_IOMAP) < 128 ? clamp(n, 0, RS_MAX_IOMAP) : 256;
	else
		return ENOPROTOOPT;
	return 0;
}

static int set_option(struct rs *s, int level, int name, const void *value, socklen_t len)
{
	int n;
	if (level == SOL_SOCKET && name == SO_LINGER) {
		if (len < sizeof(s->linger))
			return EINVAL;
		memcpy(&s->linger, value, sizeof(s->linger));
		return 0;
	}
	if (level == SOL_RDMA && name == RDMA_ROUTE)
		return 0; /* on Ethernet the route is the address */
	if (len < sizeof(n))
		return EINVAL;
	memcpy(&n, value, sizeof(n));
	int bit = kept(level, name);
	if (!bit)
		return s->cq ? EINVAL : size_option(s, level, name, n);
	s->options = n ? s->options | bit : s->options & ~bit;
	if (bit != KEPT_REUSE)
		return 0;
	return rdma_set_option(s->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &n, sizeof(n))
		       ? errno
		       : 0;
}

int rsetsockopt(int socket, int level, int name, const void *value, socklen_t len)
{
	struct rs *s = rs_find(socket);
	if (!s)
		return -1;
	if (!value)
		return fail(EFAULT);
	pthread_mutex_lock(&s->lock);
	int err = set_option(s, level, name, value, len);
	pthread_mutex_unlock(&s->lock);
	return fail(err);
}

static int get_number(struct rs *s, int level, int name, int *n)
{
	const struct { int level, name; uint32_t value; } numbers[] = {
		{SOL_SOCKET, SO_SNDBUF, s->sbuf_size},	    {SOL_SOCKET, SO_RCVBUF, s->rbuf_size},
		{SOL_SOCKET, SO_TYPE, SOCK_STREAM},	    {SOL_RDMA, RDMA_SQSIZE, s->sq_size},
		{SOL_RDMA, RDMA_RQSIZE, s->rq_size},	    {SOL_RDMA, RDMA_INLINE, s->inline_size},
		{SOL_RDMA, RDMA_IOMAPSIZE, s->iomap_size},  {IPPROTO_TCP, TCP_MAXSEG, RS_MAX_PIECE},
	};
	int bit = kept(level, name);
	if (bit) {
		*n = !!(s->options & bit);
		return 0;
	}
	if (level == SOL_SOCKET && name == SO_ERROR) {
		*n = s->error;
		s->error = 0;
		return 0;
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (numbers[i].level == level && numbers[i].name == name) {
			*n = (int)numbers[i].value;
			return 0;
		}
	return ENOPROTOOPT;
}

int rgetsockopt(int socket, int level, int name, void *value, socklen_t *len)
{
	struct rs *s = rs_find(socket);
	int n, err;
	if (!s)
		return -1;
	if (!value || !len)
		return fail(EFAULT);
	const void *from = &n;
	socklen_t size = sizeof(n);
	pthread_mutex_lock(&s->lock);
	if (level == SOL_SOCKET && name == SO_LINGER) {
		from = &s->linger;
		size = sizeof(s->linger);
		err = 0;
	} else {
		rs_advance(s);
		err = get_number(s, level, name, &n);
	}
	if (!err && *len < size)
		err = EINVAL;
	if (!err) {
		memcpy(value, from, size);
		*len = size;
	}
	pthread_mutex_unlock(&s->lock);
	return fail(err);
}

int rfcntl(int socket, int cmd, ...)
{
	struct rs *s = rs_find(socket);
	va_list args;
	if (!s)
		return -1;
	if (cmd == F_GETFL)
		return O_RDWR | (s->nonblocking ? O_NONBLOCK : 0);
	if (cmd != F_SETFL)
		return fail(EINVAL);
	va_start(args, cmd);
	s->nonblocking = va_arg(args, int) & O_NONBLOCK;
	va_end(args);
	return 0;
}
