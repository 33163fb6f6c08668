// What peers in C share: the digest, the orders, lines, jobs, and the loop that reads a file.
// ../README.md describes the protocol. The including file is a peer: it defines `fetch`, and runs
// the lanes of a job in threads or processes.

#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the words and integers of a test file are little-endian, and are read as they are"
#endif

#define PAGE 4096u              // Page size of the digest, the same on all machines.
#define BYTES_MAX (1ull << 47)  // Address space limit.

// ---- The code under test ------------------------------------------------------------------------

#ifdef UNROLLED
#define FORM "unrolled"
#define EACH_OF_16(DO)                                                                             \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)                                                \
    DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)

// How many of the integers are 10.
__attribute__((noinline)) uint32_t count_tens(const uint32_t *ints, size_t length) {
#define DECLARE(k) uint32_t tens##k = 0;
#define COUNT(k) tens##k += ints[i + k] == 10;
    EACH_OF_16(DECLARE)
    size_t i = 0;
    for (; i + 16 <= length; i += 16) {
        EACH_OF_16(COUNT)
    }
    for (; i < length; i++) {
        tens0 += ints[i] == 10;
    }
    return ((tens0 + tens1) + (tens2 + tens3)) + ((tens4 + tens5) + (tens6 + tens7)) +
           (((tens8 + tens9) + (tens10 + tens11)) + ((tens12 + tens13) + (tens14 + tens15)));
}
#else
#define FORM "loop"

// How many of the integers are 10.
__attribute__((noinline)) uint32_t count_tens(const uint32_t *ints, size_t length) {
    uint32_t tens = 0;
    for (size_t i = 0; i < length; i++) {
        if (ints[i] == 10) {
            tens++;
        }
    }
    return tens;
}
#endif

// The wrapping sum of the words at `bytes`, which need not be aligned.
__attribute__((noinline)) uint64_t sum_words(const unsigned char *bytes, size_t words) {
    uint64_t sum = 0, word;
    for (size_t i = 0; i < words; i++) {
        memcpy(&word, bytes + 8 * i, sizeof word);
        sum += word;
    }
    return sum;
}

// Any number of integers: each call counts at most 2^30 of them, so that 32 bits hold the result.
static uint64_t count(const unsigned char *bytes, uint64_t length) {
    uint64_t tens = 0;
    const uint32_t *ints = (const void *)bytes;
    for (uint64_t left = length / 4; left > 0;) {
        size_t part = left < 1u << 30 ? left : 1u << 30;
        tens += count_tens(ints, part);
        ints += part, left -= part;
    }
    return tens;
}

// The sum of bytes within one page of the file, each shifted to its position in its word.
static uint64_t sum_of_page(uint64_t offset, const unsigned char *bytes, size_t length) {
    uint64_t head = 0, tail = 0;
    size_t place = offset % 8;
    if (place > 0) {
        size_t part = length < 8 - place ? length : 8 - place;
        memcpy((unsigned char *)&head + place, bytes, part);
        bytes += part, length -= part;
    }
    memcpy(&tail, bytes + length / 8 * 8, length % 8);
    return head + sum_words(bytes, length / 8) + tail;
}

// The page sums, each combined with the position of its page in the file.
static uint64_t digest(uint64_t offset, const unsigned char *bytes, size_t length) {
    uint64_t sum = 0;
    while (length > 0) {
        size_t left = PAGE - offset % PAGE, part = length < left ? length : left;
        sum += sum_of_page(offset, bytes, part) * (offset / PAGE * 2 + 1);
        offset += part, bytes += part, length -= part;
    }
    return sum;
}

// ---- Numbers that all peers must agree on -------------------------------------------------------

#define GOLDEN 0x9e3779b97f4a7c15u

