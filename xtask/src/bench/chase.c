// Latency of a load from memory, as lmbench's lat_mem_rd measures it: loads that each wait for the
// one before, along a random cycle through an array with one pointer in each line of 64 bytes.
//
//     chase BYTES base|huge MILLISECONDS SEED
//
// prints nanoseconds a load. It shares no code with ioassay, whose chase is compared with it.

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define LINE 64
#define HUGE (2ul << 20)
#define LOADS 1024u  // Between two looks at the clock.

#define FOLLOW place = *place;
#define FOLLOW_4 FOLLOW FOLLOW FOLLOW FOLLOW
#define FOLLOW_16 FOLLOW_4 FOLLOW_4 FOLLOW_4 FOLLOW_4
#define FOLLOW_64 FOLLOW_16 FOLLOW_16 FOLLOW_16 FOLLOW_16

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016).
static uint64_t next_random(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

// The lines in a random order, each with a pointer to the next, the last to the first.
static void **link_lines(unsigned char *array, size_t lines, uint64_t seed) {
    uint32_t *order = malloc(lines * sizeof *order);
    if (order == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < lines; i++) {
        order[i] = (uint32_t)i;
    }
    uint64_t state = seed | 1;
    for (size_t i = lines - 1; i > 0; i--) {
        size_t other = next_random(&state) % (i + 1);
        uint32_t swapped = order[i];
        order[i] = order[other], order[other] = swapped;
    }
    for (size_t i = 0; i < lines; i++) {
        void *next = array + (size_t)order[(i + 1) % lines] * LINE;
        memcpy(array + (size_t)order[i] * LINE, &next, sizeof next);
    }
    void **first = (void **)(array + (size_t)order[0] * LINE);
    free(order);
    return first;
}

int main(int count, char **words) {
    if (count != 5) {
        fputs("usage: chase BYTES base|huge MILLISECONDS SEED\n", stderr);
        return 2;
    }
    size_t bytes = strtoull(words[1], NULL, 10) / LINE * LINE;
    uint64_t time_ns = strtoull(words[3], NULL, 10) * 1000000;
    if (bytes < LINE || bytes / LINE > UINT32_MAX || time_ns == 0) {
        fputs("chase: the size or the time is out of range\n", stderr);
        return 2;
    }
    int access = PROT_READ | PROT_WRITE;
    unsigned char *map = mmap(NULL, bytes + HUGE, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        perror("chase: mmap");
        return 1;
    }
    unsigned char *array = (unsigned char *)(((uintptr_t)map + HUGE - 1) / HUGE * HUGE);
    // A kernel without huge pages refuses the advice, and has base pages anyhow.
    madvise(array, bytes, strcmp(words[2], "huge") == 0 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memset(array, 0xA5, bytes);
    void **place = link_lines(array, bytes / LINE, strtoull(words[4], NULL, 10));
    if (place == NULL) {
        perror("chase: malloc");
        return 1;
    }
    uint64_t loads = 0, start_ns = now_ns(), end_ns;
    do {
        for (unsigned i = 0; i < LOADS / 64; i++) {
            FOLLOW_64
        }
        loads += LOADS;
        // No compiler may move loads past this; the clock of the OS waits for them itself.
        __asm__ volatile("" : "+r"(place) : : "memory");
        end_ns = now_ns();
    } while (end_ns - start_ns < time_ns);
    printf("%.3f\n", (double)(end_ns - start_ns) / (double)loads);
    return 0;
}
