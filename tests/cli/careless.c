/* Linked around what refuses settings without effect (--wrap): the program that takes them, too, so that tests see
 * whether what is refused would really have had none. */
#include "fedplt/settings.h"

fplt_status __wrap_fplt_settings_effective(const fplt_settings *settings, fplt_error *error);
fplt_status __wrap_fplt_settings_effective_in(const fplt_settings *settings, const char *where,
                                              const fplt_setting_need *table, fplt_error *error);

fplt_status __wrap_fplt_settings_effective(const fplt_settings *settings, fplt_error *error)
{
    (void)settings;
    (void)error;
    return FPLT_OK;
}

fplt_status __wrap_fplt_settings_effective_in(const fplt_settings *settings, const char *where,
                                              const fplt_setting_need *table, fplt_error *error)
{
    (void)settings;
    (void)where;
    (void)table;
    (void)error;
    return FPLT_OK;
}
