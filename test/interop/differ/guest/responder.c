// The peer's half of package differ: queue pairs of Linux's soft-RoCE that only respond. It reads
// commands and prints the output of each, whose last line begins with "ok" or "error".
//
//   open SLOT TYPE MTU ACCESS RECVS RECVLEN READS TIMER PSN QKEY GID SOURCE DESTQP
//        makes a queue pair in RTS that expects PSN from GID; MTU is the code of ibv_mtu, SOURCE
//        the index of a GID. For slot 1 it fills the regions and prints their addresses and keys
//   look SLOT       prints its state and next PSN, its new completions and hashes of the regions
//   close SLOT      destroys it
//   dump REGION     prints its bytes in hexadecimal
//
// Slot 0 is the fence, which needs no memory.
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REGIONS = 5, SIZE = 16384, SLOTS = 2, DEPTH = 64, LOCAL = 3, OTHER = 4 };

enum {
    ALL = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
          IBV_ACCESS_REMOTE_ATOMIC
};

static const int accesses[REGIONS] = {
    ALL,
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
    IBV_ACCESS_REMOTE_READ,
    IBV_ACCESS_LOCAL_WRITE,
    ALL,
};

static struct ibv_context *context;
static struct ibv_pd *domains[2]; // the second one for region OTHER
static uint8_t *memories[REGIONS];
static struct ibv_mr *regions[REGIONS];
static struct ibv_cq *queues[SLOTS];
static struct ibv_qp *pairs[SLOTS];

static void die(const char *what) {
    printf("error %s: %s\n", what, strerror(errno));
    fflush(stdout);
    exit(1);
}

// renew fills the regions and registers them again: a SEND with invalidate may have ended one.
static void renew(void) {
    for (int r = 0; r < REGIONS; r++) {
        uint8_t *memory = memories[r];
        for (int i = 0; i < SIZE; i++) {
            memory[i] = (uint8_t)(i * 7 + (i >> 8) + r * 31);
        }
        if (regions[r] && ibv_dereg_mr(regions[r])) {
            die("deregister");
        }
        if (!(regions[r] = ibv_reg_mr(domains[r == OTHER], memory, SIZE, accesses[r]))) {
            die("memory region");
        }
        printf("region %llx %x\n", (unsigned long long)(uintptr_t)memory, regions[r]->rkey);
    }
}

static void start(void) {
    struct ibv_device **devices = ibv_get_device_list(NULL);
    if (!devices || !devices[0] || !(context = ibv_open_device(devices[0]))) {
        die("no device");
    }
    for (int i = 0; i < 2; i++) {
        if (!(domains[i] = ibv_alloc_pd(context))) {
            die("protection domain");
        }
    }
    for (int r = 0; r < REGIONS; r++) {
        if (!(memories[r] = aligned_alloc(4096, SIZE))) {
            die("memory");
        }
    }
    for (int i = 0; i < SLOTS; i++) {
        if (!(queues[i] = ibv_create_cq(context, 4 * DEPTH, NULL, NULL, 0))) {
            die("completion queue");
        }
    }
    printf("ok\n");
}

struct settings {
    unsigned slot, type, mtu, access, recvs, length, reads, timer, psn, qkey, source, dest;
    char gid[64];
};

static int to_init(struct ibv_qp *qp, const struct settings *s) {
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1,
        .qp_access_flags = s->access, .qkey = s->qkey};
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    mask |= s->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    return ibv_modify_qp(qp, &a, mask);
}

static int to_rtr(struct ibv_qp *qp, const struct settings *s) {
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR, .path_mtu = s->mtu, .dest_qp_num = s->dest,
        .rq_psn = s->psn, .max_dest_rd_atomic = s->reads, .min_rnr_timer = s->timer,
        .ah_attr = {.is_global = 1, .port_num = 1,
            .grh = {.sgid_index = s->source, .hop_limit = 64}}};
    int mask = IBV_QP_STATE;
    if (!inet_pton(AF_INET6, s->gid, &a.ah_attr.grh.dgid)) {
        return -1;
    }
    if (s->type != IBV_QPT_UD) {
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    }
    if (s->type == IBV_QPT_RC) {
        mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    }
    return ibv_modify_qp(qp, &a, mask);
}

