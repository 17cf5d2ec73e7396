# Survival: curves of a study, and what follows from a Cox regression and its rows. The library computes all of it.

INTERVALS <- c("log", "log-log", "plain")

TRANSFORMS <- c("km", "identity", "log", "rank")

# Numbers as the library takes a list of them; NULL stays.
number_list <- function(numbers, name) {
  if (is.null(numbers)) return(NULL)
  if (!is.numeric(numbers) || !length(numbers) || anyNA(numbers)) refuse(name, " must be numbers above 0, each larger than the one before")
  paste(vapply(numbers, format_number, ""), collapse = ",")
}

# What messages of the library call by the flags of the command line.
as_arguments <- function(notes) sub("--refit", "refit = TRUE", notes, fixed = TRUE)

# ---- curves ----

survival_curves <- function(formula, data, sites = NULL, happened = NULL, times = NULL, grid = NULL, minimum = 0,
                            interval = c("log", "log-log", "plain"), level = 0.95, missing_codes = NULL, schema = NULL) {
  interval <- match.arg(interval)
  check_count(minimum, "minimum")
  check_level(level)
  parts <- surv_parts(formula)
  if (is.data.frame(data)) {
    if (!is.null(happened)) refuse("happened is given, but only files need it; for a data frame write Surv(time, event == value)")
    made <- curve_rows(formula, data, substitute(sites), parent.frame())
    columns <- list("time", "event", NULL, made$by)
    input <- csv_lines(made$data)
    site <- made$site
  } else {
    if (!is.character(data) || !length(data))
      refuse("data is of class ", class(data)[1L], ", but must be a data frame, or the paths of CSV files, one a site")
    columns <- list(parts$time, parts$event, happened, file_stratum(formula))
    input <- path.expand(data)
    site <- sites
  }
  made <- .Call(C_survival, input, is.data.frame(data), c(columns, list(number_list(grid, "grid"), number_list(times, "times"), site,
                                                                        comma_list(missing_codes), schema)),
                as.double(c(minimum, match(interval, INTERVALS) - 1, level)))
  structure(list(curves = csv_frame(made$curves, 2L), times = csv_frame(made$times, 2L), steps = csv_frame(made$steps, 2L),
                 tests = csv_frame(made$tests, 1L), groups = csv_frame(made$groups, 2L), notes = made$notes, interval = interval,
                 level = level), class = "fedplt_curves")
}

# The expressions of time and event.
surv_parts <- function(formula) {
  left <- if (inherits(formula, "formula") && length(formula) == 3L) formula[[2L]]
  called <- if (is.call(left)) deparse(left[[1L]])
  if (!identical(called, "Surv") && !identical(called, "survival::Surv") || length(left) != 3L)
    refuse("formula is ", paste(deparse(formula), collapse = " "), ", but must be Surv(time, event) ~ stratum, or ~ 1")
  list(time = paste(deparse(left[[2L]]), collapse = " "), event = paste(deparse(left[[3L]]), collapse = " "))
}

# The column of the strata in files; NULL: there is none.
file_stratum <- function(formula) {
  names <- all.vars(formula[[3L]])
  if (length(names) > 1L) refuse("the formula has ", length(names), " strata, but files take one column")
  if (length(names)) names
}

# Times, events, strata and sites of a data frame as the columns that the library is told of.
curve_rows <- function(formula, data, sites, env) {
  found <- describe_sites(data, sites, env)
  environment(formula) <- survival_env(environment(formula))
  frame <- stats::model.frame(formula, data, na.action = stats::na.pass)
  response <- stats::model.response(frame)
  if (inherits(response, "Surv") && attr(response, "type") != "right")
    refuse("the response is censored of type ", attr(response, "type"), ", but must be right-censored: Surv(time, event)",
           status = "unsupported")
  made <- data.frame(time = as.vector(response[, 1L]), event = as.vector(response[, 2L]))
  strata <- lapply(frame[-1L], as.character)
  if (length(strata)) {
    made$stratum <- do.call(paste, c(strata, sep = ", "))
    made$stratum[Reduce(`|`, lapply(strata, is.na))] <- NA
  }
  if (found$site != "none") made[["(site)"]] <- as.character(found$data[[found$site]])
  list(data = made, by = if (length(strata)) "stratum", site = if (found$site == "none") "none" else "(site)")
}

