// What the benchmark's own peers in C share: the clock, reading a job, and the order of messages
// (peers/README.md).

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

// The value of `key` in a job, up to the next blank; an empty text if it is not there.
static const char *value_of(const char *line, const char *key) {
    size_t length = strlen(key);
    for (const char *word = strchr(line, ' '); word != NULL; word = strchr(word, ' ')) {
        word++;
        if (strncmp(word, key, length) == 0 && word[length] == '=') {
            return word + length + 1;
        }
    }
    return "";
}

// `text` up to its next blank is `word`.
static int is(const char *text, const char *word) {
    size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && strchr(" \n", text[length]) != NULL;
}

// A number with its unit: bytes, or milliseconds. 0 where it is none.
static uint64_t number(const char *text) {
    static const struct { const char *name; uint64_t factor; } UNITS[] = {
        {"B", 1}, {"KiB", 1ul << 10}, {"MiB", 1ul << 20}, {"GiB", 1ul << 30}, {"ms", 1}, {"s", 1000},
    };
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
        if (is(end, UNITS[i].name)) {
            return value * UNITS[i].factor;
        }
    }
    return 0;
}

// What each peer has: a job, how it is made ready and carried out, and its end, after which it is
// as it was before. `prepare` answers a reason that can be sent as it is, or NULL.
struct job;
static const char *prepare(const char *line, struct job *job);
static void perform(struct job *job);
static void release(struct job *job);

// Carries out jobs until its input ends.
static int serve(const char *name, struct job *job) {
    static char line[1 << 16];
    int is_ready = 0;
    printf("hello protocol=2 name=%s version=1\n", name);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (is_ready && is(line, "go")) {
            perform(job);
            is_ready = 0;
        } else {
            // The job is off, or its outcome was heard.
            release(job);
            is_ready = 0;
            if (strncmp(line, "job ", 4) == 0) {
                const char *reason = prepare(line, job);
                is_ready = reason == NULL;
                puts(is_ready ? "ready" : reason);
            }
        }
        fflush(stdout);
    }
    return 0;
}
