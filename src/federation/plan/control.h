/* The control socket of a running coordinator or agent: FOLDER/control.socket, mode 0600. One line in, one JSON document
 * out. Who may use the folder may use the socket. */
#ifndef FPLT_FEDERATION_CONTROL_H
#define FPLT_FEDERATION_CONTROL_H

#include "fedplt/status.h"

enum { FPLT__CONTROL_LINE = 4400 }; /* bytes of the longest command */

/* Replaces a socket that a killed process left: the caller has locked the folder's database. */
fplt_status fplt__control_open(const char *folder, int *descriptor, fplt_error *error);
/* Closes the socket and removes it; nothing where the descriptor is negative. */
void fplt__control_close(const char *folder, int descriptor);
/* Answers one client, if there is one. `obey` returns the JSON text, to be released with free(), or NULL. */
void fplt__control_serve(int descriptor, char *(*obey)(void *context, const char *line),
                         void *context);
/* {"done": SENTENCE}, to be released with free(). */
char *fplt__control_done(const char *sentence);
/* {"error": SENTENCE}, to be released with free(). */
char *fplt__control_error(const fplt_error *error);
/* Sends a line and reads the answer, to be released with fplt_free(). `is_there` is 0 where no process listens. */
fplt_status fplt__control_ask(const char *folder, const char *line, int *is_there, char **answer,
                              fplt_error *error);

#endif
