/* The table of rsockets, their creation and their end. */
#include <fcntl.h>
#include <unistd.h>

#include "rsocket.h"

/* A socket's descriptor is the one of its event channel, so that it is one of the process's. */
enum { MAX_SOCKETS = 1 << 16 };

static struct rs *sockets[MAX_SOCKETS];

struct rs *rs_find(int fd)
{
	struct rs *s = NULL;
	if (fd >= 0 && fd < MAX_SOCKETS)
		s = __atomic_load_n(&sockets[fd], __ATOMIC_ACQUIRE);
	if (!s)
		errno = EBADF;
	return s;
}

struct rs *rs_new(const struct rs *like)
{
	struct rs *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->fd = -1;
	s->sq_size = like ? like->sq_size : 384;
	s->rq_size = like ? like->rq_size : 384;
	s->inline_size = like ? like->inline_size : 64;
	s->sbuf_size = like ? like->sbuf_size : 1 << 17;
	s->rbuf_size = like ? like->rbuf_size : 1 << 17;
	s->iomap_size = like ? like->iomap_size : 0;
	s->options = like ? like->options : 0;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->processed, NULL);
	return s;
}

/*
 * rs_add makes a socket findable. The channel never blocks: a thread that has to wait polls it
 * together with the completion channel.
 */
int rs_add(struct rs *s)
{
	int fd = s->id->channel->fd;
	if (fd >= MAX_SOCKETS)
		return EMFILE;
	if (fcntl(fd, F_SETFL, O_NONBLOCK))
		return errno;
	s->fd = fd;
	__atomic_store_n(&sockets[fd], s, __ATOMIC_RELEASE);
	return 0;
}

static void free_region(struct ibv_mr *mr, void *memory)
{
	if (mr)
		ibv_dereg_mr(mr);
	free(memory);
}

void rs_free(struct rs *s)
{
	if (s->fd >= 0)
		__atomic_store_n(&sockets[s->fd], NULL, __ATOMIC_RELEASE);
	for (uint32_t i = 0; s->mappings && i < s->remote_iomap_size; i++)
		if (s->mappings[i].mr)
			ibv_dereg_mr(s->mappings[i].mr);
	free(s->mappings);
	if (s->id && s->id->qp)
		rdma_destroy_qp(s->id);
	if (s->cq)
		ibv_destroy_cq(s->cq);
	if (s->channel)
		ibv_destroy_comp_channel(s->channel);
	free_region(s->smr, s->sbuf);
	free_region(s->rmr, s->rbuf);
	free_region(s->tmr, s->sgl);
	free(s->pieces);
	if (s->id)
		rdma_destroy_id(s->id);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->processed);
	free(s);
}

void rs_fail(struct rs *s, int err)
{
	s->state = RS_FAILED;
	s->error = err;
	s->readable = s->writable = false;
	pthread_cond_broadcast(&s->processed);
}

static struct ibv_mr *region(struct rs *s, size_t size, int access, void *memory)
{
	void **p = memory;
	*p = calloc(1, size);
	return *p ? ibv_reg_mr(s->id->pd, *p, size, access) : NULL;
}

static int make_buffers(struct rs *s)
{
	const int written = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	size_t tables = RS_SGL_SIZE * sizeof(*s->sgl) + s->iomap_size * sizeof(*s->iomap);
	s->smr = region(s, s->sbuf_size, IBV_ACCESS_LOCAL_WRITE, &s->sbuf);
	s->rmr = region(s, s->rbuf_size, written, &s->rbuf);
	s->tmr = region(s, tables, written, &s->sgl);
	s->pieces = calloc(s->rq_size, sizeof(*s->pieces));
	if (!s->smr || !s->rmr || !s->tmr || !s->pieces)
		return ENOMEM;
	s->iomap = (struct rs_iomap *)(s->sgl + RS_SGL_SIZE);
	s->sbuf_free = s->sbuf_size;
	s->sqe_free = s->sq_size - RS_CTRL_SLOTS;
	s->ctrl_free = RS_CTRL_SLOTS;
	/* the first half is granted by the private data, the second as soon as there is a connection */
	s->freed = s->grant_offset = s->rbuf_size / 2;
	s->granted = (uint16_t)(s->rq_size / 2);
	return 0;
}

