# Generalised linear models over sites.

# What the library calls a family; refused with a reason where it has none.
loss_of <- function(family) {
  known <- c("binomial logit" = "logistic", "quasibinomial logit" = "logistic", "gaussian identity" = "least-squares",
             "poisson log" = "poisson", "quasipoisson log" = "poisson", "Gamma log" = "gamma", "binomial probit" = "probit")
  found <- known[paste(family$family, family$link)]
  if (is.na(found))
    refuse("family is ", family$family, " with link ", family$link, ", but must be one of binomial (logit, probit), ",
           "quasibinomial (logit), gaussian (identity), poisson (log), quasipoisson (log), Gamma (log) and multinomial()",
           status = "unsupported")
  found[[1L]]
}

is_binary <- function(loss) loss %in% c("logistic", "probit")

as_family <- function(family, env) {
  if (is.character(family)) {
    family <- if (identical(family, "multinomial")) multinomial else get(family, mode = "function", envir = env)
  }
  if (is.function(family)) family <- family()
  if (is.null(family$family)) refuse("family is of class ", class(family)[1L], ", but must be a family such as binomial()")
  family
}

multinomial <- function() {
  structure(list(family = "multinomial", link = "logit"), class = c("fedplt_multinomial", "family"))
}

fedplt <- function(formula, data, sites, family = stats::binomial(), weights, offset, subset, na.action, penalty = 0,
                   alpha = 0, privacy = NULL, control = fedplt_control(), contrasts = NULL) {
  call <- match.call()
  family <- as_family(family, parent.frame())
  check_penalty(penalty, alpha)
  check_privacy(privacy)
  if (missing(data)) data <- environment(formula)
  if (is_sparse(data)) {
    fit <- fit_sparse_data(formula, data, call, parent.frame(), family, penalty, alpha, privacy, control)
  } else {
    frame <- model_frame(call, data, parent.frame(), formula)
    fit <- fit_frame(frame, family, penalty, alpha, privacy, control, contrasts)
  }
  fit$call <- call
  fit$formula <- fit$formula %||% stats::formula(fit$terms)
  fit
}

`%||%` <- function(a, b) if (is.null(a)) b else a

# The frame with weights, offset and sites as extra variables, so that subset and na.action apply to them too.
model_frame <- function(call, data, env, formula) {
  sites <- find_sites(call$sites, data, env, formula)
  frame <- call[c(1L, match(c("formula", "data", "subset", "weights", "na.action", "offset", "xlev"), names(call), 0L))]
  frame$drop.unused.levels <- TRUE
  frame[[1L]] <- quote(stats::model.frame)
  if (!is.null(sites) && !sites$count) frame$sites <- sites$labels
  made <- eval(frame, env)
  list(frame = made, count = if (!is.null(sites) && sites$count) sites$labels else NULL)
}

# `sites` is a column of the data, a formula ~ column, a vector, or a number of sites; NULL: not given.
find_sites <- function(expression, data, env, formula) {
  if (is.null(expression)) return(NULL)
  where <- if (is.environment(data)) NULL else data
  found <- eval(expression, where, env)
  if (inherits(found, "formula")) {
    if (length(found) != 2L) refuse("sites is ", deparse(found), ", but a formula for sites has one side: ~ site")
    expression <- found[[2L]]
    found <- eval(expression, where, environment(formula))
  }
  if (is.null(found)) return(NULL)
  if (is.character(found) && length(found) == 1L && is.data.frame(data) && found %in% names(data)) expression <- as.name(found)
  rows <- if (is.data.frame(data)) nrow(data) else 0L
  if (is.data.frame(data) && !identical(expression, as.name(found[1L])) && is.atomic(found) && !is_site_count(found, rows) && length(found) != rows)
    refuse(if (is.character(found) && length(found) == 1L) paste0("sites is \"", found, "\", but there is no such column; the columns are ",
                                                                 paste(names(data), collapse = ", "))
           else paste0("sites has ", length(found), " labels, but there are ", rows, " rows"))
  count <- is_site_count(found, rows)
  if (count && (is.na(found) || found < 1 || found != round(found)))
    refuse("sites is ", found, ", but must be a whole number of at least 1, or one label a row")
  if (!count && !is.atomic(found)) refuse("sites is of class ", class(found)[1L], ", but must have one label a row")
  list(count = count, labels = if (count) found else expression)
}

