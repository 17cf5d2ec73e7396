# What R users expect of a fitted model; the layouts and numbers are those of glm.

# Why a fit has no standard errors; NULL: it has.
lacks_errors <- function(object) {
  if (!is.null(object$privacy))
    return(paste("the model was trained with privacy: its noise is not in any standard error, and the sums behind one",
                 "would reveal something about the records"))
  if (object$penalty > 0)
    return(paste("the cost had a penalty, which shrinks the coefficients: there are no standard errors, tests and",
                 "intervals; refit with penalty = 0 to publish them"))
  if (is.null(object$cov.unscaled))
    return("the information matrix is singular, or there are too many columns: there are no standard errors")
  NULL
}

needs_errors <- function(object) {
  reason <- lacks_errors(object)
  if (!is.null(reason)) refuse(reason, status = "unsupported")
}

is_dispersed <- function(object) !object$family$family %in% c("binomial", "poisson", "multinomial", "cox")

dispersion_of <- function(object) {
  if (!is_dispersed(object)) return(1)
  df <- object$df.residual
  if (!(df > 0)) return(NaN)
  w <- object$prior.weights
  good <- w > 0
  mu <- object$fitted.values
  sum((w * (object$y - mu)^2 / object$family$variance(mu))[good]) / df
}

sites_line <- function(object) {
  sites <- object$trained$sites
  count <- max(length(sites$sizes), sites$dealt)
  paste0(if (count == 1) "1 site" else paste(count, "sites"), ", ", object$trained$choices$word[1L], ", ",
         object$trained$rounds, if (object$trained$rounds == 1) " round" else " rounds")
}

print.fedplt <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("\nCall:  ", paste(deparse(x$call), sep = "\n", collapse = "\n"), "\n\n", sep = "")
  cat("Coefficients:\n")
  print.default(format(x$coefficients, digits = digits), print.gap = 2, quote = FALSE)
  cat("\nDegrees of Freedom:", x$df.null, "Total (i.e. Null); ", x$df.residual, "Residual\n")
  if (nzchar(mess <- stats::naprint(x$na.action))) cat("  (", mess, ")\n", sep = "")
  cat("Null Deviance:\t   ", format(signif(x$null.deviance, digits)), "\nResidual Deviance:", format(signif(x$deviance, digits)),
      "\tAIC:", format(signif(x$aic, digits)), "\n")
  cat("Trained over ", sites_line(x), "\n", sep = "")
  if (!is.null(x$privacy)) print_promise(x)
  invisible(x)
}

vcov.fedplt <- function(object, complete = TRUE, ...) {
  needs_errors(object)
  found <- object$cov.unscaled * dispersion_of(object)
  if (!complete || is.matrix(object$coefficients)) return(found)
  names <- names(object$coefficients)
  whole <- matrix(NA_real_, length(names), length(names), dimnames = list(names, names))
  whole[rownames(found), rownames(found)] <- found
  whole
}

coefficient_table <- function(object) {
  estimate <- coefficient_vector(object)
  estimate <- estimate[!is.na(estimate)]
  reason <- lacks_errors(object)
  if (!is.null(reason)) return(structure(cbind(Estimate = estimate), note = reason))
  error <- sqrt(diag(object$cov.unscaled) * dispersion_of(object))
  statistic <- estimate / error
  student <- is_dispersed(object)
  p <- if (!student) 2 * stats::pnorm(-abs(statistic))
       else if (object$df.residual > 0) 2 * stats::pt(-abs(statistic), object$df.residual)
       else rep(NaN, length(estimate))
  table <- cbind(estimate, error, statistic, p)
  dimnames(table) <- list(names(estimate), c("Estimate", "Std. Error", if (student) c("t value", "Pr(>|t|)")
                                             else c("z value", "Pr(>|z|)")))
  table
}

# One vector, "class:column" where there are several classes.
coefficient_vector <- function(object) {
  found <- object$coefficients
  if (!is.matrix(found)) return(found)
  names <- paste(rep(rownames(found), each = ncol(found)), colnames(found), sep = ":")
  stats::setNames(as.vector(t(found)), names)
}

summary.fedplt <- function(object, ...) {
  table <- coefficient_table(object)
  kept <- c("call", "terms", "family", "deviance", "aic", "df.residual", "null.deviance", "df.null", "iter", "na.action",
            "privacy", "trained", "converged")
  structure(class = c(paste0("summary.", class(object)[1L]), "summary.fedplt"),
            c(object[intersect(kept, names(object))],
              list(coefficients = table, aliased = is.na(coefficient_vector(object)), dispersion = dispersion_of(object),
                   df = c(object$rank, object$df.residual, length(coefficient_vector(object))),
                   cov.unscaled = object$cov.unscaled, note = attr(table, "note"), penalty = object$penalty,
                   nobs = stats::nobs(object))))
}

