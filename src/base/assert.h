/* Invariants that the code relies on. A violated one is a bug of this program, never a fault of its input: bad input gets
 * an error with a sentence. */
#ifndef FPLT_BASE_ASSERT_H
#define FPLT_BASE_ASSERT_H

/* States what must hold. Checked in the simulator, in sanitizer and fuzzing builds (-Dassertions=true), where a violation
 * prints file, line and condition and aborts; compiled out elsewhere, so the condition must have no side effects. */
#ifdef FPLT__ASSERTIONS
#include <stdio.h>
#include <stdlib.h>
#define FPLT__ASSERT(condition)                                                                 \
    ((condition)                                                                                \
         ? (void)0                                                                              \
         : (fprintf(stderr, "%s:%d: assertion violated: %s\n", __FILE__, __LINE__, #condition), \
            abort()))
#else
#define FPLT__ASSERT(condition) ((void)sizeof(condition))
#endif

#endif
