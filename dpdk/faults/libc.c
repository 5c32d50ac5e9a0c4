/* Calls of DPDK and its drivers into the C library. mmap64 is theirs alone: Go calls mmap. */
#define _GNU_SOURCE
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define FAIL(error)              \
	{                        \
		errno = (error); \
		return -1;       \
	}

GR_FAULT(int, socket, (int domain, int type, int protocol), (domain, type, protocol), FAIL(EMFILE))
GR_FAULT(int, eventfd, (unsigned value, int flags), (value, flags), FAIL(EMFILE))
GR_FAULT(int, memfd_create, (const char *name, unsigned flags), (name, flags), FAIL(EMFILE))
GR_FAULT(int, ftruncate64, (int fd, off64_t size), (fd, size), FAIL(ENOSPC))
GR_FAULT(int, bind, (int fd, const struct sockaddr *addr, socklen_t len), (fd, addr, len),
	 FAIL(EADDRINUSE))
GR_FAULT(int, listen, (int fd, int backlog), (fd, backlog), FAIL(EADDRINUSE))
GR_FAULT(int, setsockopt, (int fd, int level, int name, const void *value, socklen_t len),
	 (fd, level, name, value, len), FAIL(ENOBUFS))
GR_FAULT(void *, mmap64, (void *addr, size_t len, int prot, int flags, int fd, off64_t offset),
	 (addr, len, prot, flags, fd, offset), errno = ENOMEM; return MAP_FAILED)

int ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int, unsigned long, ...);
	va_list rest;

	va_start(rest, request);
	void *arg = va_arg(rest, void *);
	va_end(rest);
	if (gr_fault("ioctl"))
		FAIL(ENOBUFS)
	if (real == NULL)
		real = gr_fault_real("ioctl");
	return real(fd, request, arg);
}

int open64(const char *path, int flags, ...)
{
	static int (*real)(const char *, int, ...);
	va_list rest;

	va_start(rest, flags);
	int mode = va_arg(rest, int);
	va_end(rest);
	if (gr_fault("open64"))
		FAIL(EMFILE)
	if (real == NULL)
		real = gr_fault_real("open64");
	return real(path, flags, mode);
}
