# Methods of fits with several classes.

print.fedplt_multinom <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("\nCall:\n", paste(deparse(x$call), sep = "\n", collapse = "\n"), "\n\nCoefficients:\n", sep = "")
  print(x$coefficients, digits = digits)
  cat("\nResidual Deviance:", format(x$deviance), "\nAIC:", format(x$aic), "\n")
  cat("Trained over ", sites_line(x), "\n", sep = "")
  if (!is.null(x$privacy)) print_promise(x)
  invisible(x)
}

residuals.fedplt_multinom <- function(object, ...) {
  if (is.null(object$na.action)) object$residuals else stats::naresid(object$na.action, object$residuals)
}

logLik.fedplt_multinom <- function(object, ...) {
  structure(-object$deviance / 2, nobs = stats::nobs(object), df = object$rank, class = "logLik")
}

predict.fedplt_multinom <- function(object, newdata = NULL, type = c("class", "response", "link"), se.fit = FALSE,
                                    na.action = stats::na.pass, ...) {
  type <- match.arg(type)
  if (se.fit && type == "class") refuse("se.fit is TRUE, but a class has no standard error: set type to response or link")
  x <- NULL
  if (is.null(newdata)) {
    probability <- stats::napredict(object$na.action, object$fitted.values)
    eta <- log(probability[, -1L, drop = FALSE]) - log(probability[, 1L])
  } else {
    x <- new_matrix(object, newdata, na.action)$x
    eta <- vapply(seq_len(nrow(object$coefficients)), function(k) {
      linear_predictor(x, object$coefficients[k, ], NULL)
    }, numeric(nrow(x)))
    eta <- matrix(eta, nrow(x), dimnames = list(rownames(x), rownames(object$coefficients)))
    probability <- softmax(eta, object$lev)
    rownames(probability) <- rownames(x)
  }
  value <- if (type == "link") eta else probability
  if (se.fit) {
    error <- multinomial_error(object, x %||% stats::model.matrix(object), type)
    if (is.null(newdata)) error <- stats::napredict(object$na.action, error)
    dimnames(error) <- dimnames(value)
    return(list(fit = value, se.fit = error, residual.scale = 1))
  }
  if (type != "class") return(value)
  known <- !is.na(probability[, 1L])
  found <- rep(NA_integer_, nrow(probability))
  found[known] <- max.col(probability[known, , drop = FALSE], "first")
  factor(found, levels = seq_along(object$lev), labels = object$lev)
}

# Standard errors of every row and class by the delta method: with S the covariance of the predictors eta_2, ..., eta_K of
# a row, sqrt(S_kk) of a predictor, and sqrt(g' S g) of the probability p_k, where g_l = p_k ((k = l) - p_l).
multinomial_error <- function(object, x, type) {
  needs_errors(object)
  covariance <- object$cov.unscaled
  others <- object$lev[-1L]
  names <- colnames(object$coefficients)[!is.na(object$coefficients[1L, ])]
  if (!all(names %in% colnames(x))) x <- cbind("(Intercept)" = 1, as.matrix(x))
  x <- as.matrix(x[, names, drop = FALSE])
  place <- function(k) (k - 1L) * length(names) + seq_along(names)
  joint <- function(k, l) rowSums((x %*% covariance[place(k), place(l), drop = FALSE]) * x)
  if (type == "link") return(sqrt(vapply(seq_along(others), function(k) joint(k, k), numeric(nrow(x)))))
  eta <- vapply(seq_along(others), function(k) linear_predictor(x, object$coefficients[k, names], NULL), numeric(nrow(x)))
  probability <- softmax(matrix(eta, nrow(x)), object$lev)
  variance <- matrix(0, nrow(x), length(object$lev))
  for (k in seq_along(others)) for (l in seq_along(others)) {
    both <- joint(k, l)
    for (class in seq_along(object$lev)) {
      slope <- function(of) probability[, class] * ((class == of + 1L) - probability[, of + 1L])
      variance[, class] <- variance[, class] + slope(k) * slope(l) * both
    }
  }
  sqrt(pmax(variance, 0))
}
