// A peer of ioassay in C: reads jobs as lines from stdin and writes replies as lines to stdout.
// ../README.md describes the protocol, and ../peers.toml lists what this peer supports.
//
// It measures the code that a compiler generates for count_tens and sum_words in lane.h. They are
// plain C, never inlined, and not written for a specific instruction set. With -DUNROLLED,
// count_tens is unrolled by hand.
//
// From the barrier to the end, the timed loop only makes the engine's system calls.

#include "lane.h"
#include <pthread.h>

struct thread {
    struct lane lane;
    struct team *team;
    pthread_t id;
};

// Threads wait until the team enters a phase; the team waits until all threads have arrived.
enum phase { PREPARE, GO, DISMISS };

struct team {
    const struct job *job;
    struct order order;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum phase phase;
    uint64_t arrived, count;
    struct thread *threads;
};

static bool prepare_memory(struct lane *own) {
    const struct job *job = own->job;
    uint64_t bytes = whole_pages(job->working_set / job->threads);
    uint64_t seed = mix(job->seed ^ own->number);
    if (!allocate(own, bytes, job->huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE)) {
        return false;
    }
    for (uint64_t i = 0; i < bytes / 8; i++) {
        uint64_t word = ints_word(seed, i);
        memcpy(own->memory + 8 * i, &word, sizeof word);
    }
    return true;
}

static const unsigned char *fetch(struct lane *own, uint64_t offset, size_t length) {
    return fetch_by_call(own, offset, length);
}

static void count_memory(struct lane *own) {
    uint64_t passes = 0, now;
    do {
        own->digest += count(own->memory, own->length);
        // Otherwise, a compiler may reuse the count of the unchanged array.
        __asm__ volatile("" ::: "memory");
        passes++;
        now = now_ns();
    } while (now - own->start_ns < own->job->time_ns);
    own->bytes = passes * own->length;
    own->ops = own->bytes / 64;
}

static void await(struct team *team, enum phase phase) {
    pthread_mutex_lock(&team->lock);
    team->arrived++;
    pthread_cond_broadcast(&team->changed);
    while (team->phase < phase) {
        pthread_cond_wait(&team->changed, &team->lock);
    }
    pthread_mutex_unlock(&team->lock);
}

static void *live(void *argument) {
    struct thread *thread = argument;
    struct team *team = thread->team;
    struct lane *own = &thread->lane;
    bool is_memory = team->job->engine == MEMORY;
    // Write once before the clock starts, because the first write to a page is slow.
    memset(own->latencies, 0, sizeof own->latencies);
    bool ready = is_memory ? prepare_memory(own) : prepare_file(own);
    await(team, GO);
    if (ready && team->phase == GO) {
        own->start_ns = now_ns();
        is_memory ? count_memory(own) : read_file(own);
        own->end_ns = now_ns();
    }
    // A mapped file cannot be evicted.
    if (!is_memory) {
        release(own);
    }
    if (own->fd >= 0) {
        close(own->fd);
    }
    // The tool can only inspect threads and memory that still exist.
    await(team, DISMISS);
    release(own);
    return NULL;
}

// Waits for all threads to arrive. Returns the obstacle of one that failed, or of the last one.
static const struct obstacle *all_arrived(struct team *team) {
    pthread_mutex_lock(&team->lock);
    while (team->arrived < team->count) {
        pthread_cond_wait(&team->changed, &team->lock);
    }
    team->arrived = 0;
    pthread_mutex_unlock(&team->lock);
    uint64_t i = 0;
    while (i + 1 < team->count && team->threads[i].lane.obstacle.text[0] == 0) {
        i++;
    }
    return &team->threads[i].lane.obstacle;
}

static void enter(struct team *team, enum phase phase) {
    pthread_mutex_lock(&team->lock);
    team->phase = phase;
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->lock);
}

static void tell(const struct team *team, uint64_t setup_ns) {
    static uint64_t counts[STEP_COUNT];
    uint64_t max_ns = 0;
    memset(counts, 0, sizeof counts);
    for (uint64_t t = 0; t < team->count; t++) {
        const struct lane *one = &team->threads[t].lane;
        print_span(one);
        putchar('\n');
        max_ns = one->max_ns > max_ns ? one->max_ns : max_ns;
        for (unsigned i = 0; i < STEP_COUNT; i++) {
            counts[i] += one->latencies[i];
        }
    }
    print_latencies(counts);
    printf("done setup_ns=%ju max_ns=%ju\n", (uintmax_t)setup_ns, (uintmax_t)max_ns);
}

// Runs the job in `text`. Returns whether there is another line.
static bool perform(char *text) {
    uint64_t began_ns = now_ns();
    parse_pairs(text);
    struct job job = parse_job();
    if (!all_well(&job.obstacle)) {
        return next_line();
    }
    struct team team = {.job = &job, .lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER};
    if (job.engine != MEMORY) {
        team.order = order_of(job.pattern, blocks_of(&job), job.stride, job.seed);
    }
    team.threads = calloc(job.threads, sizeof *team.threads);
    for (; team.threads != NULL && team.count < job.threads; team.count++) {
        struct thread *one = &team.threads[team.count];
        one->team = &team, one->lane.job = &job, one->lane.order = &team.order;
        one->lane.number = team.count, one->lane.fd = -1;
        if ((errno = pthread_create(&one->id, NULL, live, one)) != 0) {
            break;
        }
    }
    if (team.count < job.threads) {
        die("starting thread %ju failed: %m", (uintmax_t)team.count);
    }
    bool ready = all_well(all_arrived(&team));
    uint64_t setup_ns = now_ns() - began_ns;
    if (ready) {
        puts("ready");
    }
    bool more = next_line();
    if (ready && more && strcmp(line, "go") == 0) {
        enter(&team, GO);
        if (all_well(all_arrived(&team))) {
            tell(&team, setup_ns);
        }
        more = next_line();
    }
    enter(&team, DISMISS);
    for (uint64_t i = 0; i < team.count; i++) {
        pthread_join(team.threads[i].id, NULL);
    }
    free(team.threads);
    return more;
}

int main(void) {
    printf("hello protocol=2 name=c-" FORM " version=");
    print_value(__VERSION__);
    putchar('\n');
    bool more = next_line();
    while (more) {
        if (strncmp(line, "job ", 4) == 0) {
            char *text = strdup(line);  // The job outlives the line.
            if (text == NULL) {
                die("there is no memory for a job");
            }
            more = perform(text);
            free(text);
        } else if (strcmp(line, "go") == 0) {
            more = next_line();
        } else {
            die("an unknown verb in the line '%.200s'", line);
        }
    }
    free(line);
    return 0;
}
