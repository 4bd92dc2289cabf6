/* Run with: cc -o test test.c stats.c && ./test */
#include <stdio.h>

#include "stats.h"

int main(void) {
    int some[] = {1, 2, 3, 4, 1000};
    int cold[] = {-7, -3, -9};
    int failed = 0;
    failed += mean(some, 4) != 2.5;
    failed += mean(some, 0) != 0;
    failed += largest(some, 4) != 4;
    failed += largest(cold, 3) != -3;
    printf("%d of 4 checks failed\n", failed);
    return failed != 0;
}
