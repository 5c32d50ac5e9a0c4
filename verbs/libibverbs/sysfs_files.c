/* The files of the device in sysfs. libgoroce_sysfs.so has them, too. */
#include <string.h>

#include "sysfs_files.h"

#define DEVICE_DIR "/sys/class/infiniband/goroce0/"

static const struct { const char *file, *text; } known[] = {
	{"fw_ver", "goroce"}, {"hw_rev", "0"}, {"board_id", "goroce"}, {"hca_type", "goroce"},
	{"node_type", "1: CA"}, {"node_desc", "goroce"}, {"ports/1/link_layer", "Ethernet"},
	{"ports/1/state", "4: ACTIVE"}, {"ports/1/phys_state", "5: LinkUp"},
	{"ports/1/pkeys/0", "0xffff"},
};

const char *gr_sysfs_text(const char *path)
{
	static const char types[] = "ports/1/gid_attrs/types/";
	if (!path || strncmp(path, DEVICE_DIR, sizeof(DEVICE_DIR) - 1))
		return NULL;
	const char *file = path + sizeof(DEVICE_DIR) - 1;
	while (*file == '/')
		file++;
	if (!strncmp(file, types, sizeof(types) - 1))
		return "RoCE v2"; /* all GIDs are */
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(file, known[i].file))
			return known[i].text;
	return NULL;
}
