#include "base/network.h"

#include <string.h>

#include "fedplt/settings.h"
#include "base/text.h"

static fplt_status bad_address(const char *address, fplt_error *error)
{
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "'%.100s' is not an address: HOST:PORT, the port from 1 to 65535",
                          address);
}

fplt_status fplt__address_split(const char *address, char *host, size_t size, unsigned *port,
                                fplt_error *error)
{
    const char *begin = address, *end, *colon;
    if (*address == '[') {
        begin++;
        end = strchr(begin, ']');
        if (!end || (end[1] && end[1] != ':'))
            return bad_address(address, error);
        colon = end[1] ? end + 1 : NULL;
    } else {
        colon = strrchr(address, ':');
        end = colon ? colon : address + strlen(address);
    }
    size_t length = (size_t)(end - begin);
    if (length == 0 || length >= size)
        return bad_address(address, error);
    memcpy(host, begin, length);
    host[length] = 0;
    long long number;
    if (!colon)
        return FPLT_OK;
    if (fplt__parse_integer(colon + 1, &number) || number < 0 || number > 65535)
        return bad_address(address, error);
    *port = (unsigned)number;
    return FPLT_OK;
}
