/* Corrections of DPDK's memif driver.
 *
 * The driver is linked into the program from its static library, and the linker binds the calls
 * below (--wrap, see memif.go) to this file instead of the C library and EAL. Drivers that EAL
 * loads as plug-ins, the C library and everything else are not affected, except for C code that is
 * linked statically into the same program: it passes through here unchanged unless it runs on
 * EAL's interrupt thread.
 *
 * All calls into the driver are made on that thread (eal.OnInterrupt), where it also handles what
 * its peers do. So neither the driver nor the lists in this file need a lock. */
#define _GNU_SOURCE
#include "memif.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_hash.h>
#include <rte_interrupts.h>
#include <rte_malloc.h>

#include "memifhandshake.h"

/* The sockets on which the driver listens, and its connections. */
struct channel {
	struct channel *next;
	struct rte_intr_handle *handle;
	rte_intr_callback_fn callback;
	void *arg;
	struct region *regions;
	int ring; /* descriptor of a ring that the driver has not taken over; -1: none */
	int server;
	struct gr_memif_handshake handshake;
};

static struct channel *channels;

/* Memory that a client offered and the driver has not mapped yet. If the connection ends before
 * that, the driver leaks the descriptor. */
struct region {
	struct region *next;
	int fd;
};

static void forget_regions(struct channel *c, int close_them)
{
	while (c->regions != NULL) {
		struct region *r = c->regions;
		c->regions = r->next;
		if (close_them)
			close(r->fd);
		free(r);
	}
}

static void forget_ring(struct channel *c)
{
	if (c->ring >= 0)
		close(c->ring);
	c->ring = -1;
}

static void keep_region(struct channel *c, int fd)
{
	struct region *r = malloc(sizeof *r);

	if (r == NULL)
		abort();
	*r = (struct region){c->regions, fd};
	c->regions = r;
}

/* Returns the first descriptor of the message, and closes the others: the driver uses one, and
 * leaks all others. */
static int descriptor_of(struct msghdr *message)
{
	int fd, first = -1;

	for (struct cmsghdr *m = CMSG_FIRSTHDR(message); m != NULL; m = CMSG_NXTHDR(message, m)) {
		if (m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof fd <= m->cmsg_len; at += sizeof fd) {
			memcpy(&fd, (char *)m + at, sizeof fd);
			if (first < 0)
				first = fd;
			else
				close(fd);
		}
	}
	return first;
}

/* Replaces an invalid message by one that the driver does not know. The driver uses a descriptor of
 * memory, or of a ring that it has, and leaks any other. */
static void received(struct channel *c, struct msghdr *message)
{
	uint16_t type;
	int fd = descriptor_of(message);

	forget_ring(c);
	memcpy(&type, message->msg_iov[0].iov_base, sizeof type);
	if (!gr_memif_may_say(&c->handshake, c->server, message->msg_iov[0].iov_base, fd)) {
		type = GR_MEMIF_UNKNOWN;
		memcpy(message->msg_iov[0].iov_base, &type, sizeof type);
	}
	if (type == GR_MEMIF_CONNECT)
		forget_regions(c, 0); /* the driver maps them now, and closes them when it unmaps them */
	if (fd < 0)
		return;
	if (type == GR_MEMIF_ADD_REGION)
		keep_region(c, fd);
	else if (type == GR_MEMIF_ADD_RING)
		c->ring = fd;
	else
		close(fd);
}

int __real_rte_intr_fd_set(struct rte_intr_handle *handle, int fd);
int __wrap_rte_intr_fd_set(struct rte_intr_handle *handle, int fd)
{
	int rc = __real_rte_intr_fd_set(handle, fd);

	if (rc == 0 && fd >= 0 && rte_thread_is_intr())
		for (struct channel *c = channels; c != NULL; c = c->next)
			if (c->ring == fd)
				c->ring = -1;
	return rc;
}

static struct channel *channel_of(int fd)
{
	struct channel *c = channels;

	while (c != NULL && rte_intr_fd_get(c->handle) != fd)
		c = c->next;
	return c;
}

ssize_t __real_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
	struct channel *c;
	ssize_t length;

	if (!rte_thread_is_intr())
		return __real_recvmsg(fd, message, flags);
	length = __real_recvmsg(fd, message, flags | MSG_CMSG_CLOEXEC);
	c = channel_of(fd);
	if (length > 0 && c != NULL && message->msg_iov[0].iov_len >= GR_MEMIF_LENGTH)
		received(c, message);
	return length;
}

/* Reports whether the socket belongs to a server. A client's is not bound to a name. */
static int has_name(int fd)
{
	struct sockaddr_un un;
	socklen_t len = sizeof un;

	return getsockname(fd, (struct sockaddr *)&un, &len) == 0 && un.sun_family == AF_UNIX &&
	       len > offsetof(struct sockaddr_un, sun_path);
}

static int listens(int fd)
{
	int yes = 0;
	socklen_t len = sizeof yes;

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &len) == 0 && yes;
}