static int to_rts(struct ibv_qp *qp, const struct settings *s) {
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS, .sq_psn = 1, .timeout = 16, .retry_cnt = 7,
        .rnr_retry = 7, .max_rd_atomic = 1};
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (s->type == IBV_QPT_RC) {
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    }
    return ibv_modify_qp(qp, &a, mask);
}

static int post(struct ibv_qp *qp, const struct settings *s) {
    for (unsigned i = 0; i < s->recvs; i++) {
        struct ibv_sge sge = {.addr = (uintptr_t)memories[LOCAL] + (uint64_t)i * s->length,
            .length = s->length, .lkey = regions[LOCAL]->lkey};
        struct ibv_recv_wr *bad, wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};
        if (ibv_post_recv(qp, &wr, &bad)) {
            return -1;
        }
    }
    return 0;
}

static void open_pair(const char *line) {
    struct settings s;
    int fields = sscanf(line, "open %u %u %u %u %u %u %u %u %u %u %63s %u %u", &s.slot, &s.type,
        &s.mtu, &s.access, &s.recvs, &s.length, &s.reads, &s.timer, &s.psn, &s.qkey, s.gid,
        &s.source, &s.dest);
    if (fields != 13 || s.slot >= SLOTS || pairs[s.slot]) {
        die("open: arguments");
    }
    struct ibv_qp_init_attr a = {.send_cq = queues[s.slot], .recv_cq = queues[s.slot],
        .qp_type = s.type,
        .cap = {.max_send_wr = 1, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1}};
    if (s.slot == 1) {
        renew();
    }
    struct ibv_qp *qp = ibv_create_qp(domains[0], &a);
    if (!qp) {
        die("open: no queue pair");
    }
    if (to_init(qp, &s)) {
        die("open: INIT");
    }
    if (post(qp, &s)) {
        die("open: receives");
    }
    if (to_rtr(qp, &s)) {
        die("open: RTR");
    }
    if (to_rts(qp, &s)) {
        die("open: RTS");
    }
    pairs[s.slot] = qp;
    printf("ok %u\n", qp->qp_num);
}

static void print_memory(void) {
    for (int r = 0; r < REGIONS; r++) { // FNV-1a
        uint64_t hash = 0xcbf29ce484222325;
        const uint8_t *memory = memories[r];
        for (int i = 0; i < SIZE; i++) {
            hash = (hash ^ memory[i]) * 0x100000001b3;
        }
        printf("memory %llx\n", (unsigned long long)hash);
    }
}

static void look(unsigned slot) {
    if (slot >= SLOTS || !pairs[slot]) {
        die("look: not open");
    }
    struct ibv_qp_attr a;
    struct ibv_qp_init_attr init;
    if (ibv_query_qp(pairs[slot], &a, IBV_QP_STATE | IBV_QP_RQ_PSN, &init)) {
        die("query");
    }
    printf("state %d %u\n", a.qp_state, a.rq_psn & 0xffffff);
    struct ibv_wc wc;
    while (ibv_poll_cq(queues[slot], 1, &wc) > 0) {
        printf("done %llu %d %d %u %x %u %u\n", (unsigned long long)wc.wr_id, wc.status, wc.opcode,
            wc.byte_len, ntohl(wc.imm_data), wc.wc_flags, wc.src_qp);
    }
    print_memory();
    printf("ok\n");
}

static void close_pair(unsigned slot) {
    struct ibv_wc wc;
    if (slot >= SLOTS || !pairs[slot] || ibv_destroy_qp(pairs[slot])) {
        die("close");
    }
    pairs[slot] = NULL;
    while (ibv_poll_cq(queues[slot], 1, &wc) > 0) {
    }
    printf("ok\n");
}

static void dump(unsigned region) {
    if (region >= REGIONS) {
        die("dump: no such region");
    }
    const uint8_t *memory = memories[region];
    printf("bytes ");
    for (int i = 0; i < SIZE; i++) {
        printf("%02x", memory[i]);
    }
    printf("\nok\n");
}

int main(void) {
    char line[512];
    unsigned number;
    start();
    for (fflush(stdout); fgets(line, sizeof line, stdin); fflush(stdout)) {
        if (strncmp(line, "open ", 5) == 0) {
            open_pair(line);
        } else if (sscanf(line, "look %u", &number) == 1) {
            look(number);
        } else if (sscanf(line, "close %u", &number) == 1) {
            close_pair(number);
        } else if (sscanf(line, "dump %u", &number) == 1) {
            dump(number);
        } else {
            die("no such command");
        }
    }
    return 0;
}