# The offsets of a frame: of the formula and of the argument.
frame_offset <- function(frame, rows) {
  offset <- stats::model.offset(frame)
  if (is.null(offset)) return(NULL)
  offset <- as.vector(offset)
  if (length(offset) != rows) refuse("offset has ", length(offset), " numbers, but there are ", rows, " rows")
  offset
}

frame_weights <- function(frame) {
  weights <- as.vector(stats::model.weights(frame))
  if (is.null(weights)) return(NULL)
  if (!is.numeric(weights)) refuse("weights is of class ", class(weights)[1L], ", but must be numbers")
  if (any(weights < 0)) refuse("weights has a negative number: ", weights[weights < 0][1L])
  weights
}

fit_frame <- function(made, family, penalty, alpha, privacy, control, contrasts) {
  frame <- made$frame
  terms <- attr(frame, "terms")
  y <- stats::model.response(frame, "any")
  if (length(dim(y)) == 1L) y <- stats::setNames(as.vector(y), names(y))
  x <- if (stats::is.empty.model(terms)) matrix(, NROW(y), 0L) else stats::model.matrix(terms, frame, contrasts)
  attr(x, "indicators") <- indicator_columns(x, terms, frame)
  fit <- fit_matrix(x, y, made$count %||% frame[["(sites)"]], family, frame_weights(frame),
                    frame_offset(frame, NROW(y)), penalty, alpha, privacy, control, attr(terms, "intercept") > 0L)
  fit$terms <- terms
  fit$contrasts <- attr(x, "contrasts")
  fit$assign <- attr(x, "assign")
  fit$xlevels <- stats::.getXlevels(terms, frame)
  fit$na.action <- attr(frame, "na.action")
  if (control$model) fit$model <- frame
  fit
}

# Columns of factors alone under treatment contrasts: 0 or 1 whatever the rows are.
indicator_columns <- function(x, terms, frame) {
  labels <- attr(terms, "term.labels")
  treated <- vapply(labels, function(label) {
    variables <- rownames(attr(terms, "factors"))[attr(terms, "factors")[, label] > 0]
    all(vapply(variables, function(v) is.logical(frame[[v]]) || is.character(frame[[v]]) || is.factor(frame[[v]]), NA))
  }, NA)
  plain <- all(vapply(attr(x, "contrasts"), identical, NA, "contr.treatment"))
  place <- attr(x, "assign")
  if (!plain) character() else colnames(x)[place > 0L & c(FALSE, treated)[place + 1L]]
}

fedplt_fit <- function(x, y, sites = NULL, family = stats::binomial(), weights = NULL, offset = NULL, intercept = TRUE,
                       penalty = 0, alpha = 0, privacy = NULL, control = fedplt_control()) {
  call <- match.call()
  family <- as_family(family, parent.frame())
  check_penalty(penalty, alpha)
  check_privacy(privacy)
  if (!is_sparse(x)) x <- as.matrix(x)
  if (NROW(y) != nrow(x)) refuse("y has ", NROW(y), " rows, but x has ", nrow(x))
  if (is.null(colnames(x))) colnames(x) <- paste0("x", seq_len(ncol(x)))
  missing <- (if (is_sparse(x)) anyNA(x@x) else anyNA(x)) || anyNA(y)
  if (missing) refuse("x or y has missing values, which fedplt_fit does not leave out", status = "bad-data")
  fit <- fit_matrix(x, y, sites, family, weights, offset, penalty, alpha, privacy, control, intercept)
  fit$call <- call
  fit
}

