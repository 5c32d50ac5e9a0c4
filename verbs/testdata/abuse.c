/*
 * A program that calls libibverbs with wrong arguments: each call must fail as documented, and the
 * next one work. It prints what does not.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

static void expect(const char *what, int got, int want)
{
	if (got == want)
		return;
	printf("%s: %d (%s), want %d (%s)\n", what, got, strerror(got), want, strerror(want));
	failures++;
}

/* For calls that return a pointer, or NULL and errno. */
#define EXPECT_NULL(call, want)                                                                    \
	do {                                                                                       \
		errno = 0;                                                                         \
		void *p = (call);                                                                  \
		expect(#call, p ? 0 : errno, want);                                                \
	} while (0)

static struct ibv_context *c;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static char *memory;
static struct ibv_mr *mr;

static struct ibv_qp *create(enum ibv_qp_type type, uint32_t wr, uint32_t sge, uint32_t in_line)
{
	struct ibv_qp_init_attr a = {.send_cq = cq, .recv_cq = cq, .qp_type = type,
		.cap = {.max_send_wr = wr, .max_recv_wr = wr, .max_send_sge = sge,
			.max_recv_sge = sge, .max_inline_data = in_line}};
	return ibv_create_qp(pd, &a);
}

static void memory_errors(void)
{
	void *unmapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *readonly = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(unmapped, 4096);
	EXPECT_NULL(ibv_reg_mr(pd, unmapped, 4096, 0), EFAULT);
	EXPECT_NULL(ibv_reg_mr(pd, readonly, 4096, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	EXPECT_NULL(ibv_reg_mr(pd, memory, 4096, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	EXPECT_NULL(ibv_reg_mr(pd, memory, 4096, IBV_ACCESS_ON_DEMAND), EINVAL);
	expect("dealloc_pd in use", ibv_dealloc_pd(pd), EBUSY);
	expect("rereg_mr without flags", ibv_rereg_mr(mr, 0, pd, memory, 4096, 0),
	       IBV_REREG_MR_ERR_INPUT);
	expect("rereg_mr", ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					IBV_ACCESS_LOCAL_WRITE), 0);
}

static void size_errors(void)
{
	struct ibv_device_attr d;
	expect("query_device", ibv_query_device(c, &d), 0);
	EXPECT_NULL(ibv_create_cq(c, 0, NULL, NULL, 0), EINVAL);
	EXPECT_NULL(ibv_create_cq(c, d.max_cqe + 1, NULL, NULL, 0), EINVAL);
	EXPECT_NULL(ibv_create_cq(c, 1, NULL, NULL, 1), EINVAL);
	EXPECT_NULL(create(IBV_QPT_RC, (uint32_t)d.max_qp_wr + 1, 1, 0), EINVAL);
	EXPECT_NULL(create(IBV_QPT_RC, 1, (uint32_t)d.max_sge + 1, 0), EINVAL);
	EXPECT_NULL(create(IBV_QPT_RC, 1, 1, 1 << 30), EINVAL);
	EXPECT_NULL(create(IBV_QPT_XRC_SEND, 1, 1, 0), EOPNOTSUPP);
	struct ibv_srq_init_attr s = {.attr = {.max_wr = 1u << 30, .max_sge = 1}};
	EXPECT_NULL(ibv_create_srq(pd, &s), EINVAL);
	struct ibv_ah_attr a = {.port_num = 1};
	EXPECT_NULL(ibv_create_ah(pd, &a), EINVAL);
	a.is_global = 1;
	a.grh.sgid_index = 200;
	EXPECT_NULL(ibv_create_ah(pd, &a), EINVAL);
	struct ibv_port_attr p;
	union ibv_gid gid;
	expect("query_port 2", ibv_query_port(c, 2, &p), EINVAL);
	expect("query_gid 99", ibv_query_gid(c, 1, 99, &gid) ? errno : 0, EINVAL);
	expect("resize_cq", ibv_resize_cq(cq, 100), 0);
	expect("resize_cq 0", ibv_resize_cq(cq, 0), EINVAL);
}

static void state_errors(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS};
	struct ibv_qp_init_attr init;
	expect("RESET to RTS", ibv_modify_qp(qp, &a, IBV_QP_STATE), EINVAL);
	a.qp_state = 77;
	expect("no state", ibv_modify_qp(qp, &a, IBV_QP_STATE), EINVAL);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = 2};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	expect("port 2", ibv_modify_qp(qp, &a, mask), EINVAL);
	a.port_num = 1;
	expect("without port", ibv_modify_qp(qp, &a, mask & ~IBV_QP_PORT), EINVAL);
	expect("INIT", ibv_modify_qp(qp, &a, mask), 0);
	expect("query_qp", ibv_query_qp(qp, &a, IBV_QP_STATE, &init), 0);
	expect("state", a.qp_state, IBV_QPS_INIT);
	expect("destroy_cq in use", ibv_destroy_cq(cq), EBUSY);
}

static void post_errors(struct ibv_qp *qp)
{
	struct ibv_sge s[3] = {{(uintptr_t)memory, 8, mr->lkey}};
	struct ibv_send_wr w = {.sg_list = s, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad_send;
	struct ibv_recv_wr r = {.sg_list = s, .num_sge = 3}, *bad_recv;
	expect("send in INIT", ibv_post_send(qp, &w, &bad_send), EINVAL);
	expect("receive with 3 elements", ibv_post_recv(qp, &r, &bad_recv), EINVAL);
	expect("bad_wr", bad_recv == &r ? 0 : 1, 0);
	r.num_sge = -1;
	expect("receive with -1 elements", ibv_post_recv(qp, &r, &bad_recv), EINVAL);
	r.num_sge = 1;
	int n = 0;
	while (n < 1000 && !ibv_post_recv(qp, &r, &bad_recv)) {
		n++;
		usleep(10);
	}
	if (n < 4 || n == 1000)
		expect("receives in a queue of 4", n, 4);

	struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};
	expect("ERR", ibv_modify_qp(qp, &a, IBV_QP_STATE), 0);
	struct ibv_wc wc;
	for (int i = 0; i < n; i++) {
		int got = 0;
		for (int wait = 0; wait < 100000 && !got; wait++)
			got = ibv_poll_cq(cq, 1, &wc);
		expect("flushed receives", got, 1);
		expect("status", wc.status, IBV_WC_WR_FLUSH_ERR);
	}
	expect("send in ERR", ibv_post_send(qp, &w, &bad_send), 0);
	w.opcode = IBV_WR_BIND_MW;
	expect("bind", ibv_post_send(qp, &w, &bad_send), EINVAL);
	w.opcode = 1000;
	expect("no opcode", ibv_post_send(qp, &w, &bad_send), EINVAL);
	w.opcode = IBV_WR_SEND;
	w.num_sge = 3;
	expect("3 elements", ibv_post_send(qp, &w, &bad_send), EINVAL);
	w.send_flags = IBV_SEND_INLINE;
	w.num_sge = 1;
	s[0].length = 65;
	expect("65 bytes inline", ibv_post_send(qp, &w, &bad_send), ENOMEM);
}

/* to_rts connects a queue pair with another one of this process. */
static void to_rts(struct ibv_qp *qp, uint32_t peer)
{
	const int access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = access};
	expect("to INIT", ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						       IBV_QP_ACCESS_FLAGS), 0);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer, .max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}}};
	ibv_query_gid(c, 1, 0, &a.ah_attr.grh.dgid);
	expect("to RTR", ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
		IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), 0);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 1};
	expect("to RTS", ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
		IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC), 0);
}

