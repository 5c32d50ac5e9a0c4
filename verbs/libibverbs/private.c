/*
 * Symbols of rdma-core's providers (IBVERBS_PRIVATE_34) and of its kernel interface. Programs that
 * are linked with libmlx5 or libefa, as perftest is, load only if they exist. Nothing calls them:
 * there is no kernel driver, and our device is not one of theirs.
 */
#include "goroce.h"

bool verbs_allow_disassociate_destroy;

int gr_unsupported(void);
int gr_unsupported(void) { return EOPNOTSUPP; }

#define UNSUPPORTED(name)                                                                          \
	int name(void) __attribute__((alias("gr_unsupported"))); /* of any type */

UNSUPPORTED(__ioctl_final_num_attrs)
UNSUPPORTED(__verbs_log)
UNSUPPORTED(_verbs_init_and_alloc_context)
UNSUPPORTED(execute_ioctl)
UNSUPPORTED(ibv_cmd_advise_mr)
UNSUPPORTED(ibv_cmd_alloc_dm)
UNSUPPORTED(ibv_cmd_alloc_mw)
UNSUPPORTED(ibv_cmd_alloc_pd)
UNSUPPORTED(ibv_cmd_attach_mcast)
UNSUPPORTED(ibv_cmd_close_xrcd)
UNSUPPORTED(ibv_cmd_create_ah)
UNSUPPORTED(ibv_cmd_create_counters)
UNSUPPORTED(ibv_cmd_create_cq)
UNSUPPORTED(ibv_cmd_create_cq_ex)
UNSUPPORTED(ibv_cmd_create_flow)
UNSUPPORTED(ibv_cmd_create_flow_action_esp)
UNSUPPORTED(ibv_cmd_create_qp)
UNSUPPORTED(ibv_cmd_create_qp_ex)
UNSUPPORTED(ibv_cmd_create_qp_ex2)
UNSUPPORTED(ibv_cmd_create_rwq_ind_table)
UNSUPPORTED(ibv_cmd_create_srq)
UNSUPPORTED(ibv_cmd_create_srq_ex)
UNSUPPORTED(ibv_cmd_create_wq)
UNSUPPORTED(ibv_cmd_dealloc_mw)
UNSUPPORTED(ibv_cmd_dealloc_pd)
UNSUPPORTED(ibv_cmd_dereg_mr)
UNSUPPORTED(ibv_cmd_destroy_ah)
UNSUPPORTED(ibv_cmd_destroy_counters)
UNSUPPORTED(ibv_cmd_destroy_cq)
UNSUPPORTED(ibv_cmd_destroy_flow)
UNSUPPORTED(ibv_cmd_destroy_flow_action)
UNSUPPORTED(ibv_cmd_destroy_qp)
UNSUPPORTED(ibv_cmd_destroy_rwq_ind_table)
UNSUPPORTED(ibv_cmd_destroy_srq)
UNSUPPORTED(ibv_cmd_destroy_wq)
UNSUPPORTED(ibv_cmd_detach_mcast)
UNSUPPORTED(ibv_cmd_free_dm)
UNSUPPORTED(ibv_cmd_get_context)
UNSUPPORTED(ibv_cmd_modify_cq)
UNSUPPORTED(ibv_cmd_modify_flow_action_esp)
UNSUPPORTED(ibv_cmd_modify_qp)
UNSUPPORTED(ibv_cmd_modify_qp_ex)
UNSUPPORTED(ibv_cmd_modify_srq)
UNSUPPORTED(ibv_cmd_modify_wq)
UNSUPPORTED(ibv_cmd_open_qp)
UNSUPPORTED(ibv_cmd_open_xrcd)
UNSUPPORTED(ibv_cmd_poll_cq)
UNSUPPORTED(ibv_cmd_post_recv)
UNSUPPORTED(ibv_cmd_post_send)
UNSUPPORTED(ibv_cmd_post_srq_recv)
UNSUPPORTED(ibv_cmd_query_context)
UNSUPPORTED(ibv_cmd_query_device_any)
UNSUPPORTED(ibv_cmd_query_mr)
UNSUPPORTED(ibv_cmd_query_port)
UNSUPPORTED(ibv_cmd_query_qp)
UNSUPPORTED(ibv_cmd_query_srq)
UNSUPPORTED(ibv_cmd_read_counters)
UNSUPPORTED(ibv_cmd_reg_dm_mr)
UNSUPPORTED(ibv_cmd_reg_dmabuf_mr)
UNSUPPORTED(ibv_cmd_reg_mr)
UNSUPPORTED(ibv_cmd_req_notify_cq)
UNSUPPORTED(ibv_cmd_rereg_mr)
UNSUPPORTED(ibv_cmd_resize_cq)
UNSUPPORTED(verbs_init_cq)
UNSUPPORTED(verbs_open_device)
UNSUPPORTED(verbs_register_driver_34)
UNSUPPORTED(verbs_set_ops)
UNSUPPORTED(verbs_uninit_context)
UNSUPPORTED(ibv_copy_path_rec_from_kern)
UNSUPPORTED(ibv_copy_path_rec_to_kern)
UNSUPPORTED(ibv_copy_qp_attr_from_kern)
UNSUPPORTED(ibv_copy_ah_attr_from_kern)

/* Handles are those of one session: none of another process can be imported. */
static void *refused(void)
{
	errno = EOPNOTSUPP;
	return NULL;
}

struct ibv_context *ibv_import_device(int fd)
{
	(void)fd;
	return refused();
}

struct ibv_pd *ibv_import_pd(struct ibv_context *c, uint32_t handle)
{
	(void)c, (void)handle;
	return refused();
}

void ibv_unimport_pd(struct ibv_pd *pd) { (void)pd; }

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	(void)pd, (void)handle;
	return refused();
}

void ibv_unimport_mr(struct ibv_mr *mr) { (void)mr; }

struct ibv_dm *ibv_import_dm(struct ibv_context *c, uint32_t handle)
{
	(void)c, (void)handle;
	return refused();
}

void ibv_unimport_dm(struct ibv_dm *dm) { (void)dm; }