# y ~ . with a sparse matrix as data: the columns are those that the formula names.
fit_sparse_data <- function(formula, data, call, env, family, penalty, alpha, privacy, control) {
  unusable <- intersect(c("subset", "na.action"), names(call))
  if (length(unusable)) refuse(unusable[1L], " is given, but data is a sparse matrix, of which all rows are used",
                               status = "unsupported")
  if (is.null(colnames(data))) colnames(data) <- paste0("x", seq_len(ncol(data)))
  intercept <- TRUE
  columns <- seq_len(ncol(data))
  right <- formula[[length(formula)]]
  if (!identical(right, quote(.))) {
    terms <- stats::terms(formula, data = as.data.frame(matrix(0, 0L, ncol(data), dimnames = list(NULL, colnames(data)))))
    intercept <- attr(terms, "intercept") > 0L
    names <- gsub("`", "", attr(terms, "term.labels"), fixed = TRUE)
    columns <- match(names, colnames(data))
    if (anyNA(columns))
      refuse("there is no column '", names[is.na(columns)][1L], "' in the sparse matrix; a formula over one names columns only")
  }
  value <- function(what) eval(call[[what]], NULL, env)
  y <- eval(formula[[2L]], NULL, environment(formula))
  x <- if (identical(columns, seq_len(ncol(data)))) data else data[, columns, drop = FALSE]
  fit <- fit_matrix(x, y, value("sites"), family, value("weights"), value("offset"), penalty, alpha, privacy, control,
                    intercept)
  fit$formula <- formula
  fit
}

# x with or without a column (Intercept); has_intercept says whether the model has one.
fit_matrix <- function(x, y, site, family, weights, offset, penalty, alpha, privacy, control, has_intercept) {
  if (!inherits(control, "fedplt_control")) refuse("control is of class ", class(control)[1L], ", but must be made by fedplt_control()")
  if (family$family == "multinomial")
    return(fit_multinomial(x, y, site, family, weights, offset, penalty, alpha, privacy, control, has_intercept))
  loss <- loss_of(family)
  response <- response_of(family, y, weights)
  n <- length(response$y)
  rows <- library_rows(response, loss, offset)
  design <- find_design(x, rows, has_intercept, privacy)
  train <- function(control) {
    trained <- train_design(x, design, rows, site, rows$label, rows$weight, rows$offset,
                            if (is_binary(loss)) "binary" else "regression",
                            if (is_binary(loss)) response$classes, loss, penalty, alpha, control, privacy)
    finish_glm(x, response, offset, family, trained, design, has_intercept, n)
  }
  fit <- train(control)
  if (loss == "poisson" && is.null(privacy)) fit <- raise_bound(fit, response, control, train)
  fit$control <- control
  fit$penalty <- penalty
  fit$alpha <- alpha
  fit$privacy <- privacy
  fit
}

# The library continues exp as a parabola above a bound of the linear predictor, which keeps costs smooth. Where a fit is
# beyond the bound, it is fitted again with a larger one.
raise_bound <- function(fit, response, control, train) {
  good <- response$weights > 0
  given <- control$settings
  if (any(setting_name(names(given)) == "predictor-bound")) return(fit)
  bound <- max(1, 1 + log(max(response$y[good], 1)))
  for (attempt in 1:5) {
    largest <- max(fit$linear.predictors[good])
    if (!is.finite(largest) || largest <= bound) break
    bound <- largest + 2
    control$settings$predictor_bound <- bound
    fit <- train(control)
  }
  fit
}

# Trains on the columns of the design; with privacy and bounds of columns, on columns that are scaled by these.
train_design <- function(x, design, rows, site, label, weight, offset, task, classes, loss, penalty, alpha, control, privacy,
                         more = list()) {
  kept <- design$kept
  ranges <- NULL
  if (is.list(privacy$bounds)) {
    ranges <- column_ranges(x, kept, privacy, attr(x, "indicators"))
    x <- scale_columns(x, kept, ranges)
    kept <- seq_along(kept)
    privacy$radius <- sqrt(length(kept))
  }
  trained <- train_rows(x, rows, site, label, weight, offset, task, classes, function(sites) {
    c(problem_settings(loss, design$intercept, penalty, alpha, sites, privacy), more)
  }, control, privacy, kept)
  if (!is.null(ranges)) trained$model[c("mean", "scale")] <- ranges
  trained
}

