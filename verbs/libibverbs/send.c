/* ibv_post_send. */
#include <arpa/inet.h>
#include <string.h>

#include "goroce.h"

/* The operations of each transport service, as bits of enum ibv_wr_opcode. */
#define BIT(op) (1u << (op))
#define UD_OPS (BIT(IBV_WR_SEND) | BIT(IBV_WR_SEND_WITH_IMM))
#define UC_OPS (UD_OPS | BIT(IBV_WR_RDMA_WRITE) | BIT(IBV_WR_RDMA_WRITE_WITH_IMM) | \
		BIT(IBV_WR_LOCAL_INV))
#define ATOMICS (BIT(IBV_WR_ATOMIC_CMP_AND_SWP) | BIT(IBV_WR_ATOMIC_FETCH_AND_ADD))
#define RC_OPS (UC_OPS | ATOMICS | BIT(IBV_WR_RDMA_READ) | BIT(IBV_WR_SEND_WITH_INV))
#define NOT_INLINE (ATOMICS | BIT(IBV_WR_RDMA_READ) | BIT(IBV_WR_LOCAL_INV))

static uint32_t operations(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC ? RC_OPS : type == IBV_QPT_UC ? UC_OPS : UD_OPS;
}

int gr_check_send(struct gr_qp_object *o, enum ibv_wr_opcode op, unsigned int flags, int elements)
{
	struct ibv_qp *qp = &o->ex.qp_base;
	if (qp->state < IBV_QPS_RTS)
		return EINVAL;
	if ((unsigned int)op > 31 || !(operations(qp->qp_type) & BIT(op)))
		return EINVAL;
	if (flags & IBV_SEND_INLINE)
		return BIT(op) & NOT_INLINE ? EINVAL : 0;
	if (elements < 0 || (uint32_t)elements > o->cap.max_send_sge)
		return EINVAL;
	return 0;
}

/* copy_inline gathers the data into the slot. */
static int copy_inline(struct gr_qp_object *o, struct gr_wqe *w, const struct ibv_send_wr *wr)
{
	char *to = (char *)w + GR_WQE_BODY;
	size_t total = 0;
	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *s = &wr->sg_list[i];
		if (total + s->length > o->cap.max_inline_data)
			return ENOMEM;
		memcpy(to + total, (void *)(uintptr_t)s->addr, s->length);
		total += s->length;
	}
	w->length = (uint32_t)total;
	w->elements = 0;
	return 0;
}

static void set_operands(struct gr_wqe *w, const struct ibv_send_wr *wr, enum ibv_qp_type type)
{
	uint64_t *atomic = (void *)((char *)w + GR_WQE_ATOMIC);
	if (type == IBV_QPT_UD) {
		w->remote_addr = (wr->wr.ud.ah ? wr->wr.ud.ah->handle : 0) |
				 (uint64_t)wr->wr.ud.remote_qpn << 32;
		w->rkey = wr->wr.ud.remote_qkey;
	} else if (BIT(wr->opcode) & ATOMICS) {
		w->remote_addr = wr->wr.atomic.remote_addr;
		w->rkey = wr->wr.atomic.rkey;
		atomic[0] = wr->wr.atomic.compare_add;
		atomic[1] = wr->wr.atomic.swap;
	} else {
		w->remote_addr = wr->wr.rdma.remote_addr;
		w->rkey = wr->wr.rdma.rkey;
	}
}

/* fill writes a request into a slot. */
static int fill(struct gr_qp_object *o, struct gr_wqe *w, const struct ibv_send_wr *wr)
{
	enum ibv_qp_type type = o->ex.qp_base.qp_type;
	int err = gr_check_send(o, wr->opcode, wr->send_flags, wr->num_sge);
	if (err)
		return err;
	w->wr_id = wr->wr_id;
	w->opcode = (uint8_t)wr->opcode;
	w->flags = (uint8_t)wr->send_flags;
	if (BIT(wr->opcode) & (BIT(IBV_WR_LOCAL_INV) | BIT(IBV_WR_SEND_WITH_INV)))
		w->imm = wr->invalidate_rkey;
	else
		w->imm = ntohl(wr->imm_data);
	if (wr->send_flags & IBV_SEND_INLINE) {
		if ((err = copy_inline(o, w, wr)))
			return err;
	} else {
		if (BIT(wr->opcode) & ATOMICS && wr->num_sge != 1)
			return EINVAL;
		w->elements = (uint16_t)wr->num_sge;
		w->length = 0;
		/* struct ibv_sge is struct gr_sge */
		if (wr->num_sge == 1)
			*(struct ibv_sge *)((char *)w + GR_WQE_BODY) = wr->sg_list[0];
		else if (wr->num_sge > 1)
			memcpy((char *)w + GR_WQE_BODY, wr->sg_list,
			       (size_t)wr->num_sge * sizeof(struct ibv_sge));
	}
	set_operands(w, wr, type);
	return 0;
}

int gr_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct gr_qp_object *o = (struct gr_qp_object *)qp;
	struct gr_context *c = gr_context(qp->context);
	uint32_t before;
	int err = 0;

	gr_acquire(&o->send.lock);
	before = o->send.tail;
	for (; wr; wr = wr->next) {
		err = gr_room(c, &o->send) ? fill(o, gr_slot(&o->send, o->send.tail), wr) : ENOMEM;
		if (err) {
			*bad = wr;
			break;
		}
		o->send.tail++;
	}
	if (o->send.tail != before)
		gr_ring_doorbell(c, &o->send);
	gr_release(&o->send.lock);
	return err;
}
