/* A model as an ONNX graph: what was done to the columns and rows, then a linear classifier or regressor
 * of ONNX's machine-learning operators. Columns are doubles until the last step; the coefficients of
 * those operators are single precision, which is all the standard has. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "onnx.pb-c.h"
#include "data/dataset_access.h"
#include "report/export.h"

enum { DOUBLE = 11, FLOAT = 1, STRING = 8 }; /* of tensors */
enum {
    IS_FLOAT = 1,
    IS_INT = 2,
    IS_STRING = 3,
    IS_FLOATS = 6,
    IS_INTS = 7,
    IS_STRINGS = 8
}; /* of attributes */
enum { MAX_NODES = 8, MAX_TENSORS = 4, MAX_OUTPUTS = 2, MAX_BETWEEN = 2, MAX_ATTRIBUTES = 5 };

static char machine_learning[] = "ai.onnx.ml", rows_name[] = "rows";

struct node {
    Onnx__Node node;
    Onnx__Attribute attribute[MAX_ATTRIBUTES], *attributes[MAX_ATTRIBUTES];
    char *input[2], *output[2];
    int64_t axis;
};

struct value {
    Onnx__ValueInfo info;
    Onnx__Type type;
    Onnx__TensorType tensor;
    Onnx__Shape shape;
    Onnx__Dimension dimension[2], *dimensions[2];
};

struct tensor {
    Onnx__Tensor tensor;
    int64_t length;
};

struct draft {
    const fplt_model *model;
    Onnx__Graph graph;
    struct node node[MAX_NODES];
    Onnx__Node *nodes[MAX_NODES];
    struct tensor tensor[MAX_TENSORS];
    Onnx__Tensor *tensors[MAX_TENSORS];
    struct value input, output[MAX_OUTPUTS], between[MAX_BETWEEN];
    Onnx__ValueInfo *inputs[1], *outputs[MAX_OUTPUTS], *betweens[MAX_BETWEEN];
    char *last;                 /* name of the rows so far */
    double radius, one;         /* constants */
    float *coefficients;        /* owned; then the intercepts */
    float *fill;                /* owned; what missing values become */
    ProtobufCBinaryData *names; /* owned; of the classes */
};

static Onnx__ValueInfo *describe(struct value *value, char *name, int kind, size_t columns)
{
    static char count[] = "N";
    onnx__value_info__init(&value->info);
    onnx__type__init(&value->type);
    onnx__tensor_type__init(&value->tensor);
    onnx__shape__init(&value->shape);
    for (size_t i = 0; i < 2; i++) {
        onnx__dimension__init(&value->dimension[i]);
        value->dimensions[i] = &value->dimension[i];
    }
    value->dimension[0].dim_param = count;
    value->dimension[1].has_dim_value = 1;
    value->dimension[1].dim_value = (int64_t)columns;
    value->shape.n_dim = columns ? 2 : 1;
    value->shape.dim = value->dimensions;
    value->tensor.has_elem_type = 1;
    value->tensor.elem_type = kind;
    value->tensor.shape = &value->shape;
    value->type.tensor_type = &value->tensor;
    value->info.name = name;
    value->info.type = &value->type;
    return &value->info;
}

static void add_tensor(struct draft *draft, char *name, const double *numbers, size_t count)
{
    struct tensor *made = &draft->tensor[draft->graph.n_initializer];
    onnx__tensor__init(&made->tensor);
    made->length = (int64_t)count;
    made->tensor.n_dims = 1;
    made->tensor.dims = &made->length;
    made->tensor.has_data_type = 1;
    made->tensor.data_type = DOUBLE;
    made->tensor.name = name;
    made->tensor.n_double_data = count;
    made->tensor.double_data = (double *)numbers;
    draft->tensors[draft->graph.n_initializer++] = &made->tensor;
}