# y and prior weights as the family's `initialize` has them.
response_of <- function(family, y, weights) {
  classes <- if (is.factor(y)) c(levels(y)[1L], if (nlevels(y) == 2L) levels(y)[2L] else "other") else c("0", "1")
  if (is.character(y)) refuse("the response is text; make it a factor, whose first level is the failure", status = "bad-data")
  names <- if (is.matrix(y)) rownames(y) else names(y)
  nobs <- NROW(y)
  if (is.null(weights)) weights <- rep.int(1, nobs)
  start <- etastart <- mustart <- NULL
  eval(family$initialize)
  look()
  list(y = stats::setNames(as.double(y), names), weights = as.double(weights), classes = classes)
}

# The rows that the library gets. A proportion becomes two rows, of successes and of failures.
library_rows <- function(response, loss, offset) {
  y <- response$y
  counted <- which(response$weights > 0)
  weight <- response$weights
  if (!length(y)) refuse("no row is left: subset, na.action or the data leave none", status = "bad-data")
  if (!length(counted)) refuse("weights leaves no row: none is above 0")
  if (!is_binary(loss)) {
    return(list(index = counted, n = length(y), label = y[counted], weight = weight[counted], offset = offset[counted]))
  }
  yes <- counted[y[counted] > 0]
  no <- counted[y[counted] < 1]
  if (length(yes) + length(no) == length(counted)) {
    return(list(index = counted, n = length(y), label = 2 * y[counted] - 1, weight = weight[counted],
                offset = offset[counted]))
  }
  index <- c(yes, no)
  list(index = index, n = length(y), label = rep(c(1, -1), c(length(yes), length(no))),
       weight = c(weight[yes] * y[yes], weight[no] * (1 - y[no])), offset = offset[index])
}

# Columns that are estimated. A model of nothing but an intercept has it as a column, because the library needs one.
find_design <- function(x, rows, has_intercept, privacy) {
  place <- if (has_intercept) match("(Intercept)", colnames(x), 0L) else 0L
  whole <- list(order = rows$index, sizes = as.numeric(length(rows$index)))
  # with privacy nothing is decided by looking at the rows
  kept <- if (!is.null(privacy)) seq_len(ncol(x))
          else if (ncol(x)) independent_columns(x, whole, has_intercept && place == 0L) else integer()
  features <- setdiff(kept, place)
  if (!length(features) && place == 0L) refuse("the model has no columns", status = "unsupported")
  if (!length(features)) return(list(kept = place, intercept = FALSE, place = place, all = kept))
  list(kept = features, intercept = has_intercept, place = place, all = kept)
}

# Names of the coefficients, and where those that are estimated are among them.
own_units_names <- function(design, columns) {
  names <- if (design$intercept && design$place == 0L) c("(Intercept)", columns) else columns
  shift <- length(names) - length(columns)
  place <- if (design$intercept) c(if (shift) 1L else design$place, design$kept + shift) else design$kept
  list(names = names, place = place)
}

# Coefficients in the units of the columns, with NA where a column was left out.
own_units <- function(trained, design, columns) {
  own <- own_units_names(design, columns)
  own$map <- unit_map(trained$model)
  own$coefficients <- stats::setNames(rep(NA_real_, length(own$names)), own$names)
  own$coefficients[own$place] <- as.vector(own$map %*% trained$model$weights)
  own
}

# The covariance of the estimated coefficients but for the dispersion; NULL where there is none.
own_covariance <- function(trained, own) {
  inference <- trained$model$inference
  made <- if (!is.null(inference)) invert_information(inference$information, own$map)
  if (is.null(made)) return(NULL)
  dimnames(made) <- rep(list(own$names[own$place]), 2L)
  sorted <- order(own$place)
  made[sorted, sorted, drop = FALSE]
}

