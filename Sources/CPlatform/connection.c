#define _GNU_SOURCE
#include "CPlatform.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int cookie_of(int descriptor, uint64_t *cookie) {
    socklen_t size = sizeof *cookie;
    return getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, cookie, &size);
}

int hg_connection(int descriptor, struct hg_connection *found) {
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    memset(found, 0, sizeof *found);
    if (cookie_of(descriptor, &found->cookie) != 0) return -1;
    if (getpeername(descriptor, (struct sockaddr *)&peer, &size) != 0) return -1;
    if (peer.ss_family == AF_INET) {
        found->address[10] = found->address[11] = 0xff;
        memcpy(found->address + 12, &((struct sockaddr_in *)&peer)->sin_addr, 4);
    } else if (peer.ss_family == AF_INET6) {
        memcpy(found->address, &((struct sockaddr_in6 *)&peer)->sin6_addr, 16);
    } else {
        struct ucred user;
        socklen_t user_size = sizeof user;
        if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &user, &user_size) != 0) return -1;
        found->is_local = 1;
        found->uid = user.uid;
    }
    return 0;
}

int hg_cut(int descriptor, uint64_t cookie) {
    // Its owner may close it at any time, and its number go to another: not that of the copy.
    int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return -1;
    uint64_t found = 0;
    int result = cookie_of(copy, &found);
    if (result == 0 && found != cookie) result = -1;
    if (result == 0) {
        // The peer hears of it at once, even while there is no room for what it sends.
        struct linger none = {.l_onoff = 1, .l_linger = 0};
        setsockopt(copy, SOL_SOCKET, SO_LINGER, &none, sizeof none);
        result = shutdown(copy, SHUT_RDWR);
    }
    close(copy);
    return result;
}

int64_t hg_bytes_received(int descriptor, uint64_t cookie) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    uint64_t found = 0;
    memset(&info, 0, sizeof info);
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return -1;
    if (cookie_of(descriptor, &found) != 0 || found != cookie) return -1;
    if (size < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received) return -1;
    return (int64_t)info.tcpi_bytes_received;
}
