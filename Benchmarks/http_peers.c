// Clients of http.py: so many requests at a time, each sent again as soon as it is answered, over HTTP or over ZeroMQ.
//
//   http_peers http HOST PORT CONNECTIONS EVENTS SECONDS     POST /v1/events, a connection each
//   http_peers zmq ADDRESS BATCHES EVENTS SECONDS            ingest, over one DEALER socket
//
// Prints requests a second, and the median and the 99th percentile of their times in microseconds.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#define MAX 256
#define EVENT                                                                                                      \
    "{\"specversion\":\"1.0\",\"id\":\"0123456789abcdef\",\"source\":\"/bench/web\",\"type\":\"demo.clicked\","       \
    "\"time\":\"2026-03-01T12:00:00.000Z\",\"data\":{\"button\":1,\"page\":\"/a/b/c\",\"text\":\"%0*d\"}}"

static double *took;
static size_t answered, capacity;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void note(double seconds) {
    if (answered == capacity) {
        capacity = capacity == 0 ? 1 << 16 : capacity * 2;
        took = realloc(took, capacity * sizeof *took);
        if (took == NULL) die("realloc");
    }
    took[answered++] = seconds;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(double seconds) {
    qsort(took, answered, sizeof *took, compare);
    printf("%.0f %.0f %.0f\n", (double)answered / seconds, took[answered / 2] * 1e6, took[answered * 99 / 100] * 1e6);
}

/// So many events of 200 bytes, one a line.
static char *lines(int events, size_t *size) {
    char one[512];
    int bare = snprintf(one, sizeof one, EVENT, 0, 0);
    int length = snprintf(one, sizeof one, EVENT "\n", 200 - bare, 0);
    char *all = malloc((size_t)length * (size_t)events + 1);
    for (int index = 0; index < events; index++) memcpy(all + (size_t)index * (size_t)length, one, (size_t)length);
    *size = (size_t)length * (size_t)events;
    return all;
}

struct client {
    int fd;
    double sent;
    size_t have;
    char buffer[4096];
};

static void post(struct client *client, const char *request, size_t size) {
    client->sent = now();
    client->have = 0;
    while (size > 0) {
        ssize_t count = write(client->fd, request, size);
        if (count <= 0) die("write");
        request += count;
        size -= (size_t)count;
    }
}

/// Whether the answer is whole.
static int take(struct client *client) {
    ssize_t count = read(client->fd, client->buffer + client->have, sizeof client->buffer - 1 - client->have);
    if (count <= 0) die("read");
    client->have += (size_t)count;
    client->buffer[client->have] = 0;
    char *end = strstr(client->buffer, "\r\n\r\n");
    if (end == NULL) return 0;
    if (strncmp(client->buffer, "HTTP/1.1 202", 12) != 0) {
        fprintf(stderr, "%s\n", client->buffer);
        exit(1);
    }
    char *length = strstr(client->buffer, "Content-Length: ");
    if (length == NULL) die("no length");
    return client->have >= (size_t)(end + 4 - client->buffer) + strtoul(length + 16, NULL, 10);
}

static void http(const char *host, int port, int connections, int events, double seconds) {
    size_t size;
    char *body = lines(events, &size), *request = malloc(size + 512);
    int head = sprintf(request,
        "POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\nContent-Length: %zu\r\n\r\n",
        size);
    memcpy(request + head, body, size);
    size += (size_t)head;
    static struct client clients[MAX];
    struct pollfd items[MAX];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, host, &address.sin_addr);
    for (int index = 0; index < connections; index++) {
        int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) die("connect");
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        clients[index].fd = fd;
        items[index] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    double begin = now();
    for (int index = 0; index < connections; index++) post(&clients[index], request, size);
    while (now() - begin < seconds) {
        if (poll(items, (nfds_t)connections, 10000) <= 0) die("poll");
        for (int index = 0; index < connections; index++) {
            if (items[index].revents == 0 || !take(&clients[index])) continue;
            note(now() - clients[index].sent);
            post(&clients[index], request, size);
        }
    }
    report(now() - begin);
}

static void zeromq(const char *address, int batches, int events, double seconds) {
    size_t size;
    char *body = lines(events, &size), reply[4096];
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_DEALER);
    static double sent[1 << 24];
    uint32_t next = 0;
    if (zmq_connect(socket, address) != 0) die("connect");
    double begin = now();
    for (int under_way = 0; now() - begin < seconds;) {
        for (; under_way < batches; under_way++) {
            char header[64];
            int length = sprintf(header, "{\"id\":%u}", ++next);
            sent[next] = now();
            zmq_send(socket, header, (size_t)length, ZMQ_SNDMORE);
            zmq_send(socket, body, size, 0);
        }
        int length = zmq_recv(socket, reply, sizeof reply - 1, 0);
        if (length < 0) die("recv");
        reply[length] = 0;
        char *id = strstr(reply, "\"id\":");
        if (id == NULL || strstr(reply, "\"ok\":true") == NULL) {
            fprintf(stderr, "%s\n", reply);
            exit(1);
        }
        note(now() - sent[strtoul(id + 5, NULL, 10)]);
        under_way--;
    }
    report(now() - begin);
}

int main(int count, char **words) {
    if (count == 7 && strcmp(words[1], "http") == 0)
        http(words[2], atoi(words[3]), atoi(words[4]), atoi(words[5]), atof(words[6]));
    else if (count == 6 && strcmp(words[1], "zmq") == 0)
        zeromq(words[2], atoi(words[3]), atoi(words[4]), atof(words[5]));
    else
        return fprintf(stderr, "see the head of http_peers.c\n"), 2;
    return 0;
}
