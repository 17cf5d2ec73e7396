# Frames in the manner of the package generics.

tidy.fedplt <- function(x, conf.int = FALSE, conf.level = 0.95, exponentiate = FALSE, ...) {
  table <- coefficient_table(x)
  made <- data.frame(term = rownames(table), estimate = unname(table[, 1L]), stringsAsFactors = FALSE)
  if (ncol(table) > 1L) {
    made$std.error <- unname(table[, 2L])
    made$statistic <- unname(table[, 3L])
    made$p.value <- unname(table[, 4L])
    if (conf.int) {
      limits <- stats::confint(x, made$term, conf.level)
      made$conf.low <- unname(limits[, 1L])
      made$conf.high <- unname(limits[, 2L])
    }
  }
  if (is.matrix(x$coefficients)) {
    known <- which(!is.na(t(x$coefficients)), arr.ind = TRUE)
    made <- cbind(y.level = rownames(x$coefficients)[known[, 2L]], made)
    made$term <- colnames(x$coefficients)[known[, 1L]]
  }
  if (exponentiate) for (column in intersect(c("estimate", "conf.low", "conf.high"), names(made))) made[[column]] <- exp(made[[column]])
  made
}

glance.fedplt <- function(x, ...) {
  likelihood <- stats::logLik(x)
  made <- data.frame(logLik = as.numeric(likelihood), AIC = stats::AIC(x), BIC = stats::BIC(x), nobs = stats::nobs(x),
                     sites = max(length(x$trained$sites$sizes), x$trained$sites$dealt), rounds = x$iter, converged = x$converged)
  if (inherits(x, "fedplt_cox")) return(cbind(n = x$n, nevent = x$nevent, made))
  cbind(null.deviance = x$null.deviance, df.null = x$df.null, deviance = x$deviance, df.residual = x$df.residual, made)
}

augment.fedplt <- function(x, data = NULL, newdata = NULL, ...) {
  if (is.null(newdata)) {
    made <- as.data.frame(data %||% stats::model.frame(x))
    type <- if (inherits(x, "fedplt_cox")) "lp" else if (is.matrix(x$coefficients)) "class" else "link"
    made$.fitted <- stats::predict(x, type = type)
    if (!is.matrix(x$coefficients)) made$.resid <- stats::residuals(x)
    return(made)
  }
  made <- as.data.frame(newdata)
  made$.fitted <- stats::predict(x, newdata)
  made
}
