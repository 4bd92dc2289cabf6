#include <stdio.h>
#include <string.h>

#include "join.h"

static int is(size_t room, const char *wanted) {
    const char *words[] = {"alpha", "", "b"};
    char out[64];
    memset(out, '#', sizeof out);
    join(out, room, words, 3);
    return strlen(wanted) < room && memcmp(out, wanted, strlen(wanted) + 1) == 0 && out[room] == '#';
}

int main(int argc, char **argv) {
    if (!is(40, "alpha,,b") || !is(9, "alpha,,b") || !is(8, "alpha,,")) return 1;
    if (!is(6, "alpha") || !is(7, "alpha,") || !is(2, "a") || !is(1, "")) return 2;
    puts(argc > 1 ? argv[1] : "");
    return 0;
}