static uint64_t mix(uint64_t value) {
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

// Word `index` of an array of integers below 20.
static uint64_t ints_word(uint64_t seed, uint64_t index) {
    uint64_t word = mix(seed + index * GOLDEN);
    return (word & 0xffffffff) * 20 >> 32 | (word >> 32) * 20 >> 32 << 32;
}

enum pattern { SEQUENTIAL, RANDOM, STRIDED };

// A bijection from steps to blocks.
struct order {
    enum pattern pattern;
    uint64_t blocks, stride, mask, keys[3];
    int shift;
};

static struct order order_of(enum pattern pattern, uint64_t blocks, uint64_t stride,
                             uint64_t seed) {
    struct order order = {.pattern = pattern, .blocks = blocks, .stride = stride, .mask = 1};
    while (order.mask < blocks - 1) {
        order.mask = order.mask << 1 | 1;
    }
    order.shift = (__builtin_popcountll(order.mask) + 1) / 2;
    uint64_t state = mix(seed);
    for (int i = 0; i < 3; i++) {
        order.keys[i] = mix(state += GOLDEN) | 1;
    }
    return order;
}

static inline uint64_t block_at(const struct order *order, uint64_t step) {
    if (order->pattern == RANDOM) {
        do {
            for (int i = 0; i < 3; i++) {
                step = (step * order->keys[i] + (order->keys[i] >> 32)) & order->mask;
                step ^= step >> order->shift;
            }
        } while (step >= order->blocks);
    } else if (order->pattern == STRIDED) {
        // The first `long_lanes` lanes have one more block than the others.
        uint64_t lane = order->blocks / order->stride, long_lanes = order->blocks % order->stride;
        uint64_t in_long = long_lanes * (lane + 1);
        if (step < in_long) {
            return step / (lane + 1) + step % (lane + 1) * order->stride;
        }
        step -= in_long;
        return long_lanes + step / lane + step % lane * order->stride;
    }
    return step;
}

// ---- Lines --------------------------------------------------------------------------------------

static char *line;         // The last line read.
static size_t line_bytes;  // Bytes allocated for it.

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    exit(2);
}

// Flushes the replies and reads the next line. There is none when this program must exit.
static bool next_line(void) {
    if (fflush(stdout) != 0) {
        die("stdout cannot be written: %m");
    }
    ssize_t length = getline(&line, &line_bytes, stdin);
    if (length > 0 && line[length - 1] == '\n') {
        line[length - 1] = 0;
    }
    return length > 0;
}

// Prints a value with escapes. A reason must be valid UTF-8, but its paths may not be: bytes
// outside ASCII become question marks.
static void print_value(const char *text) {
    for (; *text != 0; text++) {
        unsigned char byte = *text;
        if (byte >= 0x80) {
            byte = '?';
        }
        bool plain = byte > ' ' && byte < 0x7f && byte != '=' && byte != '%';
        printf(plain ? "%c" : "%%%02X", byte);
    }
}

static void unescape(char *text) {
    char *to = text;
    for (; *text != 0; text++) {
        unsigned byte = (unsigned char)*text;
        if (byte == '%') {
            bool whole = isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2]);
            if (!whole || sscanf(text + 1, "%2x", &byte) != 1 || byte == 0) {
                die("a broken %% escape in the line '%.200s'", line);
            }
            text += 2;
        }
        *to++ = (char)byte;
    }
    *to = 0;
}

// ---- Jobs ---------------------------------------------------------------------------------------

enum engine { READ, PREAD, MMAP, MEMORY };
enum touch { TOUCH_NONE, TOUCH_PAGE, TOUCH_SUM, TOUCH_COUNT };

// The reason of a refusal or failure.
struct obstacle {
    bool is_unavailable;
    char text[500];
};

struct job {
    enum engine engine;
    enum touch touch;
    bool direct, repeats, interleaved, huge_pages;
    const char *file;
    uint64_t seed, size, block, threads, time_ns, stride, steps, working_set;
    enum pattern pattern;
    struct obstacle obstacle;
};

#define PAIRS_MAX 64
static struct { const char *key, *value; } pairs[PAIRS_MAX];
static int pair_count;

static const char *value_of(const char *key) {
    for (int i = 0; i < pair_count; i++) {
        if (strcmp(pairs[i].key, key) == 0) {
            return pairs[i].value;
        }
    }
    return NULL;
}

static void parse_pairs(char *text) {
    char *rest = text;
    strtok_r(text, " ", &rest);
    pair_count = 0;
    for (char *word; (word = strtok_r(NULL, " ", &rest)) != NULL;) {
        char *value = strchr(word, '=');
        if (value == NULL || pair_count == PAIRS_MAX) {
            die("'%.200s' is not key=value, or one too many", word);
        }
        *value++ = 0;
        unescape(value);
        pairs[pair_count].key = word;
        pairs[pair_count++].value = value;
    }
}

// Stores the reason of a refusal or failure; `%m` in the text is the OS's error.
__attribute__((format(printf, 2, 3))) static bool stuck(struct obstacle *obstacle,
                                                        const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(obstacle->text, sizeof obstacle->text, format, values);
    va_end(values);
    return false;
}

#define UNAVAILABLE(job, ...) \
    ((job)->obstacle.is_unavailable = true, (void)stuck(&(job)->obstacle, __VA_ARGS__))

