/* The connection with the engine: in this process, or in a daemon. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "goroce.h"

#define ENGINE "libgoroce.so"

/* engine_path finds the engine beside this library. */
static int engine_path(char *path, size_t size)
{
	Dl_info info;
	if (!dladdr((void *)gr_connect, &info) || !info.dli_fname)
		return ENOENT;
	const char *slash = strrchr(info.dli_fname, '/');
	int dir = slash ? (int)(slash - info.dli_fname + 1) : 0;
	int n = snprintf(path, size, "%.*s%s", dir, info.dli_fname, ENGINE);
	return n < 0 || (size_t)n >= size ? ENAMETOOLONG : 0;
}

static int (*engine_connect)(char *message, int size);
static void (*engine_close)(void);
static int load_error;
static pid_t loaded_in;

/*
 * load starts the engine's Go runtime. Its threads inherit a signal mask in which the program's
 * signals are blocked: a handler of the program's would otherwise run on a small stack of a
 * goroutine. The signals of faults, and SIGURG, with which the runtime preempts, stay open.
 */
static void load(void)
{
	static const int open_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGURG};
	char path[PATH_MAX];
	sigset_t all, old;

	if ((load_error = engine_path(path, sizeof(path))))
		return;
	sigfillset(&all);
	for (size_t i = 0; i < sizeof(open_signals) / sizeof(*open_signals); i++)
		sigdelset(&all, open_signals[i]);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	void *engine = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (engine) {
		*(void **)&engine_connect = dlsym(engine, "goroce_connect");
		*(void **)&engine_close = dlsym(engine, "goroce_close");
	} else {
		fprintf(stderr, "goroce: %s\n", dlerror());
	}
	/* the first call waits until the runtime runs; its threads have been made with this mask */
	char message[4] = "";
	if (engine_connect)
		engine_connect(message, 0);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!engine_connect)
		load_error = ENOSYS;
	loaded_in = getpid();
}

/* At the end of the program: frames are written to the capture, shared memory is left in order. */
__attribute__((destructor)) static void unload(void)
{
	if (engine_close && loaded_in == getpid())
		engine_close();
}

static int connect_here(struct gr_engine *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char message[512] = "";

	pthread_once(&once, load);
	if (load_error)
		return load_error;
	if (loaded_in != getpid()) {
		fprintf(stderr, "goroce: the device was opened before fork(2), and cannot be opened in "
				"the child\n");
		return ENODEV;
	}
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	e->fd = engine_connect(message, sizeof(message));
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (e->fd >= 0)
		return 0;
	fprintf(stderr, "goroce: %s\n", message);
	return ENODEV;
}

int gr_connect(struct gr_engine *e)
{
	pthread_mutex_init(&e->mutex, NULL);
	e->errnum = 0;
	e->daemon = false;
	const char *daemon = getenv("GOROCE_DAEMON");
	return daemon && *daemon ? gr_connect_daemon(e, daemon) : connect_here(e);
}

void gr_disconnect(struct gr_engine *e)
{
	close(e->fd);
	pthread_mutex_destroy(&e->mutex);
}

static int send_message(int fd, struct iovec *parts, int n, int fd_out)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {.buf = {0}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = (size_t)n};
	if (fd_out >= 0) {
		m.msg_control = control.buf;
		m.msg_controllen = sizeof(control.buf);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd_out, sizeof(int));
	}
	ssize_t sent;
	do
		sent = sendmsg(fd, &m, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? errno : 0;
}

/* take_fds moves the descriptors of a message to fds, and closes those that are too many. */
static void take_fds(struct msghdr *m, int *fds, int n)
{
	int got = 0;
	for (int i = 0; i < n; i++)
		fds[i] = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (got < n)
				fds[got++] = fd;
			else
				close(fd);
		}
	}
}

static int receive_message(int fd, struct iovec *parts, int n, int *fds, int n_fds, ssize_t *size)
{
	union {
		char buf[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = (size_t)n,
			   .msg_control = control.buf, .msg_controllen = sizeof(control.buf)};
	do
		*size = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	while (*size < 0 && errno == EINTR);
	if (*size < 0)
		return errno;
	take_fds(&m, fds, n_fds);
	return 0;
}

int gr_request(struct gr_engine *e, uint32_t op, const void *body, size_t size, int fd_out,
	       void *reply, size_t reply_size, int *fds_in, int n_in)
{
	struct gr_header header = {.op = op};
	struct iovec out[] = {{&header, sizeof(header)}, {(void *)body, size}};
	struct gr_header answer = {0, 0};
	struct iovec in[] = {{&answer, sizeof(answer)}, {reply, reply_size}};
	ssize_t n = 0;

	for (int i = 0; i < n_in; i++)
		fds_in[i] = -1;
	pthread_mutex_lock(&e->mutex);
	int err = e->errnum;
	if (!err)
		err = send_message(e->fd, out, size ? 2 : 1, fd_out);
	if (!err)
		err = receive_message(e->fd, in, reply_size ? 2 : 1, fds_in, n_in, &n);
	if (!err && (n < (ssize_t)sizeof(answer) || answer.op != op ||
		     (!answer.error && n != (ssize_t)(sizeof(answer) + reply_size))))
		err = EIO; /* the engine is gone */
	if (err)
		e->errnum = err = EIO;
	pthread_mutex_unlock(&e->mutex);
	return err ? err : (int)answer.error;
}

void *gr_map(int fd, size_t size)
{
	void *p = MAP_FAILED;
	if (fd >= 0) {
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, size, MADV_DONTFORK);
	return p;
}

int gr_simple(struct ibv_context *c, uint32_t op, uint32_t handle)
{
	struct gr_handle h = {.handle = handle};
	return gr_request(&gr_context(c)->engine, op, &h, sizeof(h), -1, NULL, 0, NULL, 0);
}

struct gr_engine *goroce_engine(struct ibv_context *c) { return &gr_context(c)->engine; }