/* Closes the listener, and removes its path. */
static void stop_listening(int fd)
{
	struct sockaddr_un un;
	socklen_t len = sizeof un;

	memset(&un, 0, sizeof un);
	if (getsockname(fd, (struct sockaddr *)&un, &len) == 0 && un.sun_path[0] != '\0')
		unlink(un.sun_path);
	close(fd);
}

/* The driver leaks the socket on which it listens if it cannot register the callback. */
int __real_rte_intr_callback_register(const struct rte_intr_handle *handle,
				      rte_intr_callback_fn callback, void *arg);
int __wrap_rte_intr_callback_register(const struct rte_intr_handle *handle,
				      rte_intr_callback_fn callback, void *arg)
{
	int rc = __real_rte_intr_callback_register(handle, callback, arg);

	if (rc < 0 && rte_thread_is_intr() && listens(rte_intr_fd_get(handle)))
		stop_listening(rte_intr_fd_get(handle));
	if (rc == 0 && rte_thread_is_intr()) {
		struct channel *c = malloc(sizeof *c);
		if (c == NULL)
			abort();
		*c = (struct channel){
			.next = channels,
			.handle = (struct rte_intr_handle *)handle,
			.callback = callback,
			.arg = arg,
			.ring = -1,
			.server = has_name(rte_intr_fd_get(handle)),
		};
		channels = c;
	}
	return rc;
}

static void forget(void *arg)
{
	for (struct channel **link = &channels; *link != NULL; link = &(*link)->next) {
		struct channel *c = *link;
		if (c->arg == arg) {
			*link = c->next;
			forget_regions(c, 1);
			forget_ring(c);
			free(c);
			return;
		}
	}
}

int __real_rte_intr_callback_unregister(const struct rte_intr_handle *handle,
					rte_intr_callback_fn callback, void *arg);
int __wrap_rte_intr_callback_unregister(const struct rte_intr_handle *handle,
					rte_intr_callback_fn callback, void *arg)
{
	int rc = __real_rte_intr_callback_unregister(handle, callback, arg);

	if (rc > 0 && rte_thread_is_intr())
		forget(arg);
	return rc;
}

int __real_rte_intr_callback_unregister_pending(const struct rte_intr_handle *handle,
						rte_intr_callback_fn callback, void *arg,
						rte_intr_unregister_callback_fn then);
int __wrap_rte_intr_callback_unregister_pending(const struct rte_intr_handle *handle,
						rte_intr_callback_fn callback, void *arg,
						rte_intr_unregister_callback_fn then)
{
	int rc = __real_rte_intr_callback_unregister_pending(handle, callback, arg, then);

	if (rc > 0 && rte_thread_is_intr())
		forget(arg);
	return rc;
}

void gr_memif_stop_listening(const void *arg)
{
	struct channel *c = channels;

	while (c != NULL && c->arg != arg)
		c = c->next;
	if (c == NULL ||
	    __real_rte_intr_callback_unregister(c->handle, c->callback, c->arg) <= 0)
		return;
	stop_listening(rte_intr_fd_get(c->handle));
	forget(c->arg);
}

/* Reports whether a socket is bound to the name: the listener, or a connection that it accepted. */
static int bound(int fd, const char *name)
{
	struct sockaddr_un un;
	socklen_t len = sizeof un;

	memset(&un, 0, sizeof un);
	if (getsockname(fd, (struct sockaddr *)&un, &len) != 0 || un.sun_family != AF_UNIX)
		return 0;
	return strncmp(un.sun_path, name, sizeof un.sun_path) == 0 || /* or an abstract name: */
	       (un.sun_path[0] == '\0' && strncmp(un.sun_path + 1, name, sizeof un.sun_path - 1) == 0);
}

/* Closes the listener of the name, and the connections whose clients have not yet named a device.
 * Connections of a device were closed with it. */
static void close_channels(const char *name)
{
	struct channel *next;

	for (struct channel *c = channels; c != NULL; c = next) {
		int fd = rte_intr_fd_get(c->handle);
		next = c->next;
		if (!bound(fd, name))
			continue;
		if (__real_rte_intr_callback_unregister(c->handle, c->callback, c->arg) <= 0)
			continue;
		if (!listens(fd)) { /* the driver frees those of a listener */
			rte_intr_instance_free(c->handle);
			rte_free(c->arg);
		}
		close(fd);
		forget(c->arg);
	}
}

/* When the last device of a socket is closed, the driver removes the socket from its table and
 * frees the data of the listener's callback, but neither closes the listener nor unregisters the
 * callback. */
int32_t __real_rte_hash_del_key(const struct rte_hash *table, const void *key);
int32_t __wrap_rte_hash_del_key(const struct rte_hash *table, const void *key)
{
	if (rte_thread_is_intr() && table == rte_hash_find_existing("memif-sh"))
		close_channels(key);
	return __real_rte_hash_del_key(table, key);
}