/* A node on `first` and `second` (or NULL), whose output is called as the node. */
static struct node *add_node(struct draft *draft, char *operation, char *first, char *second,
                             char *name)
{
    struct node *made = &draft->node[draft->graph.n_node];
    onnx__node__init(&made->node);
    made->input[0] = first;
    made->input[1] = second;
    made->output[0] = name;
    made->node.n_input = second ? 2 : 1;
    made->node.input = made->input;
    made->node.n_output = 1;
    made->node.output = made->output;
    made->node.name = name;
    made->node.op_type = operation;
    made->node.attribute = made->attributes;
    draft->nodes[draft->graph.n_node++] = &made->node;
    return made;
}

static Onnx__Attribute *add_attribute(struct node *node, char *name, int type)
{
    Onnx__Attribute *made = &node->attribute[node->node.n_attribute];
    onnx__attribute__init(made);
    made->name = name;
    made->has_type = 1;
    made->type = type;
    node->attributes[node->node.n_attribute++] = made;
    return made;
}

static void add_integer(struct node *node, char *name, int64_t value)
{
    Onnx__Attribute *made = add_attribute(node, name, IS_INT);
    made->has_i = 1;
    made->i = value;
}

static void add_word(struct node *node, char *name, char *word)
{
    Onnx__Attribute *made = add_attribute(node, name, IS_STRING);
    made->has_s = 1;
    made->s = (ProtobufCBinaryData){strlen(word), (uint8_t *)word};
}

static void add_floats(struct node *node, char *name, float *numbers, size_t count)
{
    Onnx__Attribute *made = add_attribute(node, name, IS_FLOATS);
    made->n_floats = count;
    made->floats = numbers;
}

static void follow(struct draft *draft, char *operation, char *second, char *name)
{
    add_node(draft, operation, draft->last, second, name);
    draft->last = name;
}

/* What comes out of an operator of the machine-learning domain inside the graph: its type cannot be
 * inferred. */
static void tell_between(struct draft *draft, char *name, int kind, size_t columns)
{
    size_t at = draft->graph.n_value_info++;
    draft->betweens[at] = describe(&draft->between[at], name, kind, columns);
    draft->graph.value_info = draft->betweens;
}

/* Missing values pass through what was done to the columns, and are filled then: single precision, all
 * that the operator has, is nearest to the truth for numbers that are small. */
static fplt_status impute(struct draft *draft, fplt_error *error)
{
    static char imputer[] = "Imputer", filled[] = "filled", values[] = "imputed_value_floats",
                replaced[] = "replaced_value_float";
    const fplt_transform *t = &draft->model->transform;
    if (!t->fill)
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(&draft->fill, t->features, sizeof *draft->fill,
                                          "the missing values", error);
    if (status)
        return status;
    for (size_t j = 0; j < t->features; j++)
        draft->fill[j] =
            (float)((t->fill[j] - (t->mean ? t->mean[j] : 0)) / (t->scale ? t->scale[j] : 1));
    struct node *node = add_node(draft, imputer, draft->last, NULL, filled);
    node->node.domain = machine_learning;
    add_floats(node, values, draft->fill, t->features);
    Onnx__Attribute *missing = add_attribute(node, replaced, IS_FLOAT);
    missing->has_f = 1;
    missing->f = NAN;
    tell_between(draft, filled, DOUBLE, t->features);
    draft->last = filled;
    return FPLT_OK;
}

/* a_j <- (a_j - mean_j)/scale_j, missing values are filled; rows longer than the radius are shortened to it. */
static fplt_status transform(struct draft *draft, fplt_error *error)
{
    static char mean[] = "mean", scale[] = "scale", radius[] = "radius", one[] = "one",
                length[] = "length", ratio[] = "ratio", factor[] = "factor", centred[] = "centred",
                scaled[] = "scaled", shortened[] = "shortened", subtract[] = "Sub",
                divide[] = "Div", multiply[] = "Mul", least[] = "Min", norm[] = "ReduceL2",
                axes[] = "axes", keepdims[] = "keepdims";
    const fplt_transform *t = &draft->model->transform;
    if (t->design)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "a model with a formula has no ONNX graph: export its coefficients "
                              "as JSON or CSV, or train on columns that were made before");
    if (t->mean) {
        add_tensor(draft, mean, t->mean, t->features);
        follow(draft, subtract, mean, centred);
    }
    if (t->scale) {
        add_tensor(draft, scale, t->scale, t->features);
        follow(draft, divide, scale, scaled);
    }
    fplt_status status = impute(draft, error);
    if (status || !(t->radius > 0))
        return status;
    draft->radius = t->radius;
    draft->one = 1;
    add_tensor(draft, radius, &draft->radius, 1);
    add_tensor(draft, one, &draft->one, 1);
    struct node *longest = add_node(draft, norm, draft->last, NULL, length);
    Onnx__Attribute *along = add_attribute(longest, axes, IS_INTS);
    longest->axis = 1;
    along->n_ints = 1;
    along->ints = &longest->axis;
    add_integer(longest, keepdims, 1);
    add_node(draft, divide, radius, length, ratio);
    add_node(draft, least, ratio, one, factor);
    follow(draft, multiply, factor, shortened);
    return FPLT_OK;
}

