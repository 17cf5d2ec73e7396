# How well a model predicts: evaluation, cross-validation, and the comparison with each site alone and with all rows in one place.

# ---- evaluation ----

evaluate <- function(fit, ...) UseMethod("evaluate")

evaluate.fedplt <- function(fit, newdata = NULL, sites = NULL, threshold = NULL, ...) {
  if (!is.null(threshold) && (!is.numeric(threshold) || length(threshold) != 1L || is.na(threshold) || threshold < 0 || threshold > 1))
    refuse("threshold is ", deparse(threshold), ", but must be a probability between 0 and 1")
  if (!is.null(threshold) && !fit$family$family %in% c("binomial", "quasibinomial"))
    refuse("threshold is given, but only two classes have one", status = "unsupported")
  frame <- if (is.null(newdata)) stats::model.frame(fit) else evaluation_frame(fit, newdata, substitute(sites), parent.frame())
  made <- evaluation_rows(fit, frame, is.null(newdata))
  found <- .Call(C_evaluate, fit$trained$model$json, made, threshold %||% NA_real_)
  quality <- as.data.frame(found$sites, stringsAsFactors = FALSE)
  quality <- quality[vapply(quality, function(column) !all(is.na(column)), NA) | names(quality) == "site"]
  frames <- lapply(found[c("classes", "roc", "calibration")], function(one) if (!is.null(one)) as.data.frame(one, stringsAsFactors = FALSE))
  confusion <- found$confusion
  if (!is.null(confusion)) dimnames(confusion) <- list(is = frames$classes$class, called = frames$classes$class)
  structure(list(sites = quality, confusion = confusion, classes = frames$classes, roc = frames$roc, calibration = frames$calibration),
            class = "fedplt_evaluation")
}

# The frame of new data: the response, weights and offset of the fit's call, and the sites, or those of the call where they are there.
evaluation_frame <- function(fit, newdata, sites, env) {
  if (is.null(fit$terms)) refuse("the fit has no formula, and so no columns to look for in newdata", status = "unsupported")
  call <- fit$call
  call$data <- newdata
  call$subset <- NULL
  call$na.action <- quote(stats::na.omit)
  call$xlev <- fit$xlevels
  call$sites <- sites %||% if (all(all.vars(call$sites) %in% names(newdata))) call$sites
  if (inherits(fit, "fedplt_cox")) return(cox_frame(call, fit$formula, newdata, env)$frame)
  call$formula <- fit$terms
  tryCatch(model_frame(call, newdata, env, fit$formula)$frame,
           error = function(e) if (inherits(e, "fedplt_error")) stop(e) else refuse(conditionMessage(e), status = "bad-data"))
}

# The data set of a frame, in the columns of the fit.
evaluation_rows <- function(fit, frame, own) {
  cox <- inherits(fit, "fedplt_cox")
  x <- if (own) stats::model.matrix(fit) else if (cox) cox_matrix(frame)$x else stats::model.matrix(fit$terms, frame, fit$contrasts)
  names <- if (is.matrix(fit$coefficients)) colnames(fit$coefficients)[!is.na(fit$coefficients[1L, ])] else names(fit$coefficients)[!is.na(fit$coefficients)]
  kept <- setdiff(match(names, colnames(x)), match("(Intercept)", colnames(x), 0L))
  if (!length(kept)) kept <- match("(Intercept)", colnames(x))
  rows <- labelled_rows(fit, frame)
  site <- frame[["(sites)"]]
  if (cox) site <- join_labels(site, cox_strata(frame, attr(attr(frame, "terms"), "specials")))
  if (is.list(fit$privacy$bounds)) {
    x <- scale_columns(x, kept, fit$trained$model[c("mean", "scale")])
    kept <- seq_along(kept)
  }
  rows_dataset(x, group_sites(site, rows), rows$label, rows$weight, rows$offset, rows$task, rows$classes, kept)
}

