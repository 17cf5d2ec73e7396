# Methods of Cox regressions; the layouts and numbers are those of coxph.

print.fedplt_cox <- function(x, digits = max(1L, getOption("digits") - 3L), ...) {
  cat("Call:\n", paste(deparse(x$call), collapse = "\n"), "\n\n", sep = "")
  table <- coefficient_table(x)
  attr(table, "note") <- NULL
  estimate <- table[, "Estimate"]
  shown <- cbind(coef = estimate, "exp(coef)" = exp(estimate))
  if (ncol(table) > 1L) {
    shown <- cbind(shown, "se(coef)" = table[, 2L], z = table[, 3L], p = table[, 4L])
    stats::printCoefmat(shown, digits = digits, P.values = TRUE, has.Pvalue = TRUE, signif.stars = FALSE)
  } else {
    print(shown, digits = digits)
  }
  print_cox_test(x, digits)
  cat("Trained over ", sites_line(x), "\n", sep = "")
  if (!is.null(x$privacy)) print_promise(x)
  invisible(x)
}

print_cox_test <- function(x, digits) {
  if (!anyNA(x$loglik) && is.null(lacks_errors(x))) {
    test <- 2 * (x$loglik[2L] - x$loglik[1L])
    cat("\nLikelihood ratio test=", format(round(test, 2)), "  on ", x$rank, " df, p=",
        format.pval(stats::pchisq(test, x$rank, lower.tail = FALSE), digits = digits), "\n", sep = "")
  }
  cat("n= ", x$n, ", number of events= ", x$nevent, "\n", sep = "")
  if (nzchar(mess <- stats::naprint(x$na.action))) cat("   (", mess, ")\n", sep = "")
}

summary.fedplt_cox <- function(object, conf.int = 0.95, ...) {
  table <- coefficient_table(object)
  estimate <- table[, "Estimate"]
  coefficients <- cbind(coef = estimate, "exp(coef)" = exp(estimate))
  intervals <- NULL
  if (ncol(table) > 1L) {
    coefficients <- cbind(coefficients, "se(coef)" = table[, 2L], z = table[, 3L], "Pr(>|z|)" = table[, 4L])
    reach <- stats::qnorm((1 + conf.int) / 2) * table[, 2L]
    intervals <- cbind(exp(estimate), exp(-estimate), exp(estimate - reach), exp(estimate + reach))
    dimnames(intervals) <- list(names(estimate), c("exp(coef)", "exp(-coef)", paste("lower .", round(100 * conf.int, 2), sep = ""),
                                                   paste("upper .", round(100 * conf.int, 2), sep = "")))
  }
  kept <- c("call", "n", "nevent", "loglik", "rank", "na.action", "privacy", "trained", "penalty", "cov.unscaled", "family")
  structure(class = "summary.fedplt_cox", c(object[intersect(kept, names(object))],
    list(coefficients = coefficients, conf.int = intervals, note = attr(table, "note"))))
}

print.summary.fedplt_cox <- function(x, digits = max(getOption("digits") - 3L, 3L),
                                     signif.stars = getOption("show.signif.stars"), ...) {
  cat("Call:\n", paste(deparse(x$call), collapse = "\n"), "\n\n  n= ", x$n, ", number of events= ", x$nevent, "\n", sep = "")
  if (nzchar(mess <- stats::naprint(x$na.action))) cat("   (", mess, ")\n", sep = "")
  cat("\n")
  if (ncol(x$coefficients) > 2L)
    stats::printCoefmat(x$coefficients, digits = digits, signif.stars = signif.stars, P.values = TRUE, has.Pvalue = TRUE)
  else print(x$coefficients, digits = digits)
  if (!is.null(x$conf.int)) {
    cat("\n")
    print(x$conf.int, digits = digits)
  }
  if (!is.null(x$note)) cat("\nNote: ", x$note, ".\n", sep = "")
  print_cox_test(x, digits)
  cat("Trained over ", sites_line(x), "\n", sep = "")
  if (!is.null(x$privacy)) print_promise(x)
  invisible(x)
}

nobs.fedplt_cox <- function(object, ...) object$nevent

logLik.fedplt_cox <- function(object, ...) {
  structure(object$loglik[2L], nobs = object$nevent, df = object$rank, class = "logLik")
}

deviance.fedplt_cox <- function(object, ...) {
  refuse("a Cox regression has no deviance; logLik() gives its partial likelihood", status = "unsupported")
}

