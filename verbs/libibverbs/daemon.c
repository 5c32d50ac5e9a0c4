/* The daemon as the engine: whom we trust, and what it needs from us. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "goroce.h"

/*
 * trusted reports whether the process that listens on a socket may have our memory: one of our
 * user or of root, or of the owner of the socket's directory if no other user can put sockets
 * there.
 */
static bool trusted(int fd, const char *path)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	struct stat st;
	char dir[PATH_MAX];

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return false;
	if (peer.uid == geteuid() || peer.uid == 0)
		return true;
	snprintf(dir, sizeof(dir), "%s", path);
	return !stat(dirname(dir), &st) && st.st_uid == peer.uid && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

int gr_connect_daemon(struct gr_engine *e, const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(addr.sun_path))
		return ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	e->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (e->fd < 0)
		return errno;
	e->daemon = true;
	int err = 0;
	if (connect(e->fd, (struct sockaddr *)&addr, sizeof(addr))) {
		err = errno;
		fprintf(stderr, "goroce: connect to the daemon at %s: %s\n", path, strerror(err));
	} else if (!trusted(e->fd, path)) {
		err = EPERM;
		fprintf(stderr, "goroce: the daemon at %s is another user's\n", path);
	}
	if (err)
		close(e->fd);
	return err;
}

int gr_share_memory(struct gr_engine *e)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno;
	int err = gr_request(e, GR_SHARE_MEMORY, NULL, 0, fd, NULL, 0, NULL, 0);
	close(fd);
	return err;
}

int gr_populate(const void *addr, size_t length, bool write)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)addr & ~(page - 1);
	uintptr_t end = (uintptr_t)addr + length;
	if (!length)
		return 0;
	if (!addr || end < (uintptr_t)addr)
		return EFAULT;
	size_t size = ((end + page - 1) & ~(page - 1)) - first;
	int advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
	while (madvise((void *)first, size, advice)) {
		if (errno == EINTR || errno == EAGAIN)
			continue;
		/* also of a kernel before 5.14, which has no such advice */
		return errno == EINVAL && !madvise((void *)first, size, MADV_NORMAL) && !write ? 0
											: EFAULT;
	}
	return 0;
}

bool gr_is_gone(struct gr_engine *e)
{
	struct pollfd p = {.fd = e->fd};
	return e->daemon && poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}
