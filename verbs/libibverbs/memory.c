/* Protection domains and memory regions. */
#include <stdlib.h>

#include "goroce.h"

struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
	struct gr_handle h;
	struct ibv_pd *pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	int err = gr_request(&gr_context(c)->engine, GR_ALLOC_PD, NULL, 0, -1, &h, sizeof(h), NULL,
			     0);
	if (err) {
		free(pd);
		errno = err;
		return NULL;
	}
	pd->context = c;
	pd->handle = h.handle;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	int err = gr_simple(pd->context, GR_DEALLOC_PD, pd->handle);
	if (!err)
		free(pd);
	return err;
}

/* An engine in this process makes pages present itself. */
static int present(struct ibv_context *c, const void *addr, size_t length, unsigned int access)
{
	if (!gr_context(c)->engine.daemon)
		return 0;
	return gr_populate(addr, length, access & IBV_ACCESS_LOCAL_WRITE);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	struct gr_reg_mr r = {.addr = (uintptr_t)addr, .length = length, .iova = iova,
			      .pd = pd->handle,
			      .access = access & ~(unsigned int)IBV_ACCESS_OPTIONAL_RANGE};
	struct gr_mr reply;
	struct ibv_mr *mr = calloc(1, sizeof(*mr));
	if (!mr)
		return NULL;
	int err = present(pd->context, addr, length, access);
	if (!err)
		err = gr_request(&gr_context(pd->context)->engine, GR_REG_MR, &r, sizeof(r), -1,
				 &reply, sizeof(reply), NULL, 0);
	if (err) {
		free(mr);
		errno = err;
		return NULL;
	}
	mr->context = pd->context;
	mr->pd = pd;
	mr->addr = addr;
	mr->length = length;
	mr->handle = reply.handle;
	mr->lkey = reply.lkey;
	mr->rkey = reply.rkey;
	return mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	(void)pd, (void)offset, (void)length, (void)iova, (void)fd, (void)access;
	errno = EOPNOTSUPP;
	return NULL;
}

int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access)
{
	struct gr_reg_mr r = {.addr = (uintptr_t)addr, .length = length, .iova = (uintptr_t)addr,
			      .access = (uint32_t)access, .handle = mr->handle,
			      .flags = (uint32_t)flags};
	struct gr_mr reply;
	if (!flags || flags & ~IBV_REREG_MR_FLAGS_SUPPORTED ||
	    (flags & IBV_REREG_MR_CHANGE_PD && !pd) ||
	    (flags & IBV_REREG_MR_CHANGE_TRANSLATION && (!addr || !length))) {
		errno = EINVAL;
		return IBV_REREG_MR_ERR_INPUT;
	}
	if (flags & IBV_REREG_MR_CHANGE_PD)
		r.pd = pd->handle;
	int err = 0;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		err = present(mr->context, addr, length, (unsigned int)access);
	if (!err)
		err = gr_request(&gr_context(mr->context)->engine, GR_REREG_MR, &r, sizeof(r), -1,
				 &reply, sizeof(reply), NULL, 0);
	if (err) {
		errno = err;
		return IBV_REREG_MR_ERR_CMD;
	}
	if (flags & IBV_REREG_MR_CHANGE_PD)
		mr->pd = pd;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		mr->addr = addr;
		mr->length = length;
	}
	mr->lkey = reply.lkey;
	mr->rkey = reply.rkey;
	return 0;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	int err = gr_simple(mr->context, GR_DEREG_MR, mr->handle);
	if (!err)
		free(mr);
	return err;
}
