# For researchers: audit, comparison, tuning, theory and the paper's tables.

audit <- function(fit, ...) UseMethod("audit")

audit.fedplt <- function(fit, runs = 2000, threads = 1, confidence = 0.9999, ...) {
  if (is.null(fit$privacy)) refuse("there is no promise to audit: the model was trained without privacy")
  found <- run_instead(fit, function(values, dataset, sites) {
    .Call(C_audit, make_settings(values), dataset, as.double(c(runs, threads, confidence)))
  }, parent.frame())
  attacks <- data.frame(attack = found$name, sees = found$sees, claimed = found$claimed, bound = found$bound, power = found$power,
                        verdict = found$verdict, stringsAsFactors = FALSE)
  checks <- data.frame(check = found$checks, verdict = found$check_verdicts, stringsAsFactors = FALSE)
  structure(list(refuted = found$refuted, seconds = found$seconds, attacks = attacks, checks = checks[nzchar(checks$check), ]),
            class = "fedplt_audit")
}

print.fedplt_audit <- function(x, ...) {
  cat("The promise was ", if (x$refuted) "REFUTED" else "not refuted", ".\n", sep = "")
  print(x$attacks[c("attack", "claimed", "bound", "verdict")], digits = 4, row.names = FALSE)
  bad <- x$checks$check[x$checks$verdict == "refuted"]
  cat(nrow(x$checks), " checks of messages and noise, ", length(bad), " refuted", if (length(bad)) paste0(": ", paste(bad, collapse = ", ")),
      "\n", sep = "")
  invisible(x)
}

compare <- function(algorithms = NULL, x = NULL, y = NULL, sites = NULL, runs = 20, tune = FALSE, points = 0, threads = 1, ...) {
  values <- list(...)
  dataset <- NULL
  if (!is.null(x)) {
    made <- experiment_rows(as.matrix(x), y, sites)
    dataset <- made$dataset
    values$loss <- values$loss %||% made$loss
  }
  names(values) <- setting_name(names(values) %||% character())
  settings <- make_settings(values, own_data = !is.null(dataset), kind = "compare")
  found <- .Call(C_compare, settings, dataset, algorithms, as.double(c(runs, tune, points, threads)))
  structure(list(table = as.data.frame(found$table, stringsAsFactors = FALSE),
                 curves = as.data.frame(found$curves, stringsAsFactors = FALSE), target = found$target), class = "fedplt_comparison")
}

# Rows for an experiment: a factor or logical response is of classes, numbers are a regression.
experiment_rows <- function(x, y, sites) {
  if (is.null(y)) refuse("x is given, but y is not")
  storage.mode(x) <- "double"
  rows <- list(index = seq_len(nrow(x)), n = nrow(x))
  grouped <- group_sites(sites, rows)
  if (is.logical(y)) y <- factor(y)
  levels <- if (is.factor(y)) levels(y)
  task <- if (is.null(levels)) "regression" else if (length(levels) == 2L) "binary" else "classes"
  label <- switch(task, regression = as.double(y), binary = 2 * as.integer(y) - 3, classes = as.integer(y) - 1)
  dataset <- .Call(C_dataset, x, seq_len(ncol(x)), plain_order(grouped$order, nrow(x)), as.double(label[grouped$place]), NULL, NULL,
                   grouped$sizes, TASKS[[task]], list(colnames(x), grouped$names, levels))
  list(dataset = dataset, loss = switch(task, regression = "least-squares", binary = "logistic", classes = "softmax"))
}

print.fedplt_comparison <- function(x, digits = 4, ...) {
  cat("Medians to the criterion ", format(x$target, digits = 3), "\n", sep = "")
  print(x$table[c("algorithm", "rounds", "gradients", "vectors", "paper_time", "failures")], digits = digits, row.names = FALSE)
  invisible(x)
}

