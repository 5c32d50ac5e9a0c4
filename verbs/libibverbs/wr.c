/* ibv_wr_*: requests that are built in place, between ibv_wr_start and ibv_wr_complete. */
#include <arpa/inet.h>
#include <string.h>

#include "goroce.h"

static struct gr_qp_object *object(struct ibv_qp_ex *ex)
{
	return container_of(ex, struct gr_qp_object, ex);
}

static struct gr_context *context(struct gr_qp_object *o)
{
	return gr_context(o->ex.qp_base.context);
}

static void start(struct ibv_qp_ex *ex)
{
	struct gr_qp_object *o = object(ex);
	gr_acquire(&o->send.lock);
	o->first = o->send.tail;
	o->build_error = 0;
	o->wqe = NULL;
}

static int complete(struct ibv_qp_ex *ex)
{
	struct gr_qp_object *o = object(ex);
	int err = o->build_error;
	if (err)
		o->send.tail = o->first;
	else if (o->send.tail != o->first)
		gr_ring_doorbell(context(o), &o->send);
	gr_release(&o->send.lock);
	return err;
}

static void abort_all(struct ibv_qp_ex *ex)
{
	struct gr_qp_object *o = object(ex);
	o->send.tail = o->first;
	gr_release(&o->send.lock);
}

/* begin takes a slot for an operation. NULL: an earlier request failed, or this one does. */
static struct gr_wqe *begin(struct ibv_qp_ex *ex, enum ibv_wr_opcode op)
{
	struct gr_qp_object *o = object(ex);
	o->wqe = NULL;
	if (!o->build_error)
		o->build_error = gr_check_send(o, op, 0, 0);
	if (!o->build_error && !gr_room(context(o), &o->send))
		o->build_error = ENOMEM;
	if (o->build_error)
		return NULL;
	struct gr_wqe *w = gr_slot(&o->send, o->send.tail++);
	*w = (struct gr_wqe){.wr_id = ex->wr_id, .opcode = (uint8_t)op,
			     .flags = (uint8_t)(ex->wr_flags & ~(unsigned int)IBV_SEND_INLINE)};
	return o->wqe = w;
}

static struct gr_wqe *begin_remote(struct ibv_qp_ex *ex, enum ibv_wr_opcode op, uint32_t rkey,
				   uint64_t addr)
{
	struct gr_wqe *w = begin(ex, op);
	if (w) {
		w->rkey = rkey;
		w->remote_addr = addr;
	}
	return w;
}

static void atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode op, uint32_t rkey, uint64_t addr,
		   uint64_t a, uint64_t b)
{
	struct gr_wqe *w = begin_remote(ex, op, rkey, addr);
	if (w) {
		uint64_t *operands = (void *)((char *)w + GR_WQE_ATOMIC);
		operands[0] = a;
		operands[1] = b;
	}
}

static void cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t compare,
		    uint64_t swap)
{
	atomic(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, addr, compare, swap);
}

static void fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t add)
{
	atomic(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, addr, add, 0);
}

static void local_inv(struct ibv_qp_ex *ex, uint32_t key)
{
	struct gr_wqe *w = begin(ex, IBV_WR_LOCAL_INV);
	if (w)
		w->imm = key;
}

static void rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	begin_remote(ex, IBV_WR_RDMA_READ, rkey, addr);
}

static void rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	begin_remote(ex, IBV_WR_RDMA_WRITE, rkey, addr);
}

static void rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, __be32 imm)
{
	struct gr_wqe *w = begin_remote(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr);
	if (w)
		w->imm = ntohl(imm);
}

static void send_plain(struct ibv_qp_ex *ex) { begin(ex, IBV_WR_SEND); }

static void send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	struct gr_wqe *w = begin(ex, IBV_WR_SEND_WITH_IMM);
	if (w)
		w->imm = ntohl(imm);
}

static void send_inv(struct ibv_qp_ex *ex, uint32_t key)
{
	struct gr_wqe *w = begin(ex, IBV_WR_SEND_WITH_INV);
	if (w)
		w->imm = key;
}

static void set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct gr_wqe *w = object(ex)->wqe;
	if (w) {
		w->remote_addr = ah->handle | (uint64_t)qpn << 32;
		w->rkey = qkey;
	}
}

static void set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *list)
{
	struct gr_qp_object *o = object(ex);
	struct gr_wqe *w = o->wqe;
	if (!w)
		return;
	bool is_atomic = w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
			 w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	if (n > o->cap.max_send_sge || (is_atomic && n != 1)) {
		o->build_error = EINVAL;
		return;
	}
	w->elements = (uint16_t)n;
	memcpy((char *)w + GR_WQE_BODY, list, n * sizeof(*list));
}

static void set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge s = {.addr = addr, .length = length, .lkey = lkey};
	set_sge_list(ex, 1, &s);
}

static void set_inline_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *list)
{
	struct gr_qp_object *o = object(ex);
	struct gr_wqe *w = o->wqe;
	size_t total = 0;
	if (!w)
		return;
	int err = gr_check_send(o, w->opcode, IBV_SEND_INLINE, 0);
	for (size_t i = 0; i < n && !err; i++) {
		if (list[i].length > o->cap.max_inline_data - total) {
			err = ENOMEM;
			break;
		}
		memcpy((char *)w + GR_WQE_BODY + total, list[i].addr, list[i].length);
		total += list[i].length;
	}
	if (err)
		o->build_error = err;
	w->length = (uint32_t)total;
	w->flags |= IBV_SEND_INLINE;
}

static void set_inline(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf b = {.addr = addr, .length = length};
	set_inline_list(ex, 1, &b);
}

void gr_init_wr(struct ibv_qp_ex *ex)
{
	ex->wr_start = start;
	ex->wr_complete = complete;
	ex->wr_abort = abort_all;
	ex->wr_atomic_cmp_swp = cmp_swp;
	ex->wr_atomic_fetch_add = fetch_add;
	ex->wr_local_inv = local_inv;
	ex->wr_rdma_read = rdma_read;
	ex->wr_rdma_write = rdma_write;
	ex->wr_rdma_write_imm = rdma_write_imm;
	ex->wr_send = send_plain;
	ex->wr_send_imm = send_imm;
	ex->wr_send_inv = send_inv;
	ex->wr_set_ud_addr = set_ud_addr;
	ex->wr_set_sge = set_sge;
	ex->wr_set_sge_list = set_sge_list;
	ex->wr_set_inline_data = set_inline;
	ex->wr_set_inline_data_list = set_inline_list;
}