print.summary.fedplt <- function(x, digits = max(3L, getOption("digits") - 3L),
                                 signif.stars = getOption("show.signif.stars"), ...) {
  cat("\nCall:\n", paste(deparse(x$call), sep = "\n", collapse = "\n"), "\n\n", sep = "")
  print_coefficients(x, digits, signif.stars)
  family <- x$family$family
  if (family != "multinomial")
    cat("\n(Dispersion parameter for ", family, " family taken to be ", format(x$dispersion), ")\n", sep = "")
  cat("\n", apply(cbind(paste(format(c("Null", "Residual"), justify = "right"), "deviance:"),
                        format(signif(c(x$null.deviance, x$deviance), max(5L, digits + 1L))), " on",
                        format(c(x$df.null, x$df.residual)), " degrees of freedom\n"), 1L, paste, collapse = " "), sep = "")
  if (nzchar(mess <- stats::naprint(x$na.action))) cat("  (", mess, ")\n", sep = "")
  cat("AIC: ", format(x$aic, digits = max(4L, digits + 1L)), "\n\n", "Trained over ", sites_line(x), "\n", sep = "")
  if (!is.null(x$privacy)) print_promise(x)
  cat("\n")
  invisible(x)
}

print_coefficients <- function(x, digits, signif.stars) {
  missing <- sum(x$aliased)
  if (missing) cat("Coefficients: (", missing, " not defined because of singularities)\n", sep = "")
  else cat("Coefficients:\n")
  table <- x$coefficients
  attr(table, "note") <- NULL
  if (missing) {
    whole <- matrix(NA_real_, length(x$aliased), ncol(table), dimnames = list(names(x$aliased), colnames(table)))
    whole[!x$aliased, ] <- table
    table <- whole
  }
  if (ncol(table) > 1L) stats::printCoefmat(table, digits = digits, signif.stars = signif.stars, na.print = "NA")
  else print(table, digits = digits)
  if (!is.null(x$note)) cat("\n", paste(strwrap(paste0("Note: ", x$note, "."), 0.9 * getOption("width")), collapse = "\n"),
                            "\n", sep = "")
}

confint.fedplt <- function(object, parm, level = 0.95, ...) {
  needs_errors(object)
  estimate <- coefficient_vector(object)
  error <- sqrt(diag(stats::vcov(object)))[names(estimate)]
  if (missing(parm)) parm <- names(estimate)
  else if (is.numeric(parm)) parm <- names(estimate)[parm]
  tail <- c((1 - level) / 2, 1 - (1 - level) / 2)
  reach <- if (is_dispersed(object)) stats::qt(tail, object$df.residual) else stats::qnorm(tail)
  made <- estimate[parm] + error[parm] %o% reach
  dimnames(made) <- list(parm, paste(format(100 * tail, trim = TRUE, scientific = FALSE, digits = 3), "%"))
  made
}

residuals.fedplt <- function(object, type = c("deviance", "pearson", "working", "response"), ...) {
  type <- match.arg(type)
  y <- object$y
  mu <- object$fitted.values
  w <- object$prior.weights
  found <- switch(type,
    deviance = ifelse(y > mu, 1, -1) * sqrt(pmax(object$family$dev.resids(y, mu, w), 0)),
    pearson = (y - mu) * sqrt(w) / sqrt(object$family$variance(mu)),
    working = object$residuals,
    response = y - mu)
  if (!is.null(object$na.action)) found <- stats::naresid(object$na.action, found)
  found
}

family.fedplt <- function(object, ...) object$family

deviance.fedplt <- function(object, ...) object$deviance

nobs.fedplt <- function(object, ...) sum(object$prior.weights != 0)

logLik.fedplt <- function(object, ...) {
  p <- object$rank + (object$family$family %in% c("gaussian", "Gamma"))
  structure(p - object$aic / 2, nobs = stats::nobs(object), df = p, class = "logLik")
}

# For step() and drop1().
extractAIC.fedplt <- function(fit, scale = 0, k = 2, ...) {
  aic <- if (is.null(fit$aic)) 2 * (fit$rank - as.numeric(stats::logLik(fit))) else fit$aic
  c(fit$rank, aic + (k - 2) * fit$rank)
}

