/* A preload library that makes system calls of one process fail, and moves its clock.
 *
 * FAULT_CALL   a comma-separated list of calls that fail: write, pwrite, fsync, open, rename, ftruncate, mmap
 * FAULT_AFTER  the number of such calls that succeed first
 * FAULT_ERRNO  the error number of the others, or `kill`: the process is killed instead
 * CLOCK_SHIFT  seconds that are added to the wall clock
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static atomic_long seen;

static int fails(const char *call) {
    const char *list = getenv("FAULT_CALL");
    const char *after = getenv("FAULT_AFTER");
    const char *error = getenv("FAULT_ERRNO");
    if (!list || !after || !error) return 0;
    const char *found = strstr(list, call);
    size_t length = strlen(call);
    if (!found || (found[length] != ',' && found[length] != 0) || (found != list && found[-1] != ',')) return 0;
    if (atomic_fetch_add(&seen, 1) < atol(after)) return 0;
    if (!strcmp(error, "kill")) raise(SIGKILL);
    errno = atoi(error);
    return 1;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    /* The answer itself is not a store: it may be lost only with a report, which the caller checks. */
    if (fd > 2 && fails("write")) return -1;
    return real(fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    REAL(pwrite);
    if (fails("pwrite")) return -1;
    return real(fd, data, size, at);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    REAL(pwrite64);
    if (fails("pwrite")) return -1;
    return real(fd, data, size, at);
}

int fsync(int fd) {
    REAL(fsync);
    if (fails("fsync")) return -1;
    return real(fd);
}

int fdatasync(int fd) {
    REAL(fdatasync);
    if (fails("fsync")) return -1;
    return real(fd);
}

int rename(const char *from, const char *to) {
    REAL(rename);
    if (fails("rename")) return -1;
    return real(from, to);
}

int ftruncate(int fd, off_t length) {
    REAL(ftruncate);
    if (fails("ftruncate")) return -1;
    return real(fd, length);
}

int ftruncate64(int fd, off64_t length) {
    REAL(ftruncate64);
    if (fails("ftruncate")) return -1;
    return real(fd, length);
}

/* Only files of the store and its keys fail to open, so that the program itself can be loaded. */
static int is_of_store(const char *path) {
    const char *folder = getenv("FAULT_FOLDER");
    return folder && strncmp(path, folder, strlen(folder)) == 0;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = va_arg(rest, mode_t); \
        va_end(rest); \
        if (is_of_store(path) && fails("open")) return -1; \
        return real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t at) {
    REAL(mmap);
    if (fd > 2 && (flags & MAP_SHARED) && fails("mmap")) return MAP_FAILED;
    return real(address, length, protection, flags, fd, at);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(clock_gettime);
    int result = real(clock, now);
    const char *shift = getenv("CLOCK_SHIFT");
    if (result == 0 && shift && clock == CLOCK_REALTIME) now->tv_sec += atoll(shift);
    return result;
}
