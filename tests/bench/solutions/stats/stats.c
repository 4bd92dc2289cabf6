#include "stats.h"

double mean(const int *values, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += values[i];
    }
    return n == 0 ? 0 : sum / n;
}

int largest(const int *values, int n) {
    int best = values[0];
    for (int i = 1; i < n; i++) {
        if (values[i] > best) {
            best = values[i];
        }
    }
    return best;
}
