/* The memif driver's calls into the C library, and the end of the memory that it shares: see memif.c. */
#define _GNU_SOURCE
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <rte_interrupts.h>

#include "guard.h"

/* Descriptors are not for the children of this process, and no peer blocks the interrupt thread. */

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

/* When its greeting of a new client fails, the driver closes the connection but not its
 * registration, which makes EAL abort the process. So no message fails: the connection ends, as
 * any other, when the driver has read what came before its end. */
ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
	ssize_t sent;

	if (!rte_thread_is_intr())
		return __real_sendmsg(fd, message, flags);
	sent = __real_sendmsg(fd, message, flags | MSG_NOSIGNAL);
	if (sent < 0) {
		shutdown(fd, SHUT_RDWR);
		sent = message->msg_iov[0].iov_len; /* there is no other */
	}
	return sent;
}

/* The driver marks a device disconnected and then unmaps the memory it shares with the peer,
 * without asking whether a queue is at work there. Once every queue has been seen outside, none
 * will touch the memory again, because each looks at the mark after it entered. */
void __real_memif_free_regions(void *dev);
void __wrap_memif_free_regions(void *dev)
{
	gr_guards_pass();
	__real_memif_free_regions(dev);
}
