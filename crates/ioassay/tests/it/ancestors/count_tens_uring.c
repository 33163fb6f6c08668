/* Counts the 10s in a file of integers that io_uring reads past the page cache:
 * `count_tens_uring FILE`. Its size must be a multiple of a block. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum { BLOCK = 128 << 10, DEPTH = 16 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void submit(struct io_uring *ring, int file, int *buffer, long block) {
    struct io_uring_sqe *entry = io_uring_get_sqe(ring);
    io_uring_prep_read(entry, file, buffer, BLOCK, (__u64)block * BLOCK);
    io_uring_sqe_set_data(entry, buffer);
    io_uring_submit(ring);
}

int main(int argc, char **argv) {
    struct stat about;
    struct io_uring ring;
    int file = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECT) : -1;
    if (file < 0 || fstat(file, &about) != 0) { perror("count_tens_uring FILE"); return 2; }
    if (io_uring_queue_init(DEPTH, &ring, 0) != 0) { fputs("no io_uring here\n", stderr); return 3; }
    long blocks = about.st_size / BLOCK, next = 0;
    size_t found = 0;
    double began = now();
    for (; next < DEPTH && next < blocks; next++) {
        submit(&ring, file, aligned_alloc(4096, BLOCK), next);
    }
    for (long done = 0; done < blocks; done++) {
        struct io_uring_cqe *entry;
        if (io_uring_wait_cqe(&ring, &entry) != 0 || entry->res != BLOCK) {
            fputs("a read failed\n", stderr);
            return 2;
        }
        int *values = io_uring_cqe_get_data(entry);
        io_uring_cqe_seen(&ring, entry);
        for (size_t i = 0; i < BLOCK / sizeof(int); i++) { found += values[i] == 10; }
        if (next < blocks) { submit(&ring, file, values, next++); }
    }
    double seconds = now() - began;
    printf("uring found %zu 10s at %.2f GB/s\n", found, (double)about.st_size / seconds / 1e9);
    return 0;
}
