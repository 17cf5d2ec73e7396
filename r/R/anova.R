# Likelihood-ratio tests.

anova.fedplt <- function(object, ..., test = "Chisq") {
  others <- list(...)
  models <- c(list(object), others)
  for (model in models) {
    if (!inherits(model, "fedplt")) refuse("anova takes fits of fedplt only, not of class ", class(model)[1L])
    if (!is.null(model$privacy) || model$penalty > 0) refuse(lacks_errors(model), status = "unsupported")
  }
  if (length(others)) anova_models(models, test) else anova_terms(object, test)
}

# Deviance, residual degrees of freedom and dispersion of a fit; -2 log-likelihood for Cox.
fit_deviance <- function(model) if (inherits(model, "fedplt_cox")) -2 * model$loglik[2L] else model$deviance

fit_freedom <- function(model) if (inherits(model, "fedplt_cox")) stats::nobs(model) - model$rank else model$df.residual

anova_models <- function(models, test) {
  rows <- vapply(models, stats::nobs, 0)
  if (length(unique(rows)) > 1L) refuse("the models were not fitted to the same number of rows: ", paste(rows, collapse = ", "))
  df <- vapply(models, fit_freedom, 0)
  deviance <- vapply(models, fit_deviance, 0)
  table <- data.frame(df, deviance, c(NA, -diff(df)), c(NA, -diff(deviance)))
  dimnames(table) <- list(as.character(seq_along(models)), c("Resid. Df", "Resid. Dev", "Df", "Deviance"))
  largest <- models[[which.min(df)]]
  formulas <- vapply(models, function(m) paste(deparse(stats::formula(m)), collapse = "\n"), "")
  title <- "Analysis of Deviance Table\n"
  if (!is.null(test)) table <- add_test(table, test, largest)
  structure(table, heading = c(title, paste0("Model ", format(seq_along(models)), ": ", formulas, collapse = "\n")),
            class = c("anova", "data.frame"))
}

add_test <- function(table, test, largest) {
  scale <- dispersion_of(largest)
  stats::stat.anova(table, test, scale, fit_freedom(largest), if (is_dispersed(largest)) stats::nobs(largest) else 0)
}

# Terms added one after the other, each model fitted anew.
anova_terms <- function(object, test) {
  terms <- object$terms
  if (is.null(terms)) refuse("the fit has no formula, and so no terms to test", status = "unsupported")
  labels <- attr(terms, "term.labels")
  fits <- lapply(seq_len(length(labels)) - 1L, function(k) fit_terms(object, k))
  fits <- c(fits, list(object))
  df <- vapply(fits, fit_freedom, 0)
  deviance <- vapply(fits, fit_deviance, 0)
  table <- data.frame(c(NA, -diff(df)), c(NA, pmax(0, -diff(deviance))), df, deviance)
  dimnames(table) <- list(c("NULL", labels), c("Df", "Deviance", "Resid. Df", "Resid. Dev"))
  if (!is.null(test)) table <- add_test(table, test, object)
  family <- object$family
  title <- paste0("Analysis of Deviance Table", "\n\nModel: ", family$family, ", link: ", family$link, "\n\nResponse: ",
                  as.character(attr(terms, "variables"))[2L], "\n\nTerms added sequentially (first to last)\n\n")
  structure(table, heading = title, class = c("anova", "data.frame"))
}

# The fit of the first k terms.
fit_terms <- function(object, k) {
  if (inherits(object, "fedplt_cox")) return(fit_cox_terms(object, k))
  frame <- stats::model.frame(object)
  site <- if (object$trained$sites$dealt > 0) object$trained$sites$dealt else frame[["(sites)"]]
  x <- stats::model.matrix(object)
  x <- x[, object$assign <= k, drop = FALSE]
  if (!ncol(x)) return(empty_fit(object))
  fit_matrix(x, stats::model.response(frame, "any"), site, object$family, frame_weights(frame), frame_offset(frame, nrow(frame)),
             0, 0, NULL, object$control, attr(object$terms, "intercept") > 0L)
}

fit_cox_terms <- function(object, k) {
  x <- stats::model.matrix(object)[, object$assign <= k, drop = FALSE]
  if (!ncol(x)) return(structure(list(loglik = rep(object$loglik[1L], 2L), rank = 0L, nevent = object$nevent), class = class(object)))
  site <- if (object$trained$sites$dealt > 0) object$trained$sites$dealt else object$strata
  fit_cox(x, object$response, site, object$prior.weights, object$offset, object$ties, 0, 0, NULL, object$control)
}

# Without an intercept the first model has no coefficient at all.
empty_fit <- function(object) {
  observations <- stats::nobs(object)
  list(df.residual = observations, deviance = object$null.deviance)
}
