/* The bare loop: the least that a load generator can do over TCP, as a ceiling for the others.
 *
 * One thread, one epoll loop, N connections. It writes one fixed request and waits for as many bytes as the reply is
 * known to have, then writes again. It neither parses nor checks nor takes times nor records: it only counts. What it
 * reaches is what the kernel leaves to a generator; it is no measuring tool.
 *
 *   bare ADDRESS PORT CONNECTIONS SECONDS REPLY_BYTES REQUESTS_PER_WRITE REQUEST_FILE
 *
 * REQUEST_FILE holds what is written at once; with pipelining it holds REQUESTS_PER_WRITE requests, and REPLY_BYTES is
 * the length of all their replies. Prints one line of JSON. Exit codes: 0 done, 1 broke, 2 wrong arguments. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CONNECTIONS = 65536, MOST_REQUEST_BYTES = 65536, BUFFER_BYTES = 1 << 18, EVENTS = 512 };

static size_t missing[MOST_CONNECTIONS]; /* bytes of the reply still to come, by descriptor */
static char request[MOST_REQUEST_BYTES], buffer[BUFFER_BYTES];
static size_t request_bytes;
static volatile sig_atomic_t over;

static void on_alarm(int signal) {
    (void)signal;
    over = 1;
}

static void broke(const char *what) {
    fprintf(stderr, "bare: %s: %s\n", what, errno ? strerror(errno) : "unexpected");
    exit(1);
}

static unsigned long number(const char *name, const char *text, unsigned long least, unsigned long most) {
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || *end || end == text || value < least || value > most) {
        fprintf(stderr, "bare: %s is `%s`, allowed: %lu to %lu\n", name, text, least, most);
        exit(2);
    }
    return value;
}

static void read_request(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "bare: `%s`: %s\n", path, strerror(errno));
        exit(2);
    }
    request_bytes = fread(request, 1, sizeof request, file);
    fclose(file);
    if (request_bytes == 0 || request_bytes == sizeof request) {
        fprintf(stderr, "bare: `%s` must hold 1 to %d bytes\n", path, MOST_REQUEST_BYTES - 1);
        exit(2);
    }
}

/* Requests are far smaller than a socket's buffer, which is empty here: a short write is a failure. */
static void ask(int descriptor, size_t reply_bytes) {
    if (send(descriptor, request, request_bytes, MSG_NOSIGNAL) != (ssize_t)request_bytes)
        broke("write");
    missing[descriptor] = reply_bytes;
}

static int open_connection(const struct sockaddr_in *address) {
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (descriptor < 0 || descriptor >= MOST_CONNECTIONS)
        broke("socket");
    if (connect(descriptor, (const struct sockaddr *)address, sizeof *address))
        broke("connect");
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return descriptor;
}

/* Reads what is there; 1 when that ends the reply. Replies do not overlap, so more than is missing is a wrong length. */
static int reply_ended(int descriptor) {
    ssize_t got = recv(descriptor, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got <= 0)
        broke(got ? "read" : "the server closed a connection");
    if ((size_t)got > missing[descriptor]) {
        errno = 0;
        broke("the reply is longer than REPLY_BYTES");
    }
    missing[descriptor] -= (size_t)got;
    return missing[descriptor] == 0;
}

int main(int count, char **arguments) {
    if (count != 8) {
        fputs("usage: bare ADDRESS PORT CONNECTIONS SECONDS REPLY_BYTES REQUESTS_PER_WRITE REQUEST_FILE\n", stderr);
        return 2;
    }
    struct sockaddr_in address = {.sin_family = AF_INET};
    if (inet_pton(AF_INET, arguments[1], &address.sin_addr) != 1) {
        fprintf(stderr, "bare: ADDRESS is `%s`, allowed: an IPv4 address\n", arguments[1]);
        return 2;
    }
    address.sin_port = htons((in_port_t)number("PORT", arguments[2], 1, 65535));
    unsigned long connections = number("CONNECTIONS", arguments[3], 1, MOST_CONNECTIONS - 64);
    unsigned long seconds = number("SECONDS", arguments[4], 1, 86400);
    size_t reply_bytes = number("REPLY_BYTES", arguments[5], 1, 1UL << 40);
    unsigned long per_write = number("REQUESTS_PER_WRITE", arguments[6], 1, 10000);
    read_request(arguments[7]);

    int poll = epoll_create1(EPOLL_CLOEXEC), *descriptors = calloc(connections, sizeof *descriptors);
    if (poll < 0 || !descriptors)
        broke("epoll");
    for (unsigned long i = 0; i < connections; i++) {
        descriptors[i] = open_connection(&address);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptors[i]};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, descriptors[i], &event))
            broke("epoll_ctl");
    }

    struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART: it ends epoll_wait */
    sigaction(SIGALRM, &action, NULL);
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    alarm((unsigned)seconds);
    for (unsigned long i = 0; i < connections; i++)
        ask(descriptors[i], reply_bytes);
    unsigned long replies = 0;
    struct epoll_event events[EVENTS];
    while (!over) {
        int ready = epoll_wait(poll, events, EVENTS, -1);
        if (ready < 0 && errno != EINTR)
            broke("epoll_wait");
        for (int i = 0; i < ready; i++) {
            if (reply_ended(events[i].data.fd)) {
                replies++;
                ask(events[i].data.fd, reply_bytes);
            }
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    double took = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    printf("{\"requests\": %lu, \"seconds\": %.6f}\n", replies * per_write, took);
    return 0;
}
