#ifndef FPLT_BASE_LOG_H
#define FPLT_BASE_LOG_H

#include "fedplt/log.h"

void fplt__log(fplt_log_level level, const char *format, ...) FPLT_PRINTF(2, 3);

#endif
