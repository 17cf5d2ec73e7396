/* Messages about names. Edit distance with transpositions [Damerau 1964, optimal string alignment]. */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#include "fedplt/settings.h"

enum { LONGEST = 63 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t fplt__edit_distance(const char *a, const char *b)
{
    size_t rows = strnlen(a, LONGEST), columns = strnlen(b, LONGEST);
    size_t cost[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= rows; i++)
        cost[i][0] = i;
    for (size_t j = 0; j <= columns; j++)
        cost[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        for (size_t j = 1; j <= columns; j++) {
            size_t change = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            size_t best = least(change, least(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = least(best, cost[i - 2][j - 2] + 1);
            cost[i][j] = best;
        }
    }
    return cost[rows][columns];
}

fplt_status fplt__unknown_name(const char *what, const char *name,
                               const char *(*list)(size_t index, const char **help),
                               fplt_error *error)
{
    char names[512] = "";
    const char *nearest = NULL, *candidate;
    size_t used = 0, closest = strlen(name) / 3 + 2;
    for (size_t i = 0; (candidate = list(i, NULL)); i++) {
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                     candidate);
        size_t distance = fplt__edit_distance(name, candidate);
        if (distance < closest) {
            closest = distance;
            nearest = candidate;
        }
    }
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "there is no %s '%.80s'%s%s%s; it must be one of %s", what, name,
                          nearest ? " (did you mean '" : "", nearest ? nearest : "",
                          nearest ? "'?)" : "", names);
}

void fplt__shell_word(const char *word, char *text, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./,:@%";
    size_t at = 0;
    if (*word && !word[strspn(word, plain)]) {
        snprintf(text, size, "%s", word);
        return;
    }
    if (size < 3) {
        snprintf(text, size, "%s", "");
        return;
    }
    text[at++] = '\'';
    for (; *word; word++) {
        const char *piece = *word == '\'' ? "'\\''" : word;
        size_t length = *word == '\'' ? 4 : 1;
        if (at + length + 2 > size)
            break;
        memcpy(text + at, piece, length);
        at += length;
    }
    text[at++] = '\'';
    text[at] = 0;
}