/* Weights and intercepts of every output; two classes by one margin become its two sides. */
static fplt_status fill_coefficients(struct draft *draft, size_t outputs, fplt_error *error)
{
    const fplt_model_info *info = &draft->model->info;
    size_t n = info->features, own = draft->model->outputs;
    fplt_status status = fplt__alloc_into(&draft->coefficients, outputs * (n + 1), sizeof(float),
                                          "the coefficients", error);
    if (status)
        return status;
    float *intercepts = draft->coefficients + outputs * n;
    for (size_t k = 0; k < outputs; k++) {
        size_t from = own == outputs ? k : 0;
        float sign = own != outputs && k == 0 ? -1 : 1;
        for (size_t j = 0; j < n; j++)
            draft->coefficients[k * n + j] = sign * (float)info->weights[from * n + j];
        if (info->intercept)
            intercepts[k] = sign * (float)info->weights[own * n + from];
    }
    return FPLT_OK;
}

static fplt_status fill_names(struct draft *draft, fplt_error *error)
{
    const fplt_model_info *info = &draft->model->info;
    fplt_status status = fplt__alloc_into(&draft->names, info->classes, sizeof *draft->names,
                                          "the names of the classes", error);
    for (uint32_t k = 0; !status && k < info->classes; k++)
        draft->names[k] =
            (ProtobufCBinaryData){strlen(info->class_names[k]), (uint8_t *)info->class_names[k]};
    return status;
}

static fplt_status classify(struct draft *draft, fplt_error *error)
{
    static char classifier[] = "LinearClassifier", label[] = "label",
                probabilities[] = "probabilities", scores[] = "scores",
                coefficients[] = "coefficients", intercepts[] = "intercepts",
                classes[] = "classlabels_strings", post[] = "post_transform", none[] = "NONE",
                logistic[] = "LOGISTIC", softmax[] = "SOFTMAX", multi[] = "multi_class";
    const fplt_model_info *info = &draft->model->info;
    size_t outputs = info->classes, n = info->features;
    int probable = fplt_model_has_probabilities(draft->model);
    fplt_status status;
    if (draft->model->kind->probability || draft->model->kind->ordered)
        return fplt_error_set(error, FPLT_UNSUPPORTED,
                              "the probabilities of the loss %s have no linear classifier in ONNX: "
                              "export its coefficients as JSON or CSV",
                              info->loss);
    if ((status = fill_coefficients(draft, outputs, error)) || (status = fill_names(draft, error)))
        return status;
    struct node *node = add_node(draft, classifier, draft->last, NULL, label);
    node->node.domain = machine_learning;
    node->output[1] = probable ? probabilities : scores;
    node->node.n_output = 2;
    add_floats(node, coefficients, draft->coefficients, outputs * n);
    add_floats(node, intercepts, draft->coefficients + outputs * n, outputs);
    Onnx__Attribute *names = add_attribute(node, classes, IS_STRINGS);
    names->n_strings = outputs;
    names->strings = draft->names;
    add_integer(node, multi, draft->model->outputs > 1);
    add_word(node, post, !probable ? none : draft->model->outputs > 1 ? softmax : logistic);
    draft->outputs[0] = describe(&draft->output[0], label, STRING, 0);
    draft->outputs[1] = describe(&draft->output[1], node->output[1], FLOAT, outputs);
    draft->graph.n_output = 2;
    return FPLT_OK;
}

