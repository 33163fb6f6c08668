/* Sums a file by threads: `read_threads mmap|pread THREADS FILE [uneven]`. Each thread has a range of
 * its own; if they are uneven, the first one has all. Its size must be a multiple of a block. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 1 << 20, WORDS = BLOCK / sizeof(long), THREADS_MAX = 64 };

struct range {
    int file;
    int is_mapped;
    off_t start;
    off_t end;
    unsigned long sum;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void fail(const char *what) {
    perror(what);
    exit(2);
}

static void *sum_of(void *given) {
    struct range *range = given;
    unsigned long *own = malloc(BLOCK);
    for (off_t at = range->start; at < range->end; at += BLOCK) {
        unsigned long *words = own;
        if (range->is_mapped) {
            words = mmap(NULL, BLOCK, PROT_READ, MAP_SHARED, range->file, at);
            if (words == MAP_FAILED) { fail("mmap"); }
        } else if (pread(range->file, own, BLOCK, at) != BLOCK) {
            fail("pread");
        }
        for (int i = 0; i < WORDS; i++) { range->sum += words[i]; }
        if (range->is_mapped) { munmap(words, BLOCK); }
    }
    free(own);
    return NULL;
}

int main(int argc, char **argv) {
    struct stat about;
    int count = argc >= 4 ? atoi(argv[2]) : 0;
    int file = count > 0 && count <= THREADS_MAX ? open(argv[3], O_RDONLY) : -1;
    if (file < 0 || fstat(file, &about) != 0) { fail("read_threads mmap|pread THREADS FILE"); }
    off_t bytes = about.st_size, part = argc > 4 ? bytes : bytes / BLOCK / count * BLOCK;
    struct range ranges[THREADS_MAX] = {0};
    pthread_t threads[THREADS_MAX];
    double began = now();
    for (int i = 0; i < count; i++) {
        off_t start = i * part < bytes ? i * part : bytes;
        off_t end = i < count - 1 && start + part < bytes ? start + part : bytes;
        ranges[i] = (struct range){file, strcmp(argv[1], "mmap") == 0, start, end, 0};
        pthread_create(&threads[i], NULL, sum_of, &ranges[i]);
    }
    unsigned long sum = 0;
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        sum += ranges[i].sum;
    }
    printf("sum %lu, %.0f MB/s\n", sum, (double)bytes / (now() - began) / 1e6);
    return 0;
}
