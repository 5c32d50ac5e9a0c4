/* Validation of the messages of a memif peer before the ends are connected. */
#ifndef GOROCE_ETHDEV_MEMIFHANDSHAKE_H
#define GOROCE_ETHDEV_MEMIFHANDSHAKE_H

#include <stdint.h>

/* Types of messages. */
enum {
	GR_MEMIF_ACK = 1,
	GR_MEMIF_HELLO,
	GR_MEMIF_INIT,
	GR_MEMIF_ADD_REGION,
	GR_MEMIF_ADD_RING,
	GR_MEMIF_CONNECT,
	GR_MEMIF_CONNECTED,
	GR_MEMIF_DISCONNECT,
	GR_MEMIF_UNKNOWN = 0xffff
};

enum { GR_MEMIF_REGIONS = 256, GR_MEMIF_LENGTH = 128 };

/* The messages of the peer so far. */
struct gr_memif_handshake {
	int greeted, connected;
	unsigned regions, rings[2]; /* numbers; rings from the server, and to it */
	uint32_t size[GR_MEMIF_REGIONS];
};

/* Reports whether the peer, a client if we are the server, may send the message of
 * GR_MEMIF_LENGTH bytes, which came with descriptor fd or, without one, -1. */
int gr_memif_may_say(struct gr_memif_handshake *h, int server, const uint8_t *message, int fd);

#endif
