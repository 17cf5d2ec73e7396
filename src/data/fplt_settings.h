/* Settings of a reader, applied to an fplt file. */
#ifndef FPLT_DATA_FPLT_SETTINGS_H
#define FPLT_DATA_FPLT_SETTINGS_H

#include "data/source.h"

/* Rejects settings that say how a text is read, and a task other than `task`, which the file holds. */
fplt_status fplt__fplt_check_settings(const fplt__source *source,
                                      const fplt_read_settings *settings, fplt_task task,
                                      fplt_error *error);
/* Whether the ids of the rows are read: always without a model, and with a model if the settings name them. */
int fplt__fplt_keeps_ids(const fplt_read_settings *settings);
/* Gives a data set that was opened from a file the agents, classes and features that the settings require. Labels and
 * rows that differ from those of the file are copied. */
fplt_status fplt__fplt_apply_settings(const fplt__source *source,
                                      const fplt_read_settings *settings, fplt_dataset *made,
                                      fplt_error *error);

#endif
