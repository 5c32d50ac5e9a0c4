/* What programs read of the device in sysfs, by the library's calls. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "goroce.h"

#define DEVICE_DIR "/sys/class/infiniband/goroce0"

static const struct { const char *file, *text; } known[] = {
	{"fw_ver", "goroce"}, {"hw_rev", "0"}, {"board_id", "goroce"}, {"hca_type", "goroce"},
	{"node_type", "1: CA"}, {"node_desc", "goroce"}, {"ports/1/link_layer", "Ethernet"},
	{"ports/1/state", "4: ACTIVE"}, {"ports/1/phys_state", "5: LinkUp"},
	{"ports/1/pkeys/0", "0xffff"},
};

const char *ibv_get_sysfs_path(void) { return "/sys"; }

/* answer returns what the device has in a file, or NULL. */
static const char *answer(const char *dir, const char *file)
{
	size_t n = strlen(DEVICE_DIR);
	if (strncmp(dir, DEVICE_DIR, n))
		return NULL;
	const char *rest = dir + n; /* such as /ports/1 */
	while (*rest == '/')
		rest++;
	char path[256];
	int len = snprintf(path, sizeof(path), "%s%s%s", rest, *rest ? "/" : "", file);
	if (len < 0 || (size_t)len >= sizeof(path))
		return NULL;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(path, known[i].file))
			return known[i].text;
	return NULL;
}

int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[512];
	const char *text = answer(dir, file);
	if (text) {
		int n = snprintf(buf, size, "%s", text);
		return n < (int)size ? n : (int)size - 1;
	}
	int n = snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -1;
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
