/* The device: the one that the environment describes. */
#include "cma.h"

static struct cma_device device;
static struct ibv_pd *default_pd;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static uint8_t limit(int n) { return (uint8_t)(n > 255 ? 255 : n < 0 ? 0 : n); }

static int open_device(void)
{
	int n;
	struct ibv_device_attr attr;
	struct ibv_device **list = ibv_get_device_list(&n);
	if (!list)
		return errno;
	struct ibv_context *verbs = n ? ibv_open_device(list[0]) : NULL;
	int err = verbs ? 0 : n ? errno : ENODEV;
	ibv_free_device_list(list);
	if (err)
		return err;
	if ((err = ibv_query_device(verbs, &attr))) {
		ibv_close_device(verbs);
		return err;
	}
	device.max_responder = limit(attr.max_qp_rd_atom);
	device.max_initiator = limit(attr.max_qp_init_rd_atom);
	device.engine = goroce_engine(verbs);
	device.verbs = verbs;
	return 0;
}

const struct cma_device *cma_open(void)
{
	pthread_mutex_lock(&mutex);
	int err = device.verbs ? 0 : open_device();
	pthread_mutex_unlock(&mutex);
	if (!err)
		return &device;
	errno = err;
	return NULL;
}

int cma_call(uint32_t op, const void *body, size_t size, void *reply, size_t reply_size)
{
	return gr_request(device.engine, op, body, size, -1, reply, reply_size, NULL, 0);
}

int cma_simple(uint32_t op, uint32_t handle)
{
	struct gr_handle h = {.handle = handle};
	return cma_call(op, &h, sizeof(h), NULL, 0);
}

/* The protection domain of IDs whose program names none. */
struct ibv_pd *cma_default_pd(void)
{
	if (!cma_open())
		return NULL;
	pthread_mutex_lock(&mutex);
	if (!default_pd)
		default_pd = ibv_alloc_pd(device.verbs);
	pthread_mutex_unlock(&mutex);
	return default_pd;
}

struct ibv_context **rdma_get_devices(int *num)
{
	const struct cma_device *d = cma_open();
	struct ibv_context **list = d ? calloc(2, sizeof(*list)) : NULL;
	if (list)
		list[0] = d->verbs;
	if (num)
		*num = list ? 1 : 0;
	return list;
}

void rdma_free_devices(struct ibv_context **list) { free(list); }
