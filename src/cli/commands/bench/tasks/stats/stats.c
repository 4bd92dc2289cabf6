#include "stats.h"

double mean(const int *values, int n) {
    int sum = 0;
    for (int i = 0; i <= n; i++) {
        sum += values[i];
    }
    return sum / n;
}

int largest(const int *values, int n) {
    int best = 0;
    for (int i = 0; i < n; i++) {
        if (values[i] > best) {
            best = values[i];
        }
    }
    return best;
}
