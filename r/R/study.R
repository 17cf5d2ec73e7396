# Tables of a study: Table 1 of a paper, and meta-analysis of estimates that each site made alone.

# A column as fields of a CSV text, all quoted: numbers with 17 digits, missing values empty.
csv_fields <- function(column) {
  text <- if (is.numeric(column) && !is.factor(column)) sprintf("%.17g", as.double(column)) else enc2utf8(as.character(column))
  text <- paste0("\"", gsub("\"", "\"\"", text, fixed = TRUE), "\"")
  text[is.na(column)] <- ""
  text
}

csv_lines <- function(frame) {
  c(paste(csv_fields(names(frame)), collapse = ","), do.call(paste, c(unname(lapply(frame, csv_fields)), sep = ",")))
}

# A table of the library. texts: number of columns that are texts, the others are numbers; NA: all are texts.
csv_frame <- function(csv, texts) {
  made <- utils::read.csv(text = csv, colClasses = "character", check.names = FALSE, encoding = "UTF-8", na.strings = character())
  if (is.na(texts)) return(made)
  for (k in seq_along(made)) {
    made[[k]][made[[k]] == ""] <- NA
    if (k > texts) made[[k]] <- as.numeric(made[[k]])
  }
  names(made) <- tolower(gsub(" ", "_", names(made), fixed = TRUE))
  made
}

describe <- function(data, sites = NULL, by = NULL, cross = NULL, columns = NULL, ignore = NULL, categories = NULL, minimum = 0,
                     grid = 0, bounds = NULL, missing_codes = NULL, schema = NULL) {
  check_count(minimum, "minimum")
  check_count(grid, "grid")
  if (!is.null(bounds)) {
    check_bounds(bounds)
    if (grid == 0) refuse("bounds is given, but only a grid uses it: set grid, for example grid = 200")
    bounds <- paste0(names(bounds), "=", vapply(bounds, function(b) paste(vapply(b, format_number, ""), collapse = ".."), ""), collapse = ",")
  }
  is_frame <- is.data.frame(data)
  if (!is_frame && (!is.character(data) || !length(data)))
    refuse("data is of class ", class(data)[1L], ", but must be a data frame, or the paths of CSV files, one a site")
  site <- if (!is_frame) eval(substitute(sites), NULL, parent.frame()) else {
    found <- describe_sites(data, substitute(sites), parent.frame())
    data <- found$data
    categories <- union(categories, setdiff(names(data)[vapply(data, is.factor, NA)], found$site))
    found$site
  }
  cross <- if (length(cross)) paste(cross, collapse = ",")
  input <- if (is_frame) csv_lines(data) else path.expand(data)
  made <- .Call(C_describe, input, is_frame, list(by, cross, bounds, site, comma_list(categories), comma_list(columns), comma_list(ignore),
                                                  comma_list(missing_codes), schema), as.double(c(grid, minimum)))
  paper <- lapply(made$paper, paper_frame)
  columns <- csv_frame(made$columns, 4L)
  each <- if (any(!is.na(columns$stratum)) && length(made$sites) > 1L) stats::setNames(paper[-1L], made$sites)
  structure(list(table = paper[[1L]], sites = each, columns = columns, cross = csv_frame(made$cross, 5L), 
                 notes = sub("--grid", "grid", made$notes, fixed = TRUE)), class = "fedplt_description")
}

# A table as it is printed: texts, the difference with three digits.
paper_frame <- function(csv) {
  made <- csv_frame(csv, NA)
  if (!is.null(made$SMD)) made$SMD <- ifelse(nzchar(made$SMD), formatC(as.numeric(made$SMD), digits = 3, format = "f"), "")
  made
}

# Names as the library takes a list of them; NULL stays.
comma_list <- function(names) if (length(names)) paste(gsub("([\\\\,=])", "\\\\\\1", names), collapse = ",")

# The data with the column of the sites, and its name ("none": there is none).
describe_sites <- function(data, expression, env) {
  found <- eval(expression, data, env)
  if (inherits(found, "formula")) {
    expression <- found[[2L]]
    found <- eval(expression, data, environment(found))
  }
  if (is.null(found)) return(list(data = data, site = "none"))
  if (is.character(found) && length(found) == 1L && found %in% names(data)) return(list(data = data, site = found))
  if (is.name(expression) && as.character(expression) %in% names(data)) return(list(data = data, site = as.character(expression)))
  if (length(found) != nrow(data)) refuse("sites has ", length(found), " labels, but there are ", nrow(data), " rows")
  data[["(site)"]] <- as.character(found)
  list(data = data, site = "(site)")
}

