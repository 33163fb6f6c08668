// A peer of ioassay under MPI: each rank is a thread of the case. Rank 0 reads jobs as lines from
// the stdin that mpirun forwards to it, and writes the replies. ../README.md describes the protocol.
//
// The argument says how ranks read: `posix` by pread(2), `read-at` by MPI_File_read_at, and
// `read-at-all` by MPI_File_read_at_all, all ranks together.
//
// A rank that waits inside MPI burns its processor. That would spoil the evidence of others, so
// ranks sleep between looks whenever they wait for something that is not measured.

#include "lane.h"
#include <mpi.h>
#include <sys/resource.h>

enum way { POSIX, READ_AT, READ_AT_ALL, WAYS };
static const char *const way_names[] = {"posix", "read-at", "read-at-all", NULL};

static enum way way;
static int rank, ranks;
static bool is_one_host;
static MPI_Comm crew = MPI_COMM_NULL;  // The ranks that take part in the job.
static MPI_File file;                  // Of the job, unless `way` is POSIX.

// ---- Waiting ------------------------------------------------------------------------------------

#define NAP_LEAST_NS 50000
#define NAP_MOST_NS 100000000

// Waits without using the processor. It naps for an eighth of the time waited, so that it is late
// by no more.
static void sleep_until_done(MPI_Request *request) {
    uint64_t began_ns = now_ns();
    for (int is_done = 0;;) {
        MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
        if (is_done) {
            return;
        }
        uint64_t nap_ns = (now_ns() - began_ns) / 8;
        nap_ns = nap_ns < NAP_LEAST_NS ? NAP_LEAST_NS : nap_ns > NAP_MOST_NS ? NAP_MOST_NS : nap_ns;
        nanosleep(&(struct timespec){0, (long)nap_ns}, NULL);
    }
}

static void share(void *data, int bytes) {
    MPI_Request request;
    MPI_Ibcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    sleep_until_done(&request);
}

// Returns when all of the crew are here, at nearly the same moment.
static void line_up(void) {
    MPI_Request request;
    MPI_Ibarrier(crew, &request);
    sleep_until_done(&request);
    MPI_Barrier(crew);
}

// ---- Reading ------------------------------------------------------------------------------------

static const char *text_of(int error) {
    static char text[MPI_MAX_ERROR_STRING + 1];
    int length = 0;
    MPI_Error_string(error, text, &length);
    return text;
}

