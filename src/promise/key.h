/* The key by which one side of a federation signs. */
#ifndef FPLT_PROMISE_KEY_H
#define FPLT_PROMISE_KEY_H

#include "fedplt/key.h"

/* FOLDER/signing.key; where there is none, a pair is made first (signing.key and signing.pub). Wipe with fplt_key_clear. */
fplt_status fplt__key_of_folder(const char *folder, fplt_key *key, fplt_error *error);

#endif