// The index of an axis's value in the NULL-terminated `names`. A missing axis has the first value.
static int choice(struct job *job, const char *axis, const char *const *names) {
    const char *value = value_of(axis);
    for (int i = 0; value != NULL && names[i] != NULL; i++) {
        if (strcmp(names[i], value) == 0) {
            return i;
        }
    }
    if (value != NULL) {
        UNAVAILABLE(job, "this peer has no %s '%s'", axis, value);
    }
    return 0;
}

// The sum of the numbers in a value, each times its unit: `4KiB`, `1m 500ms`, `7`. Larger values
// saturate.
static uint64_t number(const char *axis) {
    static const struct { const char *unit; uint64_t is; } units[] = {
        {"", 1}, {"B", 1}, {"KiB", 1u << 10}, {"MiB", 1u << 20}, {"GiB", 1u << 30},
        {"TiB", 1ull << 40}, {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000},
        {"m", 60000000000}, {"h", 3600000000000}, {"day", 86400000000000},
        {"days", 86400000000000}, {"month", 2630016000000000}, {"months", 2630016000000000},
        {"year", 31557600000000000}, {"years", 31557600000000000},
    };
    const char *text = value_of(axis);
    if (text == NULL) {
        die("the job has no '%s'", axis);
    }
    uint64_t sum = 0;
    do {
        char *unit;
        errno = 0;
        uint64_t part = strtoull(text, &unit, 10), times = 0;
        size_t length = strcspn(unit, " ");
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            if (strlen(units[i].unit) == length && strncmp(unit, units[i].unit, length) == 0) {
                times = units[i].is;
            }
        }
        if (unit == text || *text == '-' || times == 0) {
            die("the job has the %s '%s', which is not a number", axis, value_of(axis));
        }
        if (__builtin_mul_overflow(part, times, &part) || __builtin_add_overflow(sum, part, &sum)) {
            sum = UINT64_MAX;
        }
        text = unit + length + strspn(unit + length, " ");
    } while (*text != 0);
    return sum;
}

static uint64_t blocks_of(const struct job *job) {
    return job->size / job->block + (job->size % job->block > 0);
}

static void parse_file_job(struct job *job) {
    static const char *const engines[] = {"read", "pread", "mmap", NULL};
    static const char *const caches[] = {"as-is", "warm", "cold", "direct", NULL};
    static const char *const patterns[] = {"sequential", "random", "strided", NULL};
    static const char *const shares[] = {"contiguous", "interleaved", NULL};
    static const char *const touches[] = {"none", "page", "sum", "count", NULL};
    static const char *const depths[] = {"1", NULL}, *const advices[] = {"none", NULL};
    static const char *const submissions[] = {"enter", NULL};
    choice(job, "depth", depths);
    choice(job, "submission", submissions);
    job->engine = choice(job, "engine", engines);
    int cache = choice(job, "cache", caches);
    job->direct = cache == 3;
    job->pattern = choice(job, "pattern", patterns);
    job->interleaved = choice(job, "share", shares) == 1;
    job->touch = choice(job, "touch", touches);
    choice(job, "advice", advices);
    job->size = number("size"), job->block = number("block"), job->stride = number("stride");
    uint64_t ops = number("ops");
    if (job->size == 0 || job->block == 0 || job->stride == 0) {
        die("the job has a size, a block or a stride of 0");
    }
    job->repeats = cache != 2 && ops == 0;
    job->steps = blocks_of(job);
    job->steps = ops > 0 && ops < job->steps ? ops : job->steps;
    job->file = value_of("file");
    if (job->file == NULL) {
        die("the job names no file to read");
    }
    if (job->direct && job->engine == MMAP) {
        UNAVAILABLE(job, "a mapping is the page cache: O_DIRECT has no effect on mmap");
    }
    if (job->touch == TOUCH_COUNT && job->block % 4 > 0) {
        UNAVAILABLE(job, "blocks of %ju bytes would cut integers in two", (uintmax_t)job->block);
    }
}

static struct job parse_job(void) {
    static const char *const isas[] = {"auto", NULL}, *const kernels[] = {"count", NULL};
    static const char *const sizes[] = {"huge", "base", NULL};
    struct job job = {.seed = number("seed"), .threads = number("threads")};
    job.time_ns = number("time");
    choice(&job, "isa", isas);
    if (value_of("kernel") == NULL) {
        parse_file_job(&job);
    } else {
        choice(&job, "kernel", kernels);
        job.engine = MEMORY;
        job.huge_pages = choice(&job, "pages", sizes) == 0;
        job.working_set = number("working_set");
    }
    uint64_t largest = job.block > job.working_set ? job.block : job.working_set;
    if (job.threads == 0 || job.threads > 1 << 16 || largest > BYTES_MAX || job.size > BYTES_MAX) {
        UNAVAILABLE(&job, "this peer has 1 to 65536 threads and up to 2^47 bytes");
    }
    return job;
}

