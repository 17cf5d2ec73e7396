/* Pictures by the gnuplot program: the script and the data go in through one pipe, the picture comes
 * out through another and is written whole. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "fedplt/report.h"
#include "base/buffer.h"

extern char **environ;

enum { MOST_POINTS = 2000 };

/* Okabe and Ito's colours, told apart by colour-blind readers too. */
static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                      "#E69F00", "#56B4E9", "#000000", "#8C6D31"};
enum { COLOURS = sizeof colours / sizeof *colours };

/* More curves than this get their names beside the picture instead of below it. */
enum { MOST_BELOW = 6 };

/* Dashes that look like dashes in every terminal: long enough for the line, short enough for the swatch. */
#define DASHED "(10,6)"
#define DOTTED "(3,5)"

/* gnuplot text in single quotes: a quote is doubled, a line break is none. */
static void quote(fplt__buffer *script, const char *text)
{
    fplt__buffer_add(script, "'");
    for (; *text; text++)
        fplt__buffer_add(script, *text == '\'' ? "''" : (char[]){*text == '\n' ? ' ' : *text, 0});
    fplt__buffer_add(script, "'");
}

/* gnuplot rounds the lower end of a logarithmic axis down to a power of ten, which must exist. */
static const double least_logarithmic = 1e-300;

static int drawable(const fplt_plot *plot, double x, double y)
{
    return isfinite(x) && isfinite(y) && !(plot->log_x && x < least_logarithmic) &&
           !(plot->log_y && y < least_logarithmic);
}

/* At most MOST_POINTS of a curve, the last one always. */
static void write_data(fplt__buffer *script, const fplt_plot *plot)
{
    for (size_t s = 0; s < plot->count; s++) {
        const fplt_series *series = &plot->series[s];
        size_t stride = series->count / MOST_POINTS + 1;
        fplt__buffer_format(script, "$curve%zu << EOD\n", s);
        for (size_t i = 0; i < series->count; i++)
            if ((i % stride == 0 || i + 1 == series->count) &&
                drawable(plot, series->x[i], series->y[i]))
                fplt__buffer_format(script, "%.10g %.10g %.10g %.10g\n", series->x[i], series->y[i],
                                    series->low ? series->low[i] : series->y[i],
                                    series->high ? series->high[i] : series->y[i]);
        fplt__buffer_add(script, "EOD\n");
    }
}

static size_t drawable_points(const fplt_plot *plot, const fplt_series *series)
{
    size_t count = 0;
    for (size_t i = 0; i < series->count; i++)
        count += drawable(plot, series->x[i], series->y[i]);
    return count;
}

/* On a logarithmic axis a little room above and below, so that a line at the tolerance is not
 * taken for the axis. */
static void write_range(fplt__buffer *script, const fplt_plot *plot)
{
    double least = plot->target > 0 ? plot->target : HUGE_VAL, most = plot->target;
    for (size_t s = 0; s < plot->count; s++)
        for (size_t i = 0; i < plot->series[s].count; i++) {
            double y = plot->series[s].y[i];
            if (!drawable(plot, plot->series[s].x[i], y))
                continue;
            least = fmin(least, y);
            most = fmax(most, y);
        }
    fplt__buffer_format(script, "set logscale y\nset format y '10^{%%L}'\nset yrange [%.3g:%.3g]\n",
                        fmax(least / 2.5, least_logarithmic / 10), most * 2.5);
}

static int has_bars(const fplt_plot *plot)
{
    for (size_t s = 0; s < plot->count; s++)
        if (plot->series[s].low && plot->series[s].high && !plot->series[s].band)
            return 1;
    return 0;
}

static void write_axes(fplt__buffer *script, const fplt_plot *plot)
{
    fplt__buffer_add(script, "set border 3 lc rgb '#606060' lw 1\n"
                             "set tics nomirror out scale 0.6 tc rgb '#303030'\n"
                             "set grid xtics ytics lc rgb '#E4E4E4' lt 1 lw 1\n"
                             "set lmargin 11\nset tmargin 3.2\n");
    /* outside, where no name covers a line; a swatch is longer than two dashes */
    fplt__buffer_add(script, plot->count > MOST_BELOW
                                 ? "set key outside right top Left reverse samplen 5 spacing 1.4\n"
                                 : "set key outside bottom center horizontal Left reverse samplen "
                                   "5 spacing 1.3 width 2 height 0.8\nset rmargin 3\n");
    if (has_bars(plot) && !plot->log_y)
        fplt__buffer_add(script, "set offsets 0, 0, graph 0.04, graph 0.04\n");
    if (plot->log_x)
        fplt__buffer_add(script, "set logscale x\nset format x '10^{%L}'\n");
    if (plot->log_y)
        write_range(script, plot);
    fplt__buffer_add(script, "set title ");
    quote(script, plot->title);
    fplt__buffer_add(script, " noenhanced font ',15'\nset xlabel ");
    quote(script, plot->x_label);
    fplt__buffer_add(script, " noenhanced\nset ylabel ");
    quote(script, plot->y_label);
    fplt__buffer_add(script, " noenhanced\n");
}

