# Cox regression; sites and strata have baseline hazards of their own.

fedplt_cox <- function(formula, data, sites, weights, offset, subset, na.action, ties = c("efron", "breslow"), penalty = 0,
                       alpha = 0, privacy = NULL, control = fedplt_control()) {
  call <- match.call()
  ties <- match.arg(ties)
  check_penalty(penalty, alpha)
  check_privacy(privacy)
  if (missing(data)) data <- environment(formula)
  made <- cox_frame(call, formula, data, parent.frame())
  frame <- made$frame
  response <- survival_response(stats::model.response(frame))
  design <- cox_matrix(frame)
  strata <- cox_strata(frame, attr(design$terms, "specials"))
  site <- made$count %||% join_labels(frame[["(sites)"]], strata)
  fit <- fit_cox(design$x, response, site, frame_weights(frame), frame_offset(frame, nrow(frame)), ties, penalty, alpha,
                 privacy, control)
  fit$call <- match.call()
  fit$formula <- formula
  fit$terms <- design$terms
  fit$assign <- attr(design$x, "assign")
  fit$xlevels <- stats::.getXlevels(design$terms, frame)
  fit$contrasts <- attr(design$x, "contrasts")
  fit$na.action <- attr(frame, "na.action")
  fit$strata <- site
  if (control$model) fit$model <- frame
  fit
}

# The frame with the strata as variables.
cox_frame <- function(call, formula, data, env) {
  call$formula <- stats::terms(formula, "strata", data = if (is.data.frame(data)) data)
  environment(call$formula) <- survival_env(environment(formula))
  model_frame(call, data, env, formula)
}

# Surv and strata are those of the package survival where it is there, whether or not it is attached.
survival_env <- function(parent) {
  env <- new.env(parent = parent)
  if (requireNamespace("survival", quietly = TRUE)) {
    env$Surv <- survival::Surv
    env$strata <- survival::strata
  } else {
    env$Surv <- function(time, event) cbind(time = time, status = as.numeric(event))
    env$strata <- function(...) interaction(..., drop = TRUE, sep = ", ")
  }
  env
}

# Times, negative where censored.
survival_response <- function(y) {
  if (inherits(y, "Surv") && attr(y, "type") != "right")
    refuse("the response is censored of type ", attr(y, "type"), ", but must be right-censored: Surv(time, event)",
           status = "unsupported")
  if (!is.matrix(y) || ncol(y) != 2L) refuse("the response must be Surv(time, event)")
  time <- as.vector(y[, 1L])
  status <- as.vector(y[, 2L])
  bad <- which(!(time > 0))
  if (length(bad)) refuse("row ", bad[1L], ": the time is ", time[bad[1L]], ", but must be above 0", status = "bad-data")
  list(time = time, status = status, label = ifelse(status == 1, time, -time), names = rownames(y))
}

# The matrix without intercept and strata, with the levels that an intercept leaves.
cox_matrix <- function(frame) {
  terms <- attr(frame, "terms")
  attr(terms, "intercept") <- 1L
  strata <- attr(terms, "specials")$strata
  if (length(strata)) {
    labels <- rownames(attr(terms, "factors"))[strata]
    drop <- which(colSums(attr(terms, "factors")[strata, , drop = FALSE]) > 0)
    if (any(attr(terms, "order")[drop] > 1L))
      refuse("strata(...) is in an interaction, which is not offered", status = "unsupported")
    terms <- drop_terms(terms, drop)
    attr(terms, "strata") <- labels
  }
  x <- stats::model.matrix(terms, frame)
  assign <- attr(x, "assign")
  place <- match("(Intercept)", colnames(x))
  attr(x, "assign") <- assign[-place]
  list(x = x, terms = terms, place = place)
}

# Terms without some of them. Offsets, what makes variables of new data (predvars) and their classes stay.
drop_terms <- function(terms, drop) {
  text <- function(list) vapply(as.list(list)[-1L], function(v) paste(deparse(v, 500L, backtick = TRUE), collapse = " "), "")
  variables <- text(attr(terms, "variables"))
  right <- c(attr(terms, "term.labels")[-drop], variables[attr(terms, "offset")])
  made <- stats::terms(stats::reformulate(if (length(right)) right else "1", terms[[2L]], env = environment(terms)))
  kept <- match(text(attr(made, "variables")), variables)
  structure(made, predvars = as.call(c(quote(list), as.list(attr(terms, "predvars"))[-1L][kept])),
            dataClasses = attr(terms, "dataClasses")[kept], specials = attr(terms, "specials"))
}

cox_strata <- function(frame, specials) {
  place <- specials$strata
  if (!length(place)) return(NULL)
  labels <- attr(frame, "names")[place]
  Reduce(join_labels, lapply(labels, function(name) frame[[name]]))
}

join_labels <- function(a, b) {
  if (is.null(a)) return(b)
  if (is.null(b)) return(a)
  if (identical(as.character(a), sub(".*=", "", as.character(b)))) return(b)
  paste(a, b, sep = ", ")
}

fit_cox <- function(x, response, site, weights, offset, ties, penalty, alpha, privacy, control) {
  n <- length(response$time)
  weights <- weights %||% rep.int(1, n)
  counted <- which(weights > 0)
  rows <- list(index = counted, n = n)
  labels <- if (is.null(site) || is_site_count(site, n)) rep("1", n) else as.character(site)
  grouped <- group_sites(labels, rows)
  columns <- which(colnames(x) != "(Intercept)")
  if (!length(columns)) refuse("the model has no columns", status = "unsupported")
  kept <- if (is.null(privacy)) independent_columns(x, grouped, TRUE) else seq_len(ncol(x))
  kept <- setdiff(kept, match("(Intercept)", colnames(x), 0L))
  if (!length(kept)) refuse("every column is constant in each stratum", status = "bad-data")
  trained <- train_design(x, list(kept = kept, intercept = FALSE), rows, site, response$label[counted], weights[counted],
                          offset[counted], "survival", NULL, "cox", penalty, alpha, control, privacy, list(ties = ties))
  names <- colnames(x)[columns]
  place <- match(kept, columns)
  map <- unit_map(trained$model)
  own <- list(names = names, place = place, map = map)
  coefficients <- stats::setNames(rep(NA_real_, length(names)), names)
  coefficients[place] <- as.vector(map %*% trained$model$weights)
  means <- colSums(x[counted, columns, drop = FALSE] * weights[counted]) / sum(weights[counted])
  eta <- linear_predictor(x[, columns, drop = FALSE], coefficients, offset)
  inference <- trained$model$inference
  # the library takes weights relative to their mean in a stratum, coxph as they are
  own_mean <- stats::ave(weights[counted], labels[counted])
  constant <- sum((weights * response$status)[counted] * log(own_mean))
  loglik <- if (is.null(inference)) c(NA_real_, NA_real_) else -c(inference$zero_losses, inference$losses) - constant
  structure(class = c("fedplt_cox", "fedplt"), list(
    coefficients = coefficients, linear.predictors = eta, loglik = loglik, cov.unscaled = own_covariance(trained, own),
    rank = length(kept), means = means, ties = ties, response = response, prior.weights = weights, offset = offset,
    n = length(counted), nevent = sum(response$status[counted]), converged = trained$converged, iter = trained$rounds,
    control = control, penalty = penalty, alpha = alpha, privacy = privacy,
    family = list(family = "cox", link = "log"), trained = trained))
}