// Reads a block, or takes part with none in what others read.
static bool read_by_mpi(struct lane *own, uint64_t offset, size_t length) {
    MPI_Status status;
    int count = 0;
    bool together = way == READ_AT_ALL;
    int error = (together ? MPI_File_read_at_all : MPI_File_read_at)(
        file, (MPI_Offset)offset, own->memory, (int)length, MPI_BYTE, &status);
    if (error != MPI_SUCCESS) {
        return stuck(&own->obstacle, "MPI_File_read_at%s of %zu bytes at offset %ju failed: %s",
                     together ? "_all" : "", length, (uintmax_t)offset, text_of(error));
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    return count == (int)length ||
           stuck(&own->obstacle, "the file ended: %d of %zu bytes at offset %ju came", count,
                 length, (uintmax_t)offset);
}

static const unsigned char *fetch(struct lane *own, uint64_t offset, size_t length) {
    if (way == POSIX) {
        return fetch_by_call(own, offset, length);
    }
    return read_by_mpi(own, offset, length) ? own->memory : NULL;
}

// Reads as `read_file` does, with a call of all ranks for each step. A rank that has no step left in
// a pass takes part without data. After each call, all agree whether it was the last one.
static void read_together(struct lane *own) {
    const struct job *job = own->job;
    uint64_t now = own->start_ns, end = now + job->time_ns, done, calls;
    end = end < now ? UINT64_MAX : end;
    uint64_t longest = (job->steps + job->threads - 1) / job->threads;
    bool is_over = false;
    do {
        for (done = 0, calls = 0; calls < longest && !is_over; calls++) {
            bool has_step = calls < own->steps;
            uint64_t offset = 0, length = 0;
            if (has_step) {
                offset = block_at(own->order, own->first + done * own->stride) * job->block;
                uint64_t rest = job->size - offset;
                length = rest < job->block ? rest : job->block;
            }
            bool is_well = read_by_mpi(own, offset, length);
            if (is_well && has_step) {
                own->digest += look(job->touch, offset, own->memory, length);
                uint64_t since = now;
                now = now_ns();
                record(own, now - since);
                own->bytes += length, done++;
            } else {
                now = now_ns();
            }
            unsigned char over = !is_well || now >= end;
            MPI_Allreduce(MPI_IN_PLACE, &over, 1, MPI_UNSIGNED_CHAR, MPI_MAX, crew);
            is_over = over;
        }
        own->ops += done;
    } while (job->repeats && job->steps > 0 && !is_over);
}

// ---- A job, on every rank -----------------------------------------------------------------------

// What a rank reports, beside its latencies.
struct report {
    uint64_t start_ns, end_ns, bytes, ops, digest, max_ns, thread_cpu_ns;
    uint64_t cpu_ns, user_ns, system_ns, minor, major, voluntary, involuntary;
    struct obstacle obstacle;
};

// What this process and this thread have used so far.
struct usage {
    struct rusage all;
    uint64_t cpu_ns, thread_cpu_ns;
};

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now = {0, 0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct usage used(void) {
    struct usage usage = {.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
                          .thread_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID)};
    getrusage(RUSAGE_SELF, &usage.all);
    return usage;
}

static uint64_t between_ns(struct timeval from, struct timeval to) {
    int64_t us = (int64_t)(to.tv_sec - from.tv_sec) * 1000000 + to.tv_usec - from.tv_usec;
    return us > 0 ? (uint64_t)us * 1000 : 0;
}

static struct report report_of(const struct lane *own, const struct usage *from,
                               const struct usage *to) {
    const struct rusage *a = &from->all, *b = &to->all;
    return (struct report){
        .start_ns = own->start_ns, .end_ns = own->end_ns, .bytes = own->bytes, .ops = own->ops,
        .digest = own->digest, .max_ns = own->max_ns,
        .thread_cpu_ns = to->thread_cpu_ns - from->thread_cpu_ns,
        .cpu_ns = to->cpu_ns - from->cpu_ns,
        .user_ns = between_ns(a->ru_utime, b->ru_utime),
        .system_ns = between_ns(a->ru_stime, b->ru_stime),
        .minor = (uint64_t)(b->ru_minflt - a->ru_minflt),
        .major = (uint64_t)(b->ru_majflt - a->ru_majflt),
        .voluntary = (uint64_t)(b->ru_nvcsw - a->ru_nvcsw),
        .involuntary = (uint64_t)(b->ru_nivcsw - a->ru_nivcsw),
        .obstacle = own->obstacle,
    };
}

// What the job asks for that this peer does not have.
static void check(struct job *job) {
    if (job->engine != PREAD) {
        UNAVAILABLE(job, "this peer reads files by pread and its like only");
    } else if (!is_one_host) {
        UNAVAILABLE(job, "its %d ranks are on several hosts: evidence is collected on this one only",
                    ranks);
    } else if (job->threads > (uint64_t)ranks) {
        UNAVAILABLE(job, "it was started with %d ranks, fewer than %ju threads", ranks,
                    (uintmax_t)job->threads);
    } else if (way != POSIX && job->direct) {
        UNAVAILABLE(job, "MPI-IO has no O_DIRECT");
    } else if (way != POSIX && job->block > INT32_MAX) {
        UNAVAILABLE(job, "MPI-IO reads less than 2 GiB at once");
    }
}

// Opens the file and allocates memory.
static void prepare(struct lane *own, const struct job *job) {
    if (way == POSIX) {
        if (!prepare_file(own)) {
            release(own);
        }
        return;
    }
    share_steps(own);
    int error = MPI_File_open(crew, job->file, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    int is_open = error == MPI_SUCCESS;
    MPI_Allreduce(MPI_IN_PLACE, &is_open, 1, MPI_INT, MPI_MIN, crew);
    if (!is_open) {
        // Only all together could close it.
        file = MPI_FILE_NULL;
    }
    MPI_Offset held = 0;
    if (error != MPI_SUCCESS) {
        stuck(&own->obstacle, "MPI_File_open of %s failed: %s", job->file, text_of(error));
    } else if (is_open && (error = MPI_File_get_size(file, &held)) != MPI_SUCCESS) {
        stuck(&own->obstacle, "MPI_File_get_size of %s failed: %s", job->file, text_of(error));
    } else if (is_open && (uint64_t)held < job->size) {
        // Open MPI counts what a collective read past the end was asked for as read.
        stuck(&own->obstacle, "the file has %jd bytes, fewer than the %ju to be read",
              (intmax_t)held, (uintmax_t)job->size);
    } else {
        allocate(own, whole_pages(job->block), MADV_NOHUGEPAGE);
    }
}

static void dismiss(struct lane *own) {
    release(own);
    if (own->fd >= 0) {
        close(own->fd);
    }
    // Like opening, an act of all.
    if (file != MPI_FILE_NULL) {
        MPI_File_close(&file);
    }
    if (crew != MPI_COMM_NULL) {
        MPI_Comm_free(&crew);
    }
}

// Brings what each rank of the crew reports to rank 0.
static void gather(const struct report *own, struct report *all) {
    MPI_Request request;
    MPI_Igather(own, sizeof *own, MPI_BYTE, all, sizeof *own, MPI_BYTE, 0, crew, &request);
    sleep_until_done(&request);
}

static void sum_latencies(struct lane *own, uint64_t *sums) {
    MPI_Request request;
    MPI_Ireduce(own->latencies, sums, STEP_COUNT, MPI_UINT64_T, MPI_SUM, 0, crew, &request);
    sleep_until_done(&request);
}

static void act(struct lane *own, struct report *all) {
    line_up();
    struct usage from = used();
    own->start_ns = now_ns();
    if (way == READ_AT_ALL) {
        read_together(own);
    } else {
        read_file(own);
    }
    own->end_ns = now_ns();
    struct usage to = used();
    struct report report = report_of(own, &from, &to);
    gather(&report, all);
}

// ---- Rank 0 speaks, and the others follow -------------------------------------------------------

// What rank 0 tells the others: a job, whose text follows, or what to do with it.
enum step { JOB, GO, DISMISS, END };

struct word {
    enum step step;
    int bytes;
};

static struct word heard(void) {
    struct word word;
    share(&word, sizeof word);
    return word;
}

static void tell_all(enum step step, size_t bytes) {
    struct word word = {step, (int)bytes};
    share(&word, sizeof word);
}

// The obstacle of a rank that failed, or of the last one.
static const struct obstacle *obstacle_of(const struct report *all, uint64_t count) {
    uint64_t i = 0;
    while (i + 1 < count && all[i].obstacle.text[0] == 0) {
        i++;
    }
    return &all[i].obstacle;
}

static void print_outcome(const struct job *job, const struct report *all, const uint64_t *sums,
                          uint64_t setup_ns) {
    struct report sum = {.max_ns = 0};
    for (uint64_t i = 0; i < job->threads; i++) {
        const struct report *one = &all[i];
        struct lane lane;
        lane.number = i, lane.load_ns = 0, lane.start_ns = one->start_ns, lane.end_ns = one->end_ns;
        lane.bytes = one->bytes, lane.ops = one->ops, lane.digest = one->digest;
        print_span(&lane);
        printf(" cpu_ns=%ju\n", (uintmax_t)one->thread_cpu_ns);
        sum.max_ns = one->max_ns > sum.max_ns ? one->max_ns : sum.max_ns;
        sum.cpu_ns += one->cpu_ns, sum.user_ns += one->user_ns, sum.system_ns += one->system_ns;
        sum.minor += one->minor, sum.major += one->major;
        sum.voluntary += one->voluntary, sum.involuntary += one->involuntary;
    }
    print_latencies(sums);
    printf("done setup_ns=%ju max_ns=%ju cpu_ns=%ju user_ns=%ju system_ns=%ju minor_faults=%ju "
           "major_faults=%ju switches_voluntary=%ju switches_involuntary=%ju\n",
           (uintmax_t)setup_ns, (uintmax_t)sum.max_ns, (uintmax_t)sum.cpu_ns,
           (uintmax_t)sum.user_ns, (uintmax_t)sum.system_ns, (uintmax_t)sum.minor,
           (uintmax_t)sum.major, (uintmax_t)sum.voluntary, (uintmax_t)sum.involuntary);
}

// Runs the job in `text` on this rank. On rank 0, it also speaks with the tool, and returns whether
// there is another line.
static bool perform(char *text) {
    static struct lane lane;
    static uint64_t sums[STEP_COUNT];
    uint64_t began_ns = now_ns();
    bool is_root = rank == 0, more = true, is_well = true;
    parse_pairs(text);
    struct job job = parse_job();
    struct order order = {.blocks = 0};
    struct report *all = is_root ? calloc((size_t)ranks, sizeof *all) : NULL;
    check(&job);
    // All ranks see the same job, and come to the same answer.
    bool is_possible = job.obstacle.text[0] == 0;
    bool is_of_crew = is_possible && (uint64_t)rank < job.threads;
    if (is_possible) {
        order = order_of(job.pattern, blocks_of(&job), job.stride, job.seed);
        MPI_Comm_split(MPI_COMM_WORLD, is_of_crew ? 0 : MPI_UNDEFINED, rank, &crew);
    }
    memset(&lane, 0, sizeof lane);
    lane.job = &job, lane.order = &order, lane.number = (uint64_t)rank, lane.fd = -1;
    if (is_of_crew) {
        prepare(&lane, &job);
        struct report report = {.obstacle = lane.obstacle};
        gather(&report, all);
    }
    if (is_root) {
        is_well = all_well(is_possible ? obstacle_of(all, job.threads) : &job.obstacle);
        uint64_t setup_ns = now_ns() - began_ns;
        if (is_well) {
            puts("ready");
        }
        more = next_line();
        if (is_well && more && strcmp(line, "go") == 0) {
            tell_all(GO, 0);
            act(&lane, all);
            sum_latencies(&lane, sums);
            if (all_well(obstacle_of(all, job.threads))) {
                print_outcome(&job, all, sums, setup_ns);
            }
            more = next_line();
        }
        tell_all(DISMISS, 0);
    } else {
        while (heard().step == GO) {
            if (is_of_crew) {
                act(&lane, NULL);
                sum_latencies(&lane, NULL);
            }
        }
    }
    dismiss(&lane);
    free(all);
    return more;
}

static char *copy_of(const char *text) {
    char *copy = strdup(text);
    if (copy == NULL) {
        die("there is no memory for a job");
    }
    return copy;
}

static void speak(void) {
    printf("hello protocol=2 name=mpi-%s version=", way_names[way]);
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(library, &length);
    library[strcspn(library, ",\n")] = 0;
    print_value(library);
    putchar('\n');
    bool more = next_line();
    while (more) {
        if (strncmp(line, "job ", 4) == 0) {
            char *text = copy_of(line);
            size_t bytes = strlen(text) + 1;
            tell_all(JOB, bytes);
            share(text, (int)bytes);
            more = perform(text);
            free(text);
        } else if (strcmp(line, "go") == 0) {
            more = next_line();
        } else {
            die("an unknown verb in the line '%.200s'", line);
        }
    }
    tell_all(END, 0);
}

static void follow(void) {
    for (struct word word; (word = heard()).step == JOB;) {
        char *text = malloc((size_t)word.bytes);
        if (text == NULL) {
            die("there is no memory for a job");
        }
        share(text, word.bytes);
        perform(text);
        free(text);
    }
}

// Whether all ranks share this machine, and so its clock.
static bool are_together(void) {
    MPI_Comm here;
    int count;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &count);
    MPI_Comm_free(&here);
    int is_all = count == ranks;
    MPI_Allreduce(MPI_IN_PLACE, &is_all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return is_all;
}

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    while (count == 2 && way < WAYS && strcmp(arguments[1], way_names[way]) != 0) {
        way++;
    }
    if (count != 2 || way == WAYS) {
        die("say how to read: posix, read-at or read-at-all");
    }
    file = MPI_FILE_NULL;
    is_one_host = are_together();
    if (rank == 0) {
        speak();
    } else {
        follow();
    }
    MPI_Finalize();
    free(line);
    return 0;
}
