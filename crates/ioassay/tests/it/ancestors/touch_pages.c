/* Touches a byte of each page, in memory and in a file: `touch_pages FILE MIB`.
 *
 * "Memory write" is the first touch of new memory, a byte of the file is a call that reads a whole
 * buffer, nothing is synced, and the clock has ticks of 10 ms. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/times.h>
#include <unistd.h>

enum { PAGE = 4096 };

static clock_t began;

static void start(void) {
    struct tms spent;
    began = times(&spent);
}

static void stop(const char *what) {
    struct tms spent;
    double ticks = (double)(times(&spent) - began);
    printf("%s time == %.2f s\n", what, ticks / (double)sysconf(_SC_CLK_TCK));
}

int main(int argc, char **argv) {
    if (argc != 3) { fputs("touch_pages FILE MIB\n", stderr); return 2; }
    long bytes = atol(argv[2]) << 20;
    volatile char *memory = calloc(1, (size_t)bytes);
    FILE *file = fopen(argv[1], "w+");
    if (memory == NULL || file == NULL) { perror(argv[1]); return 2; }
    start();
    for (long at = 0; at < bytes; at += PAGE) { memory[at] = 'a'; }
    stop("Memory write");
    long sum = 0;
    start();
    for (long at = 0; at < bytes; at += PAGE) { sum += memory[at]; }
    stop("Memory read");
    start();
    for (long at = 0; at < bytes; at += PAGE) { fseek(file, at, SEEK_SET); fputc('a', file); }
    stop("File write");
    start();
    for (long at = 0; at < bytes; at += PAGE) { fseek(file, at, SEEK_SET); sum -= fgetc(file); }
    stop("File read");
    return sum == 0 && fclose(file) == 0 ? 0 : 1;
}
