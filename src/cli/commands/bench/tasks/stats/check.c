#include <stdio.h>

#include "stats.h"

int main(int argc, char **argv) {
    int pair[] = {-1, 2, -90};
    int many[] = {10, 20, 30, 41, 7};
    if (mean(pair, 2) != 0.5 || mean(pair, 1) != -1 || mean(pair, 0) != 0) return 1;
    if (mean(many, 4) != 25.25 || mean(many, 5) != 21.6) return 2;
    if (largest(pair, 1) != -1 || largest(pair, 3) != 2 || largest(many, 5) != 41) return 3;
    puts(argc > 1 ? argv[1] : "");
    return 0;
}
