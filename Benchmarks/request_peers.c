// The peers of request.py: an echo over REP, a provider of the service `echo`, a client that times round trips, and a
// forwarder that looks at nothing it passes on, with an echo behind it: what any process between the two costs.
//
//   request_peers rep ADDRESS
//   request_peers provider ADDRESS
//   request_peers forwarder ADDRESS ADDRESS       the clients', the echo's
//   request_peers echo ADDRESS
//   request_peers client ADDRESS COUNT REQUEST     one line a round trip: its microseconds
//
// Whoever listens or is welcomed prints `ready`. C, so that what is measured is the bus and the host.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

static char bytes[1 << 16];

static int take(void *socket)
{
	int count = zmq_recv(socket, bytes, sizeof bytes - 1, 0);
	if (count < 0 || count >= (int)sizeof bytes)
		exit(1);
	bytes[count] = 0;
	return count;
}

static int hasMore(void *socket)
{
	int more;
	size_t size = sizeof more;
	zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size);
	return more;
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

/// Binds and prints where.
static void *listener(void *context, int kind, const char *address)
{
	void *socket = zmq_socket(context, kind);
	if (zmq_bind(socket, address) != 0)
		exit(1);
	char endpoint[256];
	size_t size = sizeof endpoint;
	zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size);
	puts(endpoint);
	fflush(stdout);
	return socket;
}

/// Passes on whole messages until none waits.
static void pass(void *from, void *to)
{
	int count;
	while ((count = zmq_recv(from, bytes, sizeof bytes, ZMQ_DONTWAIT)) >= 0)
		zmq_send(to, bytes, count, hasMore(from) ? ZMQ_SNDMORE : 0);
}

static void forwarder(void *context, const char *front, const char *back)
{
	void *clients = listener(context, ZMQ_ROUTER, front), *echo = listener(context, ZMQ_DEALER, back);
	zmq_pollitem_t items[] = {{clients, 0, ZMQ_POLLIN, 0}, {echo, 0, ZMQ_POLLIN, 0}};
	while (zmq_poll(items, 2, -1) >= 0) {
		if (items[0].revents)
			pass(clients, echo);
		if (items[1].revents)
			pass(echo, clients);
	}
}

static void echo(void *context, const char *address)
{
	void *socket = zmq_socket(context, ZMQ_DEALER);
	zmq_connect(socket, address);
	ready();
	for (;;) {
		int count = zmq_recv(socket, bytes, sizeof bytes, 0);
		zmq_send(socket, bytes, count, hasMore(socket) ? ZMQ_SNDMORE : 0);
	}
}

static void rep(void *context, const char *address)
{
	void *socket = listener(context, ZMQ_REP, address);
	for (;;)
		zmq_send(socket, bytes, take(socket), 0);
}

static void provider(void *context, const char *address)
{
	static const char hello[] =
		"{\"type\":\"hello\",\"v\":1,\"name\":\"echo\",\"version\":\"1\",\"services\":[\"echo\"]}";
	static const char heartbeat[] = "{\"type\":\"heartbeat\"}";
	void *socket = zmq_socket(context, ZMQ_DEALER);
	zmq_connect(socket, address);
	zmq_send(socket, hello, sizeof hello - 1, 0);
	for (;;) {
		take(socket);
		char *id = strstr(bytes, "\"id\":"), *arguments = strstr(bytes, "\"arguments\":");
		if (strstr(bytes, "\"type\":\"request\"") && id && arguments) {
			char *end = strstr(arguments, ",\"timeoutMs\"");
			char result[sizeof bytes];
			int count = snprintf(result, sizeof result, "{\"type\":\"result\",\"id\":%llu,\"value\":%.*s}",
				strtoull(id + 5, NULL, 10), (int)(end - arguments - 12), arguments + 12);
			zmq_send(socket, result, count, 0);
		} else if (strstr(bytes, "\"type\":\"heartbeat\"")) {
			zmq_send(socket, heartbeat, sizeof heartbeat - 1, 0);
		} else if (strstr(bytes, "\"type\":\"welcome\"")) {
			ready();
		}
	}
}

static double microseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static void client(void *context, const char *address, int count, const char *request)
{
	void *socket = zmq_socket(context, ZMQ_REQ);
	zmq_connect(socket, address);
	for (int number = -count / 10; number < count; number++) {
		double begin = microseconds();
		zmq_send(socket, request, strlen(request), 0);
		take(socket);
		double took = microseconds() - begin;
		if (strstr(bytes, "\"ok\":false")) {
			fputs(bytes, stderr);
			exit(1);
		}
		if (number >= 0)
			printf("%.1f\n", took);
	}
}

int main(int count, char **words)
{
	void *context = zmq_ctx_new();
	if (count == 3 && !strcmp(words[1], "rep"))
		rep(context, words[2]);
	else if (count == 3 && !strcmp(words[1], "provider"))
		provider(context, words[2]);
	else if (count == 4 && !strcmp(words[1], "forwarder"))
		forwarder(context, words[2], words[3]);
	else if (count == 3 && !strcmp(words[1], "echo"))
		echo(context, words[2]);
	else if (count == 5 && !strcmp(words[1], "client"))
		client(context, words[2], atoi(words[3]), words[4]);
	else
		return 64;
	return 0;
}
