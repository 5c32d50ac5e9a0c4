/* EAL's epoll descriptors are not for the children of this process. Its interrupt thread opens one
 * whenever its sources change, also while a child starts, so the flag is set by the same call.
 *
 * The program exports this function, and comes before the C library where the dynamic linker looks
 * for what EAL calls. Others that call it have no use for a descriptor that outlives exec either:
 * who wants one calls epoll_create1, without the flag. */
#include <errno.h>
#include <sys/epoll.h>

int epoll_create(int size)
{
	if (size <= 0) {
		errno = EINVAL;
		return -1;
	}
	return epoll_create1(EPOLL_CLOEXEC);
}
