/* Modules that are loaded on use; see fedplt/module.h. */
#include "base/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/module_folder.h"

static void *open_there(const char *path, int shares)
{
    return access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | (shares ? RTLD_GLOBAL : RTLD_LOCAL))
                                   : NULL;
}

static void *open_beside_program(const char *name, int shares)
{
    char path[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (length <= 0)
        return NULL;
    path[length] = 0;
    char *slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    snprintf(slash, sizeof path - (size_t)(slash - path), "/src/%.20s/%.20s.so", name, name);
    return open_there(path, shares);
}

/* Beside the object that has this function: a library or extension module in the folder where it was built. */
static void *open_beside_library(const char *name, int shares)
{
    static const char *const places[] = {"/../../src", ""};
    char path[PATH_MAX + 64];
    Dl_info about;
    void *loaded = NULL;
    if (!dladdr((const void *)(uintptr_t)&fplt__module_load, &about) || !about.dli_fname)
        return NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !loaded; i++) {
        snprintf(path, PATH_MAX, "%s", about.dli_fname);
        char *slash = strrchr(path, '/');
        if (!slash)
            return NULL;
        snprintf(slash, sizeof path - (size_t)(slash - path), "%s/%.20s/%.20s.so", places[i], name,
                 name);
        loaded = open_there(path, shares);
    }
    return loaded;
}

const void *fplt__module_load(const char *name, const char *symbol, int shares, fplt_error *error)
{
    char path[PATH_MAX];
    void *loaded = open_beside_program(name, shares);
    if (!loaded)
        loaded = open_beside_library(name, shares);
    snprintf(path, sizeof path, "%s/%.20s.so", FPLT_MODULES, name);
    if (!loaded)
        loaded = dlopen(path, RTLD_NOW | (shares ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!loaded) {
        fplt_error_set(error, FPLT_UNSUPPORTED, "the module '%s' cannot be loaded: %.400s", name,
                       dlerror());
        return NULL;
    }
    const void *table = dlsym(loaded, symbol);
    if (!table)
        fplt_error_set(error, FPLT_UNSUPPORTED, "the module '%s' is of another fedplt", name);
    return table;
}
