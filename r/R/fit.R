# From a matrix, a response and sites to a trained model.

TASKS <- c(binary = 0L, classes = 1L, regression = 2L, survival = 3L)

is_sparse <- function(x) methods::is(x, "sparseMatrix")

# The slots of a dgCMatrix; other sparse matrices are converted.
sparse_parts <- function(x) {
  if (!methods::is(x, "dgCMatrix")) {
    if (!requireNamespace("Matrix", quietly = TRUE))
      refuse("x is a ", class(x)[1L], ", which needs the package Matrix; a dgCMatrix does not", status = "unsupported")
    x <- methods::as(methods::as(methods::as(x, "dMatrix"), "generalMatrix"), "CsparseMatrix")
  }
  list(x@i, x@p, x@x, as.numeric(x@Dim[1L]))
}

# Rows that count, grouped by site. `site` has one label a row, a single number of sites, or is NULL.
group_sites <- function(site, rows) {
  if (is.null(site) || is_site_count(site, rows$n)) {
    return(list(order = rows$index, sizes = as.numeric(length(rows$index)), names = NULL, place = seq_along(rows$index)))
  }
  if (length(site) != rows$n) refuse("sites has ", length(site), " labels, but there are ", rows$n, " rows")
  if (anyNA(site)) refuse("row ", which(is.na(site))[1L], " has no site", status = "bad-data")
  labels <- as.character(site)
  look()
  names <- unique(labels[rows$index])
  look()
  code <- match(labels[rows$index], names)
  look()
  place <- if (is.unsorted(code)) order(code, method = "radix") else seq_along(code)
  list(order = rows$index[place], sizes = as.numeric(tabulate(code, length(names))), names = names, place = place)
}

is_site_count <- function(site, n) is.numeric(site) && length(site) == 1L && n != 1L

# NULL where rows stay as they are: the glue then needs no index.
plain_order <- function(order, n) if (length(order) == n && !is.unsorted(order, strictly = TRUE)) NULL else as.integer(order)

# Columns that do not depend on those before them, as qr() with this tolerance finds them. centred: nor on a constant in
# each site of `sites`.
independent_columns <- function(x, sites, centred, tolerance = 1e-11) {
  if (is_sparse(x)) return(independent_sparse(x, sites, centred))
  found <- .Call(C_triangle, x, plain_order(sites$order, nrow(x)), sites$sizes, centred)
  triangle <- found$triangle
  if (!all(is.finite(triangle))) refuse_infinite(x)
  triangle[, colSums(triangle^2) <= 1e-24 * found$squares] <- 0 # constants, minus their mean
  decomposed <- qr(triangle, tol = tolerance)
  sort(decomposed$pivot[seq_len(decomposed$rank)])
}

refuse_infinite <- function(x) {
  bad <- which(!is.finite(colSums(x)))[1L]
  row <- which(!is.finite(x[, bad]))[1L]
  if (is.na(row)) refuse("column '", colnames(x)[bad], "' has numbers whose sum is not finite", status = "bad-data")
  refuse("row ", rownames(x)[row] %||% row, ": column '", colnames(x)[bad], "' is ", format(x[row, bad]), ", but must be a finite number",
         status = "bad-data")
}

# Of a sparse matrix by its cross products, where there are at most 1000 columns; above, all columns are kept.
independent_sparse <- function(x, sites, centred, tolerance = 1e-13) {
  if (ncol(x) > 1000L || !requireNamespace("Matrix", quietly = TRUE)) return(seq_len(ncol(x)))
  if (!is.null(plain_order(sites$order, nrow(x)))) x <- x[sites$order, , drop = FALSE]
  products <- as.matrix(Matrix::crossprod(x))
  raw <- diag(products)
  if (centred) {
    code <- rep(seq_along(sites$sizes), sites$sizes)
    for (i in seq_along(sites$sizes)) {
      own <- if (length(sites$sizes) == 1L) x else x[code == i, , drop = FALSE]
      products <- products - tcrossprod(Matrix::colSums(own)) / sites$sizes[i]
    }
  }
  kept <- integer()
  for (j in seq_len(ncol(x))) {
    left <- products[j, j]
    if (length(kept)) left <- left - sum(forwardsolve(factor, products[kept, j])^2)
    if (!(left > tolerance * raw[j])) next
    kept <- c(kept, j)
    factor <- t(chol(products[kept, kept, drop = FALSE]))
  }
  kept
}

# Settings of the problem, the method and the run, by the library's names.
problem_settings <- function(loss, intercept, penalty, alpha, sites, privacy) {
  agents <- max(length(sites$sizes), sites$dealt)
  ridge <- penalty * (1 - alpha)
  lasso <- penalty * alpha
  values <- list(loss = loss, intercept = intercept, weights = "rows")
  if (ridge > 0) values$eps <- ridge
  else if (is.null(privacy)) values$regulariser <- "none"
  if (lasso > 0) {
    values$h <- "l1"
    values[["h-weight"]] <- lasso * agents # the library adds h to the sum of the sites' costs, not to their mean
  }
  if (is.null(privacy)) {
    values$standardise <- if (intercept) "auto" else "scale"
    if (penalty > 0) values[["penalty-units"]] <- "columns"
  }
  values
}