// ---- Lanes --------------------------------------------------------------------------------------

// Latencies: exact below 256 ns, then 128 buckets per power of two. The middle of a bucket is
// within 1/256 of all its values.
#define STEPS 128u
#define STEP_COUNT (58 * STEPS)

// What one thread or process of a job does.
struct lane {
    const struct job *job;
    const struct order *order;
    uint64_t number;
    int fd;                         // The file, or -1.
    unsigned char *memory;          // A buffer, an array or a mapping.
    uint64_t length;                // Its length.
    uint64_t position;              // The file's own offset.
    uint64_t first, stride, steps;  // Its steps in a pass.
    uint64_t start_ns, end_ns, bytes, ops, digest, load_ns, max_ns;
    uint64_t latencies[STEP_COUNT];
    struct obstacle obstacle;
};

// The bytes of a block; NULL if the read failed, and then the obstacle says why.
static const unsigned char *fetch(struct lane *own, uint64_t offset, size_t length);

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void record(struct lane *own, uint64_t ns) {
    unsigned shift = ns < STEPS ? 0 : 63 - __builtin_clzll(ns) - 7;
    own->latencies[shift * STEPS + (ns >> shift)]++;
    own->max_ns = ns > own->max_ns ? ns : own->max_ns;
}

// At least one.
static uint64_t whole_pages(uint64_t bytes) {
    return bytes <= PAGE ? PAGE : (bytes + PAGE - 1) / PAGE * PAGE;
}

static void release(struct lane *own) {
    if (own->memory != NULL) {
        munmap(own->memory, own->length);
        own->memory = NULL;
    }
}

// Memory with every page written. The tool checks from outside whether the OS follows the advice.
static bool allocate(struct lane *own, uint64_t bytes, int advice) {
    int access = PROT_READ | PROT_WRITE;
    void *memory = mmap(NULL, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return stuck(&own->obstacle, "allocating %ju bytes failed: %m", (uintmax_t)bytes);
    }
    own->memory = memory, own->length = bytes;
    madvise(memory, bytes, advice);
    memset(memory, 0xA5, bytes);
    return true;
}

static uint64_t border(const struct job *job, uint64_t thread) {
    return (uint64_t)((unsigned __int128)job->steps * thread / job->threads);
}

static void share_steps(struct lane *own) {
    const struct job *job = own->job;
    own->first = job->interleaved ? own->number : border(job, own->number);
    own->stride = job->interleaved ? job->threads : 1;
    own->steps = job->interleaved ? (job->steps + job->threads - 1 - own->number) / job->threads
                                  : border(job, own->number + 1) - own->first;
}

static bool prepare_file(struct lane *own) {
    const struct job *job = own->job;
    share_steps(own);
    own->fd = open(job->file, O_RDONLY | O_CLOEXEC | (job->direct ? O_DIRECT : 0));
    if (own->fd < 0) {
        own->obstacle.is_unavailable = job->direct && errno == EINVAL;
        return stuck(&own->obstacle, "opening %s%s failed: %m", job->file,
                     job->direct ? " with O_DIRECT" : "");
    }
    if (job->engine != MMAP) {
        return allocate(own, whole_pages(job->block), MADV_NOHUGEPAGE);
    }
    struct stat held;
    if (fstat(own->fd, &held) != 0) {
        return stuck(&own->obstacle, "asking for the size of %s failed: %m", job->file);
    }
    // Touching a mapping past the end of the file would kill this program.
    return (uint64_t)held.st_size >= job->size ||
           stuck(&own->obstacle, "the file has %jd bytes, fewer than the %ju to be read",
                 (intmax_t)held.st_size, (uintmax_t)job->size);
}

// The preparation of each pass, which is timed separately.
static bool begin_pass(struct lane *own) {
    uint64_t size = own->job->size;
    if (own->job->engine != MMAP) {
        return true;
    }
    release(own);
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, own->fd, 0);
    if (map == MAP_FAILED) {
        return stuck(&own->obstacle, "mapping %ju bytes failed: %m", (uintmax_t)size);
    }
    own->memory = map, own->length = size;
    return true;
}

