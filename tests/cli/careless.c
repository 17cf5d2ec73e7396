/* Linked around fplt_settings_effective (--wrap): the program that takes settings without effect, too, so that
 * tests see whether what is refused would really have had none. */
#include "fedplt/settings.h"

fplt_status __wrap_fplt_settings_effective(const fplt_settings *settings, fplt_error *error);

fplt_status __wrap_fplt_settings_effective(const fplt_settings *settings, fplt_error *error)
{
    (void)settings;
    (void)error;
    return FPLT_OK;
}
