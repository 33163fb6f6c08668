/* Calls that no usual program does. The first argument says which, and others are its files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char **files;

static int opened(const char *path, int flags) {
    int file = open(path, flags, 0644);
    if (file < 0) { perror(path); exit(2); }
    return file;
}

static void check(long outcome) {
    if (outcome < 0) { perror("call"); exit(3); }
}

static void *reads(void *path) {
    close(opened(path, O_RDONLY));
    return NULL;
}

static void *executes(void *path) {
    char *words[] = {"cat", path, NULL};
    execvp("cat", words);
    exit(4);
}

static void in_thread(void *(*work)(void *)) {
    pthread_t thread;
    check(-pthread_create(&thread, NULL, work, files[0]));
    pthread_join(thread, NULL);
}

static void syncs(void) {
    int file = opened(files[0], O_RDWR | O_CREAT);
    check(write(file, "a", 1));
    check(fsync(file));
    check(fsync(file));
    check(fdatasync(file));
    check(sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE));
    check(syncfs(file));
    struct iovec part = {"b", 1};
    check(syscall(SYS_pwritev2, file, &part, 1, 0, 0, RWF_DSYNC));
    check(syscall(SYS_pwritev2, file, &part, 1, 0, 0, 0));
    fsync(-1);
}

static void maps(void) {
    int file = opened(files[0], O_RDWR);
    char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    char *private = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
    if (shared == MAP_FAILED || private == MAP_FAILED) exit(3);
    close(file);
    check(madvise(private, 4096, MADV_RANDOM));
    check(madvise(private, 4096, MADV_DONTNEED));
    shared[0] = 1;
    check(msync(shared, 4096, MS_SYNC));
    check(msync(shared, 4096, MS_ASYNC));
}

static void copies(void) {
    int from = opened(files[0], O_RDONLY), to = opened(files[1], O_RDWR | O_CREAT | O_TRUNC);
    check(posix_fadvise(from, 0, 0, POSIX_FADV_SEQUENTIAL));
    check(posix_fadvise(from, 0, 0, POSIX_FADV_DONTNEED));
    check(readahead(from, 0, 4096));
    check(fallocate(to, 0, 0, 4096));
    check(sendfile(to, from, NULL, 100));
    ioctl(to, FICLONE, from);
    int pipes[2];
    check(pipe(pipes));
    check(splice(from, NULL, pipes[1], NULL, 100, 0));
}

static void untraced(void) {
    /* Neither of these children would be traced, and a filter without a tracer fails calls. */
    struct clone_args how = {.flags = CLONE_UNTRACED, .exit_signal = SIGCHLD};
    pid_t child = syscall(SYS_clone3, &how, sizeof how);
    if (child == 0) { close(opened(files[0], O_RDONLY)); _exit(0); }
    int status;
    check(waitpid(child, &status, 0));
    if (status) exit(5);
    child = syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) { close(opened(files[0], O_RDONLY)); _exit(0); }
    check(waitpid(child, &status, 0));
    if (status) exit(6);
}

static void ignores(void) {
    signal(SIGCHLD, SIG_IGN);
    if (fork() == 0) {
        static char block[1 << 20];
        int file = opened(files[0], O_RDONLY);
        while (read(file, block, sizeof block) > 0) {}
        _exit(0);
    }
    while (wait(NULL) > 0) {}
    if (errno != ECHILD) exit(7);
}

static void renames(void) {
    close(opened(files[0], O_CREAT | O_EXCL | O_WRONLY));
    check(rename(files[0], files[1]));
    close(opened(files[2], O_CREAT | O_WRONLY | O_APPEND));
    check(unlink(files[2]));
    close(opened(files[2], O_CREAT | O_WRONLY | O_DSYNC));
    check(mkdir("sub", 0755));
    close(opened("sub/d", O_CREAT | O_WRONLY));
    check(rename("sub", "moved"));
    close(opened("e", O_CREAT | O_WRONLY));
    check(syscall(SYS_renameat2, AT_FDCWD, "e", AT_FDCWD, "moved/d", RENAME_EXCHANGE));
    int unnamed = opened(".", O_TMPFILE | O_RDWR);
    check(write(unnamed, "a", 1));
}

static void rings(void) {
    char parameters[120] = {0};
    if (syscall(SYS_io_uring_setup, 4, parameters) < 0) exit(errno == ENOSYS || errno == EPERM ? 77 : 3);
    uint64_t context = 0;
    check(syscall(SYS_io_setup, 4, &context));
    syscall(SYS_io_uring_setup, 0, parameters);
}

static void sets_flags(void) {
    int file = opened(files[0], O_RDONLY);
    check(fcntl(file, F_SETFL, O_NONBLOCK));
    check(fcntl(file, F_SETFL, O_DIRECT));
}

static void handles(int signal) { (void)signal; }

static void traps(void) {
    signal(SIGTRAP, handles);
    check(raise(SIGTRAP));
    signal(SIGTRAP, SIG_DFL);
    raise(SIGTRAP);
}

/* As 32-bit programs do, through the old gate. Addresses must fit into 32 bits. */
static void old_gate(void) {
#ifdef __x86_64__
    char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    strcpy(low, files[0]);
    long file, outcome;
    __asm__ volatile("int $0x80" : "=a"(file) : "a"(5), "b"(low), "c"(O_RDWR), "d"(0) : "memory");
    check(file);
    __asm__ volatile("int $0x80" : "=a"(outcome) : "a"(118), "b"(file) : "memory");
    check(outcome);
#endif
}

/* Executes a program that must not trace, as some containers do. */
static void forbids(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, filter};
    check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    execvp(files[0], files);
}

int main(int count, char **words) {
    (void)count;
    files = words + 2;
    const char *act = words[1];
    if (!strcmp(act, "thread")) in_thread(reads);
    else if (!strcmp(act, "execute")) in_thread(executes);
    else if (!strcmp(act, "sync")) syncs();
    else if (!strcmp(act, "map")) maps();
    else if (!strcmp(act, "copy")) copies();
    else if (!strcmp(act, "untraced")) untraced();
    else if (!strcmp(act, "ignore")) ignores();
    else if (!strcmp(act, "rename")) renames();
    else if (!strcmp(act, "ring")) rings();
    else if (!strcmp(act, "flags")) sets_flags();
    else if (!strcmp(act, "trap")) traps();
    else if (!strcmp(act, "gate")) old_gate();
    else if (!strcmp(act, "forbid")) forbids();
    else return 1;
    return 0;
}
