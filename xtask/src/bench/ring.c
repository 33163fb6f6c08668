// Direct random reads with io_uring, in the plainest loop that liburing allows: as many in flight as
// asked for, each taken up again as soon as it has completed. It reads no clock for single reads.
//
// It is a peer of ioassay (peers/README.md) and shares no code with ioassay, whose ring is compared
// with it: file and buffers are registered, and the ring has one thread and deferred task work.

#define _GNU_SOURCE
#include "job.h"
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define ALIGNMENT 4096
#define DEPTH_MAX 256u

struct job {
    int fd;
    struct io_uring ring;
    int has_ring;
    unsigned char *memory;
    uint64_t block, blocks, state, time_ns;
    unsigned depth;
};

// Replaces each %XX by the character it stands for, up to the next blank.
static void decode(const char *text, char *path, size_t room) {
    size_t length = 0;
    for (; *text != '\0' && *text != ' ' && *text != '\n' && length + 1 < room; text++) {
        unsigned character = (unsigned char)*text;
        if (character == '%' && sscanf(text + 1, "%2x", &character) == 1) {
            text += 2;
        }
        path[length++] = (char)character;
    }
    path[length] = '\0';
}

static int has_ring(struct job *job) {
    struct iovec buffers[DEPTH_MAX];
    for (unsigned slot = 0; slot < job->depth; slot++) {
        buffers[slot] = (struct iovec){job->memory + slot * job->block, job->block};
    }
    unsigned flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    job->has_ring = io_uring_queue_init(job->depth, &job->ring, flags) == 0;
    return job->has_ring && io_uring_register_files(&job->ring, &job->fd, 1) == 0
        && io_uring_register_buffers(&job->ring, buffers, job->depth) == 0
        && io_uring_register_ring_fd(&job->ring) == 1;
}

static void release(struct job *job) {
    if (job->has_ring) {
        io_uring_queue_exit(&job->ring);
    }
    free(job->memory);
    if (job->fd >= 0) {
        close(job->fd);
    }
    *job = (struct job){.fd = -1};
}

// Opens the file and the ring. Answers a reason that can be sent as it is, or NULL.
static const char *prepare(const char *line, struct job *job) {
    char path[4096];
    decode(value_of(line, "file"), path, sizeof path);
    job->block = number(value_of(line, "block"));
    job->blocks = job->block > 0 ? number(value_of(line, "size")) / job->block : 0;
    job->depth = (unsigned)strtoul(value_of(line, "depth"), NULL, 10);
    job->time_ns = number(value_of(line, "time")) * 1000000;
    job->state = strtoull(value_of(line, "seed"), NULL, 10) | 1;
    if (!is(value_of(line, "engine"), "uring") || !is(value_of(line, "cache"), "direct")
        || !is(value_of(line, "pattern"), "random")) {
        return "unavailable reason=only%20direct%20random%20reads%20with%20io_uring";
    }
    if (job->blocks == 0 || job->depth == 0 || job->depth > DEPTH_MAX || job->time_ns == 0) {
        return "unavailable reason=the%20block,%20depth%20or%20time%20is%20out%20of%20range";
    }
    job->fd = open(path, O_RDONLY | O_DIRECT);
    job->memory = aligned_alloc(ALIGNMENT, job->depth * job->block);
    if (job->fd < 0 || job->memory == NULL) {
        return "failed reason=opening%20the%20file%20or%20allocating%20its%20buffers";
    }
    memset(job->memory, 0xA5, job->depth * job->block);
    return has_ring(job) ? NULL : "failed reason=setting%20up%20io_uring";
}

// Queues a read of a random block into a slot.
static void queue(struct job *job, unsigned slot) {
    struct io_uring_sqe *entry = io_uring_get_sqe(&job->ring);
    uint64_t offset = next_random(&job->state) % job->blocks * job->block;
    void *buffer = job->memory + slot * job->block;
    io_uring_prep_read_fixed(entry, 0, buffer, (unsigned)job->block, offset, (int)slot);
    entry->flags |= IOSQE_FIXED_FILE;
    entry->user_data = slot;
}

static uint64_t cpu_ns(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    uint64_t seconds = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
    return seconds * 1000000000 + (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

// Takes up to `in_flight` completions, and queues a read for each until the time is up. Returns how
// many were taken, or less than 0 if one failed.
static int turn(struct job *job, int is_over) {
    struct io_uring_cqe *done;
    unsigned head, count = 0;
    int faults = 0;
    io_uring_for_each_cqe(&job->ring, head, done) {
        faults += done->res != (int)job->block;
        count++;
        if (!is_over) {
            queue(job, (unsigned)done->user_data);
        }
    }
    io_uring_cq_advance(&job->ring, count);
    return faults > 0 ? -1 : (int)count;
}

static void perform(struct job *job) {
    uint64_t ops = 0, used_ns = cpu_ns(), start_ns = now_ns(), end_ns = start_ns;
    unsigned in_flight = job->depth;
    for (unsigned slot = 0; slot < job->depth; slot++) {
        queue(job, slot);
    }
    while (in_flight > 0) {
        int submitted = io_uring_submit_and_wait(&job->ring, 1);
        end_ns = now_ns();
        int is_over = end_ns - start_ns >= job->time_ns;
        int taken = submitted < 0 && submitted != -EINTR ? -1 : turn(job, is_over);
        if (taken < 0) {
            puts("failed reason=a%20read%20failed%20or%20was%20short");
            exit(1);
        }
        ops += (unsigned)taken;
        in_flight -= is_over ? (unsigned)taken : 0;
    }
    used_ns = cpu_ns() - used_ns;
    printf("span thread=0 start_ns=%ju end_ns=%ju bytes=%ju ops=%ju cpu_ns=%ju\n"
           "done setup_ns=0 max_ns=0 cpu_ns=%ju\n", (uintmax_t)start_ns, (uintmax_t)end_ns,
           (uintmax_t)(ops * job->block), (uintmax_t)ops, (uintmax_t)used_ns, (uintmax_t)used_ns);
}

int main(void) {
    struct job job = {.fd = -1};
    return serve("c-uring", &job);
}
