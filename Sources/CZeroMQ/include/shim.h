#include <zmq.h>
#include <errno.h>

/* libzmq 4.3 knows it, and declares it among its drafts alone. */
#ifndef ZMQ_ZAP_ENFORCE_DOMAIN
#define ZMQ_ZAP_ENFORCE_DOMAIN 93
#endif