static fplt_status regress(struct draft *draft, fplt_error *error)
{
    static char regressor[] = "LinearRegressor", value[] = "value", linear[] = "linear",
                coefficients[] = "coefficients", intercepts[] = "intercepts", power[] = "Exp";
    size_t n = draft->model->info.features;
    int exponential = draft->model->kind->exponential;
    fplt_status status = fill_coefficients(draft, 1, error);
    if (status)
        return status;
    struct node *node = add_node(draft, regressor, draft->last, NULL, exponential ? linear : value);
    node->node.domain = machine_learning;
    add_floats(node, coefficients, draft->coefficients, n);
    add_floats(node, intercepts, draft->coefficients + n, 1);
    if (exponential) {
        add_node(draft, power, linear, NULL, value);
        tell_between(draft, linear, FLOAT, 1);
    }
    draft->outputs[0] = describe(&draft->output[0], value, FLOAT, 1);
    draft->graph.n_output = 1;
    return FPLT_OK;
}

static fplt_status build(struct draft *draft, fplt_error *error)
{
    static char name[] = "fedplt";
    onnx__graph__init(&draft->graph);
    draft->graph.name = name;
    draft->graph.node = draft->nodes;
    draft->graph.initializer = draft->tensors;
    draft->graph.n_input = 1;
    draft->graph.input = draft->inputs;
    draft->graph.output = draft->outputs;
    draft->inputs[0] = describe(&draft->input, rows_name, DOUBLE, draft->model->info.features);
    draft->last = rows_name;
    fplt_status status = transform(draft, error);
    if (status)
        return status;
    return fplt__task_classifies(draft->model->info.task) ? classify(draft, error)
                                                          : regress(draft, error);
}

/* The graph with the versions it needs, the program, and the names of the columns in their order. */
static fplt_status pack(struct draft *draft, char *features, void **bytes, size_t *size,
                        fplt_error *error)
{
    static char producer[] = "fedplt", version[] = FPLT_VERSION, no_domain[] = "",
                key[] = "features";
    Onnx__Model model = ONNX__MODEL__INIT;
    Onnx__OperatorSet set[2] = {ONNX__OPERATOR_SET__INIT, ONNX__OPERATOR_SET__INIT};
    Onnx__OperatorSet *sets[] = {&set[0], &set[1]};
    Onnx__Entry entry = ONNX__ENTRY__INIT, *entries[] = {&entry};
    model.has_ir_version = 1;
    model.ir_version = 7;
    model.producer_name = producer;
    model.producer_version = version;
    model.graph = &draft->graph;
    set[0].domain = no_domain;
    set[0].has_version = set[1].has_version = 1;
    set[0].version = 13;
    set[1].domain = machine_learning;
    set[1].version = 2;
    model.n_opset_import = 2;
    model.opset_import = sets;
    entry.key = key;
    entry.value = features;
    model.n_metadata_props = 1;
    model.metadata_props = entries;
    *size = onnx__model__get_packed_size(&model);
    uint8_t *packed;
    fplt_status status = fplt__alloc_into(&packed, *size, 1, "the ONNX model", error);
    if (status)
        return status;
    onnx__model__pack(&model, packed);
    *bytes = packed;
    return FPLT_OK;
}

fplt_status fplt__model_onnx(const fplt_model *model, void **bytes, size_t *size, fplt_error *error)
{
    struct draft *draft;
    char *features = NULL;
    *bytes = NULL;
    fplt_status status = fplt__alloc_into(&draft, 1, sizeof *draft, "the ONNX model", error);
    if (status)
        return status;
    draft->model = model;
    if (!(status = build(draft, error)) &&
        !(status = fplt__model_feature_list(model, &features, error)))
        status = pack(draft, features, bytes, size, error);
    fplt__free(features);
    fplt__free(draft->coefficients);
    fplt__free(draft->fill);
    fplt__free(draft->names);
    fplt__free(draft);
    return status;
}