// Fetches by the system call that the engine names, or from the mapping.
static const unsigned char *fetch_by_call(struct lane *own, uint64_t offset,
                                          size_t length) {
    const struct job *job = own->job;
    if (job->engine == MMAP) {
        return own->memory + offset;
    }
    if (job->engine == READ && own->position != offset) {
        if (lseek(own->fd, (off_t)offset, SEEK_SET) < 0) {
            stuck(&own->obstacle, "lseek to %ju failed: %m", (uintmax_t)offset);
            return NULL;
        }
        own->position = offset;
    }
    // Reads a whole block even at the end of the file, as O_DIRECT requires.
    for (size_t filled = 0; filled < length;) {
        void *to = own->memory + filled;
        size_t left = job->block - filled;
        ssize_t came = job->engine == READ ? read(own->fd, to, left)
                                           : pread(own->fd, to, left, (off_t)(offset + filled));
        if (came == 0) {
            stuck(&own->obstacle, "the file ended: %zu of %zu bytes at offset %ju came", filled,
                  length, (uintmax_t)offset);
            return NULL;
        } else if (came > 0) {
            filled += (size_t)came, own->position += (uint64_t)came;
        } else if (errno != EINTR) {
            stuck(&own->obstacle, "%s of %zu bytes at offset %ju failed: %m",
                  job->engine == READ ? "read" : "pread", length, (uintmax_t)offset);
            return NULL;
        }
    }
    return own->memory;
}

static inline uint64_t look(enum touch touch, uint64_t offset, const unsigned char *bytes,
                            size_t length) {
    switch (touch) {
    case TOUCH_SUM:
        return digest(offset, bytes, length);
    case TOUCH_COUNT:
        return count(bytes, length);
    case TOUCH_PAGE:
        for (size_t i = 0; i < length; i += PAGE) {
            (void)*(const volatile unsigned char *)(bytes + i);
        }
        return 0;
    default:
        return 0;
    }
}

static void read_file(struct lane *own) {
    const struct job *job = own->job;
    const struct order *order = own->order;
    uint64_t now = own->start_ns, end = now + job->time_ns, done;
    end = end < now ? UINT64_MAX : end;
    do {
        uint64_t began = now;
        if (!begin_pass(own)) {
            return;
        }
        now = now_ns();
        own->load_ns += job->engine == MMAP ? now - began : 0;
        for (done = 0; done < own->steps && (done == 0 || now < end); done++) {
            uint64_t offset = block_at(order, own->first + done * own->stride) * job->block;
            uint64_t rest = job->size - offset, length = rest < job->block ? rest : job->block;
            const unsigned char *bytes = fetch(own, offset, length);
            if (bytes == NULL) {
                return;
            }
            own->digest += look(job->touch, offset, bytes, length);
            // One timestamp ends this operation and starts the next.
            uint64_t since = now;
            now = now_ns();
            record(own, now - since);
            own->bytes += length;
        }
        own->ops += done;
    } while (job->repeats && done > 0 && done == own->steps && now < end);
}

// Reports what a lane did.
static void print_span(const struct lane *one) {
    printf("span thread=%ju start_ns=%ju end_ns=%ju bytes=%ju ops=%ju digest=%ju load_ns=%ju",
           (uintmax_t)one->number, (uintmax_t)one->start_ns, (uintmax_t)one->end_ns,
           (uintmax_t)one->bytes, (uintmax_t)one->ops, (uintmax_t)one->digest,
           (uintmax_t)one->load_ns);
}

// Reports the sums over all lanes.
static void print_latencies(const uint64_t *counts) {
    for (unsigned i = 0; i < STEP_COUNT; i++) {
        // Buckets from index 256 are wider than 1 ns.
        unsigned shift = i < 2 * STEPS ? 0 : i / STEPS - 1;
        uint64_t lowest = (uint64_t)(i - shift * STEPS) << shift, half = ((1ull << shift) - 1) / 2;
        if (counts[i] > 0) {
            printf("latency ns=%ju count=%ju\n", (uintmax_t)(lowest + half), (uintmax_t)counts[i]);
        }
    }
}

// Reports why a job or a lane of it failed, if it did.
static bool all_well(const struct obstacle *obstacle) {
    if (obstacle->text[0] != 0) {
        printf("%s reason=", obstacle->is_unavailable ? "unavailable" : "failed");
        print_value(obstacle->text);
        putchar('\n');
    }
    return obstacle->text[0] == 0;
}
