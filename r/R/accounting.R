# The accountant: what numbers promise, which noise a promise needs, and what it costs.

MECHANISM <- list(sensitivity = 2, records = 250, tau = 1, gamma = NA, epochs = 5, rounds = 50, lmin = 0.5, lmax = 0.75, rho = NA,
                  proximal = TRUE, step_wise = FALSE, lattice = TRUE, dimension = 5, agents = 1)

# The numbers of a mechanism in the order of the glue.
mechanism_numbers <- function(given) {
  unknown <- setdiff(names(given), names(MECHANISM))
  if (length(given) && (is.null(names(given)) || any(names(given) == ""))) refuse("every number in ... needs a name")
  if (length(unknown)) refuse("there is no '", unknown[1L], "'; a mechanism has ", paste(names(MECHANISM), collapse = ", "))
  values <- MECHANISM
  values[names(given)] <- given
  for (name in names(values)) {
    value <- values[[name]]
    is_free <- name %in% c("gamma", "rho") && length(value) == 1L && is.na(value)
    if (is_free) next
    if (!(is.numeric(value) || is.logical(value)) || length(value) != 1L || !is.finite(value))
      refuse(name, " is ", deparse(value), ", but must be one number")
    if (name %in% c("records", "epochs", "rounds", "dimension", "agents") && (value < 1 || value != round(value)))
      refuse(name, " is ", deparse(value), ", but must be a whole number of at least 1")
  }
  if (values$lmax <= 0) refuse("lmax is ", values$lmax, ", but must be above 0")
  as.double(unlist(values))
}

check_delta <- function(delta) {
  if (!is.numeric(delta) || length(delta) != 1L || is.na(delta) || delta <= 0 || delta >= 1)
    refuse("delta is ", deparse(delta), ", but must be a number between 0 and 1, such as 1e-5")
}

check_positive <- function(value, name) {
  if (!is.numeric(value) || !length(value) || anyNA(value) || any(value <= 0)) refuse(name, " is ", deparse(value), ", but must be above 0")
}

privacy_epsilon <- function(tau, delta = 1e-5, ...) {
  check_delta(delta)
  found <- as.data.frame(.Call(C_claims, mechanism_numbers(list(tau = tau, ...)), as.double(delta)), stringsAsFactors = FALSE)
  found$guarantee <- found$guarantee != 0
  found[!is.na(found$method), c("threat", "guarantee", "mu", "rdp_rate", "classic", "tight", "exact", "method")]
}

privacy_calibrate <- function(epsilon = 2, delta = 1e-5, threat = "transcript", tau = NULL, ...) {
  check_delta(delta)
  check_positive(epsilon, "epsilon")
  numbers <- mechanism_numbers(c(list(...), if (!is.null(tau)) list(tau = tau)))
  found <- .Call(C_calibrate, numbers, threat, as.double(c(epsilon[1L], delta)), !is.null(tau))
  data.frame(found = if (is.null(tau)) "tau" else "rounds", tau = found[1L], rounds = found[2L], epochs = found[3L], mu = found[4L],
             epsilon = found[5L], stringsAsFactors = FALSE)
}

# Epsilon by the tight conversion along one axis: all messages, final models, plain composition of all steps, the paper.
epsilon_along <- function(axis, at, delta, given) {
  one <- function(x) {
    given[[axis]] <- x
    tight <- function(numbers, threat) {
      found <- .Call(C_claims, numbers, as.double(delta))
      found$tight[found$threat == threat]
    }
    numbers <- mechanism_numbers(given)
    given$step_wise <- TRUE
    c(tight(numbers, "transcript"), tight(numbers, "final-x"), tight(mechanism_numbers(given), "transcript"), tight(numbers, "paper"))
  }
  found <- t(vapply(at, one, numeric(4L)))
  data.frame(axis = axis, at = at, transcript = found[, 1L], final_x = found[, 2L], composition = found[, 3L], paper = found[, 4L],
             stringsAsFactors = FALSE)
}

