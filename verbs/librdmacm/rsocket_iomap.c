/* Rsockets: buffers of the program that the peer writes into directly. */
#include <byteswap.h>

#include "rsocket.h"

static struct rs_mapping *free_mapping(struct rs *s)
{
	for (uint32_t i = 0; i < s->remote_iomap_size; i++)
		if (!s->mappings[i].mr)
			return &s->mappings[i];
	return NULL;
}

off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset)
{
	struct rs *s = rs_find(socket);
	if (!s)
		return -1;
	if (flags || !len || len > UINT32_MAX || prot & ~(PROT_WRITE | PROT_READ))
		return fail(EINVAL);
	pthread_mutex_lock(&s->lock);
	int err = rs_until_open(s, false);
	struct rs_mapping *m = err ? NULL : free_mapping(s);
	int access = prot == PROT_NONE ? 0 : IBV_ACCESS_LOCAL_WRITE;
	if (prot & PROT_WRITE)
		access |= IBV_ACCESS_REMOTE_WRITE;
	if (prot & PROT_READ)
		access |= IBV_ACCESS_REMOTE_READ;
	if (!err && !m)
		err = ENOBUFS;
	if (!err && !(m->mr = ibv_reg_mr(s->id->pd, buf, len, access)))
		err = errno;
	if (!err) {
		m->offset = offset == -1 ? (uintptr_t)buf : (uint64_t)offset;
		m->unsent = s->mappings_unsent = true;
		offset = (off_t)m->offset;
	}
	pthread_mutex_unlock(&s->lock);
	return err ? fail(err) : offset;
}

int riounmap(int socket, void *buf, size_t len)
{
	struct rs *s = rs_find(socket);
	if (!s)
		return -1;
	int err = EINVAL;
	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < s->remote_iomap_size; i++) {
		struct rs_mapping *m = &s->mappings[i];
		if (!m->mr || m->mr->addr != buf || m->mr->length != len)
			continue;
		err = ibv_dereg_mr(m->mr);
		*m = (struct rs_mapping){0};
		break;
	}
	pthread_mutex_unlock(&s->lock);
	return fail(err);
}

static bool has_credit(const struct rs *s)
{
	return !s->writable || (s->sqe_free && s->sent != s->credit);
}

/* rs_send_mappings writes the new entries into the peer's table. */
int rs_send_mappings(struct rs *s, bool nonblocking)
{
	for (uint32_t i = 0; i < s->remote_iomap_size; i++) {
		struct rs_mapping *m = &s->mappings[i];
		if (!m->unsent)
			continue;
		int err = rs_until(s, has_credit, nonblocking);
		if (!err && !s->writable)
			err = ECONNRESET;
		if (err)
			return err;
		struct rs_iomap e = {m->offset, {(uintptr_t)m->mr->addr, m->mr->rkey,
						 (uint32_t)m->mr->length}};
		if (s->swap)
			e = (struct rs_iomap){bswap_64(e.offset), {bswap_64(e.sge.addr),
					      bswap_32(e.sge.key), bswap_32(e.sge.length)}};
		err = rs_write(s, &e, sizeof(e), s->remote_iomap + i * sizeof(e),
			       s->remote_sgl.key, rs_message(RS_OP_IOMAP_SGL, i));
		if (err)
			return err;
		s->sent++;
		m->unsent = false;
	}
	s->mappings_unsent = false;
	return 0;
}

/* find returns the peer's mapping that has the byte at an offset, or NULL. */
static const struct rs_iomap *find(const struct rs *s, uint64_t offset)
{
	for (uint32_t i = 0; i < s->iomap_size; i++) {
		const struct rs_iomap *e = &s->iomap[i];
		if (offset >= e->offset && offset - e->offset < e->sge.length)
			return e;
	}
	return NULL;
}

static bool has_room(const struct rs *s)
{
	return !s->writable || (s->sqe_free && s->sbuf_free);
}

/* write_piece writes what one mapping and sbuf have room for. */
static int write_piece(struct rs *s, struct rs_cursor *from, size_t left, uint64_t offset,
		       uint32_t *done)
{
	const struct rs_iomap *e = find(s, offset);
	struct ibv_sge sge[2];
	int elements;
	if (!e)
		return EINVAL;
	uint64_t within = offset - e->offset;
	size_t n = left < RS_MAX_PIECE ? left : RS_MAX_PIECE;
	if (n > e->sge.length - within)
		n = e->sge.length - within;
	if (n > s->sbuf_free)
		n = s->sbuf_free;
	*done = rs_stage(s, from, (uint32_t)n, sge, &elements);
	return rs_post(s, sge, elements, e->sge.addr + within, e->sge.key, IBV_WR_RDMA_WRITE,
		       rs_message(RS_OP_DATA, 0), *done);
}

size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags)
{
	struct rs *s = rs_find(socket);
	struct iovec iov = {(void *)buf, count};
	struct rs_cursor from = {&iov, 1, 0};
	size_t done = 0;
	if (!s)
		return (size_t)-1;
	pthread_mutex_lock(&s->lock);
	bool nonblocking = s->nonblocking || flags & MSG_DONTWAIT;
	int err = rs_until_open(s, nonblocking);
	if (!err && s->mappings_unsent)
		err = rs_send_mappings(s, nonblocking);
	while (!err && done < count) {
		uint32_t n = 0;
		err = rs_until(s, has_room, nonblocking);
		if (!err && !s->writable)
			err = ECONNRESET;
		if (!err)
			err = write_piece(s, &from, count - done, (uint64_t)offset + done, &n);
		done += err ? 0 : n;
	}
	pthread_mutex_unlock(&s->lock);
	return done || !err ? done : (size_t)fail(err);
}