weights.fedplt <- function(object, ...) {
  found <- object$prior.weights
  if (is.null(object$na.action) || is.null(found)) found else stats::naresid(object$na.action, found)
}

model.frame.fedplt <- function(formula, ...) {
  if (is.null(formula$model)) refuse("the fit has no model frame: fit with fedplt_control(model = TRUE)", status = "unsupported")
  formula$model
}

model.matrix.fedplt <- function(object, ...) {
  terms <- object$terms
  if (is.null(terms)) refuse("the fit has no formula, and so no model matrix", status = "unsupported")
  stats::model.matrix(terms, stats::model.frame(object), object$contrasts)
}

# The matrix and offset of new data; levels that the fit has not seen are refused.
new_matrix <- function(object, newdata, na.action) {
  terms <- object$terms
  if (is.null(terms)) return(list(x = plain_matrix(object, newdata), offset = NULL))
  terms <- stats::delete.response(terms)
  frame <- tryCatch(stats::model.frame(terms, newdata, na.action = na.action, xlev = object$xlevels),
                    error = function(e) refuse(conditionMessage(e), if (grepl("new level", conditionMessage(e))) "; the levels of the fit are in xlevels"
                                                                    else "; newdata needs every variable of the formula", status = "bad-data"))
  if (!is.null(classes <- attr(terms, "dataClasses"))) stats::.checkMFClasses(classes[names(classes) %in% names(frame)], frame)
  x <- stats::model.matrix(terms, frame, contrasts.arg = object$contrasts)
  offset <- stats::model.offset(frame)
  given <- object$call$offset
  if (!is.null(given)) offset <- (offset %||% 0) + eval(given, newdata, environment(object$formula))
  list(x = x, offset = offset, na.action = attr(frame, "na.action"))
}

# For fits without a formula: a matrix with the columns of the fit.
plain_matrix <- function(object, newdata) {
  names <- setdiff(colnames(object$coefficients) %||% names(object$coefficients), "(Intercept)")
  x <- if (is_sparse(newdata)) newdata else as.matrix(newdata)
  if (is.null(colnames(x)) && ncol(x) == length(names)) colnames(x) <- names
  absent <- setdiff(names, colnames(x))
  if (length(absent)) refuse("newdata has no column '", absent[1L], "'", status = "bad-data")
  x[, names, drop = FALSE]
}

predict.fedplt <- function(object, newdata = NULL, type = c("link", "response", "class"), se.fit = FALSE,
                           na.action = stats::na.pass, ...) {
  type <- match.arg(type)
  if (is.null(newdata)) made <- list(x = NULL, na.action = object$na.action)
  else made <- new_matrix(object, newdata, na.action)
  eta <- if (is.null(newdata)) object$linear.predictors else linear_predictor(made$x, object$coefficients, made$offset)
  if (is.null(newdata) && inherits(object$na.action, "exclude")) eta <- stats::napredict(object$na.action, eta)
  if (type == "class") return(predicted_class(object, eta))
  value <- if (type == "response") object$family$linkinv(eta) else eta
  if (!se.fit) return(value)
  needs_errors(object)
  x <- made$x %||% stats::model.matrix(object)
  error <- predictor_error(x, object$coefficients, object$cov.unscaled * dispersion_of(object))
  if (is.null(newdata) && inherits(object$na.action, "exclude")) error <- stats::napredict(object$na.action, error)
  if (type == "response") error <- error * abs(object$family$mu.eta(eta))
  list(fit = value, se.fit = stats::setNames(error, names(value)), residual.scale = sqrt(dispersion_of(object)))
}

# sqrt(x' V x) of every row.
predictor_error <- function(x, coefficients, covariance) {
  names <- rownames(covariance)
  if (!all(names %in% colnames(x))) x <- cbind("(Intercept)" = 1, as.matrix(x))
  x <- as.matrix(x[, names, drop = FALSE])
  sqrt(rowSums((x %*% covariance) * x))
}

predicted_class <- function(object, eta) {
  if (!object$family$family %in% c("binomial", "quasibinomial"))
    refuse("type is class, but the family ", object$family$family, " has no classes", status = "unsupported")
  factor(ifelse(eta > 0, 2L, 1L), levels = 1:2, labels = class_names(object))
}

class_names <- function(object) {
  response <- if (!is.null(object$model)) stats::model.response(object$model, "any")
  if (is.factor(response)) levels(response)[1:2]
  else if (is.logical(response)) c("FALSE", "TRUE")
  else c("0", "1")
}