print.fedplt_curves <- function(x, digits = 4, ...) {
  show <- function(frame) print(all_named(frame), digits = digits, row.names = FALSE)
  show(x$curves)
  cat("\n")
  show(x$times)
  if (nrow(x$tests)) {
    cat("\nlog-rank test\n")
    print(x$groups, digits = digits, row.names = FALSE)
    cat("\n")
    print(x$tests, digits = digits, row.names = FALSE)
  }
  cat("\nlow and high: ", format(100 * x$level), " % CI, symmetric on the scale ", x$interval, "\n", sep = "")
  print_notes(x$notes)
  invisible(x)
}

# Missing sites and strata are all of them.
all_named <- function(frame) {
  for (name in intersect(c("site", "stratum"), names(frame))) {
    if (all(is.na(frame[[name]]))) frame[[name]] <- NULL
    else frame[[name]][is.na(frame[[name]])] <- "all"
  }
  frame
}

as.data.frame.fedplt_curves <- function(x, ...) x$steps

toLatex.fedplt_curves <- function(object, ...) latex(all_named(object$curves))

# The strata over all sites, or without strata the sites.
plot.fedplt_curves <- function(x, xlab = "Time", ylab = "Survival", intervals = TRUE, ...) {
  steps <- x$steps
  by_strata <- any(!is.na(steps$stratum))
  if (by_strata) steps <- steps[is.na(steps$site), ]
  else if (any(!is.na(steps$site))) steps <- steps[!is.na(steps$site), ]
  label <- if (by_strata) steps$stratum else ifelse(is.na(steps$site), "all", steps$site)
  draw_steps(steps, label, xlab, ylab, intervals, ...)
  invisible(x)
}

# Step curves with dotted limits. steps: time, survival, low, high; label: which curve a line is of.
draw_steps <- function(steps, label, xlab, ylab, intervals, ...) {
  names <- unique(label)
  graphics::plot(range(0, steps$time), c(0, 1), type = "n", xlab = xlab, ylab = ylab, ...)
  for (i in seq_along(names)) {
    one <- steps[label == names[i], ]
    graphics::lines(c(0, one$time), c(1, one$survival), type = "s", col = i)
    if (intervals) for (limit in list(one$low, one$high)) graphics::lines(c(0, one$time), c(1, limit), type = "s", col = i, lty = 3)
  }
  if (length(names) > 1L) graphics::legend("topright", names, col = seq_along(names), lty = 1)
}

# ---- Cox regressions ----

needs_cox <- function(fit, what) {
  if (!inherits(fit, "fedplt_cox")) refuse("fit is of class ", class(fit)[1L], ", but ", what, " needs a fit of fedplt_cox")
  needs_records(fit, what)
  if (fit$trained$sites$dealt > 0)
    refuse(what, " belongs to a site, but the rows were dealt out to ", fit$trained$sites$dealt, " sites at random: fit with sites = a column of the data",
           status = "unsupported")
}

# The rows of a fit as the library takes them.
cox_rows <- function(fit) {
  x <- stats::model.matrix(fit)
  counted <- which(fit$prior.weights > 0)
  sites <- group_sites(fit$strata, list(index = counted, n = nrow(x)))
  rows_dataset(x, sites, fit$response$label[counted], fit$prior.weights[counted], fit$offset[counted], "survival", NULL,
               which(!is.na(fit$coefficients)))
}

# New rows, of which only the columns and the offset count; NULL: none.
cox_new_rows <- function(fit, x, offset) {
  sites <- list(order = seq_len(nrow(x)), place = seq_len(nrow(x)), sizes = as.numeric(nrow(x)), names = NULL)
  rows_dataset(x, sites, rep(1, nrow(x)), NULL, offset, "survival", NULL, which(!is.na(fit$coefficients)))
}

