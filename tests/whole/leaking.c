/* Loses ten bytes: tests/whole/leaks must notice. */
#include <stdlib.h>

static char *volatile kept;

int main(void)
{
    kept = (char *)malloc(10);
    kept = NULL;
    return 0;
}
