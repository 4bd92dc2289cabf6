/* Run with: cc -o test test.c join.c && ./test */
#include <stdio.h>
#include <string.h>

#include "join.h"

static int check(size_t room, size_t count, const char *wanted) {
    const char *words[] = {"one", "two", "three"};
    char out[32];
    memset(out, '#', sizeof out);
    out[31] = 0;
    join(out, room, words, count);
    int wrong = strcmp(out, wanted) != 0 || (room < 31 && out[room] != '#');
    printf("%s: got \"%s\", wanted \"%s\"\n", wrong ? "FAILED" : "passed", out, wanted);
    return wrong;
}

int main(void) {
    return check(20, 3, "one,two,three") + check(20, 0, "") + check(6, 2, "one,t") > 0;
}
