#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// The child runs in our memory until it executes: only system calls, and what it found is left in `failed`.
struct order {
    const struct hg_spawn *spawn;
    pid_t parent;
    int output;
    volatile int error;
    const char *volatile failed;
};

#define STACK_BYTES (64 << 10)

// ThreadSanitizer takes `clone` for a fork, and stops a child that shares our memory. By this name it leaves it alone.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
extern int __clone(int (*)(void *), void *, int, void *, ...);
#define clone __clone
#endif
#endif

static int fail(struct order *order, const char *call) {
    order->error = errno;
    order->failed = call;
    return 127;
}

static void close_others(void) {
    if (close_range(3, ~0u, 0) == 0) return;
    // Before Linux 5.9.
    long limit = sysconf(_SC_OPEN_MAX);
    for (int fd = 3; fd < (limit < 0 ? 65536 : limit); fd++) close(fd);
}

static int child(void *argument) {
    struct order *order = argument;
    const struct hg_spawn *spawn = order->spawn;
    // Its own table of actions, since CLONE_SIGHAND is not set; handlers must not run in our memory.
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) sigaction(number, &standard, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return fail(order, "prctl");
    // A parent that was gone before that call sends nothing any more.
    if (getppid() != order->parent) return fail(order, "getppid");
    if (setpgid(0, 0) != 0) return fail(order, "setpgid");
    if (spawn->directory != NULL && chdir(spawn->directory) != 0) return fail(order, "chdir");
    int null = open("/dev/null", O_RDONLY);
    if (null < 0) return fail(order, "open /dev/null");
    // The pipe's end lies above 2: `hg_spawn` saw to that.
    if (dup2(null, 0) < 0 || dup2(order->output, 1) < 0 || dup2(order->output, 2) < 0)
        return fail(order, "dup2");
    close_others();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(spawn->executable, spawn->arguments, spawn->environment);
    return fail(order, "exec");
}

// A descriptor that dup2 to 0, 1 or 2 can't overwrite.
static int above_standard(int fd) {
    if (fd > 2) return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return moved;
}

int hg_spawn(const struct hg_spawn *spawn, struct hg_child *out, const char **failed) {
    int ends[2];
    *failed = "pipe";
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    ends[0] = above_standard(ends[0]);
    ends[1] = above_standard(ends[1]);
    struct order order = {.spawn = spawn, .parent = getpid(), .output = ends[1]};
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    sigset_t all, before;
    sigfillset(&all);
    int pid = -1, pidfd = -1;
    if (ends[0] >= 0 && ends[1] >= 0 && stack != MAP_FAILED && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0) {
        pthread_sigmask(SIG_SETMASK, &all, &before);
        *failed = "clone";
        pid = clone(child, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &order, &pidfd);
        int error = errno;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        errno = error;
    }
    int error = errno;
    if (pid > 0 && order.failed != NULL) {
        error = order.error;
        *failed = order.failed;
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
        close(pidfd);
        pid = -1;
    }
    if (stack != MAP_FAILED) munmap(stack, STACK_BYTES);
    if (ends[1] >= 0) close(ends[1]);
    if (pid < 0) {
        if (ends[0] >= 0) close(ends[0]);
        errno = error;
        return -1;
    }
    out->pid = pid;
    out->pidfd = pidfd;
    out->output = ends[0];
    return 0;
}

int hg_reap(int pidfd, int wait, int *exit_status, int *signal) {
    siginfo_t info = {0};
    int result;
    do {
        result = waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | (wait ? 0 : WNOHANG));
    } while (result != 0 && errno == EINTR);
    if (result != 0) return -1;
    if (info.si_pid == 0) return 0;
    *exit_status = info.si_code == CLD_EXITED ? info.si_status : -1;
    *signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
    return 1;
}
