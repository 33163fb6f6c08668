// What anyone would write: moves a file in blocks, by threads, and prints bytes and seconds.
//
//   naive read|pread|mmap|write|pwrite FILE SIZE BLOCK sequential|random THREADS MS
//         warm|cold|direct none|fdatasync|fsync EVERY
//   naive loop read|write|copy|triad BYTES THREADS MS
//
// Each thread has blocks of its own, passes over them until the time is up, and sums what it reads.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const char *way, *path, *sync_call;
static long size, block, threads, every;
static double limit;
static int shuffled, flags, is_cold;
static pthread_barrier_t start;

struct lane { long first, count, bytes; uint64_t sum; double begin, end; };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void fail(const char *what) { perror(what); exit(1); }

static void settle(int file) {
    int failed = !strcmp(sync_call, "fdatasync") ? fdatasync(file)
               : !strcmp(sync_call, "fsync") ? fsync(file) : 0;
    if (failed) fail(sync_call);
}

static uint64_t sum_of(const uint64_t *words, long bytes) {
    uint64_t sum = 0;
    for (long i = 0; i < bytes / 8; i++) sum += words[i];
    return sum;
}

static void *work(void *argument) {
    struct lane *lane = argument;
    int writes = strchr(way, 'w') != NULL, maps = !strcmp(way, "mmap");
    int file = open(path, (writes ? O_WRONLY : O_RDONLY) | flags);
    if (file < 0) fail(path);
    long *order = malloc(lane->count * sizeof *order);
    for (long i = 0; i < lane->count; i++) order[i] = lane->first + i;
    for (long i = lane->count - 1; shuffled && i > 0; i--) {
        long j = random() % (i + 1), other = order[i];
        order[i] = order[j], order[j] = other;
    }
    char *buffer = aligned_alloc(4096, (block + 4095) / 4096 * 4096), *map = NULL;
    memset(buffer, 0x5a, block);
    pthread_barrier_wait(&start);
    lane->begin = now();
    double until = lane->begin + limit;
    do {
        if (maps && (map = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0)) == MAP_FAILED)
            fail("mmap");
        for (long i = 0; i < lane->count; i++) {
            long at = order[i] * block, did = block;
            if (writes) {
                *(uint64_t *)buffer = at + lane->bytes;
                if (!strcmp(way, "write")) lseek(file, at, SEEK_SET);
                did = !strcmp(way, "write") ? write(file, buffer, block)
                                            : pwrite(file, buffer, block, at);
                if (every && (lane->bytes / block + 1) % every == 0) settle(file);
            } else if (maps) {
                lane->sum += sum_of((uint64_t *)(map + at), block);
            } else {
                if (!strcmp(way, "read")) lseek(file, at, SEEK_SET);
                did = !strcmp(way, "read") ? read(file, buffer, block)
                                           : pread(file, buffer, block, at);
                lane->sum += sum_of((uint64_t *)buffer, did);
            }
            if (did != block) fail("a block");
            lane->bytes += did;
            if (now() > until) break;
        }
        if (maps) munmap(map, size);
    } while (now() < until && !is_cold && !(writes && !every && strcmp(sync_call, "none")));
    if (writes) settle(file);
    lane->end = now();
    return NULL;
}

static void prepare(char **words) {
    way = words[1], path = words[2], size = atol(words[3]), block = atol(words[4]);
    shuffled = !strcmp(words[5], "random"), threads = atol(words[6]), limit = atof(words[7]) / 1e3;
    is_cold = !strcmp(words[8], "cold"), flags = !strcmp(words[8], "direct") ? O_DIRECT : 0;
    sync_call = words[9], every = atol(words[10]);
    int file = open(path, O_RDONLY);
    if (file < 0) fail(path);
    if (is_cold) posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    char *all = malloc(1 << 20);
    while (!strcmp(words[8], "warm") && read(file, all, 1 << 20) > 0) {}
}

// A loop over arrays that have SIZE bytes together.
static void *loop(void *argument) {
    struct lane *lane = argument;
    long arrays = !strcmp(path, "copy") ? 2 : !strcmp(path, "triad") ? 3 : 1;
    long count = size / threads / arrays / 8;
    double *a = aligned_alloc(1 << 21, (count * 8 * arrays | ((1 << 21) - 1)) + 1);
    madvise(a, count * 8 * arrays, MADV_HUGEPAGE);
    for (long i = 0; i < count * arrays; i++) a[i] = i;
    double *b = a + count, *c = b + count;
    pthread_barrier_wait(&start);
    lane->begin = now();
    do {
        if (!strcmp(path, "read"))
            lane->sum += sum_of((uint64_t *)a, count * 8);
        else if (!strcmp(path, "write"))
            for (long i = 0; i < count; i++) a[i] = lane->bytes;
        else if (!strcmp(path, "copy"))
            for (long i = 0; i < count; i++) a[i] = b[i];
        else
            for (long i = 0; i < count; i++) a[i] = b[i] + 3 * c[i];
        __asm__ volatile("" : : "r"(a) : "memory");
        lane->bytes += count * 8 * arrays;
    } while (now() < lane->begin + limit);
    lane->end = now();
    return NULL;
}

int main(int count, char **words) {
    void *(*task)(void *) = work;
    if (count == 6 && !strcmp(words[1], "loop")) {
        path = words[2], size = atol(words[3]), threads = atol(words[4]);
        limit = atof(words[5]) / 1e3, block = 1, task = loop;
    } else if (count != 11) return 2;
    else prepare(words);
    pthread_barrier_init(&start, NULL, threads);
    pthread_t ids[threads];
    struct lane lanes[threads];
    memset(lanes, 0, sizeof lanes);
    long blocks = size / block;
    for (long i = 0; i < threads; i++) {
        lanes[i].first = blocks * i / threads;
        lanes[i].count = blocks * (i + 1) / threads - lanes[i].first;
        pthread_create(&ids[i], NULL, task, &lanes[i]);
    }
    double begin = 1e300, end = 0;
    long bytes = 0;
    uint64_t sum = 0;
    for (long i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        begin = lanes[i].begin < begin ? lanes[i].begin : begin;
        end = lanes[i].end > end ? lanes[i].end : end;
        bytes += lanes[i].bytes, sum += lanes[i].sum;
    }
    printf("%ld %.9f %lx\n", bytes, end - begin, sum);
    return 0;
}