print.fedplt_description <- function(x, site = NULL, ...) {
  show <- if (is.null(site)) x$table else x$sites[[site]]
  if (is.null(show)) refuse("there is no table of a site '", site, "'; there are ", paste(names(x$sites), collapse = ", "))
  print(show, right = FALSE, row.names = FALSE)
  print_notes(x$notes)
  invisible(x)
}

print_notes <- function(notes) {
  if (length(notes)) cat(paste(strwrap(paste0("Note: ", notes), 0.9 * getOption("width"), exdent = 2L), collapse = "\n"), "\n", sep = "")
}

as.data.frame.fedplt_description <- function(x, ...) x$columns

toLatex.fedplt_description <- function(object, ...) latex(object$table)

meta <- function(x, ...) UseMethod("meta")

META_METHODS <- c(fixed = 0, dl = 1, reml = 2)

# One line of numbers: estimate, error and so on of all sites together.
combine_sites <- function(lines, method, hartung_knapp, level) {
  found <- .Call(C_meta, as.double(lines$estimate), as.double(lines$std_error), c(META_METHODS[[method]], hartung_knapp, level))
  names(found) <- c("sites", "estimate", "std_error", "statistic", "p", "low", "high", "tau2", "q", "q_p", "i2")
  label <- switch(method, fixed = "fixed", dl = "random (DL)", reml = "random (REML)")
  if (hartung_knapp) label <- sub(")", ", Hartung-Knapp)", label, fixed = TRUE)
  data.frame(term = lines$term[1L], effects = label, as.list(found), stringsAsFactors = FALSE)
}

meta.data.frame <- function(x, method = c("reml", "dl"), hartung_knapp = FALSE, level = 0.95, ...) {
  method <- match.arg(method)
  check_level(level)
  lines <- check_estimates(x)
  reach <- stats::qnorm((1 + level) / 2)
  lines$low <- lines$estimate - reach * lines$std_error
  lines$high <- lines$estimate + reach * lines$std_error
  combined <- lapply(unique(lines$term), function(term) {
    one <- lines[lines$term == term, ]
    rbind(combine_sites(one, "fixed", FALSE, level), combine_sites(one, method, isTRUE(hartung_knapp), level))
  })
  lines <- lines[order(match(lines$term, unique(lines$term))), ]
  rownames(lines) <- NULL
  structure(list(sites = lines, combined = do.call(rbind, combined), notes = character(), level = level), class = "fedplt_meta")
}

check_count <- function(value, name) {
  if (!is.numeric(value) || length(value) != 1L || is.na(value) || value < 0 || value != round(value))
    refuse(name, " is ", deparse(value), ", but must be a whole number of at least 0")
}

check_level <- function(level) {
  if (!is.numeric(level) || length(level) != 1L || is.na(level) || level <= 0 || level >= 1)
    refuse("level is ", deparse(level), ", but must be a number between 0 and 1, such as 0.95")
}

check_estimates <- function(x) {
  wanted <- c("site", "term", "estimate", "std_error")
  if ("std.error" %in% names(x) && !"std_error" %in% names(x)) names(x)[names(x) == "std.error"] <- "std_error" # as tidy() has it
  absent <- setdiff(wanted, names(x))
  if (length(absent)) refuse("column '", absent[1L], "' is missing: estimates have the columns site, term, estimate and std_error")
  lines <- as.data.frame(x)[wanted]
  lines$site <- as.character(lines$site)
  lines$term <- as.character(lines$term)
  bad <- which(!is.finite(lines$estimate) | !is.finite(lines$std_error) | !(lines$std_error > 0))
  if (length(bad))
    refuse("row ", bad[1L], ": the estimate is ", lines$estimate[bad[1L]], " with standard error ", lines$std_error[bad[1L]],
           ", but both must be numbers, and the error above 0", status = "bad-data")
  twice <- anyDuplicated(lines[c("site", "term")])
  if (twice) refuse("row ", twice, ": term '", lines$term[twice], "' has two estimates at site '", lines$site[twice], "'", status = "bad-data")
  if (!nrow(lines)) refuse("x has no estimates", status = "bad-data")
  lines
}

