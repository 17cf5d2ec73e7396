/* Status names and error sentences. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *text;
} table[] = {
#define ROW(code, name, text) {name, text},
    FPLT_STATUS_MAP(ROW)
#undef ROW
};

const char *fplt_version(void)
{
    return FPLT_VERSION;
}

const char *fplt_status_name(fplt_status status)
{
    size_t index = (size_t)status;
    return index < sizeof table / sizeof *table ? table[index].name : "unknown";
}

const char *fplt_status_text(fplt_status status)
{
    size_t index = (size_t)status;
    return index < sizeof table / sizeof *table ? table[index].text : "unknown status";
}

fplt_status fplt_error_set(fplt_error *error, fplt_status status, const char *format, ...)
{
    if (error) {
        error->status = status;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return status;
}

fplt_status fplt_error_prefix(fplt_error *error, const char *format, ...)
{
    if (!error)
        return FPLT_FAILED;
    char prefix[sizeof error->text], whole[sizeof error->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    int length = snprintf(whole, sizeof whole, "%s: %s", prefix, error->text);
    if (length > 0)
        memcpy(error->text, whole, sizeof whole);
    return error->status;
}

fplt_status fplt__table_check(const char *type, size_t size, size_t known, fplt_error *error)
{
    if (size == known)
        return FPLT_OK;
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "%s: size is %zu, but it must be sizeof(%s), which is %zu in fedplt %s",
                          type, size, type, known, fplt_version());
}
