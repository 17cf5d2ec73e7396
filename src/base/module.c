/* Modules that are loaded on use; see fedplt/module.h. */
#include "fedplt/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/module_folder.h"

/* RTLD_GLOBAL, because Open MPI loads components that look for symbols of the library that loaded them. */
static void *open_beside_program(const char *name)
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
    return access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
}

const void *fplt_module_load(const char *name, const char *symbol, fplt_error *error)
{
    char path[PATH_MAX];
    void *loaded = open_beside_program(name);
    snprintf(path, sizeof path, "%s/%.20s.so", FPLT_MODULES, name);
    if (!loaded)
        loaded = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
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
