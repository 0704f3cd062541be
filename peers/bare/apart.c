/* How far apart two cores are: the time a cache line takes from one to the other and back, in nanoseconds.
 *
 *   apart CORE CORE
 *
 * On a virtual machine this changes under way: the hypervisor may run two virtual cores on neighbours that share a cache
 * and, seconds later, on cores that do not. A request over loopback moves some seventy cache lines between client and
 * server, so its cost changes with it, twofold and more. Takes some 20 ms. Prints one number, the median of batches.
 * Exit codes: 0 done, 1 broke, 2 wrong arguments. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 31, TRIPS = 1000, MOST_CORES = 1024, PATIENCE_NS = 500000000 };

static _Alignas(64) atomic_int ball;
static _Alignas(64) atomic_int over;

static void pin(int core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET((size_t)core, &cores);
    if (sched_setaffinity(0, sizeof cores, &cores)) {
        fprintf(stderr, "apart: core %d: %s\n", core, strerror(errno));
        exit(1);
    }
}

static double nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void *returner(void *core) {
    pin(*(int *)core);
    while (!over)
        if (ball == 1)
            ball = 0;
    return NULL;
}

static int ascending(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static double batch(void) {
    double from = nanoseconds();
    for (int trip = 0; trip < TRIPS; trip++) {
        ball = 1;
        for (unsigned looks = 1; ball; looks++) {
            if (looks % 65536 == 0 && nanoseconds() - from > PATIENCE_NS) {
                fputs("apart: the other core did not run\n", stderr);
                exit(1);
            }
        }
    }
    return (nanoseconds() - from) / TRIPS;
}

static int core(const char *text) {
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < 0 || value >= MOST_CORES) {
        fprintf(stderr, "apart: CORE is `%s`, allowed: 0 to %d\n", text, MOST_CORES - 1);
        exit(2);
    }
    return (int)value;
}

int main(int count, char **arguments) {
    if (count != 3) {
        fputs("usage: apart CORE CORE\n", stderr);
        return 2;
    }
    int here = core(arguments[1]), there = core(arguments[2]);
    pthread_t thread;
    if (here == there || pthread_create(&thread, NULL, returner, &there)) {
        fputs("apart: two different cores are needed\n", stderr);
        return 2;
    }
    pin(here);
    double times[BATCHES];
    batch(); /* the other thread is still starting */
    for (int i = 0; i < BATCHES; i++)
        times[i] = batch();
    over = 1;
    pthread_join(thread, NULL);
    qsort(times, BATCHES, sizeof *times, ascending);
    printf("%.1f\n", times[BATCHES / 2]);
    return 0;
}
