// A command that calls pread a million times, for the cost of a rehearsal.

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int file = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    if (file == -1) {
        return EXIT_FAILURE;
    }
    char block[4096];
    for (int call = 0; call < 1000000; call++) {
        if (pread(file, block, sizeof block, 0) != sizeof block) {
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}