# Fits the model without a penalty at every site alone. A site without a fit is named in a note.
meta.fedplt <- function(x, ...) {
  if (!is.null(x$privacy)) refuse("the model was trained with privacy, which exact estimates of each site would not keep", status = "unsupported")
  frame <- stats::model.frame(x)
  site <- frame[["(sites)"]] %||% x$strata
  if (is.null(site) || length(site) != nrow(frame))
    refuse("the fit does not say which site a row is of: fit with sites = a column of the data", status = "unsupported")
  matrix <- stats::model.matrix(x)
  lines <- notes <- NULL
  for (name in unique(as.character(site))) {
    rows <- which(as.character(site) == name)
    found <- tryCatch(site_estimates(x, frame, matrix, rows), error = conditionMessage, warning = conditionMessage)
    if (is.character(found)) notes <- c(notes, paste0("site '", name, "' is left out: ", found))
    else lines <- rbind(lines, cbind(site = name, found))
  }
  if (is.null(lines)) refuse("no site has estimates of its own: ", notes[1L], status = "unreachable")
  made <- meta(lines, ...)
  made$notes <- as.character(notes)
  made
}

# Whether a fit has probabilities of 0 or 1, or rates of 0, which no finite coefficients give.
is_boundary <- function(fit) {
  mu <- fit$fitted.values
  switch(fit$family$family, binomial = , quasibinomial = , multinomial = any(mu < 1e-8 | mu > 1 - 1e-8), poisson = ,
         quasipoisson = any(mu < 1e-8), FALSE)
}

site_estimates <- function(x, frame, matrix, rows) {
  part <- function(v) if (is.null(v)) NULL else if (is.matrix(v)) v[rows, , drop = FALSE] else v[rows]
  weights <- part(frame_weights(frame))
  offset <- part(frame_offset(frame, nrow(frame)))
  own <- matrix[rows, , drop = FALSE]
  if (inherits(x, "fedplt_cox")) {
    fit <- fit_cox(own, survival_response(stats::model.response(frame)[rows, ]), NULL, weights, offset, x$ties, 0, 0, NULL, fedplt_control())
  } else {
    y <- stats::model.response(frame, "any")
    fit <- fit_matrix(own, part(y), NULL, x$family, weights, offset, 0, 0, NULL, fedplt_control(), attr(x$terms, "intercept") > 0L)
  }
  if (is_boundary(fit)) refuse("its rows are separated by the columns, so that some estimates are infinite", status = "unreachable")
  table <- coefficient_table(fit)
  if (ncol(table) < 2L) refuse(lacks_errors(fit), status = "unsupported")
  table <- table[is.finite(table[, 2L]) & table[, 2L] > 0, , drop = FALSE]
  data.frame(term = rownames(table), estimate = unname(table[, 1L]), std_error = unname(table[, 2L]), stringsAsFactors = FALSE)
}

print.fedplt_meta <- function(x, digits = 4, ...) {
  print(x$sites, digits = digits, row.names = FALSE)
  cat("\n")
  print(x$combined[c("term", "effects", "sites", "estimate", "std_error", "p", "low", "high", "tau2", "q", "q_p", "i2")], digits = digits,
        row.names = FALSE)
  cat("\nlow and high: ", format(100 * x$level), " % CI; i2 in percent\n", sep = "")
  print_notes(x$notes)
  invisible(x)
}

as.data.frame.fedplt_meta <- function(x, ...) x$combined

toLatex.fedplt_meta <- function(object, ...) latex(object$combined[c("term", "effects", "estimate", "std_error", "p", "low", "high", "tau2", "i2")])

# A forest plot of one term: sites with their intervals, and both combined estimates.
plot.fedplt_meta <- function(x, term = NULL, xlab = term, ...) {
  known <- unique(x$sites$term)
  term <- term %||% c(setdiff(known, "(Intercept)"), known)[1L]
  if (!term %in% known) refuse("there is no estimate of '", term, "'; there are ", paste(known, collapse = ", "))
  sites <- x$sites[x$sites$term == term, ]
  both <- x$combined[x$combined$term == term, ]
  label <- c(sites$site, both$effects)
  low <- c(sites$low, both$low)
  high <- c(sites$high, both$high)
  at <- rev(seq_along(label))
  before <- graphics::par(mar = c(4, 2 + 0.6 * max(nchar(label)), 1, 1))
  on.exit(graphics::par(before))
  graphics::plot(range(low, high, 0), range(at) + c(-0.5, 0.5), type = "n", yaxt = "n", ylab = "", xlab = xlab, ...)
  graphics::abline(v = 0, lty = 2, col = "grey")
  graphics::segments(low, at, high, at)
  graphics::points(c(sites$estimate, both$estimate), at, pch = rep(c(15, 18), c(nrow(sites), 2L)), cex = rep(c(1, 1.6), c(nrow(sites), 2L)))
  graphics::axis(2, at, label, las = 1, tick = FALSE)
  invisible(x)
}
