/* Data sets with known minimisers, as agents' costs: those of ../shared, and two generated ones. */
#ifndef FPLT_TESTS_REAL_H
#define FPLT_TESTS_REAL_H

#include "problems.h"
#include "fedplt/partition.h"
#include "fedplt/read.h"

struct source {
    const char *name, *path, *label, *labels;
    size_t features;
    uint32_t shards; /* 0: by site */
    const char *references;
};

#define REFERENCES SHARED "/data/reference"

enum { HEART_DISEASE, A9A, MUSHROOMS, CLINICS, SHARDS };

static const struct source sources[] = {
    {"heart_disease", SHARED "/data/heart_disease/heart_disease.csv", "b", NULL, 13, 0, REFERENCES},
    {"a9a", SHARED "/data/libsvm_a9a/a9a", NULL, NULL, 123, 100, REFERENCES},
    {"mushrooms", SHARED "/data/libsvm_mushrooms/mushrooms", NULL, "1=1,2=-1", 112, 100,
     REFERENCES},
    {"clinics", GOLDEN "/clinics.csv", "b", NULL, 6, 0, GOLDEN},
    {"shards", GOLDEN "/shards.svm", NULL, NULL, 20, 7, GOLDEN},
};

static fplt_dataset *read_source(const struct source *source)
{
    fplt_error error;
    fplt_dataset *dataset, *divided;
    fplt_read_settings settings = fplt_read_defaults();
    settings.label = source->label;
    settings.labels = source->labels;
    settings.features = source->features;
    if (source->shards)
        settings.format = "libsvm";
    assert_ok(fplt_dataset_read(&source->path, 1, &settings, &dataset, &error), error);
    if (!source->shards)
        return dataset;
    fplt_partition_settings partition = fplt_partition_defaults();
    partition.agents = source->shards;
    assert_ok(fplt_dataset_partition(dataset, &partition, &divided, &error), error);
    fplt_dataset_destroy(dataset);
    return divided;
}

static fplt_objective *real_objective(const struct source *source, double eps)
{
    fplt_error error;
    fplt_objective *objective;
    fplt_dataset *dataset = read_source(source);
    fplt_objective_settings cost = fplt_objective_defaults();
    cost.weight = eps;
    assert_ok(fplt_objective_create(&cost, dataset, &objective, &error), error);
    fplt_dataset_destroy(dataset);
    return objective;
}

#endif
