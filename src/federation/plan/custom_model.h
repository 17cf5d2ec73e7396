/* Costs that the agents bring themselves (`loss: custom`): what a proposal says of one, and the file of its model. The
 * coordinator has neither data nor cost; it knows name, version, dimension and digest. */
#ifndef FPLT_FEDERATION_CUSTOM_MODEL_H
#define FPLT_FEDERATION_CUSTOM_MODEL_H

#include <jansson.h>

#include "base/buffer.h"
#include "job/outline.h"
#include "wire/document.h"

/* Whether the agents bring the cost. */
int fplt__is_custom(const fplt__proposal *proposal);

/* Whether a setting is `loss: custom`, which no table of settings has. */
int fplt__is_word_of_custom(const fplt__pair *setting);

/* Reads `model` of federation.yaml into a proposal whose section `train` is known. FPLT_BAD_VALUE for keys that are missing,
 * unknown or not legal, and for a model without `loss: custom` or the other way round. */
fplt_status fplt__custom_propose(const fplt_settings *leader, fplt__proposal *proposal,
                                 fplt_error *error);

/* Refuses what a proposal with a custom cost cannot have: a schema, and settings about rows and built-in losses, of which
 * `clip` belongs to privacy; and `loss: custom` without a model. `settings` have the tables of the proposal, for the groups of their rows. */
fplt_status fplt__custom_check(const fplt__proposal *proposal, const fplt_settings *settings,
                               fplt_error *error);
/* Whether a row of this group is about rows or built-in losses, and has no effect on a custom cost. */
int fplt__custom_ignores(const char *group);

/* What stands for the form of the data: as many parameters as the model has. */
fplt__form fplt__custom_form(const fplt__proposal *proposal);
fplt__form fplt__custom_form_of(size_t dimension);

/* "NAME VERSION, 1234 parameters, digest 0123..." */
void fplt__custom_show(const fplt__custom_model *model, fplt__buffer *text);

/* The whole model of a plan whose run gave x, to be certified; a new reference. FPLT_NO_MEMORY. */
fplt_status fplt__custom_document(const fplt__agreement *agreement, const double *x,
                                  const char *record, json_t **document, fplt_error *error);

/* Writes the model file of a plan whose run gave x: model, weights and the record of the run (a JSON object), whole or not
 * at all. fplt_model_read() refuses such a file with a sentence. */
fplt_status fplt__custom_write(const fplt__agreement *agreement, const double *x,
                               const char *record, const char *path, fplt_error *error);

#endif
