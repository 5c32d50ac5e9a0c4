/* The memif driver trusts its peer's description of the shared memory: the numbers and offsets of
 * rings, and the length of a region, which may exceed that of its file. So invalid messages are
 * replaced by one that the driver does not know, and on which it hangs up.
 *
 * Once connected, the peer writes to the same memory as we do, and is trusted. */
#include "memifhandshake.h"

#include <string.h>
#include <sys/stat.h>

/* A ring is a header and 2^n descriptors. */
enum { RING_HEADER = 128, DESCRIPTOR = 16, MOST_LOG2 = 14 };

/* The layout of the messages, after their type. */
struct region {
	uint16_t type, index;
	uint32_t size;
} __attribute__((packed));

struct ring {
	uint16_t type, flags, index, region;
	uint32_t offset;
	uint8_t log2_size;
} __attribute__((packed));

/* Regions are numbered from 0. */
static int may_add_region(struct gr_memif_handshake *h, const uint8_t *message, int fd)
{
	struct region r;
	struct stat file;

	memcpy(&r, message, sizeof r);
	if (fd < 0 || h->connected || h->regions == GR_MEMIF_REGIONS || r.index != h->regions ||
	    fstat(fd, &file) != 0 || r.size == 0 || r.size > file.st_size)
		return 0;
	h->size[h->regions++] = r.size;
	return 1;
}

/* The rings of each direction are numbered from 0, too. */
static int may_add_ring(struct gr_memif_handshake *h, const uint8_t *message, int fd)
{
	struct ring r;
	unsigned *rings;
	uint64_t end;

	memcpy(&r, message, sizeof r);
	rings = &h->rings[r.flags & 1];
	if (fd < 0 || h->connected || r.index != *rings || r.region >= h->regions ||
	    r.log2_size > MOST_LOG2)
		return 0;
	end = (uint64_t)r.offset + RING_HEADER + ((uint64_t)DESCRIPTOR << r.log2_size);
	if (end > h->size[r.region])
		return 0;
	++*rings;
	return 1;
}

/* Sets a flag and reports whether it was clear. */
static int first(int *happened)
{
	int was = *happened;

	*happened = 1;
	return !was;
}

int gr_memif_may_say(struct gr_memif_handshake *h, int server, const uint8_t *message, int fd)
{
	uint16_t type;

	memcpy(&type, message, sizeof type);
	switch (type) {
	case GR_MEMIF_ACK:
	case GR_MEMIF_DISCONNECT:
		return 1;
	case GR_MEMIF_INIT:
		return server && first(&h->greeted);
	case GR_MEMIF_ADD_REGION:
		return server && may_add_region(h, message, fd);
	case GR_MEMIF_ADD_RING:
		return server && may_add_ring(h, message, fd);
	case GR_MEMIF_CONNECT:
		return server && h->greeted && first(&h->connected);
	case GR_MEMIF_HELLO:
		return !server && first(&h->greeted);
	case GR_MEMIF_CONNECTED:
		return !server && h->greeted && first(&h->connected);
	}
	return 0;
}