/* status_of returns how a request ends that a new connection has as its first. */
static int status_of(struct ibv_send_wr *w)
{
	struct ibv_qp *qp = create(IBV_QPT_RC, 4, 2, 64), *peer = create(IBV_QPT_RC, 4, 2, 64);
	struct ibv_send_wr *bad;
	struct ibv_wc wc = {.status = IBV_WC_GENERAL_ERR};
	int got = 0;
	if (!qp || !peer)
		return -1;
	to_rts(qp, peer->qp_num);
	to_rts(peer, qp->qp_num);
	w->send_flags = IBV_SEND_SIGNALED;
	expect("post", ibv_post_send(qp, w, &bad), 0);
	for (int wait = 0; wait < 100000 && !got; wait++)
		got = ibv_poll_cq(cq, 1, &wc);
	expect("completion", got, 1);
	expect("destroy", ibv_destroy_qp(qp), 0);
	expect("destroy the peer", ibv_destroy_qp(peer), 0);
	return wc.status;
}

/* Requests that are accepted, and end with an error. */
static void request_errors(void)
{
	struct ibv_mr *target = ibv_reg_mr(pd, memory + 4096, 4096, IBV_ACCESS_LOCAL_WRITE |
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	struct ibv_sge s = {(uintptr_t)memory, 8, mr->lkey};
	struct ibv_send_wr w = {.sg_list = &s, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
	uint64_t there = (uintptr_t)memory + 4096;
	struct ibv_wc old;
	while (ibv_poll_cq(cq, 1, &old) > 0)
		; /* flushed requests of post_errors */
	w.wr.rdma.remote_addr = there;
	w.wr.rdma.rkey = target->rkey;
	expect("a right WRITE", status_of(&w), IBV_WC_SUCCESS);
	w.wr.rdma.rkey += 1;
	expect("wrong rkey", status_of(&w), IBV_WC_REM_ACCESS_ERR);
	w.wr.rdma.rkey = target->rkey;
	w.wr.rdma.remote_addr = there + 4090;
	expect("beyond the region", status_of(&w), IBV_WC_REM_ACCESS_ERR);
	w.wr.rdma.remote_addr = there;
	s.lkey += 1;
	expect("wrong lkey", status_of(&w), IBV_WC_LOC_PROT_ERR);
	s.lkey = mr->lkey;
	s.length = 8193;
	expect("longer than the local region", status_of(&w), IBV_WC_LOC_PROT_ERR);
	s.length = 8;
	w.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	w.wr.atomic.remote_addr = there + 4;
	w.wr.atomic.rkey = target->rkey;
	/* adapters leave it to the peer, and report IBV_WC_REM_INV_REQ_ERR */
	expect("misaligned atomic", status_of(&w), IBV_WC_LOC_QP_OP_ERR);
	w.wr.atomic.remote_addr = there;
	expect("a right atomic", status_of(&w), IBV_WC_SUCCESS);
	expect("dereg_mr", ibv_dereg_mr(target), 0);
	expect("deregistered target", status_of(&w), IBV_WC_REM_ACCESS_ERR);
}

/* A child cannot use the device, and its end does not disturb the parent's. */
static void fork_errors(struct ibv_device *d)
{
	expect("fork_init", ibv_fork_init(), 0);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0)
		_exit(ibv_open_device(d) ? 1 : 0);
	int status;
	waitpid(child, &status, 0);
	expect("open in a child", status, 0);
	struct ibv_port_attr p;
	expect("query_port", ibv_query_port(c, 1, &p), 0);
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	if (!list || !list[0] || !(c = ibv_open_device(list[0]))) {
		perror("open");
		return 1;
	}
	pd = ibv_alloc_pd(c);
	cq = ibv_create_cq(c, 64, NULL, NULL, 0);
	memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mr = ibv_reg_mr(pd, memory, 8192, IBV_ACCESS_LOCAL_WRITE);
	if (!pd || !cq || !mr) {
		perror("create");
		return 1;
	}
	memory_errors();
	size_errors();
	struct ibv_qp *qp = create(IBV_QPT_RC, 4, 2, 64);
	if (!qp) {
		perror("create_qp");
		return 1;
	}
	state_errors(qp);
	post_errors(qp);
	request_errors();
	fork_errors(list[0]);
	expect("destroy_qp", ibv_destroy_qp(qp), 0);
	expect("destroy_cq", ibv_destroy_cq(cq), 0);
	expect("dereg_mr", ibv_dereg_mr(mr), 0);
	expect("dealloc_pd", ibv_dealloc_pd(pd), 0);
	expect("close_device", ibv_close_device(c), 0);
	ibv_free_device_list(list);
	return failures > 0;
}