fitted.fedplt_cox <- function(object, ...) stats::napredict(object$na.action, exp(object$linear.predictors))

model.matrix.fedplt_cox <- function(object, ...) {
  x <- stats::model.matrix(object$terms, stats::model.frame(object), object$contrasts)
  x[, colnames(x) != "(Intercept)", drop = FALSE]
}

predict.fedplt_cox <- function(object, newdata = NULL, type = c("lp", "risk"), se.fit = FALSE,
                               na.action = stats::na.pass, ...) {
  type <- match.arg(type)
  if (is.null(newdata)) {
    x <- stats::model.matrix(object)
    offset <- object$offset
    omitted <- object$na.action
  } else {
    made <- new_matrix(object, newdata, na.action)
    x <- made$x[, colnames(made$x) != "(Intercept)", drop = FALSE]
    offset <- made$offset
    omitted <- NULL
  }
  used <- !is.na(object$coefficients)
  centred <- sweep(x, 2L, object$means)
  value <- linear_predictor(centred, object$coefficients, offset)
  if (type == "risk") value <- exp(value)
  value <- stats::napredict(omitted, value)
  if (!se.fit) return(value)
  needs_errors(object)
  error <- predictor_error(centred, object$coefficients, object$cov.unscaled)
  error <- stats::napredict(omitted, error)
  if (type == "risk") error <- error * sqrt(value)
  list(fit = value, se.fit = stats::setNames(error, names(value)))
}

# For residuals: the cumulative hazard at every time of every stratum, and what a row with an event at that time was exposed to.
exposures <- function(object) {
  eta <- object$linear.predictors
  response <- object$response
  labels <- if (is.null(object$strata)) rep("", length(eta)) else as.character(object$strata)
  good <- object$prior.weights > 0
  parts <- lapply(sort(unique(labels[good])), function(label) {
    own <- which(good & labels == label)
    hazard <- stratum_hazard(response$time[own], response$status[own], object$prior.weights[own], exp(eta[own]), object$ties)
    if (is.null(object$strata)) hazard else cbind(hazard, strata = label)
  })
  made <- do.call(rbind, parts)
  if (!is.null(object$strata)) made$strata <- factor(made$strata)
  made
}

# One row a distinct time. Efron: of d tied events, event l sees the risk set without the share (l - 1)/d of the ties.
stratum_hazard <- function(time, status, weight, risk, ties) {
  times <- sort(unique(time))
  place <- match(time, times)
  total <- rev(cumsum(rev(tapply(weight * risk, factor(place, seq_along(times)), sum))))
  events <- as.vector(tapply(status, factor(place, seq_along(times)), sum))
  mass <- as.vector(tapply(weight * status, factor(place, seq_along(times)), sum))
  tied <- as.vector(tapply(weight * risk * status, factor(place, seq_along(times)), sum))
  steps <- vapply(seq_along(times), function(i) {
    d <- events[i]
    if (d == 0) return(c(0, 0))
    if (ties == "breslow") return(rep(mass[i] / total[[i]], 2L))
    share <- (seq_len(d) - 1) / d
    single <- mass[i] / d / (total[[i]] - tied[i] * share)
    c(sum(single), sum(single * (1 - share)))
  }, c(0, 0))
  # own: what a row with an event at this time has been exposed to
  data.frame(hazard = cumsum(steps[1L, ]), time = times, own = cumsum(steps[1L, ]) - steps[1L, ] + steps[2L, ])
}

needs_records <- function(object, what) {
  if (!is.null(object$privacy))
    refuse(what, " tells of single records, and the model was trained with privacy", status = "unsupported")
}

residuals.fedplt_cox <- function(object, type = "martingale", ...) {
  type <- match.arg(type)
  needs_records(object, "a residual")
  hazard <- exposures(object)
  labels <- if (is.null(object$strata)) rep("", length(object$response$time)) else as.character(object$strata)
  own <- if (is.null(object$strata)) rep("", nrow(hazard)) else as.character(hazard$strata)
  found <- numeric(length(labels))
  for (label in unique(labels)) {
    rows <- labels == label
    part <- hazard[own == label, ]
    place <- match(object$response$time[rows], part$time)
    found[rows] <- ifelse(object$response$status[rows] == 1, part$own[place], part$hazard[place])
  }
  found <- object$response$status - found * exp(object$linear.predictors)
  stats::naresid(object$na.action, stats::setNames(found, object$response$names))
}