plot.fedplt_comparison <- function(x, against = c("vectors", "round", "gradients", "paper_time"), ...) {
  against <- match.arg(against)
  curves <- x$curves[x$curves$criterion > 0, ]
  names <- unique(curves$algorithm)
  graphics::plot(curves[[against]], curves$criterion, type = "n", log = "y", xlab = against, ylab = "criterion", ...)
  for (i in seq_along(names)) graphics::lines(curves[[against]][curves$algorithm == names[i]], curves$criterion[curves$algorithm == names[i]], col = i)
  graphics::abline(h = x$target, lty = 2, col = "grey")
  graphics::legend("topright", names, col = seq_along(names), lty = 1)
  invisible(x)
}

theory <- function(lmin, lmax, rho = NULL, gamma = NULL, epochs = 5, accelerated = FALSE, participation = 1, tau = 0, agents = 100,
                   dimension = 5, rounds = 50) {
  found <- .Call(C_theory, as.double(c(lmin, lmax, agents, dimension, rho %||% NA_real_, gamma %||% NA_real_, epochs, accelerated,
                                       participation, tau, rounds)))
  found$table <- as.data.frame(found$table, stringsAsFactors = FALSE)
  found$table$printed <- found$table$printed != 0
  found$table$holds <- found$table$holds != 0
  structure(found, class = "fedplt_theory")
}

print.fedplt_theory <- function(x, ...) {
  cat("Convergence is ", if (x$guaranteed) "guaranteed" else "not guaranteed", " with rho ", format(x$rho, digits = 4), ", gamma ",
      format(x$gamma, digits = 4), ": proved rate ", format(x$rate, digits = 4), ", rate on quadratics ", format(x$model_rate, digits = 4), "\n", sep = "")
  print(x$table[c("name", "value", "limit", "holds")], digits = 4, row.names = FALSE)
  advice <- unique(x$table$advice[nzchar(x$table$advice)])
  if (length(advice)) cat(paste0("  ", advice, collapse = "\n"), "\n", sep = "")
  invisible(x)
}

plot.fedplt_theory <- function(x, xlab = "Round", ylab = "Error", ...) {
  rounds <- seq_along(x$bound) - 1
  model <- x$model_rate^rounds
  proved <- x$guaranteed && all(is.finite(x$bound))
  graphics::plot(rounds, model, type = "l", log = "y", ylim = range(model, if (proved) x$bound), xlab = xlab, ylab = ylab, lty = 2, ...)
  if (proved) graphics::lines(rounds, x$bound)
  graphics::legend("topright", c("proved bound", "model of quadratics"), lty = 1:2)
  invisible(x)
}

tune <- function(lmin = NULL, lmax = NULL, agents = 1, tolerance = 1e-5, t_gradient = 1, t_communication = 10, x = NULL, y = NULL,
                 sites = NULL, by = c("theory", "experiment", "both"), rounds = 1000, ...) {
  by <- match.arg(by)
  has_data <- !is.null(x)
  if (has_data && !(is.null(lmin) && is.null(lmax))) refuse("lmin or lmax is given beside x, but the rows say how the costs curve")
  if (!has_data && (is.null(lmin) || is.null(lmax))) refuse("give the rows (x, y, sites), or bounds of the curvature (lmin and lmax)")
  if (!has_data && by != "theory") refuse("by is ", by, ", but an experiment needs rows: give x, y and sites")
  values <- list(...)
  if (!has_data && length(values)) refuse("settings in ... are about rows, but x is not given")
  settings <- dataset <- NULL
  if (has_data) {
    made <- experiment_rows(as.matrix(x), y, sites)
    dataset <- made$dataset
    names(values) <- setting_name(names(values) %||% character())
    given <- list(loss = made$loss, algorithm = "fed-plt", tolerance = tolerance, relative = TRUE,
                  "t-gradient" = t_gradient, "t-communication" = t_communication)
    settings <- make_settings(c(values, given[setdiff(names(given), names(values))]), kind = "tune")
  }
  found <- .Call(C_tune, as.double(c(lmin %||% NA, lmax %||% NA, agents, tolerance, t_gradient, t_communication,
                                     match(by, c("theory", "experiment", "both")) - 1, rounds)), settings, dataset)
  table <- as.data.frame(found$table, stringsAsFactors = FALSE)
  for (name in c("reached", "diverged")) table[[name]] <- table[[name]] != 0
  if (by == "theory") table[c("rounds", "criterion", "reached", "diverged")] <- NULL
  choice <- list(rho = table$rho[1L], epochs = table$epochs[1L])
  if (!is.na(table$gamma[1L])) choice$step <- table$gamma[1L]
  structure(list(table = table, choice = choice, reasoning = found$reasoning, rounds_spent = found$rounds_spent), class = "fedplt_tuning")
}