# The inverse of the information; NULL where it has none.
invert_information <- function(information, map) {
  scale <- sqrt(diag(information))
  if (!all(is.finite(scale)) || any(scale <= 0)) return(NULL)
  factor <- tryCatch(chol(information / tcrossprod(scale)), error = function(e) NULL)
  if (is.null(factor)) return(NULL)
  inverse <- chol2inv(factor) / tcrossprod(scale)
  map %*% inverse %*% t(map)
}

linear_predictor <- function(x, coefficients, offset) {
  used <- which(!is.na(coefficients))
  columns <- colnames(x)
  shift <- length(coefficients) - length(columns) # 1: an intercept that is no column
  eta <- if (shift && 1L %in% used) coefficients[[1L]] else 0
  used <- setdiff(used, if (shift) 1L) - shift
  if (length(used)) eta <- eta + multiply(x, used, coefficients[used + shift])
  if (length(eta) == 1L) eta <- rep(eta, nrow(x))
  if (!is.null(offset)) eta <- eta + offset
  stats::setNames(eta, rownames(x))
}

multiply <- function(x, used, coefficients) {
  if (length(used) < ncol(x)) x <- x[, used, drop = FALSE]
  if (is_sparse(x)) loadNamespace("Matrix") # which brings the method of %*%, without a copy of x
  as.vector(x %*% unname(coefficients))
}

finish_glm <- function(x, response, offset, family, trained, design, has_intercept, n) {
  own <- own_units(trained, design, colnames(x))
  y <- response$y
  w <- response$weights
  eta <- linear_predictor(x, own$coefficients, offset)
  look()
  names(eta) <- names(y)
  mu <- family$linkinv(eta)
  good <- w > 0
  warn_extremes(family, mu[good], trained)
  look()
  rank <- length(own$place)
  deviance <- sum(family$dev.resids(y, mu, w))
  look()
  null <- null_deviance(y, w, offset, family, has_intercept)
  look()
  aic <- family$aic(y, rep.int(1, n), mu, w, deviance) + 2 * rank
  look()
  observations <- sum(good)
  structure(class = "fedplt", list(
    coefficients = own$coefficients, residuals = (y - mu) / family$mu.eta(eta), fitted.values = mu,
    linear.predictors = eta, rank = rank, family = family, deviance = deviance,
    null.deviance = null, aic = aic,
    prior.weights = stats::setNames(w, names(y)), y = y, offset = offset, df.residual = observations - rank,
    df.null = observations - as.integer(has_intercept), cov.unscaled = own_covariance(trained, own), converged = trained$converged,
    iter = trained$rounds, trained = trained))
}

# The warnings of glm.fit, in its words. Without a penalty training ends before a probability has all digits of 0 or 1.
warn_extremes <- function(family, mu, trained) {
  limit <- if (is.null(trained$model$inference)) 10 * .Machine$double.eps else 1e-9
  if (family$family == "binomial" && any(mu > 1 - limit | mu < limit))
    warning("fitted probabilities numerically 0 or 1 occurred", call. = FALSE)
  if (family$family == "poisson" && any(mu < limit)) warning("fitted rates numerically 0 occurred", call. = FALSE)
}

# As glm has it: the deviance with an intercept and the offset alone.
null_deviance <- function(y, w, offset, family, has_intercept) {
  if (!has_intercept) {
    return(sum(family$dev.resids(y, family$linkinv(offset %||% rep(0, length(y))), w)))
  }
  if (is.null(offset) || all(offset == 0)) return(sum(family$dev.resids(y, rep(sum(w * y) / sum(w), length(y)), w)))
  suppressWarnings(stats::glm.fit(matrix(1, length(y)), y, w, offset = offset, family = family,
                                  control = stats::glm.control(epsilon = 1e-14, maxit = 100))$deviance)
}