# Labels, weights and offsets as the library has them.
labelled_rows <- function(fit, frame) {
  y <- stats::model.response(frame, "any")
  weights <- frame_weights(frame)
  offset <- frame_offset(frame, nrow(frame))
  n <- NROW(y)
  counted <- which((weights %||% rep.int(1, n)) > 0)
  plain <- list(index = counted, n = n, weight = weights[counted], offset = offset[counted])
  if (inherits(fit, "fedplt_cox"))
    return(c(plain, list(label = survival_response(y)$label[counted], task = "survival", classes = NULL)))
  if (inherits(fit, "fedplt_multinom")) {
    code <- as.integer(known_levels(y, fit$lev))[counted]
    two <- length(fit$lev) == 2L
    return(c(plain, list(label = if (two) 2 * code - 3 else code - 1, task = if (two) "binary" else "classes", classes = fit$lev)))
  }
  if (is.factor(y) && !is.null(fit$model)) y <- known_levels(y, levels(stats::model.response(fit$model, "any")))
  loss <- loss_of(fit$family)
  response <- response_of(fit$family, y, weights)
  c(library_rows(response, loss, offset), list(task = if (loss == "logistic") "binary" else "regression",
                                               classes = if (loss == "logistic") response$classes))
}

# The response by the levels of the fit; others are refused.
known_levels <- function(y, levels) {
  made <- factor(as.character(y), levels)
  bad <- which(is.na(made))
  if (length(bad)) refuse("row ", bad[1L], ": the response is '", as.character(y)[bad[1L]], "', but the fit has ", paste(levels, collapse = ", "),
                          status = "bad-data")
  made
}

print.fedplt_evaluation <- function(x, digits = 4, details = FALSE, ...) {
  print(all_named(x$sites), digits = digits, row.names = FALSE)
  if (!is.null(x$sites$weight)) cat("\nRows are weighted: every measure counts a row by its weight.\n")
  if (details && !is.null(x$confusion)) {
    cat("\n")
    print(x$confusion)
    cat("\n")
    print(x$classes, digits = digits, row.names = FALSE)
    if (!is.null(x$calibration)) {
      cat("\n")
      print(x$calibration, digits = digits, row.names = FALSE)
    }
  }
  invisible(x)
}

as.data.frame.fedplt_evaluation <- function(x, ...) x$sites

toLatex.fedplt_evaluation <- function(object, ...) latex(all_named(object$sites))

plot.fedplt_evaluation <- function(x, which = c("roc", "calibration"), ...) {
  which <- match.arg(which)
  if (is.null(x[[which]])) refuse("a picture of ", which, " needs a response of two classes, both of which occur", status = "unsupported")
  if (which == "roc") graphics::plot(x$roc$false_positive, x$roc$true_positive, type = "l", xlim = c(0, 1), ylim = c(0, 1),
                                     xlab = "False positive rate", ylab = "True positive rate", ...)
  else graphics::plot(x$calibration$predicted, x$calibration$observed, xlim = c(0, 1), ylim = c(0, 1), xlab = "Predicted probability",
                      ylab = "Observed share", ...)
  graphics::abline(0, 1, lty = 2)
  invisible(x)
}

# ---- cross-validation ----

validate <- function(fit, ...) UseMethod("validate")

validate.fedplt <- function(fit, penalty = 10^(-4:0), by = c("rows", "sites"), folds = 5, seed = 0, ...) {
  by <- match.arg(by)
  refuse_private(fit, "cross-validation")
  if (!is.numeric(penalty) || !length(penalty) || anyNA(penalty) || any(penalty < 0) || !any(penalty > 0))
    refuse("penalty is ", paste(deparse(penalty), collapse = " "), ", but must be numbers of at least 0, one of them above 0")
  if (fit$alpha > 0 && fit$alpha < 1)
    refuse("alpha is ", fit$alpha, ", but cross-validation searches a ridge (alpha 0) or a lasso (alpha 1)", status = "unsupported")
  if (by == "rows" && (!is.numeric(folds) || length(folds) != 1L || is.na(folds) || folds < 2 || folds != round(folds)))
    refuse("folds is ", deparse(folds), ", but must be a whole number of at least 2")
  search <- if (fit$alpha == 0) "eps" else "h-weight"
  made <- run_instead(fit, function(values, dataset, sites) {
    agents <- if (fit$alpha == 0) 1 else max(length(sites$sizes), sites$dealt)
    found <- .Call(C_validate, make_settings(values), dataset, search, as.double(penalty * agents),
                   as.double(c(if (by == "rows") folds else 0, seed, sites$dealt)))
    found$rows <- if (sites$dealt > 0) NULL else data.frame(site = rep(sites$names %||% "1", sites$sizes), row = sites$order, fold = found$fold)
    found
  }, parent.frame(), penalty = max(penalty))
  table <- as.data.frame(made$table)
  table <- cbind(penalty = penalty, table[c("loss", "std_error")], stats::setNames(table["quality"], made$quality))
  structure(list(table = table, best = penalty[made$best], chosen = penalty[made$chosen], folds = made$folds, by = by, rows = made$rows),
            class = "fedplt_validation")
}