/* rs_open_queue_pair makes what a connection needs. */
int rs_open_queue_pair(struct rs *s)
{
	s->channel = ibv_create_comp_channel(s->id->verbs);
	if (!s->channel || fcntl(s->channel->fd, F_SETFL, O_NONBLOCK))
		return errno;
	s->cq = ibv_create_cq(s->id->verbs, (int)(s->sq_size + s->rq_size), s, s->channel, 0);
	if (!s->cq)
		return errno;
	struct ibv_qp_init_attr a = {
		.send_cq = s->cq, .recv_cq = s->cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = {.max_send_wr = s->sq_size, .max_recv_wr = s->rq_size, .max_send_sge = 2,
			.max_recv_sge = 1, .max_inline_data = s->inline_size}};
	if (rdma_create_qp(s->id, NULL, &a))
		return errno;
	int err = make_buffers(s);
	return err ? err : rs_post_receives(s, s->rq_size);
}

int rsocket(int domain, int type, int protocol)
{
	if (domain != PF_INET && domain != PF_INET6)
		return fail(EAFNOSUPPORT);
	/*
	 * Datagrams need the kernel's UDP between the same addresses, to learn the peer's queue
	 * pairs. Those of a goroce port are not the kernel's.
	 */
	if (type != SOCK_STREAM)
		return fail(EOPNOTSUPP);
	if (protocol && protocol != IPPROTO_TCP)
		return fail(EPROTONOSUPPORT);
	struct rs *s = rs_new(NULL);
	if (!s)
		return fail(ENOMEM);
	int err = rdma_create_id(NULL, &s->id, s, RDMA_PS_TCP) ? errno : rs_add(s);
	if (err) {
		rs_free(s);
		return fail(err);
	}
	return s->fd;
}

static bool sends_finished(const struct rs *s)
{
	return !s->unfinished || s->state != RS_CONNECTED;
}

static bool control_free(const struct rs *s) { return s->ctrl_free || s->state != RS_CONNECTED; }

/* close_side returns the message for the peer, or -1 for none. */
static int close_side(struct rs *s, int how)
{
	if (how == SHUT_RD) {
		s->readable = false;
		return s->writable ? -1 : RS_CTRL_DISCONNECT;
	}
	s->writable = false;
	if (how == SHUT_RDWR)
		s->readable = false;
	return s->readable ? RS_CTRL_SHUTDOWN : RS_CTRL_DISCONNECT;
}

static int shutdown_locked(struct rs *s, int how)
{
	int err = 0;
	if (s->state == RS_CONNECTED) {
		int control = close_side(s, how);
		if (control >= 0 && !(err = rs_until(s, control_free, false)) &&
		    s->state == RS_CONNECTED)
			err = rs_send_control(s, (uint32_t)control);
		if (!err)
			err = rs_until(s, sends_finished, false);
		if (!err && control == RS_CTRL_DISCONNECT && s->state == RS_CONNECTED)
			s->state = RS_ENDED;
	}
	if (s->state == RS_ENDED && s->id->qp) {
		s->readable = s->writable = false;
		rdma_disconnect(s->id); /* an event of the end, if any, is of no use */
	}
	pthread_cond_broadcast(&s->processed);
	return err;
}

int rshutdown(int socket, int how)
{
	struct rs *s = rs_find(socket);
	if (!s)
		return -1;
	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return fail(EINVAL);
	pthread_mutex_lock(&s->lock);
	bool connected = s->state >= RS_CONNECTED;
	int err = connected ? shutdown_locked(s, how) : ENOTCONN;
	pthread_mutex_unlock(&s->lock);
	return fail(err);
}

int rclose(int socket)
{
	struct rs *s = rs_find(socket);
	if (!s)
		return -1;
	pthread_mutex_lock(&s->lock);
	if (s->state == RS_CONNECTED || s->state == RS_ENDED)
		shutdown_locked(s, SHUT_RDWR);
	pthread_mutex_unlock(&s->lock);
	rs_free(s);
	return 0;
}
