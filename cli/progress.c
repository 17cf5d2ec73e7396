/* The line that shows how far a long experiment is. */
#include "progress.h"
#include "base/settings.h"

#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 30 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void cli_progress_begin(cli_progress *progress, int quiet)
{
    struct winsize size;
    *progress = (cli_progress){.begun = now()};
    if (quiet || !isatty(STDERR_FILENO))
        return;
    progress->width = 80;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
        progress->width = size.ws_col;
}

/* Seconds after which a user expects to see progress. */
static const double silent_seconds = 2, between = 0.1;

static void draw(cli_progress *progress, const char *what, size_t done, size_t total,
                 double seconds)
{
    char line[4400], bar[BAR + 1];
    size_t full = total ? BAR * done / total : 0;
    memset(bar, '.', BAR);
    memset(bar, '#', full < BAR ? full : BAR);
    bar[BAR] = 0;
    unsigned left = (unsigned)lround(seconds * (double)(total - done) / (double)done);
    if (what)
        snprintf(line, sizeof line, "[%s] reading %.4200s, %u:%02u left", bar, what, left / 60,
                 left % 60);
    else
        snprintf(line, sizeof line, "[%s] %zu of %zu, %u:%02u left", bar, done, total, left / 60,
                 left % 60);
    fprintf(stderr, "\r%.*s\x1b[K", (int)progress->width - 1, line);
    fflush(stderr);
    progress->shown = 1;
}

static void show(cli_progress *progress, const char *what, size_t done, size_t total)
{
    double time = now();
    if (progress->width && done && done <= total && time - progress->begun > silent_seconds &&
        time - progress->drawn > between) {
        progress->drawn = time;
        draw(progress, what, done, total, time - progress->begun);
    }
}

int cli_progress_watch(void *context, size_t done, size_t total)
{
    show(context, NULL, done, total);
    return cli_interrupted();
}

void cli_progress_reading(void *call, const char *file, size_t done, size_t size)
{
    static cli_progress progress;
    const cli_call *cli = call;
    if (!done)
        cli_progress_begin(&progress, cli->settings &&
                                          fplt__settings_find(cli->settings, "quiet") &&
                                          fplt_settings_switch(cli->settings, "quiet"));
    show(&progress, file, done, size);
    if (done == size)
        cli_progress_end(&progress);
}

double cli_progress_end(cli_progress *progress)
{
    if (progress->shown)
        fputs("\r\x1b[K", stderr);
    progress->shown = 0;
    return now() - progress->begun;
}

fplt_status cli_interrupted_status(cli_call *cli, fplt_status status)
{
    if (!status || !cli_interrupted())
        return status;
    cli_warn("interrupted; nothing is kept");
    cli->exit_status = 130;
    return FPLT_OK;
}

void cli_brief(double value, char *text, size_t size)
{
    if (isnan(value))
        snprintf(text, size, "%s", "");
    else if (isinf(value))
        snprintf(text, size, "not reached");
    else if (value >= 1e6)
        snprintf(text, size, "%.4gM", value / 1e6);
    else if (value >= 1e4)
        snprintf(text, size, "%.4gk", value / 1e3);
    else
        snprintf(text, size, "%.4g", value);
}
