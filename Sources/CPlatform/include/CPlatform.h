// What Linux gives and Swift's Glibc module doesn't. Only thin calls: whatever decides is in Swift.
//
// Every function that can fail returns -1 and leaves `errno`, unless it says otherwise.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A non-blocking eventfd that is closed on exec.
int hg_eventfd(void);

/// A pipe, both ends closed on exec; non-blocking ones if `nonblocking` is not 0.
int hg_pipe(int descriptors[2], int nonblocking);

/// A non-blocking signalfd, closed on exec, for these signals. They must be blocked already.
int hg_signalfd(const int *signals, size_t count);

/// Reads one signal from a signalfd: its number, or 0 if there is none.
int hg_signalfd_next(int descriptor);

/// Names the calling thread; the kernel keeps the first 15 bytes.
void hg_thread_name(const char *name);

/// The calling process gets this signal when the thread that started it ends. `signal` 0: none.
int hg_parent_death_signal(int signal);

/// What to start. All strings end in 0, both lists in NULL.
struct hg_spawn {
    const char *executable;
    char *const *arguments;
    char *const *environment;
    /// Where it starts; NULL: where the caller is.
    const char *directory;
};

struct hg_child {
    int pid;
    /// Readable once it has ended.
    int pidfd;
    /// What it writes to its standard output and error; non-blocking.
    int output;
};

/// Starts a process: in a process group of its own, killed when the calling thread ends (however that comes),
/// with no signal blocked or ignored, standard input from /dev/null, and no descriptor but the first three.
/// `failed` says which call it was that failed.
int hg_spawn(const struct hg_spawn *spawn, struct hg_child *child, const char **failed);

/// Takes a child's end: 1 and its exit status, or -1 there and its signal; 0 if it still runs.
int hg_reap(int pidfd, int wait, int *exit_status, int *signal);

/// What a connected socket is, and who is at its other end.
struct hg_connection {
    /// No other socket ever has it.
    uint64_t cookie;
    /// Not 0: a local socket, of a process of the user `uid`. Otherwise `address`: IPv6, or IPv4 mapped into it.
    int is_local;
    uint32_t uid;
    uint8_t address[16];
};

/// Looks at a descriptor that somebody else owns.
int hg_connection(int descriptor, struct hg_connection *found);

/// Ends the connection in both directions, if the descriptor is still that of this cookie; -1 if not.
int hg_cut(int descriptor, uint64_t cookie);

/// Bytes that ever came in over a TCP connection, read or not; -1 if it is none, or not that of this cookie.
int64_t hg_bytes_received(int descriptor, uint64_t cookie);

/// Inode and birth time (nanoseconds since 1970) of what is at `path`, symbolic links not followed.
/// `birth_ns` is 0 where the file system has none.
int hg_identity(const char *path, uint64_t *inode, int64_t *birth_ns);

/// CRC-32C (Castagnoli). `seed` is 0, or the result for the bytes before: crc(crc(0, a), b) = crc(0, ab).
/// Uses the processor's instruction where there is one.
uint32_t hg_crc32c(uint32_t seed, const void *bytes, size_t count);

/// The same by tables alone, on any processor.
uint32_t hg_crc32c_portable(uint32_t seed, const void *bytes, size_t count);

#ifdef __cplusplus
}
#endif
