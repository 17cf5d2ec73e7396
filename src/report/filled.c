/* Imputed values as a table, site by site and column by column. */
#include "report/filled.h"

#include <stdio.h>
#include <string.h>

#include "data/dataset.h"
#include "fedplt/model.h"
#include "data/dataset_access.h"
#include "report/model_access.h"
#include "report/report.h"
#include "report/table.h"

/* The column of a feature: of a level the name of its category. */
static void name_column(const fplt_dataset *dataset, size_t feature, char *text, size_t size)
{
    const char *name = fplt_dataset_feature_name(dataset, feature);
    if (name)
        snprintf(text, size, "%.250s", name);
    else
        snprintf(text, size, "%zu", feature + 1);
    char *equals = strchr(text, '=');
    if (equals && dataset->group && dataset->group[feature])
        *equals = 0;
}

/* A category without a level is missing in each of its features, of which the first counts. */
static int is_counted(const fplt_dataset *dataset, size_t feature)
{
    return !feature || !dataset->group || !dataset->group[feature] ||
           dataset->group[feature] != dataset->group[feature - 1];
}

fplt_status fplt__filled_table(const fplt_dataset *dataset, fplt_table **table, fplt_error *error)
{
    static const char *const columns[] = {"column", "site", "filled", "rows", "share"};
    fplt_status status = fplt__table_create(columns, 5, table, error);
    for (size_t j = 0; j < fplt_dataset_features(dataset) && !status; j++) {
        if (!is_counted(dataset, j))
            continue;
        for (uint32_t i = 0; i < fplt_dataset_agents(dataset); i++) {
            size_t count = fplt__dataset_filled(dataset, i, j);
            size_t rows = fplt__dataset_count(dataset, i);
            const char *site = fplt_dataset_agent_name(dataset, i);
            char name[256], number[16];
            if (!count)
                continue;
            name_column(dataset, j, name, sizeof name);
            snprintf(number, sizeof number, "%u", i);
            fplt__table_text(*table, name);
            fplt__table_text(*table, site ? site : number);
            fplt__table_whole(*table, (long long)count);
            fplt__table_whole(*table, (long long)rows);
            fplt__table_number(*table, rows ? (double)count / (double)rows : 0, 3);
        }
    }
    return status;
}

json_t *fplt__filled_json(const fplt_dataset *dataset)
{
    fplt_table *table;
    json_t *made = NULL;
    if (fplt__filled_table(dataset, &table, NULL))
        return NULL;
    if (fplt__table_rows(table))
        made = fplt__table_json(table);
    fplt_table_destroy(table);
    return made;
}