refuse_private <- function(fit, what) {
  if (!is.null(fit$privacy)) refuse(what, " would show losses on records without noise, and the model was trained with privacy", status = "unsupported")
}

print.fedplt_validation <- function(x, digits = 5, ...) {
  table <- x$table
  table$remark <- ifelse(table$penalty == x$chosen, if (x$chosen == x$best) "least loss, chosen" else "chosen: within one standard error",
                         ifelse(table$penalty == x$best, "least loss", ""))
  print(table, digits = digits, row.names = FALSE)
  cat("\npenalty ", format(x$chosen), " (", x$folds, " folds, ", if (x$by == "rows") "rows of every site" else "sites left out", ")\n", sep = "")
  invisible(x)
}

as.data.frame.fedplt_validation <- function(x, ...) x$table

toLatex.fedplt_validation <- function(object, ...) latex(object$table)

plot.fedplt_validation <- function(x, xlab = "Penalty", ylab = "Held-out loss", ...) {
  table <- x$table[x$table$penalty > 0, ]
  low <- table$loss - table$std_error
  high <- table$loss + table$std_error
  graphics::plot(table$penalty, table$loss, log = "x", ylim = range(low, high, table$loss, na.rm = TRUE), xlab = xlab, ylab = ylab, ...)
  graphics::segments(table$penalty, low, table$penalty, high)
  graphics::abline(v = x$chosen, lty = 2)
  invisible(x)
}

# ---- baselines ----

baseline <- function(fit, ...) UseMethod("baseline")

baseline.fedplt <- function(fit, algorithms = NULL, test_share = 0.3, resamples = 200, level = 0.95, seed = 0, ...) {
  refuse_private(fit, "a baseline")
  check_count(resamples, "resamples")
  check_level(level)
  if (!is.numeric(test_share) || length(test_share) != 1L || is.na(test_share) || test_share <= 0 || test_share >= 1)
    refuse("test_share is ", deparse(test_share), ", but must be a share of the rows between 0 and 1")
  made <- run_instead(fit, function(values, dataset, sites) {
    methods <- if (is.null(algorithms)) list(make_settings(values)) else lapply(algorithms, function(name) {
      values$algorithm <- name
      make_settings(values)
    })
    .Call(C_baseline, methods, algorithms %||% values$algorithm %||% "auto", dataset,
          as.double(c(test_share, resamples, level, seed, sites$dealt)))
  }, parent.frame())
  structure(list(table = as.data.frame(made$table, stringsAsFactors = FALSE), quality = made$quality, test_share = test_share, level = level),
            class = "fedplt_baseline")
}

# Methods down, sites across.
print.fedplt_baseline <- function(x, digits = 3, ...) {
  table <- x$table
  site <- ifelse(is.na(table$site), "all", table$site)
  number <- function(v) formatC(v, digits = digits, format = "f")
  text <- ifelse(is.na(table$value), "-", ifelse(is.na(table$low), number(table$value),
                 paste0(number(table$value), " (", number(table$low), " to ", number(table$high), ")")))
  methods <- unique(table$method)
  sites <- unique(site)
  wide <- matrix("", length(methods), length(sites), dimnames = list(methods, sites))
  wide[cbind(match(table$method, methods), match(site, sites))] <- text
  cat("held-out ", x$quality, ", ", format(100 * x$test_share), " % of the rows of every site\n", sep = "")
  print(wide, quote = FALSE)
  invisible(x)
}

as.data.frame.fedplt_baseline <- function(x, ...) x$table

toLatex.fedplt_baseline <- function(object, ...) latex(all_named(object$table))

plot.fedplt_baseline <- function(x, xlab = "Site", ylab = x$quality, ...) {
  table <- x$table
  site <- ifelse(is.na(table$site), "all", table$site)
  sites <- unique(site)
  methods <- unique(table$method)
  m <- match(table$method, methods)
  at <- match(site, sites) + 0.6 * ((m - 0.5) / length(methods) - 0.5)
  graphics::plot(at, table$value, ylim = range(table$value, table$low, table$high, na.rm = TRUE), xaxt = "n", xlab = xlab, ylab = ylab,
                 col = m, pch = 19, ...)
  graphics::segments(at, table$low, at, table$high, col = m)
  graphics::axis(1, seq_along(sites), sites)
  graphics::legend("bottomright", methods, col = seq_along(methods), pch = 19, cex = 0.8)
  invisible(x)
}
