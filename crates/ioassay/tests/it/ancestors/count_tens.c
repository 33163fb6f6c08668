/* Counts the 10s in a file of integers that it maps: `count_tens loop|unrolled FILE`.
 *
 * Its clock runs while it counts, so page faults are in the time, and a loop that the compiler did
 * not vectorize decides the result. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static size_t loop(const int *values, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i] == 10) { found++; }
    }
    return found;
}

/* 16 counters, so that no addition waits for the one before it. */
static size_t unrolled(const int *values, size_t count) {
    int counts[16] = {0};
    for (size_t i = 0; i + 16 <= count; i += 16) {
        for (int k = 0; k < 16; k++) { counts[k] += values[i + k] == 10; }
    }
    size_t found = 0;
    for (int k = 0; k < 16; k++) { found += (size_t)counts[k]; }
    return found;
}

int main(int argc, char **argv) {
    struct stat about;
    int file = argc == 3 ? open(argv[2], O_RDONLY) : -1;
    if (file < 0 || fstat(file, &about) != 0) { perror("count_tens loop|unrolled FILE"); return 2; }
    size_t bytes = (size_t)about.st_size;
    int *values = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    if (values == MAP_FAILED) { perror("mmap"); return 2; }
    double began = now();
    size_t count = bytes / sizeof(int);
    size_t found = strcmp(argv[1], "loop") == 0 ? loop(values, count) : unrolled(values, count);
    printf("%s found %zu 10s at %.2f GB/s\n", argv[1], found, (double)bytes / (now() - began) / 1e9);
    return 0;
}
