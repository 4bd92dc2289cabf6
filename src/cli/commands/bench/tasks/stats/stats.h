/* The mean of n numbers; 0 for none. */
double mean(const int *values, int n);

/* The largest of n numbers, n being at least 1. */
int largest(const int *values, int n);