hazard_tables <- function(fit, new = NULL, grid = NULL, times = NULL, site = NULL, minimum = 0, interval = "log", level = 0.95, refit = FALSE) {
  check_count(minimum, "minimum")
  check_level(level)
  made <- .Call(C_hazard, fit$trained$model$json, cox_rows(fit), new, list(number_list(grid, "grid"), times, site),
                as.double(c(minimum, match(interval, INTERVALS) - 1, level, isTRUE(refit))))
  patients <- function(csv) {
    frame <- csv_frame(csv, 3L)
    frame$row <- as.integer(frame$row)
    frame[names(frame) != "id"]
  }
  list(baseline = csv_frame(made$baseline, 1L), patients = if (!is.null(new)) patients(made$patients),
       times = if (!is.null(new)) patients(made$times), notes = as_arguments(made$notes))
}

survival_baseline <- function(fit, grid = NULL, minimum = 0, refit = FALSE) {
  needs_cox(fit, "a baseline hazard")
  made <- hazard_tables(fit, grid = grid, minimum = minimum, refit = refit)
  structure(made$baseline, notes = made$notes)
}

survival_predict <- function(fit, newdata, times = NULL, site = NULL, interval = c("log", "log-log", "plain"), level = 0.95, refit = FALSE,
                             grid = NULL, minimum = 0) {
  interval <- match.arg(interval)
  needs_cox(fit, "a survival curve")
  made <- new_matrix(fit, newdata, stats::na.fail)
  x <- made$x[, colnames(made$x) != "(Intercept)", drop = FALSE]
  found <- hazard_tables(fit, cox_new_rows(fit, x, made$offset), grid, number_list(times, "times"), site, minimum, interval, level, refit)
  structure(list(patients = found$patients, times = found$times, notes = found$notes, interval = interval, level = level),
            class = "fedplt_prognosis")
}

print.fedplt_prognosis <- function(x, digits = 4, ...) {
  print(x$patients, digits = digits, row.names = FALSE)
  cat("\n")
  print(x$times, digits = digits, row.names = FALSE)
  cat("\nlow and high: ", format(100 * x$level), " % CI, symmetric on the scale ", x$interval, "\n", sep = "")
  print_notes(x$notes)
  invisible(x)
}

as.data.frame.fedplt_prognosis <- function(x, ...) x$times

toLatex.fedplt_prognosis <- function(object, ...) latex(object$times)

plot.fedplt_prognosis <- function(x, xlab = "Time", ylab = "Survival", intervals = TRUE, ...) {
  known <- x$times[!is.na(x$times$survival), ]
  draw_steps(known, paste0("row ", known$row, ", ", known$site), xlab, ylab, intervals && !all(is.na(known$low)), ...)
  invisible(x)
}

# Columns of one term go together: the library is told of them as levels of one category.
survival_test <- function(fit, transform = c("km", "identity", "log", "rank"), each_column = FALSE) {
  transform <- match.arg(transform)
  needs_cox(fit, "a test of proportional hazards")
  kept <- which(!is.na(fit$coefficients))
  term <- if (isTRUE(each_column)) kept else (fit$assign %||% seq_along(fit$coefficients))[kept]
  labels <- if (isTRUE(each_column)) names(fit$coefficients) else attr(fit$terms, "term.labels")
  names <- ifelse(duplicated(term) | duplicated(term, fromLast = TRUE), paste0("t", term, "=", kept), paste0("t", term))
  made <- csv_frame(.Call(C_hazard_test, fit$trained$model$json, cox_rows(fit), names,
                          as.double(c(match(transform, TRANSFORMS) - 1, isTRUE(each_column)))), 1L)
  names(made) <- c("term", "chisq", "df", "p")
  known <- match(made$term, paste0("t", seq_along(labels)))
  made$term[!is.na(known)] <- labels[known[!is.na(known)]]
  structure(made, transform = transform, class = c("fedplt_zph", "data.frame"))
}

print.fedplt_zph <- function(x, digits = 4, ...) {
  cat("Score test of proportional hazards, time by ", attr(x, "transform"), "\n", sep = "")
  print(as.data.frame(x), digits = digits, row.names = FALSE)
  invisible(x)
}

as.data.frame.fedplt_zph <- function(x, ...) structure(x, class = "data.frame", transform = NULL)

# ---- as the package survival has it ----

basehaz <- function(fit, ...) UseMethod("basehaz")

