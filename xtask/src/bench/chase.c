// Latency of a load from memory, as lmbench's lat_mem_rd measures it: loads that each wait for the
// one before, along a random cycle through an array with one pointer in each line of 64 bytes.
//
// It is a peer of ioassay (peers/README.md) for the kernel `chase` with one thread, and shares no code
// with ioassay, whose chase is compared with it.

#define _GNU_SOURCE
#include "job.h"
#include <stdio.h>
#include <sys/mman.h>

#define LINE 64
#define HUGE (2ul << 20)
#define LOADS 1024u  // Between two looks at the clock.

#define FOLLOW place = *place;
#define FOLLOW_4 FOLLOW FOLLOW FOLLOW FOLLOW
#define FOLLOW_16 FOLLOW_4 FOLLOW_4 FOLLOW_4 FOLLOW_4
#define FOLLOW_64 FOLLOW_16 FOLLOW_16 FOLLOW_16 FOLLOW_16

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

struct job {
    unsigned char *map;
    size_t mapped;
    void **place;
    uint64_t time_ns;
};

// Maps and links an array. Answers a reason that can be sent as it is, or NULL.
static const char *prepare(const char *line, struct job *job) {
    uint64_t bytes = number(value_of(line, "working_set")) / LINE * LINE;
    job->time_ns = number(value_of(line, "time")) * 1000000;
    if (!is(value_of(line, "kernel"), "chase") || !is(value_of(line, "threads"), "1")) {
        return "unavailable reason=only%20a%20chase%20by%20one%20thread";
    }
    if (bytes < LINE || bytes / LINE > UINT32_MAX || job->time_ns == 0) {
        return "unavailable reason=the%20size%20or%20the%20time%20is%20out%20of%20range";
    }
    job->mapped = bytes + HUGE;
    job->map = mmap(NULL, job->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (job->map == MAP_FAILED) {
        job->map = NULL;
        return "failed reason=mmap";
    }
    unsigned char *array = (unsigned char *)(((uintptr_t)job->map + HUGE - 1) / HUGE * HUGE);
    // A kernel without huge pages refuses the advice, and has base pages anyhow.
    madvise(array, bytes, is(value_of(line, "pages"), "huge") ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memset(array, 0xA5, bytes);
    job->place = link_lines(array, bytes / LINE, strtoull(value_of(line, "seed"), NULL, 10));
    return job->place == NULL ? "failed reason=malloc" : NULL;
}

static void perform(struct job *job) {
    void **place = job->place;
    uint64_t loads = 0, start_ns = now_ns(), end_ns;
    do {
        for (unsigned i = 0; i < LOADS / 64; i++) {
            FOLLOW_64
        }
        loads += LOADS;
        // No compiler may move loads past this; the clock of the OS waits for them itself.
        __asm__ volatile("" : "+r"(place) : : "memory");
        end_ns = now_ns();
    } while (end_ns - start_ns < job->time_ns);
    printf("span thread=0 start_ns=%llu end_ns=%llu bytes=%llu ops=%llu\ndone setup_ns=0 max_ns=0\n",
           (unsigned long long)start_ns, (unsigned long long)end_ns,
           (unsigned long long)loads * LINE, (unsigned long long)loads);
}

static void release(struct job *job) {
    if (job->map != NULL) {
        munmap(job->map, job->mapped);
    }
    *job = (struct job){0};
}

int main(void) {
    struct job job = {0};
    return serve("c-chase", &job);
}
