/* A consent switch: opens and closes the gate, and doesn't end before the host has said what became of it.
 *
 *     cc -o consent-switch consent_switch.c -lzmq && ./consent-switch pause TICKET-123
 *
 * give opens the gate, pause closes it and lets events wait, deny closes it and drops them, withdraw kills.
 * Status: 0 done, 1 refused, 2 wrong arguments, 3 no host answered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <zmq.h>

enum { ATTEMPTS = 15, REPLY_MS = 2000 };

static const struct { const char *word, *request; } words[] = {
    {"give", "\"command\":\"startOperation\""},
    {"pause", "\"command\":\"holdOperation\",\"gatedEvents\":\"queue\""},
    {"deny", "\"command\":\"holdOperation\",\"gatedEvents\":\"discard\""},
    {"withdraw", "\"command\":\"kill\""},
};

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

/* One request and its reply, on a socket of its own; 0 without a reply in time. */
static int ask(void *context, const char *request, char *reply, size_t room) {
    void *socket = zmq_socket(context, ZMQ_REQ);
    int linger = 0, got = -1;
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    join(socket, "HOLDGATE_CONTROL", "tcp://127.0.0.1:5570");
    zmq_send(socket, request, strlen(request), 0);
    zmq_pollitem_t item = {socket, 0, ZMQ_POLLIN, 0};
    if (zmq_poll(&item, 1, REPLY_MS) > 0) got = zmq_recv(socket, reply, room - 1, 0);
    zmq_close(socket);
    if (got < 0) return 0;
    reply[(size_t)got < room - 1 ? (size_t)got : room - 1] = 0;
    return 1;
}

int main(int count, char **arguments) {
    const char *request = NULL, *reason = count == 3 ? arguments[2] : "";
    for (size_t at = 0; count > 1 && at < sizeof words / sizeof *words; at++)
        if (strcmp(arguments[1], words[at].word) == 0) request = words[at].request;
    if (!request || count > 3 || strlen(reason) > 256 || strpbrk(reason, "\"\\")) {
        fprintf(stderr, "usage: consent-switch give|pause|deny|withdraw [REASON]\n");
        return 2;
    }
    /* Under one key the host executes the command once, however often it is asked: so it may be asked again whenever
     * a reply is missing. The reason stays in the history for good: a ticket, not a person. */
    unsigned long long random;
    char text[1024], reply[65536];
    if (getrandom(&random, sizeof random, 0) != sizeof random) return 1;
    snprintf(text, sizeof text, "{\"v\":1,%s,\"key\":\"%016llx\",\"source\":\"consent-switch\",\"reason\":\"%s\"}",
             request, random, reason);

    void *context = zmq_ctx_new();
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (!ask(context, text, reply, sizeof reply)) continue;
        /* `internal`: the host failed, and the next one knows by the key whether it was done. */
        if (strstr(reply, "\"code\":\"internal\"") || strstr(reply, "\"code\":\"shuttingDown\"")) {
            nanosleep(&(struct timespec){0, 500000000}, NULL);
            continue;
        }
        puts(reply);
        zmq_ctx_term(context);
        /* Within a string a quotation mark would be escaped, so this can be nothing but the member. */
        return strstr(reply, "\"ok\":true") ? 0 : 1;
    }
    fprintf(stderr, "no host answered: the gate is as it was, or as you asked; ask again\n");
    return 3;
}