privacy_curve <- function(tau = 0.1, delta = 1e-5, most = 1000, points = 60, ...) {
  check_delta(delta)
  check_positive(tau, "tau")
  if (!is.numeric(points) || length(points) != 1L || is.na(points) || points < 2) refuse("points is ", deparse(points), ", but must be at least 2")
  if (!is.numeric(most) || length(most) != 1L || is.na(most) || most <= 1) refuse("most is ", deparse(most), ", but must be above 1")
  given <- list(tau = tau, ...)
  along <- (seq_len(points) - 1) / (points - 1)
  whole <- round(most^along)
  made <- rbind(epsilon_along("rounds", whole, delta, given), epsilon_along("epochs", whole, delta, given),
                epsilon_along("tau", 0.1 * tau * 100^along, delta, given))
  structure(made, class = c("fedplt_curve", "data.frame"), delta = delta)
}

print.fedplt_curve <- function(x, ...) {
  cat("epsilon at delta ", format(attr(x, "delta")), "; the paper's Proposition 4 is no guarantee\n", sep = "")
  each <- split(seq_len(nrow(x)), factor(x$axis, unique(x$axis)))
  shown <- unlist(lapply(each, function(rows) rows[unique(c(1L, seq(10L, length(rows), by = 10L)))]), use.names = FALSE)
  print(as.data.frame(unclass(x)[names(x)], stringsAsFactors = FALSE)[shown[!is.na(shown)], ], digits = 4, row.names = FALSE)
  invisible(x)
}

plot.fedplt_curve <- function(x, axis = c("rounds", "epochs", "tau"), ...) {
  axis <- match.arg(axis)
  rows <- as.data.frame(unclass(x)[names(x)])[x$axis == axis, ]
  graphics::matplot(rows$at, rows[3:6], type = "l", log = "xy", lty = 1:4, col = 1:4, xlab = axis, ylab = paste("epsilon at delta", attr(x, "delta")), ...)
  graphics::legend("topleft", c("all messages", "final models", "composition of all steps", "Prop. 4, no guarantee"), lty = 1:4, col = 1:4, bty = "n")
  invisible(x)
}

toLatex.fedplt_curve <- function(object, ...) latex(as.data.frame(unclass(object)[names(object)], stringsAsFactors = FALSE))

privacy_tradeoff <- function(epsilons = c(0.25, 0.5, 1, 2, 4, 8), repeats = 10, ...) {
  check_positive(epsilons, "epsilons")
  check_count(repeats, "repeats")
  if (repeats < 1) refuse("repeats is 0, but must be at least 1")
  values <- list(...)
  names(values) <- setting_name(names(values) %||% character())
  if (!is.null(values$data)) values$data <- path.expand(values$data)
  values$privacy.epsilon <- epsilons[1L] # overwritten for every point
  settings <- make_settings(values, own_data = !is.null(values$data))
  found <- .Call(C_tradeoff, settings, as.double(epsilons), as.double(repeats))
  structure(list(table = as.data.frame(found$table, stringsAsFactors = FALSE), without_noise = found$without_noise,
                 measure = if (found$classifies) "accuracy" else "objective"), class = "fedplt_tradeoff")
}

print.fedplt_tradeoff <- function(x, ...) {
  cat("Training ", x$measure, " against epsilon, with local training and with one epoch a round; without noise ",
      format(x$without_noise, digits = 4), "\n", sep = "")
  print(x$table, digits = 4, row.names = FALSE)
  cat("The noise was simulated and the training rows were measured: an experiment, not private.\n")
  invisible(x)
}

as.data.frame.fedplt_tradeoff <- function(x, ...) x$table
toLatex.fedplt_tradeoff <- function(object, ...) latex(object$table)

plot.fedplt_tradeoff <- function(x, ...) {
  each <- split(x$table, factor(x$table$training, unique(x$table$training)))
  graphics::matplot(each[[1L]]$epsilon, vapply(each, function(one) one$quality, numeric(nrow(each[[1L]]))), type = "b", log = "x", pch = 1:2,
                    lty = 1:2, col = 1:2, xlab = "epsilon", ylab = x$measure, ...)
  graphics::abline(h = x$without_noise, lty = 3)
  graphics::legend("bottomright", c("local training", "one epoch", "without noise"), lty = 1:3, col = c(1:2, 1), bty = "n")
  invisible(x)
}
