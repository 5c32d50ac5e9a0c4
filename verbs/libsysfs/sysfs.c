/*
 * libgoroce_sysfs.so: the device's files for programs that open sysfs and /dev/infiniband
 * themselves, as UCX does. roce_run preloads it. It knows the paths of the device and passes all
 * others on to libc.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../libibverbs/sysfs_files.h"

#define NODE "/dev/infiniband/uverbs0"
#define CLASS "/sys/class/infiniband"
#define DEVICE CLASS "/goroce0"

/* NEXT declares the function of libc. */
#define NEXT(type, name, ...)                                                                      \
	static type (*next)(__VA_ARGS__);                                                          \
	if (!next)                                                                                 \
	*(void **)&next = dlsym(RTLD_NEXT, #name)

/* stand_in returns an existing file of the same kind as one of the device, or the path itself. */
static const char *stand_in(const char *path)
{
	if (!path)
		return path;
	if (!strcmp(path, NODE))
		return "/dev/null"; /* a character device */
	if (!strcmp(path, CLASS) || !strcmp(path, DEVICE))
		return "/sys/class";
	return gr_sysfs_text(path) ? "/sys/kernel/uevent_seqnum" : path;
}

/* memory_file returns a descriptor of a file with a text and a newline, or -1. */
static int memory_file(const char *text)
{
	int fd = memfd_create("goroce-sysfs", MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	size_t n = strlen(text);
	if (write(fd, text, n) == (ssize_t)n && write(fd, "\n", 1) == 1 && !lseek(fd, 0, SEEK_SET))
		return fd;
	close(fd);
	errno = EIO;
	return -1;
}

#define OPEN(name)                                                                                 \
	int name(const char *path, int flags, ...)                                                 \
	{                                                                                          \
		NEXT(int, name, const char *, int, ...);                                           \
		const char *text = gr_sysfs_text(path);                                         \
		va_list args;                                                                      \
		va_start(args, flags);                                                             \
		mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;            \
		va_end(args);                                                                      \
		return text ? memory_file(text) : next(path, flags, mode);                         \
	}

OPEN(open)
OPEN(open64)

#define OPEN_CHECKED(name, of)                                                                     \
	int name(const char *path, int flags);                                                     \
	int name(const char *path, int flags) { return of(path, flags); }

OPEN_CHECKED(__open_2, open)
OPEN_CHECKED(__open64_2, open64)

#define FOPEN(name)                                                                                \
	FILE *name(const char *path, const char *mode)                                             \
	{                                                                                          \
		NEXT(FILE *, name, const char *, const char *);                                    \
		const char *text = gr_sysfs_text(path);                                         \
		int fd = text ? memory_file(text) : -1;                                            \
		return fd >= 0 ? fdopen(fd, "r") : next(path, mode);                               \
	}

FOPEN(fopen)
FOPEN(fopen64)

#define STAT(name, buffer)                                                                         \
	int name(const char *path, struct buffer *s)                                               \
	{                                                                                          \
		NEXT(int, name, const char *, struct buffer *);                                    \
		return next(stand_in(path), s);                                                    \
	}

STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)

int access(const char *path, int mode)
{
	NEXT(int, access, const char *, int);
	return next(stand_in(path), mode);
}
