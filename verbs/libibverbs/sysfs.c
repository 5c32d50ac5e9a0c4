/* What programs read of the device in sysfs, by the library's calls. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "goroce.h"
#include "sysfs_files.h"

const char *ibv_get_sysfs_path(void) { return "/sys"; }

int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[512];
	int n = snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -1;
	const char *text = gr_sysfs_text(path);
	if (text) {
		n = snprintf(buf, size, "%s", text);
		return n < (int)size ? n : (int)size - 1;
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t got = size ? read(fd, buf, size - 1) : 0;
	close(fd);
	if (got < 0)
		return -1;
	while (got > 0 && buf[got - 1] == '\n')
		got--;
	if (size)
		buf[got] = 0;
	return (int)got;
}

/* rdma-core's private form, which its providers use. */
int ibv_read_ibdev_sysfs_file(char *buf, size_t size, void *device, const char *format, ...)
{
	(void)buf, (void)size, (void)device, (void)format;
	errno = EOPNOTSUPP;
	return -1;
}
