/* The memif driver's calls of the C library, and the unmapping of shared memory: see memif.c. */
#define _GNU_SOURCE
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <rte_interrupts.h>

#include "guard.h"

/* Children of this process inherit no descriptors, and no peer blocks the interrupt thread. */

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol)
{
	if (rte_thread_is_intr())
		type |= SOCK_CLOEXEC | SOCK_NONBLOCK;
	return __real_socket(domain, type, protocol);
}

int __real_accept(int fd, struct sockaddr *addr, socklen_t *len);
int __wrap_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	if (rte_thread_is_intr())
		return accept4(fd, addr, len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	return __real_accept(fd, addr, len);
}

int __real_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags)
{
	return __real_eventfd(value, rte_thread_is_intr() ? flags | EFD_CLOEXEC : flags);
}

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags)
{
	return __real_memfd_create(name, rte_thread_is_intr() ? flags | MFD_CLOEXEC : flags);
}

/* If the first message to a new client fails, the driver closes the connection without
 * unregistering it, which makes EAL abort the process. So no message fails: the connection ends, as
 * any other, when the driver has read everything that arrived before its end. */
ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
	ssize_t sent;

	if (!rte_thread_is_intr())
		return __real_sendmsg(fd, message, flags);
	sent = __real_sendmsg(fd, message, flags | MSG_NOSIGNAL);
	if (sent < 0) {
		shutdown(fd, SHUT_RDWR);
		sent = message->msg_iov[0].iov_len; /* it is the only one */
	}
	return sent;
}

/* The driver marks a device as disconnected and then unmaps the memory that it shares with the
 * peer, even if a queue is using it. Once every queue has been outside of its guard, none will
 * access the memory again, because each reads the mark after it entered. */
void __real_memif_free_regions(void *dev);
void __wrap_memif_free_regions(void *dev)
{
	gr_guards_pass();
	__real_memif_free_regions(dev);
}