static void write_around(fplt__buffer *script, const fplt_plot *plot, int *drawn)
{
    for (size_t s = 0; s < plot->count; s++) {
        const fplt_series *series = &plot->series[s];
        if (!series->low || !series->high || !drawable_points(plot, series))
            continue;
        fplt__buffer_format(script,
                            series->band
                                ? "%s$curve%zu using 1:3:4 with filledcurves fc rgb '%s' fs "
                                  "transparent solid 0.12 noborder notitle"
                                : "%s$curve%zu using 1:2:3:4 with yerrorbars lc rgb '%s' "
                                  "pt 7 ps 0.1 lw 1.5 notitle",
                            (*drawn)++ ? ", " : "", s, colours[s % COLOURS]);
    }
}

static void write_curves(fplt__buffer *script, const fplt_plot *plot)
{
    int drawn = 0;
    fplt__buffer_add(script, "plot ");
    write_around(script, plot, &drawn);
    for (size_t s = 0; s < plot->count; s++) {
        size_t points = drawable_points(plot, &plot->series[s]);
        if (!points)
            continue;
        /* the colours come round again with dashes */
        fplt__buffer_format(script, "%s$curve%zu using 1:2 with %s lc rgb '%s' dt %s lw 2.5 title ",
                            drawn++ ? ", " : "", s,
                            points <= 60 ? "linespoints pt 7 ps 0.5" : "lines",
                            colours[s % COLOURS], s < COLOURS ? "1" : DASHED);
        quote(script, plot->series[s].name);
        fplt__buffer_add(script, " noenhanced");
    }
    if (plot->target > 0) {
        fplt__buffer_format(script,
                            "%s%.10g with lines dt " DASHED " lc rgb '#505050' lw 1.5 title ",
                            drawn++ ? ", " : "", plot->target);
        quote(script, plot->target_label ? plot->target_label : "");
        fplt__buffer_add(script, " noenhanced");
    }
    if (plot->diagonal) {
        fplt__buffer_format(script, "%sx with lines dt " DOTTED " lc rgb '#505050' lw 1.5 title ",
                            drawn ? ", " : "");
        quote(script, plot->diagonal);
        fplt__buffer_add(script, " noenhanced");
    }
    fplt__buffer_add(script, "\n");
}

/* How each kind of picture is asked for. */
static const struct kind {
    const char *ending, *terminal;
} kinds[] = {
    {".svg", "svg size 900,560 enhanced rounded background rgb 'white' font 'DejaVu Sans,13'"},
    {".png", "pngcairo size 1350,840 enhanced rounded background rgb 'white' font 'DejaVu Sans,13' "
             "fontscale 1.35 linewidth 1.5 pointscale 1.5"},
    {".pdf", "pdfcairo size 18cm,11.2cm enhanced rounded background rgb 'white' font 'DejaVu "
             "Sans,11' linewidth 1.2 pointscale 0.6"},
};

static const struct kind *kind_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(dot, kinds[i].ending) == 0)
            return &kinds[i];
    return NULL;
}

fplt_status fplt_plot_check(const char *path, fplt_error *error)
{
    return kind_of(path) ? FPLT_OK
                         : fplt_error_set(error, FPLT_BAD_VALUE,
                                          "%s: a picture must be named .svg, .png or .pdf", path);
}

static fplt_status write_script(const fplt_plot *plot, const char *path, fplt__buffer *script,
                                fplt_error *error)
{
    const struct kind *kind = kind_of(path);
    size_t points = 0;
    for (size_t s = 0; s < plot->count; s++)
        points += drawable_points(plot, &plot->series[s]);
    fplt_status status = fplt_plot_check(path, error);
    if (status)
        return status;
    if (!points)
        return fplt_error_set(error, FPLT_BAD_VALUE, "%s: there is nothing to draw", path);
    fplt__buffer_format(script, "set encoding utf8\nset terminal %s\n", kind->terminal);
    write_data(script, plot);
    write_axes(script, plot);
    write_curves(script, plot);
    if (script->status)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a picture");
    return FPLT_OK;
}