print.fedplt_tuning <- function(x, ...) {
  cat(paste(strwrap(x$reasoning, 0.9 * getOption("width")), collapse = "\n"), "\n", sep = "")
  print(utils::head(x$table, 10L), digits = 4, row.names = FALSE)
  invisible(x)
}

plot.fedplt_tuning <- function(x, ...) {
  known <- x$table[is.finite(x$table$expected_time), ]
  graphics::plot(known$rho, known$expected_time, log = "xy", xlab = "rho", ylab = "expected time", pch = as.integer(factor(known$epochs)), ...)
  invisible(x)
}

paper_table <- function(tables = NULL, seed = 0, seeds = 20, runs = 100, points = 0, threads = 1) {
  known <- as.data.frame(.Call(C_paper_names), stringsAsFactors = FALSE)
  tables <- tables %||% known$name
  unknown <- setdiff(tables, known$name)
  if (length(unknown)) refuse("there is no table '", unknown[1L], "'; there are ", paste(known$name, collapse = ", "))
  bits <- sum(2^(match(unique(tables), known$name) - 1))
  found <- as.data.frame(.Call(C_paper, as.double(c(bits, seed, seeds, runs, points, threads))), stringsAsFactors = FALSE)
  class(found) <- c("fedplt_paper", "data.frame")
  found
}

plot.fedplt_paper <- function(x, ...) {
  known <- x[is.finite(x$paper) & is.finite(x$ours), ]
  graphics::plot(known$paper, known$ours, log = "xy", xlab = "the paper's figure", ylab = "computed anew", ...)
  graphics::abline(0, 1, col = "grey")
  invisible(x)
}

# A LaTeX table: numbers short, missing values as dashes, texts escaped.
latex_lines <- function(frame) {
  escape <- function(text) gsub("([&%$#_{}])", "\\\\\\1", text)
  cell <- function(value) {
    if (is.character(value)) return(ifelse(is.na(value), "--", escape(value)))
    if (is.logical(value)) return(ifelse(value, "yes", "no"))
    ifelse(is.na(value), "--", ifelse(is.infinite(value), "$\\infty$", formatC(value, digits = 4, width = 1, format = "g")))
  }
  cells <- vapply(frame, cell, character(nrow(frame)))
  cells <- matrix(cells, nrow(frame))
  kinds <- ifelse(vapply(frame, is.numeric, NA), "r", "l")
  c(paste0("\\begin{tabular}{", paste(kinds, collapse = ""), "}"), "\\hline", paste0(paste(escape(names(frame)), collapse = " & "), " \\\\"), "\\hline",
    paste0(apply(cells, 1L, paste, collapse = " & "), " \\\\"), "\\hline", "\\end{tabular}")
}

latex <- function(frame) structure(latex_lines(frame), class = "Latex")

toLatex.fedplt_comparison <- function(object, ...) latex(object$table[c("algorithm", "rounds", "gradients", "vectors", "paper_time", "failures")])
toLatex.fedplt_theory <- function(object, ...) latex(object$table[c("name", "meaning", "value", "limit", "holds")])
toLatex.fedplt_tuning <- function(object, ...) latex(object$table[c("origin", "rho", "gamma", "epochs", "expected_rounds", "expected_time")])
toLatex.fedplt_paper <- function(object, ...) latex(as.data.frame(unclass(object)[c("table", "row", "column", "paper", "ours", "median")], stringsAsFactors = FALSE))
