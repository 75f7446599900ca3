/* A producer: sends the events on its standard input, one a line, and sees to it that each is taken exactly once.
 *
 *     cc -o producer producer.c -lzmq && ./producer web-1 < events.ndjson
 *
 * A batch is sent again under its number until the host has answered: it takes a number once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <zmq.h>

enum { BATCH_BYTES = 256 << 10, BATCH_EVENTS = 1000, REPLY_MS = 5000 };

/* Connects to the address that the environment has: the first of several, parted by commas or as a JSON list. Over TCP
 * with the key that HOLDGATE_KEY_FILE names: JSON, in whose values nothing is escaped. */
static void join(void *socket, const char *name, const char *otherwise) {
    static const char *const names[] = {"\"publicKey\":\"", "\"secretKey\":\"", "\"hostKey\":\""};
    static const int options[] = {ZMQ_CURVE_PUBLICKEY, ZMQ_CURVE_SECRETKEY, ZMQ_CURVE_SERVERKEY};
    const char *set = getenv(name), *path = getenv("HOLDGATE_KEY_FILE"), *host = getenv("HOLDGATE_HOST_KEY");
    char address[256], text[4096] = "", key[41];
    snprintf(address, sizeof address, "%s", set && *set ? set + strspn(set, "[\"") : otherwise);
    address[strcspn(address, "\",]")] = 0;
    int keyed = path && *path && strncmp(address, "tcp:", 4) == 0, failed = 0;
    FILE *file = keyed ? fopen(path, "re") : NULL;
    if (file) text[fread(text, 1, sizeof text - 1, file)] = 0, fclose(file);
    for (int at = 0; keyed && at < 3; at++) {
        const char *found = strstr(text, names[at]);
        snprintf(key, sizeof key, "%.40s", at == 2 && host && *host ? host : found ? found + strlen(names[at]) : "");
        failed |= zmq_setsockopt(socket, options[at], key, strlen(key));
    }
    if (!failed && zmq_connect(socket, address) == 0) return;
    fprintf(stderr, "%s: %s\n", failed ? path : name, failed ? "not a whole key" : zmq_strerror(zmq_errno()));
    exit(2);
}

/* One request and its reply on a socket of its own, so that no late reply is taken for another's; 0 without one. */
static int ask(void *context, const char *header, const char *events, size_t bytes, char *reply, size_t room) {
    void *socket = zmq_socket(context, ZMQ_REQ);
    int linger = 0, got = -1;
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    join(socket, "HOLDGATE_INGEST", "tcp://127.0.0.1:5572");
    zmq_send(socket, header, strlen(header), ZMQ_SNDMORE);
    zmq_send(socket, events, bytes, 0);
    zmq_pollitem_t item = {socket, 0, ZMQ_POLLIN, 0};
    if (zmq_poll(&item, 1, REPLY_MS) > 0) got = zmq_recv(socket, reply, room - 1, 0);
    zmq_close(socket);
    if (got < 0) return 0;
    reply[(size_t)got < room - 1 ? (size_t)got : room - 1] = 0;
    return 1;
}

/* Returns once the batch is on the host's disk (1), or refused for good (0). */
static int send_batch(void *context, const char *name, const char *run, unsigned batch, const char *events,
                      size_t bytes) {
    char header[512], reply[65536];
    snprintf(header, sizeof header, "{\"v\":1,\"producer\":\"%s\",\"run\":\"%s\",\"batch\":%u}", name, run, batch);
    for (;;) {
        if (!ask(context, header, events, bytes, reply, sizeof reply)) continue; /* The host is away. */
        /* Within a string a quotation mark would be escaped, so these can be nothing but members. */
        if (strstr(reply, "\"ok\":true")) return 1;
        if (!strstr(reply, "\"retryable\":true")) {
            fprintf(stderr, "batch %u was refused: %s\n", batch, reply);
            return 0;
        }
        nanosleep(&(struct timespec){0, 500000000}, NULL); /* A full queue, or a gate that refuses: later. */
    }
}

int main(int count, char **arguments) {
    if (count != 2 || strlen(arguments[1]) > 128 || strpbrk(arguments[1], "\"\\")) {
        fprintf(stderr, "usage: producer NAME < EVENTS, a CloudEvent in JSON on each line\n");
        return 2;
    }
    /* Batch numbers belong to a run; a process is a run of its own. */
    unsigned long long random;
    char run[17];
    if (getrandom(&random, sizeof random, 0) != sizeof random) return 1;
    snprintf(run, sizeof run, "%016llx", random);

    void *context = zmq_ctx_new();
    char *events = NULL, *line = NULL;
    size_t bytes = 0, room = 0, capacity = 0, lines = 0;
    unsigned batch = 0, refused = 0;
    for (ssize_t length; (length = getline(&line, &room, stdin)) > 0;) {
        if (lines == BATCH_EVENTS || (lines > 0 && bytes + (size_t)length > BATCH_BYTES)) {
            refused += !send_batch(context, arguments[1], run, ++batch, events, bytes);
            bytes = lines = 0;
        }
        if (bytes + (size_t)length > capacity) events = realloc(events, capacity = 2 * (bytes + (size_t)length));
        if (!events) return 1;
        memcpy(events + bytes, line, (size_t)length);
        bytes += (size_t)length, lines++;
    }
    if (lines > 0) refused += !send_batch(context, arguments[1], run, ++batch, events, bytes);
    free(line), free(events);
    zmq_ctx_term(context);
    return refused > 0;
}