struct child {
    pid_t process;
    int in, out; /* our ends of its standard input and output */
};

static void close_all(const int *handles, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (handles[i] >= 0)
            close(handles[i]);
}

static int spawn_gnuplot(struct child *child, int *problem)
{
    char program[] = "gnuplot", quiet[] = "--default-settings";
    char *arguments[] = {program, quiet, NULL};
    int pipes[4] = {-1, -1, -1, -1};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t pipe_signal;
    if (pipe2(pipes, O_CLOEXEC) || pipe2(pipes + 2, O_CLOEXEC)) {
        *problem = errno;
        close_all(pipes, 4);
        return -1;
    }
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipes[3], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &pipe_signal);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    *problem = posix_spawnp(&child->process, program, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(pipes[0]);
    close(pipes[3]);
    child->in = pipes[1];
    child->out = pipes[2];
    if (!*problem)
        return 0;
    close(child->in);
    close(child->out);
    return -1;
}

/* Feeds the script and drains the picture at the same time: neither side can then wait for the
 * other. A write to a program that has ended must not end us: SIGPIPE is blocked meanwhile. */
static int converse(struct child *child, const fplt__buffer *script, fplt__buffer *picture)
{
    size_t sent = 0;
    char bytes[16384];
    int failed = 0, open = 1;
    fcntl(child->in, F_SETFL, O_NONBLOCK);
    while (open) {
        struct pollfd wait[2] = {{child->out, POLLIN, 0}, {child->in, POLLOUT, 0}};
        if (poll(wait, child->in >= 0 ? 2 : 1, -1) < 0) {
            if (errno == EINTR)
                continue;
            failed = 1;
            break;
        }
        if (child->in >= 0 && wait[1].revents) {
            ssize_t done = write(child->in, script->text + sent, script->length - sent);
            sent += done > 0 ? (size_t)done : 0;
            if (sent == script->length || (done < 0 && errno != EAGAIN && errno != EINTR)) {
                close(child->in);
                child->in = -1;
            }
        }
        if (wait[0].revents) {
            ssize_t got = read(child->out, bytes, sizeof bytes);
            if (got > 0)
                fplt__buffer_add_bytes(picture, bytes, (size_t)got);
            open = got > 0 || (got < 0 && errno == EINTR);
        }
    }
    return failed || sent < script->length || picture->status;
}

static int wait_for(pid_t process)
{
    int status;
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) && WEXITSTATUS(status) != 127 ? 0 : -1;
}

static fplt_status run_gnuplot(const fplt__buffer *script, const char *path, fplt__buffer *picture,
                               fplt_error *error)
{
    struct child child = {0, -1, -1};
    int problem;
    if (spawn_gnuplot(&child, &problem))
        return problem == ENOENT
                   ? fplt_error_set(error, FPLT_UNSUPPORTED,
                                    "%s: not drawn, because gnuplot is not installed", path)
                   : fplt_error_set(error, FPLT_FAILED, "%s: gnuplot cannot be started: %s", path,
                                    strerror(problem));
    sigset_t block, before;
    sigemptyset(&block);
    sigaddset(&block, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &block, &before);
    int failed = converse(&child, script, picture);
    struct timespec none = {0, 0};
    if (!sigismember(&before, SIGPIPE))
        while (sigtimedwait(&block, NULL, &none) >= 0)
            ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close_all((int[]){child.in, child.out}, 2);
    if (wait_for(child.process) || failed || !picture->length)
        return fplt_error_set(error, FPLT_FAILED, "%s: gnuplot made no picture", path);
    return FPLT_OK;
}

fplt_status fplt_plot_write(const fplt_plot *plot, const char *path, fplt_error *error)
{
    fplt__buffer script = {NULL, 0, 0, FPLT_OK}, picture = {NULL, 0, 0, FPLT_OK};
    fplt_status status = write_script(plot, path, &script, error);
    if (!status)
        status = run_gnuplot(&script, path, &picture, error);
    if (!status)
        status = fplt_file_save(path, 0666, picture.text, picture.length, error);
    fplt__buffer_clear(&script);
    fplt__buffer_clear(&picture);
    return status;
}
