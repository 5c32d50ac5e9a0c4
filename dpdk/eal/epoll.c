/* Children of this process must not inherit EAL's epoll descriptors. Its interrupt thread opens one
 * whenever its sources change, also while a child starts, so the flag is set by the same call.
 *
 * The program exports this function, and the dynamic linker finds it before the C library's. It is
 * harmless for other callers: code that needs a descriptor to outlive exec calls epoll_create1
 * without the flag. */
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
