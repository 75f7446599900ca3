#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

int hg_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int hg_pipe(int descriptors[2], int nonblocking) {
    return pipe2(descriptors, O_CLOEXEC | (nonblocking ? O_NONBLOCK : 0));
}

int hg_signalfd(const int *signals, size_t count) {
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < count; i++) {
        if (sigaddset(&set, signals[i]) != 0) return -1;
    }
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int hg_signalfd_next(int descriptor) {
    struct signalfd_siginfo info;
    ssize_t count;
    do {
        count = read(descriptor, &info, sizeof info);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return errno == EAGAIN ? 0 : -1;
    return count == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}

void hg_thread_name(const char *name) {
    char kept[16];
    strncpy(kept, name, sizeof kept - 1);
    kept[sizeof kept - 1] = 0;
    pthread_setname_np(pthread_self(), kept);
}

int hg_parent_death_signal(int signal) {
    return prctl(PR_SET_PDEATHSIG, (unsigned long)signal, 0, 0, 0);
}

int hg_identity(const char *path, uint64_t *inode, int64_t *birth_ns) {
    struct statx found;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &found) != 0) return -1;
    *inode = found.stx_ino;
    *birth_ns = (found.stx_mask & STATX_BTIME)
        ? (int64_t)found.stx_btime.tv_sec * 1000000000 + found.stx_btime.tv_nsec
        : 0;
    return 0;
}