run_settings <- function(control, privacy) {
  values <- list(algorithm = control$algorithm, solver = control$solver, epochs = control$epochs, rho = control$rho,
                 gamma = control$step, participation = control$participation, active = control$active,
                 threads = control$threads, seed = control$seed)
  if (is.null(privacy)) {
    values <- c(values, list(rounds = control$rounds, tolerance = control$tol^2, "criterion-at" = "model"))
    if (control$tol > 0) values$relative <- TRUE
    if (is.null(control$algorithm) && control$tol > 0) values$change <- 1e-12
  }
  values
}

# The values of all settings; those of `control$settings` come last and win.
all_settings <- function(problem, control, privacy, sites) {
  values <- c(problem, run_settings(control, privacy), privacy_settings(privacy))
  if (sites$dealt > 0) values <- c(values, list(agents = sites$dealt, partition = "shuffled"))
  given <- control$settings
  names(given) <- setting_name(names(given))
  values[names(given)] <- given
  if (identical(values$standardise, "no") && !"penalty-units" %in% names(given)) values[["penalty-units"]] <- NULL
  values
}

# Of one output: T with coefficients = T weights, in the order (intercept,) columns.
unit_map <- function(model) {
  p <- model$features
  scale <- if (is.null(model$scale)) rep(1, p) else model$scale
  map <- diag(1 / scale, p, p)
  if (!model$intercept) return(map)
  mean <- if (is.null(model$mean)) rep(0, p) else model$mean
  rbind(c(-mean / scale, 1), cbind(map, 0)) # the library has the intercept last
}

# The data set of the library. `rows` has index (rows of x that count, in the order of label, weight and offset) and n (rows of
# x); `sites` is of group_sites.
rows_dataset <- function(x, sites, label, weight, offset, task, classes, kept) {
  arranged <- function(v) if (is.null(v)) NULL else as.double(v[sites$place])
  if (!is.null(weight) && all(weight == 1)) weight <- NULL
  if (!is.null(offset) && all(offset == 0)) offset <- NULL
  parts <- x
  order <- sites$order
  if (is_sparse(x)) {
    if (anyDuplicated(order)) {
      x <- x[order, , drop = FALSE]
      order <- seq_len(nrow(x))
    }
    parts <- sparse_parts(x)
  }
  look()
  names <- list(colnames(x)[kept], sites$names, classes)
  .Call(C_dataset, parts, as.integer(kept), plain_order(order, nrow(x)), arranged(label), arranged(weight), arranged(offset),
        sites$sizes, TASKS[[task]], names)
}

# Trains, or does with the rows and the values of the settings what `control$instead` does; its result leaves by a condition,
# which run_instead catches.
train_rows <- function(x, rows, site, label, weight, offset, task, classes, problem, control, privacy, kept) {
  sites <- group_sites(site, rows)
  sites$dealt <- if (is.null(site) || !is_site_count(site, rows$n)) 0 else site
  dataset <- rows_dataset(x, sites, label, weight, offset, task, classes, kept)
  values <- all_settings(problem(sites), control, privacy, sites)
  if (!is.null(control$instead))
    stop(structure(class = c("fedplt_instead", "condition"), list(message = "done", call = NULL, result = control$instead(values, dataset, sites))))
  trained <- .Call(C_train, make_settings(values), dataset, NULL, control$start, observer_of(control))
  trained$history <- as.data.frame(trained$history)
  trained$choices <- as.data.frame(trained$choices, stringsAsFactors = FALSE)
  trained$sites <- sites[c("names", "sizes", "dealt")]
  trained$converged <- trained$outcome %in% c("converged", "stalled") || !(trained$target > 0)
  if (!trained$converged) warning(trained$sentence, call. = FALSE)
  trained
}

# Repeats the call of a fit up to the point where it would train, and calls `instead(values, dataset, sites)` there.
run_instead <- function(fit, instead, env, ...) {
  call <- fit$call
  control <- fit$control
  control$instead <- instead
  call$control <- control
  for (name in names(list(...))) call[[name]] <- list(...)[[name]]
  tryCatch(eval(call, environment(fit$formula) %||% env), fedplt_instead = function(e) e$result)
}

check_penalty <- function(penalty, alpha) {
  if (!is.numeric(penalty) || length(penalty) != 1L || is.na(penalty) || penalty < 0)
    refuse("penalty is ", deparse(penalty), ", but must be a number of at least 0")
  if (!is.numeric(alpha) || length(alpha) != 1L || is.na(alpha) || alpha < 0 || alpha > 1)
    refuse("alpha is ", deparse(alpha), ", but must be a number between 0 (ridge) and 1 (lasso)")
}
