# Regression with three classes or more.

fit_multinomial <- function(x, y, site, family, weights, offset, penalty, alpha, privacy, control, has_intercept) {
  if (!is.factor(y)) y <- factor(y)
  y <- droplevels(y)
  if (nlevels(y) < 2L) refuse("the response has one class only: ", levels(y), status = "bad-data")
  if (!is.null(offset) && any(offset != 0))
    refuse("offset is given, but a multinomial model of fedplt has none: rows have one offset, not one for every class", status = "unsupported")
  n <- length(y)
  weights <- weights %||% rep.int(1, n)
  counted <- which(weights > 0)
  rows <- list(index = counted, n = n)
  design <- find_design(x, rows, has_intercept, privacy)
  code <- as.integer(y)[counted]
  two <- nlevels(y) == 2L
  trained <- train_design(x, design, rows, site, if (two) 2 * code - 3 else code - 1, weights[counted], NULL,
                          if (two) "binary" else "classes", levels(y), if (two) "logistic" else "softmax", penalty, alpha,
                          control, privacy)
  fit <- finish_multinomial(x, y, weights, trained, design)
  fit$family <- family
  fit$control <- control
  fit$penalty <- penalty
  fit$alpha <- alpha
  fit$privacy <- privacy
  fit
}

# Weights of the library, output after output and then the intercepts, as one column a class: columns, then intercept.
class_columns <- function(model) {
  outputs <- model$outputs
  w <- matrix(model$weights[seq_len(outputs * model$features)], ncol = outputs)
  if (model$intercept) w <- rbind(w, model$weights[outputs * model$features + seq_len(outputs)])
  w
}

# Where the coefficients of class k are among the weights.
class_places <- function(model, k) {
  c((k - 1) * model$features + seq_len(model$features), if (model$intercept) model$outputs * model$features + k)
}

finish_multinomial <- function(x, y, weights, trained, design) {
  model <- trained$model
  levels <- levels(y)
  own <- own_units_names(design, colnames(x))
  map <- unit_map(model)
  columns <- class_columns(model)
  if (ncol(columns) > 1L) columns <- columns[, -1L, drop = FALSE] - columns[, 1L]
  coefficients <- matrix(NA_real_, length(levels) - 1L, length(own$names), dimnames = list(levels[-1L], own$names))
  coefficients[, own$place] <- t(map %*% columns)
  eta <- vapply(seq_len(nrow(coefficients)), function(k) {
    linear_predictor(x, coefficients[k, ], NULL)
  }, numeric(nrow(x)))
  probability <- softmax(matrix(eta, nrow(x)), levels)
  rownames(probability) <- rownames(x)
  chosen <- probability[cbind(seq_along(y), as.integer(y))]
  rank <- length(own$place) * (length(levels) - 1L)
  deviance <- -2 * sum(weights[weights > 0] * log(chosen[weights > 0]))
  structure(class = c("fedplt_multinom", "fedplt"), list(
    coefficients = coefficients, fitted.values = probability, residuals = indicators(y) - probability, lev = levels,
    deviance = deviance, aic = deviance + 2 * rank, edf = rank, rank = rank, prior.weights = weights, y = y,
    df.residual = sum(weights > 0) * (length(levels) - 1L) - rank,
    null.deviance = null_multinomial(y, weights, design), df.null = (sum(weights > 0) - 1L) * (length(levels) - 1L),
    cov.unscaled = multinomial_covariance(model, own, map, levels), converged = trained$converged, iter = trained$rounds,
    trained = trained))
}

null_multinomial <- function(y, weights, design) {
  share <- tapply(weights, y, sum) / sum(weights)
  if (!design$intercept && design$place == 0L) share[] <- 1 / length(share)
  -2 * sum(weights * log(as.vector(share)[as.integer(y)]))
}

indicators <- function(y) {
  made <- matrix(0, length(y), nlevels(y), dimnames = list(names(y), levels(y)))
  made[cbind(seq_along(y), as.integer(y))] <- 1
  made
}

softmax <- function(eta, levels) {
  eta <- cbind(0, eta)
  eta <- exp(eta - eta[cbind(seq_len(nrow(eta)), max.col(eta, "first"))])
  eta <- eta / rowSums(eta)
  dimnames(eta) <- list(NULL, levels)
  eta
}

multinomial_covariance <- function(model, own, map, levels) {
  if (is.null(model$inference)) return(NULL)
  classes <- if (model$outputs == 1L) 1L else seq_len(model$outputs)[-1L]
  place <- unlist(lapply(classes, class_places, model = model))
  whole <- kronecker(diag(length(classes)), map)
  made <- invert_information(model$inference$information[place, place, drop = FALSE], whole)
  if (is.null(made)) return(NULL)
  sorted <- order(own$place)
  sorted <- as.vector(outer(sorted, (seq_along(classes) - 1L) * length(sorted), `+`))
  made <- made[sorted, sorted, drop = FALSE]
  names <- paste(rep(levels[-1L], each = length(own$place)), own$names[sort(own$place)], sep = ":")
  dimnames(made) <- list(names, names)
  made
}
