#include "join.h"

#include <string.h>

void join(char *out, size_t room, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        strcat(out, words[i]);
        strcat(out, ",");
    }
}
