#include <stddef.h>

/* Writes the words into `out`, a comma between two of them, and ends it with a zero byte. Never
 * writes more than `room` bytes, the zero byte included: what does not fit is cut off. `room` is
 * at least 1. */
void join(char *out, size_t room, const char *const *words, size_t count);
