# Promises of differential privacy, and their verification.

privacy <- function(epsilon = NULL, delta = 1e-5, bounds = 1, threat = "transcript", tau = NULL, group = 1,
                    noise = c("secure", "simulated"), ledger = NULL, account = NULL, budget = NULL) {
  noise <- match.arg(noise)
  if (is.null(epsilon) == is.null(tau)) refuse("privacy needs epsilon, the promise, or tau, the noise, and not both")
  number <- is.numeric(bounds) && length(bounds) == 1L && is.finite(bounds) && bounds > 0
  if (!number) check_bounds(bounds)
  structure(class = "fedplt_privacy", list(epsilon = epsilon, delta = delta, bounds = bounds, threat = threat, tau = tau,
                                           group = group, noise = noise, ledger = ledger, account = account,
                                           budget = budget))
}

check_bounds <- function(bounds) {
  if (!is.list(bounds) || is.null(names(bounds)))
    refuse("bounds must be one number above 0, the largest norm of a row, or a list with the range of every column: ",
           "list(age = c(18, 100), ...)")
  for (name in names(bounds)) {
    one <- bounds[[name]]
    if (!is.numeric(one) || length(one) != 2L || !all(is.finite(one)) || one[1L] >= one[2L])
      refuse("bounds: ", name, " is ", deparse(one), ", but must be the lowest and the highest value, such as c(18, 100)")
  }
}

print.fedplt_privacy <- function(x, ...) {
  cat("Promise: ")
  if (is.null(x$tau)) cat("every record is protected by (", format(x$epsilon), ", ", format(x$delta), ")-differential privacy.\n", sep = "")
  else cat("noise of scale ", format(x$tau), "; the fit says which epsilon that gives at delta ", format(x$delta), ".\n", sep = "")
  cat("Adversary: ", threat_words(x$threat), "\n", sep = "")
  if (is.list(x$bounds)) cat("Public bounds:", paste0(names(x$bounds), " from ", vapply(x$bounds, function(b) paste(b, collapse = " to "), ""), collapse = ", "), "\n")
  else cat("Public bound: rows longer than ", format(x$bounds), " are shortened to it.\n", sep = "")
  if (x$noise == "simulated") cat("The noise is simulated from a seed: nothing is private.\n")
  invisible(x)
}

threat_words <- function(threat) {
  switch(threat, transcript = "sees every message of every round (transcript).",
         "final-model" = "sees the model that is handed out, and nothing else (final-model).",
         paste0(threat, "."))
}

# The settings of a promise; NULL where there is none.
privacy_settings <- function(privacy) {
  if (is.null(privacy)) return(NULL)
  rows <- if (is.list(privacy$bounds)) privacy$radius else privacy$bounds
  Filter(Negate(is.null), list(privacy.epsilon = privacy$epsilon, privacy.delta = privacy$delta, privacy.rows = rows,
    privacy.threat = privacy$threat, privacy.tau = privacy$tau,
    privacy.group = if (privacy$group != 1) privacy$group,
    privacy.noise = if (privacy$noise != "secure") privacy$noise, ledger = privacy$ledger,
    "ledger-account" = privacy$account, privacy.budget = privacy$budget))
}

check_privacy <- function(privacy) {
  if (!is.null(privacy) && !inherits(privacy, "fedplt_privacy"))
    refuse("privacy is of class ", class(privacy)[1L], ", but must be made by privacy(), or NULL")
}

# Middle and half range of every column by its public bounds. A column of a factor is 0 or 1 by its making.
column_ranges <- function(x, kept, privacy, factors) {
  names <- colnames(x)[kept]
  ranges <- lapply(names, function(name) {
    if (!is.null(privacy$bounds[[name]])) return(privacy$bounds[[name]])
    if (name %in% factors) return(c(0, 1))
    refuse("bounds has no range for the column '", name, "'; with privacy it is never read from the rows")
  })
  ranges <- matrix(unlist(ranges), 2L)
  list(mean = colMeans(ranges), scale = (ranges[2L, ] - ranges[1L, ]) / 2)
}

# The columns from -1 to 1; values outside their bounds are moved to them.
scale_columns <- function(x, kept, ranges) {
  made <- vapply(seq_along(kept), function(j) {
    pmin(pmax((as.vector(x[, kept[j]]) - ranges$mean[j]) / ranges$scale[j], -1), 1)
  }, numeric(nrow(x)))
  made <- matrix(made, nrow(x), dimnames = list(rownames(x), colnames(x)[kept]))
  made
}

verify <- function(fit, ...) UseMethod("verify")

verify.fedplt <- function(fit, ...) {
  if (is.null(fit$trained$certificate))
    refuse("there is no certificate: what was trained without privacy has none")
  verify_text(fit$trained$certificate, fit$trained$model$json)
}

verify.character <- function(fit, model = NULL, ...) {
  read <- function(text) if (length(text) == 1L && file.exists(text)) paste(readLines(text, warn = FALSE), collapse = "\n") else text
  verify_text(paste(read(fit), collapse = "\n"), if (!is.null(model)) read(model))
}

verify_text <- function(certificate, model) {
  found <- .Call(C_verify, certificate, model)
  found$findings <- as.data.frame(found$findings, stringsAsFactors = FALSE)
  structure(found, class = "fedplt_verification")
}

print.fedplt_verification <- function(x, ...) {
  cat("The certificate ", if (x$holds) "holds" else "DOES NOT HOLD", ": epsilon ", format(x$epsilon, digits = 4), " at delta ",
      format(x$delta), ", ", x$algorithm, ". The adversary ", threat_words(x$threat), "\n", sep = "")
  marks <- c("no   ", "yes  ", "note ")[x$findings$holds + 1L]
  cat(paste0("  ", marks, x$findings$sentence, collapse = "\n"), "\n", sep = "")
  invisible(x)
}

# What a private fit promises, in words.
print_promise <- function(x) {
  certificate <- x$trained$certificate
  if (is.null(certificate)) return(invisible())
  found <- .Call(C_verify, certificate, NULL)
  words <- paste0("Privacy: an adversary who ", sub("\\.$", "", threat_words(found$threat)), " learns about any one record at most what (",
                  format(found$epsilon, digits = 4), ", ", format(found$delta), ")-differential privacy allows.",
                  if (x$privacy$noise == "simulated") " But the noise was simulated: this run is not private.")
  cat(paste(strwrap(words, 0.9 * getOption("width")), collapse = "\n"), "\n", sep = "")
}

certificate <- function(fit) {
  if (!inherits(fit, "fedplt")) refuse("fit is of class ", class(fit)[1L], ", but must be a fit of fedplt")
  fit$trained$certificate
}
