#include "join.h"

void join(char *out, size_t room, const char *const *words, size_t count) {
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && at + 1 < room) {
            out[at++] = ',';
        }
        for (const char *c = words[i]; *c != 0 && at + 1 < room; c++) {
            out[at++] = *c;
        }
    }
    out[at] = 0;
}
