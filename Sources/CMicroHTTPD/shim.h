// libmicrohttpd starts with a variable list of options, which Swift can't call: here they are a struct.
#pragma once

#include <microhttpd.h>
#include <netinet/in.h>
#include <stdint.h>

struct hg_http_settings {
    /// A bound, listening socket; the daemon closes it.
    int listener;
    unsigned threads;
    unsigned connections;
    unsigned connections_per_address;
    /// Bytes for a connection's head and its small buffers.
    size_t connection_bytes;
    /// Seconds without any traffic.
    unsigned idle_seconds;
    /// PEM texts; NULL: no TLS.
    const char *certificate;
    const char *private_key;
    MHD_AccessHandlerCallback access;
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback connection;
    void (*log)(void *context, const char *format, va_list arguments);
    void *context;
};

static inline struct MHD_Daemon *hg_http_start(const struct hg_http_settings *settings) {
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_END, 0, NULL}, {MHD_OPTION_END, 0, NULL}, {MHD_OPTION_END, 0, NULL}};
    if (settings->certificate != NULL) {
        flags |= MHD_USE_TLS;
        tls[0] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)settings->certificate};
        tls[1] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)settings->private_key};
    }
    struct MHD_OptionItem pool[] = {{MHD_OPTION_END, 0, NULL}, {MHD_OPTION_END, 0, NULL}};
    if (settings->threads > 1)
        pool[0] = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE, settings->threads, NULL};
    return MHD_start_daemon(
        flags, 0, NULL, NULL, settings->access, settings->context,
        // First: what is said of the other options goes to it.
        MHD_OPTION_EXTERNAL_LOGGER, settings->log, settings->context,
        MHD_OPTION_LISTEN_SOCKET, settings->listener,
        MHD_OPTION_CONNECTION_LIMIT, settings->connections,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, settings->connections_per_address,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, settings->connection_bytes,
        MHD_OPTION_CONNECTION_TIMEOUT, settings->idle_seconds,
        MHD_OPTION_NOTIFY_COMPLETED, settings->completed, settings->context,
        MHD_OPTION_NOTIFY_CONNECTION, settings->connection, settings->context,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        // Refuse what a proxy before us might read in another way.
        MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_ARRAY, tls, MHD_OPTION_ARRAY, pool, MHD_OPTION_END);
}

static inline int hg_http_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

static inline void *hg_http_socket_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}
