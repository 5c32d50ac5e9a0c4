/* Rsockets: rpoll and rselect, which take other descriptors, too. */
#define _GNU_SOURCE
#include <limits.h>
#include <time.h>

#include "rsocket.h"

/*
 * Another thread that waits for the same socket may take the event for which rpoll waits in the
 * kernel, so rpoll looks again after a while.
 */
enum { SLICE_MS = 50 };

static short listener_events(const struct rs *s, short want)
{
	struct pollfd p = {.fd = s->fd, .events = want & POLLIN};
	return poll(&p, 1, 0) > 0 ? p.revents : 0;
}

static short ready(const struct rs *s, short want)
{
	short got = 0;
	if (s->state == RS_LISTENING)
		return listener_events(s, want);
	if (s->state < RS_CONNECTED)
		return 0;
	if (s->unread || !s->readable)
		got |= want & POLLIN;
	if (s->state == RS_FAILED)
		return got | POLLERR | POLLHUP | (want & POLLOUT);
	if (!s->writable || rs_can_send(s))
		got |= want & POLLOUT;
	if (s->state == RS_ENDED && !s->unread) /* what came before the end is read first */
		got |= POLLHUP;
	return got;
}

/* check returns what is ready; if nothing is, the completion channel will have an event. */
static short check(struct rs *s, short want)
{
	pthread_mutex_lock(&s->lock);
	rs_advance(s);
	short got = ready(s, want);
	if (!got && s->cq && s->state == RS_CONNECTED) {
		ibv_req_notify_cq(s->cq, 0);
		rs_advance(s);
		got = ready(s, want);
	}
	pthread_mutex_unlock(&s->lock);
	return got;
}

/* check_all returns how many rsockets are ready. */
static int check_all(struct pollfd *fds, nfds_t n)
{
	int count = 0;
	for (nfds_t i = 0; i < n; i++) {
		struct rs *s = rs_find(fds[i].fd);
		if (!s)
			continue;
		fds[i].revents = check(s, fds[i].events);
		count += fds[i].revents != 0;
	}
	return count;
}

/* wait_all polls two descriptors for each rsocket, and other descriptors themselves. */
static int wait_all(struct pollfd *fds, nfds_t n, struct pollfd *all, int timeout)
{
	bool found = false;
	for (nfds_t i = 0; i < n; i++) {
		struct rs *s = rs_find(fds[i].fd);
		all[2 * i] = fds[i];
		all[2 * i + 1] = (struct pollfd){.fd = -1};
		if (!s)
			continue;
		found = true;
		all[2 * i].events = POLLIN;
		if (s->channel)
			all[2 * i + 1] = (struct pollfd){.fd = s->channel->fd, .events = POLLIN};
	}
	if (found && (timeout < 0 || timeout > SLICE_MS))
		timeout = SLICE_MS;
	return poll(all, 2 * n, timeout) < 0 ? -1 : 0;
}

/* take_all returns how many other descriptors are ready, and takes the events of rsockets. */
static int take_all(struct pollfd *fds, nfds_t n, const struct pollfd *all)
{
	int count = 0;
	for (nfds_t i = 0; i < n; i++) {
		struct rs *s = rs_find(fds[i].fd);
		if (!s) {
			fds[i].revents = all[2 * i].revents;
			count += fds[i].revents != 0;
			continue;
		}
		fds[i].revents = 0;
		pthread_mutex_lock(&s->lock);
		if (all[2 * i + 1].revents)
			rs_take_events(s);
		if (all[2 * i].revents && s->state != RS_LISTENING)
			rs_take_cm_events(s);
		pthread_mutex_unlock(&s->lock);
	}
	return count;
}

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int rpoll(struct pollfd *fds, nfds_t n, int timeout)
{
	struct pollfd *all = calloc(n ? 2 * n : 1, sizeof(*all));
	int64_t end = now_ms() + timeout;
	int others = 0, count = 0, left = 0;
	if (!all)
		return fail(ENOMEM);
	do {
		count = check_all(fds, n);
		left = timeout < 0 ? -1 : timeout ? (int)(end - now_ms()) : 0;
		if (count || (timeout > 0 && left < 0))
			left = 0;
		if (wait_all(fds, n, all, left)) {
			free(all);
			return -1;
		}
		others = take_all(fds, n, all);
	} while (!count && !others && left);
	/* what the events that came last have made ready; nothing is lost by looking again */
	count = check_all(fds, n);
	free(all);
	return count + others;
}

/* The events of poll(2) that each set of select(2) stands for. */
static short events_of(int fd, const fd_set *r, const fd_set *w, const fd_set *e)
{
	return (short)((r && FD_ISSET(fd, r) ? POLLIN : 0) | (w && FD_ISSET(fd, w) ? POLLOUT : 0) |
		       (e && FD_ISSET(fd, e) ? POLLPRI : 0));
}

static int set_ready(fd_set *set, const struct pollfd *p, short wanted, short events)
{
	if (!set || !(p->events & wanted) || !(p->revents & events))
		return 0;
	FD_SET(p->fd, set);
	return 1;
}

int rselect(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout)
{
	struct pollfd fds[FD_SETSIZE];
	nfds_t used = 0;
	int count = 0, ms = -1;
	if (n < 0 || n > FD_SETSIZE)
		return fail(EINVAL);
	for (int fd = 0; fd < n; fd++) {
		short events = events_of(fd, r, w, e);
		if (events)
			fds[used++] = (struct pollfd){.fd = fd, .events = events};
	}
	if (timeout)
		ms = (int)(timeout->tv_sec * 1000 + (timeout->tv_usec + 999) / 1000);
	if (rpoll(fds, used, ms) < 0)
		return -1;
	fd_set *sets[] = {r, w, e};
	for (int i = 0; i < 3; i++)
		if (sets[i])
			FD_ZERO(sets[i]);
	for (nfds_t i = 0; i < used; i++) {
		count += set_ready(r, &fds[i], POLLIN, POLLIN | POLLHUP | POLLERR);
		count += set_ready(w, &fds[i], POLLOUT, POLLOUT | POLLERR);
		count += set_ready(e, &fds[i], POLLPRI, POLLPRI);
	}
	return count;
}