basehaz.default <- function(fit, ...) {
  if (!requireNamespace("survival", quietly = TRUE)) refuse("basehaz of a ", class(fit)[1L], " needs the package survival", status = "unsupported")
  survival::basehaz(fit, ...)
}

# The library has the times with events; between them the hazard stays.
basehaz.fedplt_cox <- function(fit, centered = TRUE, ...) {
  needs_cox(fit, "a baseline hazard")
  found <- hazard_tables(fit)$baseline
  counted <- fit$prior.weights > 0
  labels <- if (is.null(fit$strata)) rep(found$site[1L], length(counted)) else as.character(fit$strata)
  shift <- exp(mean_offset(fit) + if (centered) sum(fit$means * fit$coefficients, na.rm = TRUE) else 0)
  parts <- lapply(sort(unique(labels[counted])), function(label) {
    own <- found[found$site %in% label, ]
    time <- sort(unique(fit$response$time[counted & labels == label]))
    made <- data.frame(hazard = shift * c(0, own$cumulative_hazard)[findInterval(time, own$time) + 1L], time = time)
    if (is.null(fit$strata)) made else cbind(made, strata = label)
  })
  made <- do.call(rbind, parts)
  if (!is.null(fit$strata)) made$strata <- factor(made$strata)
  made
}

# The offset at which a curve is drawn where no row is given, as in the package survival.
mean_offset <- function(fit) if (is.null(fit$offset)) 0 else stats::weighted.mean(fit$offset, fit$prior.weights)

survfit.fedplt_cox <- function(formula, newdata = NULL, conf.int = 0.95, conf.type = c("log", "log-log", "plain"), ...) {
  fit <- formula
  conf.type <- match.arg(conf.type)
  needs_cox(fit, "a survival curve")
  made <- if (is.null(newdata)) list(x = matrix(fit$means, 1L, dimnames = list(NULL, names(fit$means))), offset = mean_offset(fit))
          else new_matrix(fit, newdata, stats::na.fail)
  x <- made$x[, colnames(made$x) != "(Intercept)", drop = FALSE]
  baseline <- hazard_tables(fit)$baseline
  times <- number_list(sort(unique(baseline$time)), "times")
  found <- hazard_tables(fit, cox_new_rows(fit, x, made$offset), times = times, interval = conf.type, level = conf.int)
  place <- match(paste(found$times$site, format_times(found$times$time)), paste(baseline$site, format_times(baseline$time)))
  kept <- !is.na(place)
  curves <- data.frame(strata = found$times$site, row = found$times$row, time = found$times$time, n.risk = baseline$at_risk[place],
                       n.event = baseline$events[place], surv = found$times$survival, std.err = found$times$std_error,
                       lower = found$times$low, upper = found$times$high)[kept, ]
  curves <- curves[order(curves$strata, curves$row, curves$time), ]
  rownames(curves) <- NULL
  if (is.null(fit$strata)) curves$strata <- NULL
  structure(class = "fedplt_survfit", list(curves = curves, medians = found$patients, notes = found$notes, conf.int = conf.int,
                                           conf.type = conf.type, call = match.call()))
}

format_times <- function(time) formatC(time, digits = 17, format = "g")

print.fedplt_survfit <- function(x, digits = 4, ...) {
  strata <- unique(x$curves$strata)
  rows <- length(unique(x$curves$row))
  cat("Survival curves of ", rows, if (rows == 1) " row" else " rows", ", ", max(1L, length(strata)),
      if (length(strata) > 1L) " strata" else " stratum", "\n", sep = "")
  shown <- x$medians
  names(shown)[names(shown) == "site"] <- "strata"
  if (is.null(strata)) shown$strata <- NULL
  print(shown, digits = digits, row.names = FALSE)
  print_notes(x$notes)
  invisible(x)
}

as.data.frame.fedplt_survfit <- function(x, ...) x$curves

plot.fedplt_survfit <- function(x, xlab = "Time", ylab = "Survival", intervals = FALSE, ...) {
  curves <- x$curves
  steps <- data.frame(time = curves$time, survival = curves$surv, low = curves$lower, high = curves$upper)
  label <- paste0("row ", curves$row, if (!is.null(curves$strata)) paste0(", ", curves$strata))
  draw_steps(steps, label, xlab, ylab, intervals, ...)
  invisible(x)
}
