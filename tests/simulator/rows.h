/* Tables in memory in the place of SQLite, below src/store: every record goes through the statements, values and columns
 * of the real store and back, and only the file is missing. The linker puts these in the place of store/table.h and of
 * SQLite's columns (--wrap); where they are off, the real ones are called. */
#ifndef FPLT_TESTS_ROWS_H
#define FPLT_TESTS_ROWS_H

#include "sql.h"

/* From now on; only while no store is open. */
void rows_use(int on);

/* Copies of all tables of a path, for sql.h. */
extern const sql_medium rows_medium;

#endif
