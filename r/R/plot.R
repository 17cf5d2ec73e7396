# Pictures of a fit.

plot.fedplt <- function(x, which = c("convergence", "calibration", "roc"), bins = 10, ...) {
  which <- match.arg(which)
  switch(which, convergence = plot_convergence(x, ...), calibration = plot_calibration(x, bins, ...), roc = plot_roc(x, ...))
}

plot_convergence <- function(x, xlab = "Round", ylab = "Squared gradient norm", type = "b", ...) {
  history <- x$trained$history
  shown <- history[is.finite(history$criterion) & history$criterion > 0, ]
  if (!nrow(shown)) refuse("nothing was measured: with privacy a loss without noise may not leave a site", status = "unsupported")
  graphics::plot(shown$round, shown$criterion, log = "y", xlab = xlab, ylab = ylab, type = type, ...)
  invisible(shown[c("round", "criterion")])
}

needs_two_classes <- function(x, what) {
  if (!x$family$family %in% c("binomial", "quasibinomial")) refuse(what, " needs a response of two classes", status = "unsupported")
}

# Mean fitted probability and observed share in groups of equal size.
calibration_groups <- function(x, bins) {
  needs_two_classes(x, "a calibration plot")
  mu <- x$fitted.values
  group <- ceiling(rank(mu, ties.method = "first") / length(mu) * bins)
  w <- x$prior.weights
  data.frame(predicted = as.vector(tapply(w * mu, group, sum) / tapply(w, group, sum)),
             observed = as.vector(tapply(w * x$y, group, sum) / tapply(w, group, sum)),
             rows = as.vector(table(group)))
}

plot_calibration <- function(x, bins, xlab = "Predicted probability", ylab = "Observed share", ...) {
  groups <- calibration_groups(x, bins)
  graphics::plot(groups$predicted, groups$observed, xlim = c(0, 1), ylim = c(0, 1), xlab = xlab, ylab = ylab, ...)
  graphics::abline(0, 1, lty = 2)
  invisible(groups)
}

# Corners of the ROC curve and the area under it; ties count half.
roc_curve <- function(x) {
  needs_two_classes(x, "a ROC curve")
  sorted <- order(x$fitted.values, decreasing = TRUE)
  score <- x$fitted.values[sorted]
  w <- x$prior.weights[sorted]
  yes <- cumsum(w * x$y[sorted])
  no <- cumsum(w * (1 - x$y[sorted]))
  last <- c(score[-1L] != score[-length(score)], TRUE)
  true <- c(0, yes[last] / yes[length(yes)])
  false <- c(0, no[last] / no[length(no)])
  area <- sum(diff(false) * (true[-1L] + true[-length(true)]) / 2)
  structure(data.frame(false_positive = false, true_positive = true), auc = area)
}

plot_roc <- function(x, xlab = "False positive rate", ylab = "True positive rate", ...) {
  curve <- roc_curve(x)
  graphics::plot(curve$false_positive, curve$true_positive, type = "l", xlim = c(0, 1), ylim = c(0, 1), xlab = xlab, ylab = ylab,
                 main = paste("AUC", format(attr(curve, "auc"), digits = 3)), ...)
  graphics::abline(0, 1, lty = 2)
  invisible(curve)
}
