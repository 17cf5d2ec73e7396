/* Any bytes as a certificate of privacy, and as a model beside one: a document is refused with a sentence, or every finding is made;
 * what holds has a promise of finite size. */
#include <math.h>

#include "fedplt/certificate.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fplt_certificate_summary summary;
    fplt_certificate_look look = {0};
    fplt_error error = {FPLT_OK, ""};
    fplt_status status =
        fplt_certificate_verify((const char *)bytes, size, "input", &look, &summary, &error);
    promise(!status || (status == error.status && *error.text));
    if (!status && summary.holds)
        promise(summary.epsilon >= 0 && isfinite(summary.epsilon) && summary.delta >= 0 &&
                summary.delta < 1);
    return 0;
}
