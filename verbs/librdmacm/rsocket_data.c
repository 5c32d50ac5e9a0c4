/* Rsockets: sending and receiving. */
#include <limits.h>

#include "rsocket.h"

/* rs_copy copies the next bytes of a cursor to memory, or with out from memory to the program. */
size_t rs_copy(struct rs_cursor *c, void *memory, size_t size, bool out)
{
	size_t done = 0;
	while (done < size && c->count) {
		size_t n = c->iov->iov_len - c->offset;
		if (n > size - done)
			n = size - done;
		char *theirs = (char *)c->iov->iov_base + c->offset, *ours = (char *)memory + done;
		if (n)
			memcpy(out ? theirs : ours, out ? ours : theirs, n);
		done += n;
		c->offset += n;
		if (c->offset == c->iov->iov_len) {
			c->iov++;
			c->count--;
			c->offset = 0;
		}
	}
	return done;
}

static int total(const struct iovec *iov, int count, size_t *size)
{
	*size = 0;
	if (count < 0 || count > UIO_MAXIOV)
		return EINVAL;
	for (int i = 0; i < count; i++)
		if (__builtin_add_overflow(*size, iov[i].iov_len, size) || *size > SSIZE_MAX)
			return EINVAL;
	return 0;
}

static uint32_t smallest(size_t a, uint32_t b, uint32_t c, uint32_t d)
{
	uint32_t n = b < c ? b : c;
	n = n < d ? n : d;
	return a < n ? (uint32_t)a : n;
}

/* send_piece sends what fits into one piece; 0 with a failed socket. */
static uint32_t send_piece(struct rs *s, struct rs_cursor *from, size_t left, uint32_t most)
{
	uint32_t n = smallest(left, most, s->target.length, s->sbuf_free);
	char small[RS_MAX_INLINE];
	struct ibv_sge sge[2];
	int elements = 1;
	uint32_t staged = 0;

	if (n <= s->inline_size) {
		rs_copy(from, small, n, false);
		sge[0] = (struct ibv_sge){.addr = (uintptr_t)small, .length = n};
	} else {
		staged = rs_stage(s, from, n, sge, &elements);
	}
	if (rs_post(s, sge, elements, s->target.addr, s->target.key, IBV_WR_RDMA_WRITE_WITH_IMM,
		    rs_message(RS_OP_DATA, n), staged))
		return 0;
	s->sent++;
	s->target.addr += n;
	s->target.length -= n;
	return n;
}

static bool may_send(const struct rs *s) { return rs_can_send(s) || !s->writable; }

static int send_error(const struct rs *s) { return s->error ? s->error : ECONNRESET; }

ssize_t rs_send_vector(int socket, const struct iovec *iov, int count, int flags)
{
	struct rs *s = rs_find(socket);
	struct rs_cursor from = {iov, count, 0};
	size_t size, done = 0;
	if (!s)
		return -1;
	if (flags & MSG_OOB)
		return fail(EOPNOTSUPP);
	int err = total(iov, count, &size);
	if (err)
		return fail(err);

	pthread_mutex_lock(&s->lock);
	bool nonblocking = s->nonblocking || flags & MSG_DONTWAIT;
	err = rs_until_open(s, nonblocking);
	if (!err && s->mappings_unsent)
		err = rs_send_mappings(s, nonblocking);
	/* pieces grow, so that the peer copies while this side does */
	for (uint32_t most = RS_FIRST_PIECE; !err && done < size;) {
		err = rs_until(s, may_send, nonblocking);
		if (!err && !s->writable)
			err = send_error(s);
		if (!err)
			done += send_piece(s, &from, size - done, most);
		most = most < RS_MAX_PIECE ? 2 * most : RS_MAX_PIECE;
	}
	pthread_mutex_unlock(&s->lock);
	return done ? (ssize_t)done : fail(err);
}

/* copy_out copies what has come to the program, and leaves it there. */
static uint32_t copy_out(struct rs *s, struct rs_cursor *to, size_t size)
{
	uint32_t n = size < s->unread ? (uint32_t)size : s->unread;
	uint32_t first = s->rbuf_size - s->rbuf_head;
	if (first > n)
		first = n;
	rs_copy(to, s->rbuf + s->rbuf_head, first, true);
	rs_copy(to, s->rbuf, n - first, true);
	return n;
}

static void consume(struct rs *s, uint32_t n)
{
	s->rbuf_head = (s->rbuf_head + n) % s->rbuf_size;
	s->unread -= n;
	s->freed += n;
	while (n) {
		uint32_t left = s->pieces[s->piece_head] - s->piece_done;
		if (n < left) {
			s->piece_done += n;
			break;
		}
		n -= left;
		s->piece_done = 0;
		s->piece_head = (s->piece_head + 1) % s->rq_size;
		s->piece_count--;
		s->received++;
	}
	rs_grant(s);
}

static bool may_receive(const struct rs *s) { return s->unread || !s->readable; }

ssize_t rs_receive_vector(int socket, const struct iovec *iov, int count, int flags)
{
	struct rs *s = rs_find(socket);
	struct rs_cursor to = {iov, count, 0};
	size_t size, done = 0;
	if (!s)
		return -1;
	if (flags & MSG_OOB)
		return fail(EOPNOTSUPP);
	int err = total(iov, count, &size);
	if (err)
		return fail(err);

	pthread_mutex_lock(&s->lock);
	bool nonblocking = s->nonblocking || flags & MSG_DONTWAIT;
	err = rs_until_open(s, nonblocking);
	while (!err && done < size) {
		bool wait = !nonblocking && (!done || flags & MSG_WAITALL);
		err = rs_until(s, may_receive, !wait);
		if (err || !s->unread) {
			if (!err && s->state == RS_FAILED)
				err = s->error;
			break;
		}
		uint32_t n = copy_out(s, &to, size - done);
		done += n;
		if (flags & MSG_PEEK)
			break;
		consume(s, n);
	}
	pthread_mutex_unlock(&s->lock);
	return done ? (ssize_t)done : fail(err);
}

ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	struct iovec iov = {(void *)buf, len};
	return rs_send_vector(socket, &iov, 1, flags);
}

ssize_t rsendto(int socket, const void *buf, size_t len, int flags, const struct sockaddr *to,
		socklen_t to_len)
{
	return to || to_len ? fail(EISCONN) : rsend(socket, buf, len, flags);
}

ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	if (msg->msg_control && msg->msg_controllen)
		return fail(EOPNOTSUPP);
	return rs_send_vector(socket, msg->msg_iov, (int)msg->msg_iovlen, flags);
}

ssize_t rwrite(int socket, const void *buf, size_t len) { return rsend(socket, buf, len, 0); }

ssize_t rwritev(int socket, const struct iovec *iov, int count)
{
	return rs_send_vector(socket, iov, count, 0);
}

ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	struct iovec iov = {buf, len};
	return rs_receive_vector(socket, &iov, 1, flags);
}

ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags, struct sockaddr *from,
		  socklen_t *from_len)
{
	ssize_t n = rrecv(socket, buf, len, flags);
	if (n >= 0 && from && from_len)
		rgetpeername(socket, from, from_len);
	return n;
}

ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	if (msg->msg_control && msg->msg_controllen)
		return fail(EOPNOTSUPP);
	msg->msg_flags = 0;
	return rs_receive_vector(socket, msg->msg_iov, (int)msg->msg_iovlen, flags);
}

ssize_t rread(int socket, void *buf, size_t len) { return rrecv(socket, buf, len, 0); }

ssize_t rreadv(int socket, const struct iovec *iov, int count)
{
	return rs_receive_vector(socket, iov, count, 0);
}
