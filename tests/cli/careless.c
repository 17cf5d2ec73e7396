/* Linked around what refuses settings without effect (--wrap): the program that takes them, too, so that tests see
 * whether what is refused would really have had none. */
#include "base/settings.h"

fplt_status __wrap_fplt__settings_effective(const fplt_settings *settings, fplt_error *error);
fplt_status __wrap_fplt__settings_effective_in(const fplt_settings *settings, const char *where,
                                               const fplt__setting_need *table, fplt_error *error);

fplt_status __wrap_fplt__settings_effective_alone(const fplt_settings *settings, const char *where,
                                                  const fplt__setting_need *table,
                                                  fplt_error *error);
fplt_status __wrap_fplt__settings_effective_beside(const fplt_settings *settings,
                                                   const fplt__setting_need *table,
                                                   const char *there, const char *what,
                                                   fplt_error *error);

fplt_status __wrap_fplt__settings_effective(const fplt_settings *settings, fplt_error *error)
{
    (void)settings;
    (void)error;
    return FPLT_OK;
}

fplt_status __wrap_fplt__settings_effective_in(const fplt_settings *settings, const char *where,
                                               const fplt__setting_need *table, fplt_error *error)
{
    (void)settings;
    (void)where;
    (void)table;
    (void)error;
    return FPLT_OK;
}

fplt_status __wrap_fplt__settings_effective_alone(const fplt_settings *settings, const char *where,
                                                  const fplt__setting_need *table,
                                                  fplt_error *error)
{
    return __wrap_fplt__settings_effective_in(settings, where, table, error);
}

fplt_status __wrap_fplt__settings_effective_beside(const fplt_settings *settings,
                                                   const fplt__setting_need *table,
                                                   const char *there, const char *what,
                                                   fplt_error *error)
{
    (void)there;
    return __wrap_fplt__settings_effective_in(settings, what, table, error);
}
