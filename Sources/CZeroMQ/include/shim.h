#include <zmq.h>
#include <errno.h>
