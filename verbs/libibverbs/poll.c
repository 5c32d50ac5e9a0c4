/* Completions: ibv_poll_cq, its extended form, and ibv_req_notify_cq. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "goroce.h"

/* next returns the completion at the head, or NULL, and passes void ones. */
static inline struct gr_cqe *next(struct gr_cq_object *o)
{
	for (;;) {
		struct gr_cqe *e = &o->ring[o->head & o->mask];
		uint32_t sequence = __atomic_load_n(&e->sequence, __ATOMIC_ACQUIRE);
		if (sequence != o->head + 1)
			return NULL;
		if (__builtin_expect(e->opcode != GR_VOID, 1))
			return e;
		__atomic_store_n(&o->memory->head, ++o->head, __ATOMIC_RELEASE);
	}
}

/*
 * service_level is what mlx5 has there on RoCE: the kind of header of a datagram (Annex A17,
 * A17.4.5.1), which UCX reads.
 */
static uint8_t service_level(const struct gr_cqe *e)
{
	enum { ROCE_V2 = 8, IPV6 = 1, IPV4 = 2 };
	if (!(e->flags & IBV_WC_GRH))
		return 0;
	return ROCE_V2 | (e->flags & GR_CQE_V6 ? IPV6 : IPV4);
}

static void fill(struct ibv_wc *wc, const struct gr_cqe *e)
{
	wc->wr_id = e->wr_id;
	wc->status = e->status;
	wc->opcode = e->opcode;
	wc->vendor_err = 0;
	wc->byte_len = e->byte_len;
	if (e->flags & IBV_WC_WITH_IMM)
		wc->imm_data = htonl(e->imm);
	else
		wc->invalidated_rkey = e->imm;
	wc->qp_num = e->qp_num;
	wc->src_qp = e->src_qp;
	wc->wc_flags = e->flags & ~GR_CQE_V6;
	wc->pkey_index = 0;
	wc->slid = 0;
	wc->sl = service_level(e);
	wc->dlid_path_bits = 0;
}

/*
 * wait_shortly sleeps until the engine adds a completion. A thread that yields instead gets its
 * core back only after the slices of all others, one that is woken at once.
 */
static void wait_shortly(struct gr_cq_object *o)
{
	static const struct timespec limit = {.tv_nsec = 100 * 1000};
	uint32_t *word = &o->memory->waiting;
	__atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
	if (!next(o))
		syscall(SYS_futex, word, FUTEX_WAIT, 1, &limit, NULL, 0);
	__atomic_store_n(word, 0, __ATOMIC_RELAXED);
}

/*
 * A program that spins for a completion may occupy the very core on which the engine, or the
 * peer's, is to make it. The caller has the lock, so that the memory stays. Returns false if the
 * engine has ended: no completion will come.
 */
static bool found_nothing(struct gr_cq_object *o)
{
	enum { POLLS_PER_WAIT = 128, POLLS_PER_YIELD = 1024 };
	bool pause = ++o->idle % POLLS_PER_YIELD == 0;
	if (gr_cores_are_scarce()) {
		if (o->idle >= POLLS_PER_WAIT)
			wait_shortly(o);
	} else if (pause) {
		sched_yield();
	}
	return !pause || !gr_is_gone(&gr_context(((struct ibv_cq *)o)->context)->engine);
}

int gr_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct gr_cq_object *o = (struct gr_cq_object *)cq;
	struct gr_cqe *e;
	int i = 0;

	gr_acquire(&o->lock);
	while (i < n && (e = next(o))) {
		fill(&wc[i++], e);
		o->head++;
	}
	if (i) {
		__atomic_store_n(&o->memory->head, o->head, __ATOMIC_RELEASE);
		o->idle = 0;
	}
	if (!i && !found_nothing(o))
		i = -1;
	gr_release(&o->lock);
	return i;
}

int gr_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct gr_cq_object *o = (struct gr_cq_object *)cq;
	uint32_t want = solicited_only ? GR_ARMED_SOLICITED : GR_ARMED;
	uint32_t have = __atomic_load_n(&o->memory->armed, __ATOMIC_RELAXED);
	/* a full barrier: the program's next poll must see what the engine added before it looked */
	while (have < want && !__atomic_compare_exchange_n(&o->memory->armed, &have, want, false,
							   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	atomic_thread_fence(memory_order_seq_cst);
	return 0;
}

static struct gr_cq_object *object(struct ibv_cq_ex *ex)
{
	return container_of(ex, struct gr_cq_object, ex);
}

static int take(struct gr_cq_object *o)
{
	struct gr_cqe *e = next(o);
	if (!e)
		return ENOENT;
	o->current = e;
	o->ex.wr_id = e->wr_id;
	o->ex.status = e->status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct gr_cq_object *o = object(ex);
	if (attr->comp_mask)
		return EINVAL;
	gr_acquire(&o->lock);
	int err = take(o);
	if (err) {
		if (!found_nothing(o))
			err = EIO;
		gr_release(&o->lock);
	}
	return err;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct gr_cq_object *o = object(ex);
	o->head++;
	int err = take(o);
	if (err)
		o->head--; /* end_poll passes the last one */
	return err;
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct gr_cq_object *o = object(ex);
	o->head++;
	o->idle = 0;
	__atomic_store_n(&o->memory->head, o->head, __ATOMIC_RELEASE);
	gr_release(&o->lock);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex) { return object(ex)->current->opcode; }
static uint32_t read_byte_len(struct ibv_cq_ex *ex) { return object(ex)->current->byte_len; }
static uint32_t read_qp_num(struct ibv_cq_ex *ex) { return object(ex)->current->qp_num; }
static uint32_t read_src_qp(struct ibv_cq_ex *ex) { return object(ex)->current->src_qp; }
static uint8_t read_sl(struct ibv_cq_ex *ex) { return service_level(object(ex)->current); }

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return object(ex)->current->flags & ~GR_CQE_V6;
}


static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	const struct gr_cqe *e = object(ex)->current;
	return e->flags & IBV_WC_WITH_IMM ? htonl(e->imm) : e->imm;
}

static uint32_t none32(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint8_t none8(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

struct ibv_cq_ex *gr_create_cq_ex(struct ibv_context *c, struct ibv_cq_init_attr_ex *a)
{
	const uint32_t flags =
		IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	if (a->comp_mask & ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD) ||
	    a->wc_flags & ~(uint64_t)IBV_WC_STANDARD_FLAGS ||
	    (a->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS && a->flags & ~flags)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	struct ibv_cq *cq = ibv_create_cq(c, (int)a->cqe, a->cq_context, a->channel,
					  (int)a->comp_vector);
	if (!cq)
		return NULL;
	struct ibv_cq_ex *ex = &((struct gr_cq_object *)cq)->ex;
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = none32;
	ex->read_wc_flags = read_wc_flags;
	ex->read_byte_len = read_byte_len;
	ex->read_imm_data = read_imm_data;
	ex->read_qp_num = read_qp_num;
	ex->read_src_qp = read_src_qp;
	ex->read_slid = none32;
	ex->read_sl = read_sl;
	ex->read_dlid_path_bits = none8;
	return ex;
}
